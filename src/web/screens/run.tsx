// Shows one run: what each labware does now and why it waits, what was done when, and what can be decided.

import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { ListBlockersResponse, Thread, TimelineRow, WorkflowDocument } from '../../clients/ts/benchd.ts'
import { type Bar, Gantt } from '../gantt.tsx'
import { Act, Choice, Empty } from '../parts.tsx'
import { ask, bench, download, ifState, keepFile, now, state } from '../store.tsx'
import { duration, onPage, sentence, threadWord } from '../words.ts'
import { EventList } from './events.tsx'
import { runWord } from './runs.tsx'

export function RunScreen({ execution_id }: { execution_id: string }) {
  const run = state.value.run[execution_id]
  const blockers = useSignal<ListBlockersResponse['blockers']>([])
  const armed = useSignal(false)
  const threads = Object.values(state.value.thread).filter((thread) => thread.execution_id === execution_id)
  const signature = threads.map(({ thread_id, status }) => `${thread_id}${status}`).join() + (run?.paused?.at ?? '')
  useEffect(() => {
    bench.value?.call('listBlockers', { path: { execution_id } }).then(
      (found) => {
        blockers.value = found.blockers
      },
      () => undefined,
    )
  }, [execution_id, signature])
  if (!run) return <Empty>This run is not among the open ones and the newest twenty. Its events are on the screen Events.</Empty>
  const { word, tone, mark } = runWord(run)
  const isOpen = run.ended_at === null
  const path = { execution_id }
  /** The status for the header If-State. */
  const shown = run.paused ? 'PAUSED' : run.status
  const took = (run.ended_at ?? now.value / 1000) - run.started_at
  return (
    <section aria-label={`Run of ${run.workflow_name}`}>
      <div class="row">
        <h2>{run.workflow_name}</h2>
        <p class={`state ${tone}`}>
          <span aria-hidden="true">{mark}</span> {word}, {run.run_mode}, {isOpen ? `for ${duration(took)}` : `took ${duration(took)}`}
        </p>
      </div>
      {run.reason && <p class="fault long">{sentence(run.reason)}</p>}
      {isOpen && (
        <div class="row">
          {run.paused ? (
            <Act label="Resume run" kind="main" onPress={() => ask('resumeExecution', { path, body: {}, ...ifState(shown) })} />
          ) : (
            <Act label="Pause run" onPress={() => ask('pauseExecution', { path, body: {}, ...ifState(shown) })} />
          )}
          <Act
            label={armed.value ? 'Stop run: press again' : 'Stop run'}
            name="Stop run"
            kind="danger"
            onPress={async () => {
              // The first press has paused it, whether the stream has told that yet or not.
              const asked = ifState(armed.value ? 'PAUSED' : shown)
              const answer = await ask('stopExecution', { path, body: { confirm: armed.value }, ...asked })
              armed.value = answer !== undefined && !armed.value
            }}
          />
          {armed.value && (
            <Act
              label="Do not stop"
              onPress={async () => {
                armed.value = false
                await ask('resumeExecution', { path, body: {} })
              }}
            />
          )}
        </div>
      )}
      {isOpen && <Lanes threads={threads} blockers={blockers.value} />}
      <Chart rows={Object.values(state.value.timeline)} until_s={isOpen ? took : 0} />
      {isOpen && <Changes execution_id={execution_id} workflow_name={run.workflow_name} shown={shown} />}
      <Exports execution_id={execution_id} name={run.workflow_name} />
      <h3>Events</h3>
      <EventList execution_id={execution_id} />
    </section>
  )
}

type Blockers = ListBlockersResponse['blockers']

/** The most threads that are listed: those that wait for a person are in Needs you. */
const mostShown = 60

function Lanes({ threads, blockers }: { threads: readonly Thread[]; blockers: Blockers }) {
  const general = blockers.filter(({ thread_id }) => thread_id === null)
  const shown = threads.slice(0, mostShown)
  return (
    <>
      {general.map(({ message, remedy }) => (
        <p key={message} class="hint long">
          {sentence(message)} {sentence(remedy)}
        </p>
      ))}
      <ul class="lanes" aria-label="Threads">
        {shown.map((thread) => (
          <Lane key={thread.thread_id} thread={thread} blockers={blockers.filter(({ thread_id }) => thread_id === thread.thread_id)} />
        ))}
      </ul>
      {threads.length > shown.length && <p class="hint">{threads.length - shown.length} more threads are open.</p>}
    </>
  )
}

function Lane({ thread, blockers }: { thread: Thread; blockers: Blockers }) {
  const { thread_id, thread_name, status, device, held_by, position, waiting, pause_reason } = thread
  const path = { thread_id }
  const where = held_by ? `in the gripper of ${held_by}` : position ? `stands at ${position}` : 'not on the bench yet'
  return (
    <li>
      <p class="what">
        <strong>{thread_name}</strong> {threadWord(status)}
        {device ? ` at ${device}` : ''}
        <small>
          {where}
          {waiting && `; waits: ${onPage(waiting.what)}, for ${duration(now.value / 1000 - waiting.since)}`}
        </small>
        {blockers
          .filter(({ kind }) => kind !== 'waiting')
          .map(({ message, remedy }) => (
            <small key={message} class="long">
              {message !== waiting?.what && sentence(message)} {sentence(remedy)}
            </small>
          ))}
      </p>
      {status !== 'PAUSED' && (
        <Act label="Pause" name={`Pause ${thread_name}`} kind="quiet" onPress={() => ask('pauseThread', { path, body: {} })} />
      )}
      {status === 'PAUSED' && pause_reason !== 'error' && (
        <Act
          label="Resume"
          name={`Resume ${thread_name}`}
          kind="quiet"
          onPress={() => ask('resumeThread', { path, body: {}, ...ifState(status) })}
        />
      )}
    </li>
  )
}

