// The bench as a plug-in sees it, in both layers.

import { LabError } from '../errors.ts'
import type { RuntimeEvent } from '../events/event.ts'
import { type AnySink, methodOf, type Sink } from '../events/sinks.ts'
import type { Plugin, PluginAnswer, PluginBench, PluginSink, Stop } from './author.ts'
import type { PluginStart } from './messages.ts'

type Ways = {
  registerSink(sink: PluginSink): void
  unregisterSink(sink: PluginSink): void
  call(method: string, path: string, body?: unknown): Promise<PluginAnswer>
  log(message: string): void
  /** Replaces the lists by routes. */
  lists?: Pick<PluginBench, 'getEventsSince' | 'getEventsForExecution'>
}

export function benchFor({ name, system_id, settings, folder }: Omit<PluginStart, 'path'>, ways: Ways): PluginBench {
  const { registerSink, unregisterSink, call, log, lists = listsBy(call) } = ways
  const { getEventsSince, getEventsForExecution } = lists
  return {
    ...{ name, system_id, settings, folder, registerSink, unregisterSink, getEventsSince, getEventsForExecution, log },
    request: call,
    register_sink: registerSink,
    unregister_sink: unregisterSink,
    get_events_since: getEventsSince,
    get_events_for_execution: getEventsForExecution,
  }
}

/** Lists events by the route of events. */
function listsBy(call: Ways['call']): NonNullable<Ways['lists']> {
  const list = async (query: string) => {
    const { status, body } = await call('GET', `/events${query}`)
    if (status !== 200) throw new LabError('internal', (body as { detail?: string } | null)?.detail ?? `the bench answered ${status}`)
    return (body as { events: RuntimeEvent[] }).events
  }
  return {
    getEventsSince: (timestamp) => list(timestamp === undefined || timestamp === null ? '' : `?since=${timestamp}`),
    getEventsForExecution: (execution_id) => list(`?execution_id=${encodeURIComponent(execution_id)}`),
  }
}

/** Names a sink of a plug-in after both; `around` makes each call. Throws `invalid` for an object without the method of a sink. */
export function namedSink(plugin: string, sink: PluginSink, around = (call: () => unknown) => call()): Sink {
  const its = sink as AnySink as Sink
  const method = methodOf(its)
  const name = sink.name === undefined ? `plug-in ${plugin}` : `plug-in ${plugin}, ${sink.name}`
  return { name, onEvent: (event) => around(() => its[method](event)) as ReturnType<Sink['onEvent']> }
}

/** Returns the plug-in that a module exports. Throws `invalid` for anything else. */
export function pluginOf(exported: unknown, path: string): Plugin {
  const { name, start } = Object(exported) as Partial<Plugin>
  if (exported === undefined)
    throw new LabError('invalid', `${path} has no default export; write: export default plugin({ name, start(bench) {…} })`)
  if (typeof name !== 'string' || name === '') throw new LabError('invalid', `${path}: the plug-in has no name; give it one: name: "…"`)
  if (typeof start !== 'function') throw new LabError('invalid', `${path}: the plug-in has no function start(bench)`)
  return exported as Plugin
}

/** Returns the function that `start` of a plug-in gave, if it gave one. Throws `invalid` for anything else. */
export function stopOf(given: unknown): Stop | undefined {
  if (given === undefined || given === null || typeof given === 'function') return (given ?? undefined) as Stop | undefined
  throw new LabError('invalid', `start returned a ${typeof given}; return the function that ends the work, or nothing`)
}
