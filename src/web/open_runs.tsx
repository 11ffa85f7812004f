// The open runs on the bench, for its first screen.

import { RunEnd, RunProgress } from './run_end.tsx'
import { state } from './store.tsx'

/** A line for each open run on the bench. */
export function OpenRuns() {
  const open = Object.values(state.value.run).filter(({ ended_at, run_mode }) => ended_at === null && run_mode === 'LIVE')
  return (
    <>
      {open.map((run) => (
        <p key={run.execution_id} class="progress">
          <span>
            <a href={`#/runs/${run.execution_id}`}>{run.workflow_name}</a> <RunEnd run={run} />
          </span>
          <RunProgress run={run} />
        </p>
      ))}
    </>
  )
}
