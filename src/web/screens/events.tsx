// Lists the events, a sentence for each, the newest first. The list is polled: the one stream of a tab carries the state.

import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { RuntimeEvent } from '../../clients/ts/benchd.ts'
import { Choice, Empty } from '../parts.tsx'
import { bench, link, state } from '../store.tsx'
import { clockTime, eventSentence } from '../words.ts'

const poll_ms = 1000
const mostShown = 300
/** How far one can look back, by the seconds. */
const spans: Record<string, string> = { 3600: 'last hour', 86400: 'last day', 604800: 'last week' }
const kinds: Record<string, string> = {
  '': 'everything',
  DEVICE: 'devices',
  INCIDENT: 'incidents',
  EXECUTION: 'runs',
  THREAD: 'threads',
  ACTION: 'actions',
  OPERATOR: 'operator',
  CUSTOM: 'custom',
}

export function EventsScreen() {
  return (
    <section aria-label="Events">
      <h2>Events</h2>
      <EventList />
    </section>
  )
}

export function EventList({ execution_id }: { execution_id?: string }) {
  const events = useSignal<RuntimeEvent[] | undefined>(undefined)
  const text = useSignal('')
  const paused = useSignal(false)
  const since = useRef<number | undefined>(execution_id ? 0 : undefined)
  const span = useSignal('3600')
  const kind = useSignal('')
  const run = useSignal('')
  const device = useSignal('')
  useEffect(() => {
    let ended = false
    const poll = async () => {
      while (!ended) {
        // The clock of this computer may be wrong; that of the service comes with the state.
        if (since.current === undefined && state.value.time > 0) since.current = state.value.time - Number(span.value)
        if (!paused.value && !document.hidden && link.value === 'live' && since.current !== undefined) {
          const query = { since: since.current, limit: 5000, ...(execution_id && { execution_id }) }
          const answer = await bench.value?.call('getEvents', { query }).catch(() => undefined)
          if (ended) return
          if (answer) {
            since.current = answer.next_since
            events.value = [...answer.events.reverse(), ...(events.value ?? [])].slice(0, mostShown)
          }
        }
        await new Promise((resolve) => setTimeout(resolve, poll_ms))
      }
    }
    void poll()
    return () => {
      ended = true
    }
  }, [execution_id, span.value])
  const word = text.value.toLowerCase()
  const isShown = (event: RuntimeEvent) =>
    (!kind.value || event.entity_type === kind.value) &&
    (!run.value || event.execution_id === run.value) &&
    (!device.value || mentions(event, device.value))
  const shown = (events.value ?? [])
    .filter(isShown)
    .filter((event) => !word || `${event.event_name} ${eventSentence(event)}`.toLowerCase().includes(word))
  return (
    <>
      <div class="row filters">
        <label class="search">
          Find <input type="search" value={text.value} onInput={(event) => (text.value = event.currentTarget.value)} />
        </label>
        <Choice label="Kind" value={kind.value} onChange={(value) => (kind.value = value)} choices={kinds} />
        {!execution_id && (
          <>
            <Choice label="Run" value={run.value} onChange={(value) => (run.value = value)} choices={runChoices()} />
            <Choice label="Device" value={device.value} onChange={(value) => (device.value = value)} choices={deviceChoices()} />
            <Choice
              label="Since"
              value={span.value}
              onChange={(value) => {
                since.current = undefined
                events.value = undefined
                span.value = value
              }}
              choices={spans}
            />
          </>
        )}
        <button type="button" class="plain" aria-pressed={paused.value} onClick={() => (paused.value = !paused.value)}>
          {paused.value ? 'Follow' : 'Hold the list'}
        </button>
      </div>
      {events.value === undefined ? (
        <Empty>The page reads the events.</Empty>
      ) : shown.length === 0 ? (
        <Empty>{events.value.length > 0 ? 'No event is like this.' : 'No event in this time. They appear here as they happen.'}</Empty>
      ) : (
        <ol class="events" aria-label="Events, the newest first">
          {shown.map((event) => (
            <li key={event.timestamp}>
              <time>{clockTime(event.timestamp)}</time>
              <details>
                <summary>
                  <span class="long">{eventSentence(event)}</span> <small>{`${event.entity_type} ${event.status}`}</small>
                </summary>
                <pre>{JSON.stringify(event, null, 2)}</pre>
              </details>
            </li>
          ))}
        </ol>
      )}
    </>
  )
}

function runChoices(): Record<string, string> {
  const runs = Object.values(state.value.run).map((run): [string, string] => [
    run.execution_id,
    `${run.workflow_name} ${clockTime(run.started_at)}`,
  ])
  return { '': 'all', ...Object.fromEntries(runs) }
}

function deviceChoices(): Record<string, string> {
  return { '': 'all', ...Object.fromEntries(Object.keys(state.value.device).map((id) => [id, id])) }
}

function mentions({ entity_id, context }: RuntimeEvent, device_id: string): boolean {
  return entity_id === device_id || Object.values(context as Record<string, unknown>).includes(device_id)
}
