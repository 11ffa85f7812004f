// The module `benchd/plugin`, with which plug-ins are written: types, and a function that checks them.

import type { RuntimeEvent } from '../events/event.ts'

export type { RuntimeEvent } from '../events/event.ts'

/** A listener that receives every event of every run, one after the other. The method may also be called `on_event`. */
export type PluginSink = {
  /** The name in messages. */
  readonly name?: string
} & (
  | { onEvent(event: RuntimeEvent): unknown; onDropped?(count: number): unknown }
  | { on_event(event: RuntimeEvent): unknown; on_dropped?(count: number): unknown }
)

/** The answer of a route: its status, and its JSON; a text if it is none. */
export type PluginAnswer = { status: number; body: unknown }

/** The bench as a plug-in sees it. */
export interface PluginBench {
  /** The name of the plug-in's entry in the configuration. */
  readonly name: string
  /** `system_id` of the configuration. */
  readonly system_id: string
  /** The `settings` of the entry, as they are written. */
  readonly settings: Readonly<Record<string, unknown>>
  registerSink(sink: PluginSink): void
  unregisterSink(sink: PluginSink): void
  /** Lists the events since a Unix time in seconds; all without one. */
  getEventsSince(timestamp?: number | null): Promise<RuntimeEvent[]>
  getEventsForExecution(execution_id: string): Promise<RuntimeEvent[]>
  /** Calls a route of the bench with the scope of the entry: `request('POST', '/api/devices/lamp-1/open')`. Refusals are answers too. */
  request(method: string, path: string, body?: unknown): Promise<PluginAnswer>
  /** Writes a line to the log of the service. */
  log(message: string): void
  register_sink(sink: PluginSink): void
  unregister_sink(sink: PluginSink): void
  get_events_since(timestamp?: number | null): Promise<RuntimeEvent[]>
  get_events_for_execution(execution_id: string): Promise<RuntimeEvent[]>
}

/** Ends what the plug-in has begun. */
export type Stop = () => unknown

export interface Plugin {
  readonly name: string
  /** Begins the work, and returns the function that ends it, or nothing. */
  // biome-ignore lint/suspicious/noConfusingVoidType: a plug-in with nothing to end returns nothing
  start(bench: PluginBench): Stop | undefined | void | Promise<Stop | undefined | void>
}

/** Types a plug-in: `export default plugin({ name, start(bench) {…} })`. */
export function plugin(definition: Plugin): Plugin {
  return definition
}
