// The layer for subscribers inside the process: sinks that are called at once, and lists of events. Each method has two names.

import type { RuntimeEvent } from './event.ts'
import type { Hub } from './hub.ts'
import type { AnySink } from './sinks.ts'

export type EventSource = Pick<Hub, 'registerSink' | 'unregisterSink' | 'getEventsSince' | 'getEventsForExecution'>

export class InProcessEvents {
  readonly #hub: EventSource

  constructor(hub: EventSource) {
    this.#hub = hub
  }

  /** Registers a sink, which receives every event of every run from now on. Throws `invalid` for an object without its method. */
  registerSink(sink: AnySink): void {
    this.#hub.registerSink(sink)
  }

  unregisterSink(sink: AnySink): void {
    this.#hub.unregisterSink(sink)
  }

  /** Resolves with every event since a time (Unix time, s; all without one), including all that were emitted before the call. */
  getEventsSince(timestamp?: number | null): Promise<RuntimeEvent[]> {
    return this.#hub.getEventsSince(timestamp ?? undefined)
  }

  getEventsForExecution(execution_id: string): Promise<RuntimeEvent[]> {
    return this.#hub.getEventsForExecution(execution_id)
  }

  register_sink(sink: AnySink): void {
    this.registerSink(sink)
  }

  unregister_sink(sink: AnySink): void {
    this.unregisterSink(sink)
  }

  get_events_since(timestamp?: number | null): Promise<RuntimeEvent[]> {
    return this.getEventsSince(timestamp)
  }

  get_events_for_execution(execution_id: string): Promise<RuntimeEvent[]> {
    return this.getEventsForExecution(execution_id)
  }
}
