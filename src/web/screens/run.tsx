// The screen of one run: its threads with their waits, its timeline, and the possible decisions.

import { useSignal } from '@preact/signals'
import { type ListBlockersResponse, modeWords, type Thread, type TimelineRow } from '../../clients/ts/benchd.ts'
import { type Bar, Gantt } from '../gantt.tsx'
import { initializing } from '../needs.ts'
import { Act, Decisions, Empty, useAnswer } from '../parts.tsx'
import { ask, download, ends, ifState, keepFile, now, state, ticks } from '../store.tsx'
import { Time } from '../time.tsx'
import { duration, onPage, runWord, sentence, stillHeating, threadWord } from '../words.ts'
import { EventList } from './events.tsx'
import { Changes, NoteForm } from './run_changes.tsx'

export function RunScreen({ execution_id }: { execution_id: string }) {
  const run = state.value.run[execution_id]
  const armed = useSignal(false)
  const threads = Object.values(state.value.thread).filter((thread) => thread.execution_id === execution_id)
  // The obstacles change with the states of threads and devices.
  const devices = Object.values(state.value.device).map(({ device_id, state }) => `${device_id}${state}`)
  const signature = [...threads.map(({ thread_id, status }) => `${thread_id}${status}`), ...devices, run?.paused?.at].join()
  const found = useAnswer('listBlockers', { path: { execution_id } }, [execution_id, signature])
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
          <span aria-hidden="true">{mark}</span> {word}, {modeWords[run.run_mode]},{' '}
          {isOpen ? `for ${duration(took)}` : `took ${duration(took)}`}, began <Time at={run.started_at} />
        </p>
      </div>
      {run.reason && <p class="fault long">{sentence(run.reason)}</p>}
      {run.still_heating && <p class="fault long">At its end:{stillHeating(run)}</p>}
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
              // The first press has paused the run, although the stream may not show that yet.
              const asked = ifState(armed.value ? 'PAUSED' : shown)
              const answer = await ask('stopExecution', { path, body: { confirm: armed.value }, ...asked })
              armed.value = answer !== undefined && !armed.value
            }}
          />
          {armed.value && (
            <Act
              label="Cancel"
              onPress={async () => {
                armed.value = false
                await ask('resumeExecution', { path, body: {} })
              }}
            />
          )}
        </div>
      )}
      {isOpen && <Lanes threads={threads} blockers={found.value?.blockers ?? []} />}
      <Chart rows={Object.values(state.value.timeline)} until_s={isOpen ? took : 0} />
      {isOpen && <Changes run={run} shown={shown} />}
      {run.run_mode !== 'PURE_SIM' && <NoteForm execution_id={execution_id} />}
      <Exports execution_id={execution_id} name={run.workflow_name} hasRecord={run.run_mode !== 'PURE_SIM'} />
      {!isOpen && <Delete execution_id={execution_id} />}
      <h3>Events</h3>
      <EventList execution_id={execution_id} />
    </section>
  )
}

type Blockers = ListBlockersResponse['blockers']

/** The most threads that are listed; those that wait for a person are in Needs you. */
const mostShown = 60

function Lanes({ threads, blockers }: { threads: readonly Thread[]; blockers: Blockers }) {
  const general = blockers.filter(({ thread_id }) => thread_id === null)
  const shown = threads.slice(0, mostShown)
  return (
    <>
      {general.map((blocker) => (
        <div key={blocker.message}>
          <p class="hint long">
            {sentence(blocker.message)} {sentence(blocker.remedy)}
          </p>
          <Decisions decisions={initializing(blocker, state.value.device)} />
        </div>
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
  // A run on simulators has its own devices, which the live state does not contain.
  const isOnBench = status === 'EXECUTING_ACTION' && state.value.run[thread.execution_id]?.run_mode === 'LIVE'
  // Needs you shows the error.
  const isHeld = pause_reason === 'error'
  const where = held_by ? `held by ${held_by}` : position ? `stands at ${position}` : 'not on the bench yet'
  return (
    <li>
      <p class="what">
        <strong>{thread_name}</strong> {isHeld ? 'is held by an error' : threadWord(status)}
        {device ? ` ${status === 'MOVING' ? 'to' : 'at'} ${device}` : ''}
        {isOnBench && <TimeLeft device_id={device} />}
        <small>
          {where}
          {waiting && !isHeld && `; waits: ${onPage(waiting.what)}, for ${duration(now.value / 1000 - waiting.since)}`}
        </small>
        {blockers
          .filter(({ kind }) => kind !== 'waiting')
          .map(({ message, remedy }) => (
            <small key={message} class="long">
              {!(waiting && message.endsWith(waiting.what)) && sentence(message)} {sentence(remedy)}
            </small>
          ))}
      </p>
      {status !== 'PAUSED' && (
        <Act label="Pause" name={`Pause ${thread_name}`} kind="quiet" onPress={() => ask('pauseThread', { path, body: {} })} />
      )}
      {status === 'PAUSED' && !isHeld && (
        <Act
          label="Resume"
          name={`Resume ${thread_name}`}
          kind="quiet"
          onPress={() => ask('resumeThread', { path, body: {}, ...ifState(status) })}
        />
      )}
      <Act
        label="Stop"
        name={`Stop ${thread_name}`}
        twice={`Stop ${thread_name}: press again`}
        kind="quiet"
        onPress={() => ask('stopThread', { path, body: {} })}
      />
    </li>
  )
}

/** The remaining time of the operation of a device. */
function TimeLeft({ device_id }: { device_id: string | null }) {
  const end = ends.value[state.value.device[device_id ?? '']?.operation?.operation_id ?? '']
  const left = end === undefined ? 0 : (end - ticks.value) / 1000
  return left > 0 ? <>, {duration(left)} left</> : null
}

/** Downloads of a run: its report, its events, and its timeline as a table. */
function Exports({ execution_id, name, hasRecord }: { execution_id: string; name: string; hasRecord: boolean }) {
  const file = `${name}-${execution_id.slice(0, 8)}`
  const rows = Object.values(state.value.timeline)
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
function Delete({ execution_id }: { execution_id: string }) {
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
        <figcaption class="empty">Nothing was done yet, or the timeline is no longer stored: see the events below.</figcaption>
      </figure>
    )
  return <Gantt bars={bars} until_s={latest} label="Timeline" />
}
