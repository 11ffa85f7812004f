// Shows one run: what each labware does now and why it waits, what was done when, and what can be decided.

import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { ListBlockersResponse, Thread, TimelineRow } from '../../clients/ts/benchd.ts'
import { type Bar, Gantt } from '../gantt.tsx'
import { Act, Empty } from '../parts.tsx'
import { ask, bench, now, state } from '../store.tsx'
import { duration, threadWord } from '../words.ts'
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
  const took = (run.ended_at ?? now.value / 1000) - run.started_at
  return (
    <section aria-label={`Run of ${run.workflow_name}`}>
      <div class="row">
        <h2>{run.workflow_name}</h2>
        <p class={`state ${tone}`}>
          <span aria-hidden="true">{mark}</span> {word}, {run.run_mode}, {isOpen ? `for ${duration(took)}` : `took ${duration(took)}`}
        </p>
      </div>
      {run.reason && <p class="fault long">{run.reason}</p>}
      {isOpen && (
        <div class="row">
          {run.paused ? (
            <Act label="Resume run" kind="main" onPress={() => ask('resumeExecution', { path, body: {} })} />
          ) : (
            <Act label="Pause run" onPress={() => ask('pauseExecution', { path, body: {} })} />
          )}
          <Act
            label={armed.value ? 'Stop run: press again' : 'Stop run'}
            name="Stop run"
            kind="danger"
            onPress={async () => {
              const answer = await ask('stopExecution', { path, body: { confirm: armed.value } })
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
      <Chart rows={Object.values(state.value.timeline)} />
      <h3>Events</h3>
      <EventList execution_id={execution_id} />
    </section>
  )
}

type Blockers = ListBlockersResponse['blockers']

function Lanes({ threads, blockers }: { threads: readonly Thread[]; blockers: Blockers }) {
  const general = blockers.filter(({ thread_id }) => thread_id === null)
  return (
    <>
      {general.map(({ message, remedy }) => (
        <p key={message} class="hint long">
          {message} {remedy}
        </p>
      ))}
      <ul class="lanes" aria-label="Threads">
        {threads.map((thread) => (
          <li key={thread.thread_id}>
            <strong>{thread.thread_name}</strong>{' '}
            <span>
              {threadWord(thread.status)}
              {thread.device ? ` at ${thread.device}` : ''}
            </span>
            <small>
              {thread.held_by
                ? `in the gripper of ${thread.held_by}`
                : thread.position
                  ? `stands at ${thread.position}`
                  : 'not on the bench yet'}
              {thread.waiting && `; waits: ${thread.waiting.what}, for ${duration(now.value / 1000 - thread.waiting.since)}`}
            </small>
            {blockers
              .filter(({ thread_id, kind }) => thread_id === thread.thread_id && kind !== 'waiting')
              .map(({ message, remedy }) => (
                <small key={message} class="long">
                  {message} {remedy}
                </small>
              ))}
            <span class="row">
              {thread.status === 'PAUSED' ? (
                thread.pause_reason !== 'error' && (
                  <Act
                    label="Resume"
                    name={`Resume ${thread.thread_name}`}
                    kind="quiet"
                    onPress={() => ask('resumeThread', { path: { thread_id: thread.thread_id }, body: {} })}
                  />
                )
              ) : (
                <Act
                  label="Pause"
                  name={`Pause ${thread.thread_name}`}
                  kind="quiet"
                  onPress={() => ask('pauseThread', { path: { thread_id: thread.thread_id }, body: {} })}
                />
              )}
            </span>
          </li>
        ))}
      </ul>
    </>
  )
}

function Chart({ rows }: { rows: readonly TimelineRow[] }) {
  const begun = rows.filter(({ started }) => started !== null)
  const latest = begun.reduce((most, { started, ended }) => Math.max(most, ended ?? started!), 0)
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
