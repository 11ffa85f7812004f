// The screen Runs: the newest first, found by text, state, workflow, day, barcode and tag.

import { type Signal, useComputed, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { BenchError, type ExecutionSummary, type ListExecutionsResponse, modeWords } from '../../clients/ts/benchd.ts'
import { Choice, Empty, namesOf, Text, useAnswer } from '../parts.tsx'
import { RunEnd, RunProgress } from '../run_end.tsx'
import { runWord } from '../run_words.ts'
import { bench, now, state } from '../store.tsx'
import { Time } from '../time.tsx'
import { duration, sentence } from '../words.ts'

const page = 50
/** The pause in typing after which is searched, ms. */
const still_ms = 300

const states = { '': 'all', IN_PROGRESS: 'open', COMPLETED: 'completed', FAILED: 'failed', ABORTED: 'aborted' }

export function RunsScreen() {
  const fields = {
    text: useSignal(''),
    status: useSignal(''),
    workflow: useSignal(''),
    from: useSignal(''),
    to: useSignal(''),
    barcode: useSignal(''),
    tag: useSignal(''),
  }
  const query = useComputed(() => queryOf(Object.fromEntries(Object.entries(fields).map(([name, { value }]) => [name, value]))))
  const { runs, next, more, trouble } = useRuns(JSON.stringify(query.value))
  const isFiltered = Object.keys(query.value).length > 0
  const clear = () => {
    for (const field of Object.values(fields)) field.value = ''
  }
  return (
    <section aria-label="Runs" class="runs">
      <div class="row">
        <h2>Runs</h2>
        <label class="row search">
          Search <input type="search" value={fields.text.value} onInput={(event) => (fields.text.value = event.currentTarget.value)} />
        </label>
        <Choice label="State" of={fields.status} choices={states} />
        <a class="button main" href="#/runs/new">
          New run
        </a>
        <a class="button plain" href="#/runs/queue">
          Queue
        </a>
      </div>
      <Filters {...fields} />
      <p class="trouble" role="alert">
        {trouble}
      </p>
      {trouble ? null : runs === undefined ? (
        <Empty>Loading the runs …</Empty>
      ) : runs.length > 0 ? (
        <Table runs={runs} />
      ) : isFiltered ? (
        <p class="row">
          <span class="empty">No run matches.</span>
          <button type="button" class="plain" onClick={clear}>
            Show all runs
          </button>
        </p>
      ) : (
        <Empty>No run yet. “New run” shows the workflows of this bench.</Empty>
      )}
      {next && (
        <button type="button" class="plain" onClick={more}>
          Show older runs
        </button>
      )}
    </section>
  )
}

type FilterProps = Record<'workflow' | 'from' | 'to' | 'barcode' | 'tag', Signal<string>>

function Filters({ workflow, from, to, barcode, tag }: FilterProps) {
  const workflows = useAnswer('listWorkflows')
  const names = workflows.value?.workflows.map(({ name }) => name) ?? []
  return (
    <details class="changes">
      <summary>More filters</summary>
      <div class="fields">
        <Choice label="Workflow" of={workflow} choices={{ '': 'all', ...namesOf(names) }} />
        <Day id="runs-from" label="From" of={from} />
        <Day id="runs-to" label="To" of={to} />
        <Text id="runs-barcode" label="Barcode" placeholder="any" of={barcode} />
        <Text id="runs-tag" label="Tag" placeholder="any" of={tag} />
      </div>
    </details>
  )
}

function Day({ id, label, of }: { id: string; label: string; of: Signal<string> }) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input id={id} type="date" value={of.value} onInput={(event) => (of.value = event.currentTarget.value)} />
    </div>
  )
}

/** Returns the query of the filled fields. Days begin and end in the zone of this computer. */
function queryOf({ from, to, ...filled }: Record<string, string>): Record<string, string> {
  const [since, until] = [from && midnight(from), to && midnight(to, 1)]
  return Object.fromEntries(
    Object.entries({ ...filled, since, until }).flatMap(([name, value]) => (value?.trim() ? [[name, value.trim()]] : [])),
  )
}

/** Returns the beginning of a day such as 2026-01-31, or of one some days later, as the service takes it. */
function midnight(day: string, later = 0): string {
  const [year, month, date] = day.split('-').map(Number)
  return String(new Date(year!, month! - 1, date! + later).getTime() / 1000)
}

/** Returns the runs that the query finds, as far as they were asked for, or the reason why the query is refused. They are read again when a run begins or ends. */
function useRuns(query: string) {
  const found = useSignal<ListExecutionsResponse | undefined>(undefined)
  const trouble = useSignal('')
  const changes = useComputed(() =>
    Object.values(state.value.run)
      .map(({ execution_id, status }) => `${execution_id}${status}`)
      .join(),
  )
  const asked = async (before?: string) => {
    const asked = { ...JSON.parse(query), limit: page, ...(before && { before }) }
    try {
      return await bench.value?.call('listExecutions', { query: asked })
    } catch (error) {
      return error instanceof BenchError && error.status === 400 ? refusalWords(error) : undefined
    }
  }
  useEffect(() => {
    let isOver = false
    const timer = setTimeout(
      async () => {
        const answer = await asked()
        if (!answer || isOver) return
        trouble.value = typeof answer === 'string' ? answer : ''
        if (typeof answer !== 'string') found.value = answer
      },
      found.value ? still_ms : 0,
    )
    return () => {
      isOver = true
      clearTimeout(timer)
    }
  }, [query, changes.value])
  const more = async () => {
    const { executions = [], next } = found.value ?? {}
    const answer = next ? await asked(next) : undefined
    if (answer && typeof answer !== 'string') found.value = { executions: [...executions, ...answer.executions], next: answer.next }
  }
  return { runs: found.value?.executions, next: trouble.value ? undefined : found.value?.next, more, trouble: trouble.value }
}

/** Words the refusal of a query with the names of the fields. */
function refusalWords({ message }: BenchError): string {
  return sentence(message.replace(/^.*the query: /, '').replace('since is not before until', '“From” is after “To”'))
}

function Table({ runs }: { runs: readonly ExecutionSummary[] }) {
  return (
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
        {runs.map((found) => (
          <RunRow key={found.execution_id} run={state.value.run[found.execution_id] ?? found} />
        ))}
      </tbody>
    </table>
  )
}

function RunRow({ run }: { run: ExecutionSummary }) {
  const { word, tone, mark } = runWord(run)
  return (
    <tr>
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
      <td>
        {duration((run.ended_at ?? now.value / 1000) - run.started_at)}
        {run.ended_at === null && (
          <small class="run-end">
            <RunEnd run={run} />
            <RunProgress run={run} />
          </small>
        )}
      </td>
    </tr>
  )
}
