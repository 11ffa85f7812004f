// The screen Events: a sentence for each event, the newest first. It is polled, because the only stream of a tab carries the state.

import { type Signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { RuntimeEvent } from '../../clients/ts/benchd.ts'
import { eventSentence } from '../event_words.ts'
import { Act, Choice, Empty } from '../parts.tsx'
import { bench, download, link, state } from '../store.tsx'
import { Time } from '../time.tsx'
import { clockTime } from '../words.ts'

const poll_ms = 1000
const mostShown = 300
/** The most events of one answer. */
const page = 5000
/** The choices of the time span, by seconds. */
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

type Filter = { text: string; kind: string; run: string; device: string; span: string; held: boolean }

export function EventList({ execution_id }: { execution_id?: string }) {
  const filter = useSignal<Filter>({ text: '', kind: '', run: '', device: '', span: '3600', held: false })
  const events = useEvents(execution_id, filter)
  const shown = (events.value ?? []).filter((event) => passes(filter.value, event))
  return (
    <>
      <Filters filter={filter} isOfRun={execution_id !== undefined} />
      {events.value === undefined ? (
        <Empty>Loading the events …</Empty>
      ) : shown.length === 0 ? (
        <Empty>{events.value.length > 0 ? 'No event matches the filter.' : 'No events in this time. New events appear here.'}</Empty>
      ) : (
        <ol class="events" aria-label="Events, the newest first">
          {shown.map((event) => (
            <li key={event.timestamp}>
              <Time at={event.timestamp} />
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

/** Fetches the events of a run or of the chosen time span, the newest first. */
function useEvents(execution_id: string | undefined, filter: Signal<Filter>) {
  const events = useSignal<RuntimeEvent[] | undefined>(undefined)
  const { span } = filter.value
  useEffect(() => {
    let ended = false
    let since = execution_id ? 0 : undefined
    events.value = undefined
    const poll = async () => {
      while (!ended) {
        // Uses the clock of the service, because that of this computer may be wrong.
        if (since === undefined && state.value.time > 0) since = state.value.time - Number(span)
        if (!filter.value.held && !document.hidden && link.value === 'live' && since !== undefined) {
          const query = { since, limit: page, ...(execution_id && { execution_id }) }
          const answer = await bench.value?.call('getEvents', { query }).catch(() => undefined)
          if (ended) return
          if (answer) {
            since = answer.next_since
            events.value = [...answer.events.toReversed(), ...(events.value ?? [])].slice(0, mostShown)
            if (answer.events.length === page) continue
          }
        }
        await new Promise((resolve) => setTimeout(resolve, poll_ms))
      }
    }
    void poll()
    return () => {
      ended = true
    }
  }, [execution_id, span])
  return events
}

function Filters({ filter, isOfRun }: { filter: Signal<Filter>; isOfRun: boolean }) {
  const { text, kind, run, device, span, held } = filter.value
  const set = (change: Partial<Filter>) => {
    filter.value = { ...filter.value, ...change }
  }
  const keep = () => download('getEvents', { query: { since: state.value.time - Number(span), limit: 100_000 } }, 'events.json')
  return (
    <div class="row filters">
      <label class="search">
        Search <input type="search" value={text} onInput={(event) => set({ text: event.currentTarget.value })} />
      </label>
      <Choice label="Kind" value={kind} onChange={(kind) => set({ kind })} choices={kinds} />
      {!isOfRun && (
        <>
          <Choice label="Run" value={run} onChange={(run) => set({ run })} choices={runChoices()} />
          <Choice label="Device" value={device} onChange={(device) => set({ device })} choices={deviceChoices()} />
          <Choice label="Since" value={span} onChange={(span) => set({ span })} choices={spans} />
        </>
      )}
      <button type="button" class="plain" aria-pressed={held} onClick={() => set({ held: !held })}>
        {held ? 'Resume list' : 'Pause list'}
      </button>
      {!isOfRun && <Act label="Export" name="Export the events of this time" free onPress={keep} />}
    </div>
  )
}

function passes({ text, kind, run, device }: Filter, event: RuntimeEvent): boolean {
  if (kind && event.entity_type !== kind) return false
  if (run && event.execution_id !== run) return false
  if (device && !mentions(event, device)) return false
  return !text || `${event.event_name} ${eventSentence(event)}`.toLowerCase().includes(text.toLowerCase())
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
