// The parts of a run beside its control: its report and exports, running it again, comparing it, deleting it.

import { useSignal } from '@preact/signals'
import type { ExecutionSummary, TimelineRow } from '../../clients/ts/benchd.ts'
import { comparisonOf } from '../compare_runs.ts'
import { Act, Choice, Empty, useAnswer } from '../parts.tsx'
import { ask, download, keepFile } from '../store.tsx'
import { clockTime, duration } from '../words.ts'

/** The link to the form of a new run with the values of this one. */
export function RunAgain({ execution_id }: { execution_id: string }) {
  return (
    <a class="button plain" href={`#/runs/new/${execution_id}`}>
      Run again
    </a>
  )
}

type CompareProps = { run: ExecutionSummary; rows: readonly TimelineRow[] }

/** The durations by step beside those of an earlier run of the same workflow. */
export function Compare({ run, rows }: CompareProps) {
  const isOpen = useSignal(false)
  return (
    <details class="changes" onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
      <summary>Compare with an earlier run</summary>
      {isOpen.value && <Earlier run={run} rows={rows} />}
    </details>
  )
}

function Earlier({ run: { execution_id, workflow_name, started_at, run_mode }, rows }: CompareProps) {
  const found = useAnswer('listExecutions', { query: { workflow: workflow_name, limit: 50 } }, [execution_id])
  const chosen = useSignal('')
  if (!found.value) return <Empty>Loading the runs of this workflow …</Empty>
  const earlier = found.value.executions.filter(
    (one) => one.execution_id !== execution_id && one.ended_at !== null && one.started_at < started_at,
  )
  if (earlier.length === 0) return <Empty>There is no earlier run of {workflow_name}.</Empty>
  const alike = earlier.find((one) => one.run_mode === run_mode && one.status === 'COMPLETED') ?? earlier[0]!
  const other = chosen.value || alike.execution_id
  const choices = Object.fromEntries(
    earlier.map((one) => [
      one.execution_id,
      `${clockTime(one.started_at)}, ${one.status.toLowerCase()}, ${duration(one.ended_at! - one.started_at)}`,
    ]),
  )
  return (
    <>
      <Choice label="Earlier run" value={other} onChange={(id) => (chosen.value = id)} choices={choices} />
      <Comparison key={other} other={other} rows={rows} />
    </>
  )
}

function Comparison({ other, rows }: { other: string; rows: readonly TimelineRow[] }) {
  const timeline = useAnswer('getTimeline', { path: { execution_id: other } })
  if (!timeline.value) return <Empty>Loading the steps of that run …</Empty>
  const { words, steps } = comparisonOf(rows, timeline.value.rows)
  return (
    <>
      <p class="long" role="status">
        {words}
      </p>
      <table class="compared">
        <thead>
          <tr>
            <th scope="col">Step</th>
            <th scope="col">This run</th>
            <th scope="col">Earlier run</th>
            <th scope="col">Difference</th>
          </tr>
        </thead>
        <tbody>
          {steps.map(({ step, here, there, difference, isLonger }) => (
            <tr key={step}>
              <th scope="row">{step}</th>
              <td>{here}</td>
              <td>{there}</td>
              <td class={isLonger ? 'bad' : undefined}>{difference}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  )
}

/** Downloads of a run: its report, its events, and its timeline as a table. */
type ExportsProps = { execution_id: string; name: string; hasRecord: boolean; rows: readonly TimelineRow[] }

export function Exports({ execution_id, name, hasRecord, rows }: ExportsProps) {
  const file = `${name}-${execution_id.slice(0, 8)}`
  return (
    <p class="row">
      {hasRecord && <Act label="Download the report" free onPress={() => download('getReport', { path: { execution_id } })} />}
      <Act
        label="Export events"
        free
        onPress={() => download('getEvents', { query: { execution_id, limit: 100_000 } }, `${file}-events.json`)}
      />
      <Act
        label="Export timeline"
        free
        why={rows.length === 0 ? 'There is no timeline.' : undefined}
        onPress={() => keepFile(`${file}-timeline.csv`, new Blob([tableOf(rows)], { type: 'text/csv' }))}
      />
    </p>
  )
}

/** The button that deletes an ended run with its events. */
export function Delete({ execution_id }: { execution_id: string }) {
  const remove = async () => {
    if (await ask('deleteExecution', { path: { execution_id } })) location.hash = '#/runs'
  }
  return (
    <p class="row">
      <Act label="Delete run" twice="Delete it and its events: press again" onPress={remove} />
    </p>
  )
}

const columns = ['thread_name', 'kind', 'method_name', 'name', 'device', 'from', 'to', 'started', 'ended', 'status'] as const

/** Writes the timeline as CSV, with times in seconds since the start of the run. */
function tableOf(rows: readonly TimelineRow[]): string {
  const cell = (value: unknown) => (/[",\n\r]/.test(String(value ?? '')) ? `"${String(value).replaceAll('"', '""')}"` : String(value ?? ''))
  return [columns.join(','), ...rows.map((row) => columns.map((name) => cell(row[name])).join(','))].join('\r\n')
}
