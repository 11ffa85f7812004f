// The settings of plug-ins: code of the lab that receives every event, and may call the bench.

import * as v from 'valibot'
import { described, Whole } from '../kit/described.ts'
import { Id } from '../kit/name.ts'
import { Scope } from '../kit/scope.ts'

export const PluginConfig = v.strictObject({
  module: v.optional(
    described(
      v.pipe(v.string(), v.nonEmpty(), v.maxLength(1000), v.regex(/^\P{Cc}*$/u, 'must have no control character')),
      'Path of its file, from the folder of the configuration, or name of an npm package below `plugins`; default: `plugins/NAME.ts` or `plugins/NAME.js`',
    ),
  ),
  scope: v.optional(described(Scope, 'What it may do by calls to the bench, as the scope of a key says'), 'read'),
  in_process: v.optional(
    described(v.boolean(), 'Whether it runs in the process of the service, where it receives each event at once, and can delay a stop'),
    false,
  ),
  settings: v.optional(described(v.record(v.string(), v.unknown()), 'Settings of its own; the plug-in says which'), {}),
  queue: v.optional(described(Whole(1, 100_000), 'Events that it may be behind before it loses the oldest'), 1000),
  answer_s: v.optional(described(Whole(1, 120), 'Seconds without an answer after which its process is ended and started again', 's'), 5),
  memory_mib: v.optional(described(Whole(64, 4096), 'MiB of memory that its process may take'), 128),
})
export type PluginConfig = v.InferOutput<typeof PluginConfig>

export const PluginConfigs = described(
  v.pipe(
    v.record(Id, PluginConfig),
    v.check((plugins) => Object.keys(plugins).length <= 16, 'there may be 16 plug-ins at most'),
  ),
  'Plug-ins by name: code of your own that receives every event, and may call the bench',
)
export type PluginConfigs = v.InferOutput<typeof PluginConfigs>
