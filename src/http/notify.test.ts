import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { test } from 'tap'
import { openService } from '../testing/http.ts'

test('a stop, a fault and a restart are told to the webhooks of the configuration, and a test message can be sent', async (t) => {
  const got: { text: string; kinds: string[] }[] = []
  const waiting: (() => void)[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    got.push(JSON.parse(body))
    response.writeHead(204).end()
    for (const resolve of waiting.splice(0)) resolve()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const heard = async (pattern: RegExp) => {
    for (;;) {
      const found = got.find(({ text }) => pattern.test(text))
      if (found) return found
      await new Promise<void>((resolve) => waiting.push(resolve))
    }
  }
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const { ask } = await openService(t, { notify: [{ url: `http://${host}/s3cret` }] })
  await ask('POST', '/api/devices/shaker-1/initialize')
  t.equal((await ask('POST', '/api/devices/shaker-1/stop')).status, 200)
  t.match(await heard(/shaker-1 was stopped/), { kinds: ['stopped'] })
  const tested = await ask('POST', '/api/system/notify/test')
  t.match(tested.body, { receivers: [{ host, failure: null }] })
  await heard(/This is a test/)
  t.equal((await ask('POST', '/api/system/notify/test', { key: 'operate' })).status, 403)
  const listed = await ask('GET', '/api/system/notify', { key: 'read' })
  t.match(listed.body, { receivers: [{ host, format: 'json', waiting: 0, failure: null }], dropped: 0 })
  t.notMatch(listed.text, /s3cret/)
})

test('without a receiver a test message is refused with what to do', async (t) => {
  const { ask } = await openService(t)
  const refused = await ask('POST', '/api/system/notify/test')
  t.match(refused, { status: 409, text: /names no receiver: add one to \\"notify\\"/ })
  t.match((await ask('GET', '/api/system/notify')).body, { receivers: [], dropped: 0 })
})

test('a receiver that is the service itself makes no loop, whether it refuses the messages or stops everything for each', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  await new Promise((resolve) => taken.close(resolve))
  const folder = mkdtempSync(`${tmpdir()}/benchd-notify-`)
  t.teardown(() => rmSync(folder, { recursive: true }))
  const own = `http://127.0.0.1:${port}`
  const { ask, bench, secrets } = await openService(t, {
    listen: { host: '127.0.0.1', port },
    notify: [{ url: `${own}/api/devices` }, { url: `${own}/api/stop`, headers: { 'X-API-Key': { file: `${folder}/key` } } }],
  })
  writeFileSync(`${folder}/key`, secrets.operate)
  const faults: string[] = []
  bench.hub.registerSink({ name: 'test', onEvent: ({ event_name }) => void (/FAULTED$/.test(event_name) && faults.push(event_name)) })
  await ask('POST', '/api/devices/shaker-1/initialize')
  await ask('POST', '/api/devices/shaker-1/stop')
  const status = async () =>
    ((await ask('GET', '/api/system/notify')).body as { receivers: { waiting: number; failure: string | null }[] }).receivers
  let shown = await status()
  // Each device is stopped by the second receiver, which is told of each once.
  while (shown[1]!.waiting > 0 || shown[0]!.failure === null) shown = await status()
  const stopped = faults.length
  t.ok(stopped >= 1 && stopped <= bench.registry.all().length, `${stopped} stops`)
  t.match(shown, [{ failure: /^answered 40\d$/ }, { failure: null, waiting: 0 }])
  for (let times = 0; times < 20; times++) shown = await status()
  t.equal(faults.length, stopped, 'and no more')
  t.equal(shown[1]!.waiting, 0)
})
