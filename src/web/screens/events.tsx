// Lists the events, a sentence for each, the newest first. The list is polled: the one stream of a tab carries the state.

import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { RuntimeEvent } from '../../clients/ts/benchd.ts'
import { Empty } from '../parts.tsx'
import { bench, link, state } from '../store.tsx'
import { clockTime, eventSentence } from '../words.ts'

const poll_ms = 1000
const mostShown = 300
/** Looked back at the opening, s. */
const history_s = 3600

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
  useEffect(() => {
    let ended = false
    const poll = async () => {
      while (!ended) {
        // The clock of this computer may be wrong; that of the service comes with the state.
        if (since.current === undefined && state.value.time > 0) since.current = state.value.time - history_s
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
  }, [execution_id])
  const word = text.value.toLowerCase()
  const shown = (events.value ?? []).filter((event) => !word || `${event.event_name} ${eventSentence(event)}`.toLowerCase().includes(word))
  return (
    <>
      <div class="row">
        <label class="search">
          Find <input type="search" value={text.value} onInput={(event) => (text.value = event.currentTarget.value)} />
        </label>
        <button type="button" class="plain" aria-pressed={paused.value} onClick={() => (paused.value = !paused.value)}>
          {paused.value ? 'Follow' : 'Hold the list'}
        </button>
      </div>
      {events.value === undefined ? (
        <Empty>The page reads the events.</Empty>
      ) : shown.length === 0 ? (
        <Empty>{word ? 'No event has these words.' : 'No event in the last hour. They appear here as they happen.'}</Empty>
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
