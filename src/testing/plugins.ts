// For tests of plug-ins: a service with plug-ins whose code the test gives, and what became of them.

import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { PluginStatus } from '../plugins/status.ts'
import { openService } from './http.ts'

export type PluginService = Awaited<ReturnType<typeof openService>>
export type TestPlugin = { code: string; [setting: string]: unknown }

/** Writes the files of plug-ins. Returns their entries in a configuration, each with a file to write to as the setting `file`. */
export function pluginEntries(
  plugins: Readonly<Record<string, TestPlugin>>,
): Record<string, { module: string; settings: { file: string } }> {
  const folder = mkdtempSync(join(tmpdir(), 'plugins-'))
  const entries = Object.entries(plugins).map(([name, { code, settings, ...more }]) => {
    const [module, file] = [join(folder, `${name}.js`), join(folder, `${name}.txt`)]
    writeFileSync(module, code)
    writeFileSync(file, '')
    return [name, { module, ...more, settings: { file, ...(settings as object) } }] as const
  })
  return Object.fromEntries(entries)
}

/** A service with plug-ins; `lines` returns what one has written to its file. */
export async function openPlugged(t: Test, plugins: Readonly<Record<string, TestPlugin>>, more: object = {}) {
  const entries = pluginEntries(plugins)
  const service = await openService(t, { plugins: entries, ...more })
  const lines = (name: string) => linesOf(entries[name]!.settings.file)
  return { ...service, entries, lines, until: (name: string, isSo: (status: PluginStatus) => boolean) => untilPlugin(service, name, isSo) }
}

export function linesOf(file: string): string[] {
  return readFileSync(file, 'utf8').split('\n').slice(0, -1)
}

export async function pluginsOf({ ask }: Pick<PluginService, 'ask'>): Promise<PluginStatus[]> {
  return ((await ask('GET', '/api/plugins')).body as { plugins: PluginStatus[] }).plugins
}

/** Waits until the plug-in is as the function says. */
export async function untilPlugin(service: PluginService, name: string, isSo: (status: PluginStatus) => boolean): Promise<PluginStatus> {
  for (;;) {
    const status = (await pluginsOf(service)).find((one) => one.name === name)
    if (status && isSo(status)) return status
    if (status?.state === 'failed') throw new Error(status.last_error ?? '')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

export const isRunning = ({ state }: PluginStatus) => state === 'running'

/** The import of a plug-in, apart from its word, so that this file is not taken for one. */
const from = `import { plugin } from '${'benchd'}/plugin'`

/** Code of a plug-in; `body` sees `bench` and `write(line)`, and may return a function that stops it. */
export function pluginCode(body: string): string {
  return `
import { appendFileSync } from 'node:fs'
${from}
export default plugin({
  name: 'of a test',
  async start(bench) {
    const write = (line) => appendFileSync(bench.settings.file, line + '\\n')
    ${body}
  },
})
`
}

/** Code of a plug-in that writes the name of each event. */
export const writesEvents = pluginCode(`
  bench.registerSink({ onEvent: ({ event_name }) => write(event_name), onDropped: (count) => write('dropped ' + count) })
  return () => write('stopped')
`)
