import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getRequestListener } from '@hono/node-server'
import { EventSource } from 'eventsource'
import { Hono } from 'hono'
import { test } from 'tap'
import type { Registry } from '../devices/registry.ts'
import { deferred } from '../kit/deferred.ts'
import { silent } from '../kit/log.ts'
import { startService } from '../main.ts'
import { benchConfig, openTestBench } from '../testing/http.ts'
import { startingApp } from './starting.ts'

for (const path of ['/events/stream', '/api/live'])
  test(`an EventSource on ${path} that comes while the service starts comes again until it has started`, async (t) => {
    const started = new Hono()
    started.get(path, (c) => c.body('retry: 2000\nid: 7\ndata: first\n\n', 200, { 'Content-Type': 'text/event-stream' }))
    let door = startingApp() as unknown as Hono
    const server = createServer(getRequestListener((request) => door.fetch(request), { overrideGlobalObjects: false }))
    await once(server.listen(0, '127.0.0.1'), 'listening')
    t.teardown(() => server.close())
    const source = new EventSource(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`)
    t.teardown(() => source.close())
    const heard = new Promise<string>((resolve) => source.addEventListener('message', ({ data }) => resolve(data)))
    const ended = new Promise<number | undefined>((resolve) =>
      source.addEventListener('error', ({ code }) => resolve(code), { once: true }),
    )
    t.equal(await ended, undefined, 'the stream ended, and was not refused')
    t.equal(source.readyState, source.CONNECTING)
    door = started
    t.equal(await heard, 'first')
  })

test('everything else is asked to come again in a second', async (t) => {
  for (const [method, path] of [
    ['GET', '/api/devices'],
    ['POST', '/events/stream'],
    ['POST', '/api/devices/stop'],
  ] as const) {
    const response = await startingApp().request(path, { method })
    t.match([response.status, response.headers.get('retry-after'), response.headers.get('x-reason')], [503, '1', 'starting'], path)
    t.match(await response.json(), { detail: /starting; ask again/ })
  }
  t.match(await (await startingApp().request('/health')).json(), { status: 'starting' })
})

test('a stop is taken once the devices are open, with any key, and nothing else is', async (t) => {
  const { bench, secrets, clock } = await openTestBench(t)
  const door = startingApp(bench)
  const post = (path: string, key?: string) =>
    clock.run(Promise.resolve(door.request(path, { method: 'POST', headers: { Host: 'localhost', ...(key && { 'X-API-Key': key }) } })))
  for (const path of ['/api/stop', '/api/devices/shaker-1/stop']) {
    t.equal((await post(path)).status, 401)
    t.equal((await post(path, 'bk_wrong')).status, 401)
    t.match(await (await post(path, secrets.read)).json(), { success: true })
  }
  t.match(bench.registry.find('shaker-1').state, 'stopped')
  t.equal((await post('/api/devices/nobody/stop', secrets.read)).status, 404)
  t.equal((await post('/api/devices/shaker-1/initialize', secrets.admin)).status, 503)
})

test('a service that still reads what was there before takes a stop, and can send the halts that it owes', async (t) => {
  const { promise: slowTopology, resolve: goOn } = deferred<void>()
  Object.assign(globalThis, { slowTopology })
  const topologies = t.testdir({ 'slow.ts': 'await (globalThis as any).slowTopology\nexport default {}\n' })
  // Its socket has to have a short name.
  const data_dir = mkdtempSync(join(tmpdir(), 'benchd-starting-'))
  t.teardown(() => rmSync(data_dir, { recursive: true }))
  let stoppable: Registry | undefined
  const onStoppable = (registry: Registry) => {
    stoppable = registry
  }
  const starting = startService(await benchConfig({ listen: { host: '127.0.0.1', port: 0 } }), {
    data_dir,
    topologies,
    onStoppable,
    log: silent,
  })
  const stopped = () =>
    new Promise<number | undefined>((resolve) => {
      const asking = request({ socketPath: `${data_dir}/control.sock`, method: 'POST', path: '/api/devices/shaker-1/stop' }, (answer) => {
        answer.resume()
        resolve(answer.statusCode)
      })
      asking.on('error', () => resolve(undefined)).end()
    })
  let answer = await stopped()
  while (answer === undefined || answer === 503) answer = await stopped()
  t.equal(answer, 200)
  const early = stoppable
  goOn(undefined)
  const { bench, close } = await starting
  t.equal(early, bench.registry)
  t.equal(bench.registry.find('shaker-1').state, 'stopped')
  await close()
})
