// `benchd plugins …`: the plug-ins of the configuration, and whether a file is one.

import { resolve } from 'node:path'
import { parseJson } from '../kit/json.ts'
import type { PluginStatus } from '../plugins/status.ts'
import { shows } from './asking.ts'
import { ask, serviceOf, serviceOptions } from './client.ts'
import { command } from './command.ts'
import { CliError } from './exit.ts'
import { print, table } from './table.ts'
import { note, noteNone } from './terminal.ts'

const pluginsList = shows({
  name: 'plugins list',
  summary: 'List the plug-ins of the configuration, with their state, events and last error',
  path: () => '/api/plugins',
  text: ({ plugins }: { plugins: PluginStatus[] }) =>
    table(
      ['NAME', 'STATE', 'LAYER', 'SCOPE', 'EVENTS', 'DROPPED', 'RESTARTS', 'MEMORY', 'FROM', 'LAST ERROR'],
      plugins.map((one) => [
        one.name,
        one.state,
        one.layer,
        one.scope,
        String(one.events_handled),
        String(one.events_dropped),
        String(one.restarts),
        one.memory_mib === null ? '-' : `${one.memory_mib} MiB`,
        one.module,
        one.last_error ?? '-',
      ]),
    ),
  also: ({ plugins }) => noteNone(plugins, 'the configuration names no plug-in; add one to "plugins", then: benchd config reload'),
})

const pluginsRestart = command({
  name: 'plugins restart',
  summary: 'Start a plug-in anew, with its file as it is now; also one that was given up',
  operands: ['NAME'],
  options: serviceOptions,
  async run({ options, operands: [name] }) {
    const restarted = await ask<PluginStatus>(serviceOf(options), 'POST', `/api/plugins/${encodeURIComponent(name!)}/restart`)
    print(options.json ? JSON.stringify(restarted) : `the plug-in ${name} starts; benchd plugins list says what became of it`)
  },
})

const pluginsCheck = command({
  name: 'plugins check',
  summary: 'Start the plug-in in a file without a bench, stop it, and say what is wrong with it',
  operands: ['FILE'],
  options: { settings: { type: 'string', value: 'JSON', help: 'Settings that it is started with: \'{"path": "/tmp/values"}\'' } },
  example: 'benchd plugins check /etc/benchd/plugins/lamp.ts',
  async run({ options, operands: [file] }) {
    const settings = options.settings === undefined ? {} : parseJson(options.settings, '--settings')
    if (typeof settings !== 'object' || settings === null || Array.isArray(settings))
      throw new CliError('usage', '--settings must be a JSON object')
    const path = resolve(file!)
    const { exists, makeThrowAwayFolder, removeFolder } = await import('../kit/folder.ts')
    if (!exists(path)) throw new CliError('not_found', `there is no file ${path}`)
    const { mustBeTrusted } = await import('../kit/trusted_folder.ts')
    await mustBeTrusted(path).catch(({ message }: Error) => note(`warning: ${message}`))
    const { checkPlugin } = await import('../plugins/check.ts')
    const folder = await makeThrowAwayFolder('benchd-plugin')
    try {
      const found = await checkPlugin(path, settings as Record<string, unknown>, folder)
      const { title, sinks, output, trouble } = found
      const words = trouble ?? `it starts: ${title}, with ${sinks} ${sinks === 1 ? 'sink' : 'sinks'}`
      print(options.json ? JSON.stringify(found) : [...output.map((line) => `  ${line}`), `${path}: ${words}`].join('\n'))
      return trouble === null ? 0 : 1
    } finally {
      await removeFolder(folder)
    }
  },
})

export const commands = [pluginsList, pluginsCheck, pluginsRestart]
