// The picture of a workflow: a lane for each thread, with its steps in their order.

import type { WorkflowDocument } from '../../clients/ts/benchd.ts'
import { threadColour } from '../thread_colours.ts'
import { type LaneStep, lanesIn } from '../workflow_lanes.ts'

export function WorkflowLanes({ document }: { document: WorkflowDocument | undefined }) {
  if (!document) return null
  return (
    <ul class="workflow-lanes" aria-label="Steps of the workflow">
      {lanesIn(document).map(({ thread, from, to, isFirst, steps }) => (
        <li key={thread} style={{ borderColor: threadColour(thread) }}>
          <strong>{thread}</strong>
          {!isFirst && <small> comes when it is needed</small>}
          <ol>
            <li>{from}</li>
            <Steps steps={steps} />
            <li>{to}</li>
          </ol>
        </li>
      ))}
    </ul>
  )
}

function Steps({ steps }: { steps: readonly LaneStep[] }) {
  return (
    <>
      {steps.map(({ text, kind, ways = [] }, i) => (
        <>
          <li key={`${i} ${text}`} class={kind}>
            {text}
          </li>
          {ways.map(({ word, steps: inner }) => (
            <>
              {word && ways.length > 1 && (
                <li key={`${i} ${word}`} class="way">
                  {word}:
                </li>
              )}
              <Steps steps={inner} />
            </>
          ))}
        </>
      ))}
    </>
  )
}
