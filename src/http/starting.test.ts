import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { EventSource } from 'eventsource'
import { Hono } from 'hono'
import { test } from 'tap'
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
