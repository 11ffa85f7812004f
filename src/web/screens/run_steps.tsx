// The lane of one labware: what it has done, what it does, and what comes next.

import type { Thread, TimelineRow } from '../../clients/ts/benchd.ts'
import { laneSteps } from '../lane_steps.ts'
import { Time } from '../time.tsx'

type Props = { thread_name: string; rows: readonly TimelineRow[]; next: Thread['next']; began_at: number }

const marks = { done: '✓', failed: '✕', now: '▶', next: '' }
const words = { done: 'done: ', failed: 'failed: ', now: 'now: ', next: 'next: ' }

export function LaneSteps({ thread_name, rows, next = [], began_at }: Props) {
  const steps = laneSteps(rows, next, began_at)
  if (steps.length === 0) return null
  return (
    <ol class="lane-steps" aria-label={`Steps of ${thread_name}`}>
      {steps.map(({ key, text, state, from }) => (
        <li key={key} class={state}>
          <span class="mark" aria-hidden="true">
            {marks[state]}
          </span>
          <span class="unseen">{words[state]}</span>
          {text}
          {state === 'next' && from !== null && (
            <small>
              {' '}
              <Time at={from} />
            </small>
          )}
        </li>
      ))}
    </ol>
  )
}
