import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import type { PluginStatus } from '../plugins/status.ts'
import { openService } from '../testing/http.ts'

/** Code of a plug-in that does the same in both layers. */
const echo = `
import { plugin } from 'benchd/plugin'
export default plugin({
  name: 'echo',
  start(bench) {
    const sink = { onEvent({ event_name }) { if (event_name.startsWith('DEVICE.')) bench.log('saw ' + event_name) } }
    bench.registerSink(sink)
    return () => bench.log('stopped')
  },
})
`

type Service = Awaited<ReturnType<typeof openService>>

/** Opens a service with plug-ins whose code is given, by name. */
async function serviceWith(t: Test, plugins: Record<string, { code: string; [setting: string]: unknown }>): Promise<Service> {
  const folder = mkdtempSync(join(tmpdir(), 'plugins-'))
  const entries = Object.entries(plugins).map(([name, { code, ...more }]) => {
    const module = join(folder, `${name}.js`)
    writeFileSync(module, code)
    return [name, { module, ...more }]
  })
  return openService(t, { plugins: Object.fromEntries(entries) })
}

async function listed({ ask }: Service): Promise<PluginStatus[]> {
  return ((await ask('GET', '/api/plugins')).body as { plugins: PluginStatus[] }).plugins
}

/** Waits until the plug-in is as the function says. */
async function until(service: Service, name: string, isSo: (status: PluginStatus) => boolean): Promise<PluginStatus> {
  for (;;) {
    const status = (await listed(service)).find((one) => one.name === name)
    if (status && isSo(status)) return status
    if (status?.state === 'failed') throw new Error(status.last_error ?? '')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

const isRunning = ({ state }: PluginStatus) => state === 'running'

test('a plug-in of each layer receives events and is stopped with the service', async (t) => {
  const service = await serviceWith(t, { far: { code: echo }, near: { code: echo, in_process: true } })
  await until(service, 'far', isRunning)
  await until(service, 'near', isRunning)
  t.match(await listed(service), [
    { name: 'far', title: 'echo', layer: 'isolated', scope: 'read', state: 'running', last_error: null, memory_mib: Number },
    { name: 'near', title: 'echo', layer: 'in_process', scope: 'read', state: 'running', memory_mib: null },
  ])
  await service.ask('POST', '/api/devices/shaker-1/stop')
  await until(service, 'far', ({ events_handled }) => events_handled > 0)
  await service.service.close()
  for (const name of ['far', 'near'])
    for (const text of [/saw DEVICE\.shaker-1\./, /stopped/])
      t.ok(
        service.logged.some((line) => line.startsWith(`plug-in ${name}: `) && text.test(line)),
        `${name} ${text}`,
      )
})