type ChangesProps = { execution_id: string; workflow_name: string; shown: string }

/** The changes that an operator makes in an open run: a step left out, one more step, one more labware. */
function Changes({ execution_id, workflow_name, shown }: ChangesProps) {
  const workflow = useSignal<WorkflowDocument | undefined>(undefined)
  const isOpen = useSignal(false)
  const read = () =>
    bench.value?.call('getWorkflow', { path: { workflow_name } }).then(
      ({ document }) => {
        workflow.value = document as unknown as WorkflowDocument
      },
      () => undefined,
    )
  return (
    <details
      class="changes"
      onToggle={(event) => {
        isOpen.value = event.currentTarget.open
        if (isOpen.value) void read()
      }}
    >
      <summary>Skip, insert or add</summary>
      {isOpen.value && workflow.value && <ChangeForms workflow={workflow.value} asked={{ path: { execution_id }, ...ifState(shown) }} />}
    </details>
  )
}

function ChangeForms({ workflow: { threads, methods = {} }, asked }: { workflow: WorkflowDocument; asked: object }) {
  const steps = Object.entries(threads).flatMap(([thread, { steps }]) =>
    steps.flatMap((step) => ('method' in step && typeof step.method === 'string' ? [`${thread}/${step.name ?? step.method}`] : [])),
  )
  const [item, where, method, thread] = [
    useSignal(steps[0] ?? ''),
    useSignal('before'),
    useSignal(Object.keys(methods)[0] ?? ''),
    useSignal(Object.keys(threads)[0] ?? ''),
  ]
  const why = steps.length === 0 ? 'This workflow has no steps that can be named.' : undefined
  const insert = () => ask('insertStep', { ...asked, body: { [where.value]: item.value, item: { method: method.value } } })
  return (
    <div class="fields">
      <Choice label="Step" value={item.value} onChange={(value) => (item.value = value)} choices={named(steps)} />
      <Act label="Skip this step" why={why} onPress={() => ask('skipStep', { ...asked, body: { item: item.value } })} />
      <Choice
        label="Insert"
        value={where.value}
        onChange={(value) => (where.value = value)}
        choices={{ before: 'before it', after: 'after it' }}
      />
      <Choice label="Method" value={method.value} onChange={(value) => (method.value = value)} choices={named(Object.keys(methods))} />
      <Act label="Insert method" why={why} onPress={insert} />
      <Choice label="One more" value={thread.value} onChange={(value) => (thread.value = value)} choices={named(Object.keys(threads))} />
      <Act label="Add thread" onPress={() => ask('spawnThread', { ...asked, body: { thread: thread.value } })} />
    </div>
  )
}

function named(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, name]))
}

/** The files of a run to take home: its events as they are, and its timeline as a table. */
function Exports({ execution_id, name }: { execution_id: string; name: string }) {
  const file = `${name}-${execution_id.slice(0, 8)}`
  const rows = Object.values(state.value.timeline)
  return (
    <p class="row">
      <Act
        label="Export events"
        kind="quiet"
        free
        onPress={() => download('getEvents', { query: { execution_id, limit: 100_000 } }, `${file}-events.json`)}
      />
      <Act
        label="Export timeline"
        kind="quiet"
        free
        why={rows.length === 0 ? 'There is no timeline.' : undefined}
        onPress={() => keepFile(`${file}-timeline.csv`, new Blob([tableOf(rows)], { type: 'text/csv' }))}
      />
    </p>
  )
}

const columns = ['thread_name', 'kind', 'method_name', 'name', 'device', 'from', 'to', 'started', 'ended', 'status'] as const

/** Comma-separated values; times in seconds since the start of the run. */
function tableOf(rows: readonly TimelineRow[]): string {
  const cell = (value: unknown) => (/[",\n\r]/.test(String(value ?? '')) ? `"${String(value).replaceAll('"', '""')}"` : String(value ?? ''))
  return [columns.join(','), ...rows.map((row) => columns.map((name) => cell(row[name])).join(','))].join('\r\n')
}

function Chart({ rows, until_s }: { rows: readonly TimelineRow[]; until_s: number }) {
  const begun = rows.filter(({ started }) => started !== null)
  const latest = begun.reduce((most, { started, ended }) => Math.max(most, ended ?? started!), until_s)
  const bars = begun.map(
    ({ thread_name, kind, name, device, from, to, started, ended, status }): Bar => ({
      thread: thread_name,
      kind,
      label: kind === 'move' ? `${from} to ${to}` : `${name}${device ? ` on ${device}` : ''}`,
      from_s: started!,
      to_s: ended ?? latest,
      tone: status === 'ERRORED' || status === 'ABORTED' ? 'failed' : ended === null ? 'running' : 'done',
    }),
  )
  if (bars.length === 0)
    return (
      <figure class="gantt" aria-label="Timeline">
        <figcaption class="empty">Nothing was done yet, or it is no longer kept: the events below tell it.</figcaption>
      </figure>
    )
  return <Gantt bars={bars} until_s={latest} label="Timeline" />
}
