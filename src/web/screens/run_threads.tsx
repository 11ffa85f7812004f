// The open threads of a run: where each is, what it waits for, and its decisions.

import { useComputed } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import type { ListBlockersResponse, Thread } from '../../clients/ts/benchd.ts'
import { waitsOfPlan } from '../../clients/ts/plan_words.ts'
import { initializing } from '../needs.ts'
import { Act, Decisions, useAnswer } from '../parts.tsx'
import { ask, ends, ifState, now, state, ticks } from '../store.tsx'
import { duration, onPage, sentence, threadWord } from '../words.ts'

type Blockers = ListBlockersResponse['blockers']

/** The most threads that are listed; those that wait for a person are in Needs you. */
const mostShown = 60

/** The open threads. */
export function Threads({ execution_id }: { execution_id: string }) {
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
            isLive={run?.run_mode === 'LIVE'}
            blockers={blockers.filter(({ thread_id }) => thread_id === thread.thread_id)}
          />
        ))}
      </ul>
      {threads.length > shown.length && <p class="hint">{threads.length - shown.length} more threads are open.</p>}
    </>
  )
}

function Lane({ thread, isLive, blockers }: { thread: Thread; isLive: boolean; blockers: Blockers }) {
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
