// The routes of plug-ins.

import * as v from 'valibot'
import type { LatePlugins } from '../bench/late_plugins.ts'
import { PluginStatus } from '../plugins/status.ts'
import { json, routesOf } from './contract.ts'

const route = routesOf<{ plugins: LatePlugins }>('system')

export const pluginRoutes = [
  route('GET', '/api/plugins', {
    operation_id: 'listPlugins',
    summary: 'List the plug-ins of the configuration, with their state, their events and their last error',
    scope: 'read',
    success: { description: 'By name', schema: v.strictObject({ plugins: v.array(PluginStatus) }) },
    handle: async ({ rooms: { plugins } }) => json({ plugins: await plugins.list() }),
  }),
  route('POST', '/api/plugins/:plugin_name/restart', {
    operation_id: 'restartPlugin',
    summary: 'Start a plug-in anew, with its file as it is now; also one that was given up',
    description: 'Answers at once, while it starts: `GET /api/plugins` tells what became of it.',
    scope: 'admin',
    success: { description: 'The plug-in, which starts', schema: PluginStatus },
    errors: [404, 409],
    handle: async ({ rooms: { plugins }, param }) => json(await plugins.restart(param('plugin_name'))),
  }),
]
