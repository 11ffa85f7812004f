import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
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
