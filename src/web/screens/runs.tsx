// The screen Runs: the open runs, and the newest ended ones.

import { modeWords } from '../../clients/ts/benchd.ts'
import { Empty } from '../parts.tsx'
import { now, state } from '../store.tsx'
import { Time } from '../time.tsx'
import { duration, runWord } from '../words.ts'

export function RunsScreen() {
  const runs = Object.values(state.value.run).sort((a, b) => b.started_at - a.started_at)
  return (
    <section aria-label="Runs">
      <div class="row">
        <h2>Runs</h2>
        <a class="button main" href="#/runs/new">
          New run
        </a>
      </div>
      {runs.length === 0 ? (
        <Empty>No run yet. “New run” shows the workflows of this bench.</Empty>
      ) : (
        <table>
          <thead>
            <tr>
              <th scope="col">Workflow</th>
              <th scope="col">State</th>
              <th scope="col">Mode</th>
              <th scope="col">Started</th>
              <th scope="col">Time</th>
            </tr>
          </thead>
          <tbody>
            {runs.map((run) => {
              const { word, tone, mark } = runWord(run)
              return (
                <tr key={run.execution_id}>
                  <th scope="row">
                    <a href={`#/runs/${run.execution_id}`}>{run.workflow_name}</a>
                  </th>
                  <td class={`state ${tone}`}>
                    <span aria-hidden="true">{mark}</span> {word}
                    {run.reason && <small class="long"> {run.reason}</small>}
                  </td>
                  <td>{modeWords[run.run_mode]}</td>
                  <td>
                    <Time at={run.started_at} />
                  </td>
                  <td>{duration((run.ended_at ?? now.value / 1000) - run.started_at)}</td>
                </tr>
              )
            })}
          </tbody>
        </table>
      )}
    </section>
  )
}
