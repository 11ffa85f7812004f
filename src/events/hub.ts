// The hub through which every event passes. Sinks get an event at once; streams get it when it is in the log file.

import { setMaxListeners } from 'node:events'
import { messageOf } from '../errors.ts'
import type { Clock } from '../kit/clock.ts'
import type { RecordRemovalContext } from './contexts.ts'
import { type Context, type NameParts, type RuntimeEvent, runtimeEvent } from './event.ts'
import type { Incident, IncidentCategory, Incidents, NewIncident } from './incidents.ts'
import type { EventLog } from './log.ts'
import { Semaphore } from './semaphore.ts'
import { type AnySink, Sinks } from './sinks.ts'
import type { States } from './states.ts'
import type { Streams } from './streams.ts'
import type { Timestamps } from './timestamps.ts'

type HubOptions = {
  system_id: string
  clock: Clock
  log: EventLog
  states: States
  streams: Streams
  incidents: Incidents
  timestamps: Timestamps
  warn(message: string): void
}

type EventRequest = {
  /** Unix time in seconds, inclusive. */
  since?: number | undefined
  execution_id?: string | undefined
}

/** Free bytes below which `disk` is reported. */
const leastFree = 256 * 1024 * 1024
const look_ms = 60_000
const mostTypes = 64

export class Hub {
  readonly system_id: string
  readonly log: EventLog
  /** The state of runs, which the log writes in one transaction with their events. */
  readonly states: States
  readonly streams: Streams
  readonly incidents: Incidents
  /** Admits two requests at a time that read much of the log, so that they delay nothing else. */
  readonly wholeAnswers = new Semaphore(2, 16)
  readonly #closing = new AbortController()
  readonly #clock: Clock
  readonly #timestamps: Timestamps
  readonly #sinks: Sinks
  #cancelLook: () => void = () => {}
  #isTight = false
  readonly #counts = new Map<string, { events: number }>()
  #closed: Promise<void> | undefined

