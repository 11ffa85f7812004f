// The open threads of a run: where each is, what it waits for, and its decisions.

import { useComputed } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import type { ListBlockersResponse, Thread, TimelineRow } from '../../clients/ts/benchd.ts'
import { timeLeft } from '../../clients/ts/eta_words.ts'
import { waitsOfPlan } from '../../clients/ts/plan_words.ts'
import { initializing } from '../needs.ts'
import { Act, Decisions, useAnswer } from '../parts.tsx'
import { ask, ends, ifState, now, state, ticks } from '../store.tsx'
import { Time } from '../time.tsx'
import { duration, onPage, sentence, threadWord } from '../words.ts'
import { LaneSteps } from './run_steps.tsx'

type Blockers = ListBlockersResponse['blockers']

/** The most threads that are listed; those that wait for a person are in Needs you. */
const mostShown = 60

/** The open threads. */
export function Threads({ execution_id, rows, began_at }: { execution_id: string; rows: readonly TimelineRow[]; began_at: number }) {
  // Other changes of the bench, such as readings, do not concern the threads.
  const all = useComputed(() => state.value.thread)
  const bench = useComputed(() => state.value.device)
  const run = useComputed(() => state.value.run[execution_id]).value
  const threads = useMemo(
    () => Object.values(all.value).filter((thread) => thread.execution_id === execution_id),
    [all.value, execution_id],
  )
  // The obstacles change with the states of threads and devices.
  const devices = Object.values(bench.value).map(({ device_id, state }) => `${device_id}${state}`)
  const signature = [...threads.map(({ thread_id, status }) => `${thread_id}${status}`), ...devices, run?.paused?.at].join()
  const found = useAnswer('listBlockers', { path: { execution_id } }, [execution_id, signature])
  const blockers: Blockers = found.value?.blockers ?? []
  const general = blockers.filter(({ thread_id }) => thread_id === null)
  const shown = threads.slice(0, mostShown)
  const next = useNext(execution_id, threads)
  const rowsOf = useMemo(() => byThread(rows), [rows])
  return (
    <>
      {general.map((blocker) => (
        <div key={blocker.message}>
          <p class="hint long">
            {sentence(blocker.message)} {sentence(blocker.remedy)}
          </p>
          <Decisions decisions={initializing(blocker, bench.value)} />
        </div>
      ))}
      <ul class="lanes" aria-label="Threads">
        {shown.map((thread) => (
          <Lane
            key={thread.thread_id}
            thread={thread}
            steps={
              <LaneSteps
                {...{ thread_name: thread.thread_name, began_at }}
                rows={rowsOf.get(thread.thread_id) ?? []}
                next={next.get(thread.thread_id)}
              />
            }
            isLive={run?.run_mode === 'LIVE'}
            blockers={blockers.filter(({ thread_id }) => thread_id === thread.thread_id)}
          />
        ))}
      </ul>
      {threads.length > shown.length && <p class="hint">{threads.length - shown.length} more threads are open.</p>}
    </>
  )
}

/** Returns what comes next of each thread. It is asked for when the end of a thread is foretold otherwise, and when a thread goes on. */
function useNext(execution_id: string, threads: readonly Thread[]): Map<string, Thread['next']> {
  const signature = threads.map(({ thread_id, eta, status }) => `${thread_id}${eta}${status}`).join()
  const found = useAnswer('getExecution', { path: { execution_id } }, [execution_id, signature])
  return useMemo(() => new Map(found.value?.threads.map(({ thread_id, next }) => [thread_id, next])), [found.value])
}

function byThread(rows: readonly TimelineRow[]): Map<string, TimelineRow[]> {
  const found = new Map<string, TimelineRow[]>()
  for (const row of rows) {
    const its = found.get(row.thread_id)
    if (its) its.push(row)
    else found.set(row.thread_id, [row])
  }
  return found
}

type LaneProps = { thread: Thread; isLive: boolean; blockers: Blockers; steps: ComponentChildren }

function Lane({ thread, isLive, blockers, steps }: LaneProps) {
  const { thread_id, thread_name, status, device, held_by, position, waiting, pause_reason, group_id, barcode, part } = thread
  const sample = [barcode, group_id && `group ${group_id}`].filter(Boolean).join(', ')
  const path = { thread_id }
  // A run on simulators has its own devices, which the live state does not contain.
  const isOnBench = status === 'EXECUTING_ACTION' && isLive
  // Needs you shows the error.
  const isHeld = pause_reason === 'error'
  const planned = blockers.flatMap(({ message }) => waitsOfPlan(message))
  const where = part
    ? `once, ${part} all labware`
    : held_by
      ? `held by ${held_by}`
      : position
        ? `stands at ${position}`
        : 'not on the bench yet'
  return (
    <li>
      <p class="what">
        <strong>{thread_name}</strong> {sample && `(${sample}) `}
        {isHeld ? 'is held by an error' : threadWord(status)}
        {device ? ` ${status === 'MOVING' ? 'to' : 'at'} ${device}` : ''}
        {isOnBench && <TimeLeft device_id={device} />}
        <small>
          {where}
          {waiting && !isHeld && `; waits: ${onPage(waiting.what)}, for ${duration(now.value / 1000 - waiting.since)}`}
        </small>
        <Ends thread={thread} />
        {planned.map((wait) => (
          <small key={wait} class="long">
            {sentence(wait)}
          </small>
        ))}
        {blockers
          .filter(({ kind }) => kind !== 'waiting')
          .map(({ message, remedy }) => (
            <small key={message} class="long">
              {!(waiting && message.endsWith(waiting.what)) && sentence(message)} {sentence(remedy)}
            </small>
          ))}
      </p>
      {steps}
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

/** When a thread ends; nothing where that cannot be foretold, which its state explains. */
function Ends({ thread: { eta } }: { thread: Thread }) {
  const now_s = now.value / 1000
  if (typeof eta !== 'number' || eta <= now_s) return null
  return (
    <small>
      ends about <Time at={eta} now={now_s} />, {timeLeft(eta - now_s)} left
    </small>
  )
}

/** The remaining time of the operation of a device. */
function TimeLeft({ device_id }: { device_id: string | null }) {
  const end = ends.value[state.value.device[device_id ?? '']?.operation?.operation_id ?? '']
  const left = end === undefined ? 0 : (end - ticks.value) / 1000
  return left > 0 ? <>, {duration(left)} left</> : null
}
