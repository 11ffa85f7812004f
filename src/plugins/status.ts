// The state of a plug-in, as the API shows it.

import * as v from 'valibot'
import { described } from '../kit/described.ts'
import { Scope } from '../kit/scope.ts'

export const pluginStates = ['starting', 'running', 'waiting', 'failed', 'held', 'stopped'] as const

const Text = v.nullable(v.string())

export const PluginStatus = v.strictObject({
  name: described(v.string(), 'The name of its entry in the configuration'),
  title: described(Text, 'The name that its module has; null before it was loaded'),
  module: described(v.string(), 'The path of its file, or the name in the configuration where there is none'),
  layer: described(v.picklist(['isolated', 'in_process']), '`isolated`: a process of its own; `in_process`: inside the service'),
  scope: Scope,
  state: described(
    v.picklist(pluginStates),
    '`waiting`: it has ended and is started again soon; `failed`: given up until a restart; `held`: safe mode keeps it from starting',
  ),
  events_handled: v.number(),
  events_waiting: v.number(),
  events_dropped: described(v.number(), 'Events that it lost because more than `queue` waited'),
  restarts: described(v.number(), 'Starts after the first one'),
  last_error: Text,
  last_error_at: described(v.nullable(v.number()), 'Unix time', 's'),
  memory_mib: described(v.nullable(v.number()), 'Memory of its process; null in the process of the service', 'MiB'),
})
export type PluginStatus = v.InferOutput<typeof PluginStatus>