  constructor({ system_id, clock, log, states, streams, incidents, timestamps, warn }: HubOptions) {
    this.system_id = system_id
    this.log = log
    this.states = states
    this.streams = streams
    this.incidents = incidents
    this.#clock = clock
    this.#timestamps = timestamps
    this.#sinks = new Sinks({ clock, warn, onBroken: (name, error) => void this.brokenSink(name, error) })
    // Each waiter for an event listens to the signal.
    setMaxListeners(0, this.#closing.signal)
    void this.#look()
  }

  /** Aborted when the hub begins to close, so that waiters for events stop waiting. */
  get closing(): AbortSignal {
    return this.#closing.signal
  }

  /**
   * Fires an event. All sinks have received it when this returns, unless a sink made the call: then they receive it next. The context
   * is frozen. `parts` are those of the name, if the caller has them. Throws `invalid` for a context that JSON cannot hold.
   */
  emit(event_name: string, context: Context, execution_id: string = this.system_id, parts?: NameParts): RuntimeEvent {
    const now_ms = this.#clock.now()
    const us = this.#timestamps.next(now_ms)
    const event = runtimeEvent(event_name, execution_id, us / 1e6, context, parts)
    this.log.add(event, us, now_ms)
    this.#sinks.dispatch(event, now_ms)
    this.#count(event.entity_type)
    if (this.#timestamps.isBehind) this.#complainOfClock()
    return event
  }

  /** Resolves when the event and all before it are in the file, or in memory while the log cannot be written. */
  stored({ timestamp }: RuntimeEvent): Promise<void> {
    return this.log.until(microseconds(timestamp))
  }

  registerSink(sink: AnySink): void {
    this.#sinks.register(sink)
  }

  unregisterSink(sink: AnySink): void {
    this.#sinks.unregister(sink)
  }

  /** Lists the events since that Unix time (s), including all that were emitted before the call. */
  getEventsSince(timestamp?: number): Promise<RuntimeEvent[]> {
    return this.#all({ since: timestamp })
  }

  /** Lists the events of the execution, including all that were emitted before the call. */
  getEventsForExecution(execution_id: string): Promise<RuntimeEvent[]> {
    return this.#all({ execution_id })
  }

  /** Streams the same events as the lists, for logs too long to be one. */
  async *events(asked: EventRequest = {}): AsyncGenerator<RuntimeEvent> {
    for await (const events of this.#pieces(asked)) yield* events
  }

  /**
   * Removes the events of an execution from the log, and its incidents, when the execution itself is removed. An event tells
   * everyone who has a copy of the events. Rejects with `storage`.
   */
  async remove(execution_id: string): Promise<void> {
    const through = await this.log.remove(execution_id)
    await this.incidents.remove(execution_id)
    this.emit(`RECORD.${execution_id}.REMOVED`, { execution_id, through } satisfies RecordRemovalContext)
  }

  /** Records an incident and fires its event. */
  incident(category: IncidentCategory, message: string, more: Omit<NewIncident, 'category' | 'message'> = {}): Incident {
    return this.incidents.record({ category, message, ...more })
  }

  /** Records that a sink has failed three times in a row. */
  brokenSink(name: string, error: unknown): Incident {
    const message = `the sink ${name} failed three times in a row: ${messageOf(error)}`
    const detail = { sink: name, exception_type: error instanceof Error ? error.name : typeof error }
    return this.incident('PLUGIN_HANDLER_EXCEPTION', message, { severity: 'WARNING', recovery_action: 'PLUGIN_DISABLE', detail })
  }

  /** The number of events of each type since the service began. */
  get counts(): ReadonlyMap<string, { events: number }> {
    return this.#counts
  }

  /** Returns a word for each problem: `storage`, `disk`. */
  troubles(): string[] {
    return [...(this.log.failing ? ['storage'] : []), ...(this.#isTight ? ['disk'] : [])]
  }

  /** Ends the streams at once, and syncs all emitted events to the disk. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    this.#closing.abort()
    this.#cancelLook()
    this.streams.close()
    await this.incidents.close()
    await this.log.close()
  }

  async #all(asked: EventRequest): Promise<RuntimeEvent[]> {
    const all: RuntimeEvent[] = []
    for await (const events of this.#pieces(asked)) for (const event of events) all.push(event)
    return all
  }

  async *#pieces({ since = 0, execution_id }: EventRequest): AsyncGenerator<RuntimeEvent[]> {
    await this.log.until()
    const query = { since_us: microseconds(since), execution_id }
    for await (const { bytes } of this.log.read(query, 'array')) {
      const text = bytes.toString()
      yield (JSON.parse(`[${text.startsWith(',') ? text.slice(1) : text}]`) as RuntimeEvent[]).map(frozen)
    }
  }

  /** Counts the event by its type. The number of counted types is bounded, because a simulation may invent types. */
  #count(type: string): void {
    const count = this.#counts.get(type) ?? this.#newCount(type)
    count.events++
  }

  #newCount(type: string): { events: number } {
    const name = this.#counts.size < mostTypes && /^[A-Z_]{1,32}$/.test(type) ? type : 'other'
    const count = this.#counts.get(name) ?? { events: 0 }
    this.#counts.set(name, count)
    return count
  }

  #complainOfClock(): void {
    const complaint = this.#timestamps.complaint(this.#clock.now())
    if (complaint) this.incident('CLOCK', complaint, { severity: 'WARNING' })
  }

  /** Checks the free space of the disk every minute. */
  async #look(): Promise<void> {
    const { free, total } = await this.log.room().catch(() => ({ free: 0, total: 0 }))
    const wasTight = this.#isTight
    this.#isTight = free < Math.min(leastFree, total / 20)
    if (this.#isTight && !wasTight) {
      this.incident('STORAGE', `the disk has ${Math.round(free / 1e6)} MB left; free some space before events can only be kept in memory`)
    }
    if (!this.closing.aborted) this.#cancelLook = this.#clock.after(look_ms, () => void this.#look())
  }
}

/** Converts a Unix time in seconds to whole microseconds. */
export function microseconds(seconds: number): number {
  return Math.round(seconds * 1e6)
}

function frozen(event: RuntimeEvent): RuntimeEvent {
  return runtimeEvent(event.event_name, event.execution_id, event.timestamp, event.context)
}
