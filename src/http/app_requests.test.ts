// What every request may have, whatever it is for: a key in either header, an id, no parameter that nobody knows.

import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { test } from 'tap'
import { dialled, heard, isRefusal, openService, openTestBench, repliesIn, said } from '../testing/http.ts'

test('a key is taken as a bearer token too, and two that differ are refused', async (t) => {
  const { ask, secrets } = await openTestBench(t)
  const status = async (headers: Record<string, string>) => (await ask('GET', '/api/devices', { key: null, headers })).status
  for (const scheme of ['Bearer', 'bearer', 'BEARER ']) t.equal(await status({ Authorization: `${scheme} ${secrets.read}` }), 200, scheme)
  t.equal(await status({ Authorization: `Bearer ${secrets.read}`, 'X-API-Key': secrets.read }), 200)
  const differ = { Authorization: `Bearer ${secrets.read}`, 'X-API-Key': secrets.admin }
  isRefusal(t, await ask('GET', '/api/devices', { key: null, headers: differ }), 400, 'invalid')
  t.equal(await status({ Authorization: 'Basic Og==', 'X-API-Key': secrets.read }), 200, 'what a proxy adds is left alone')
  t.match((await ask('GET', '/api/devices', { key: null })).headers.get('www-authenticate'), 'Bearer')
})

test('an id goes with the request: into its answer, the audit trail and the log', async (t) => {
  const { ask, bench, logged, secrets } = await openTestBench(t)
  const idOf = async (path: string, asked?: string) =>
    (await ask('GET', path, { headers: asked === undefined ? {} : { 'X-Request-Id': asked } })).headers.get('x-request-id')
  const uuid = /^[0-9a-f]{8}-[0-9a-f-]{27}$/
  for (const path of ['/api/devices', '/api/executions', '/api/nothing', '/openapi.json']) {
    t.match(await idOf(path), uuid, path)
    t.equal(await idOf(path, 'run-7.step:3'), 'run-7.step:3', path)
  }
  t.not(await idOf('/api/devices'), await idOf('/api/devices'))
  for (const bad of ['', 'a b', 'x'.repeat(65), 'ü', secrets.read]) t.match(await idOf('/api/devices', bad), uuid, 'one of ours instead')
  isRefusal(
    t,
    await ask('POST', '/api/devices/nobody/shake', { json: { speed: 1, duration: 1 }, headers: { 'X-Request-Id': 'mine' } }),
    404,
  )
  t.match((await bench.audit.newest(1)).entries, [{ request_id: 'mine', status: 404 }])
  // What nobody foresaw is in the log, where the id finds it.
  bench.registry.find = () => {
    throw new Error('unforeseen')
  }
  t.equal((await ask('GET', '/api/devices/shaker-1', { headers: { 'X-Request-Id': 'odd' } })).status, 500)
  t.match(logged.join('\n'), /GET \/api\/devices\/shaker-1 failed, request odd/)
})

test('over a socket each answer has its id too, also one that is streamed', async (t) => {
  const { url, secrets } = await openService(t)
  const headers = { 'X-API-Key': secrets.read, 'X-Request-Id': 'mine' }
  for (const path of ['/api/devices', '/events', '/events/stream', '/api/executions']) {
    const answer = await fetch(`${url}${path}`, { headers })
    t.equal(answer.headers.get('x-request-id'), 'mine', path)
    await answer.body?.cancel()
  }
})

test('a parameter that nobody knows is refused with those that are, and never keeps a stop away', async (t) => {
  const { ask } = await openTestBench(t)
  const refused = await ask('GET', '/events?limt=3')
  isRefusal(t, refused, 400, 'invalid')
  t.match(refused.body, {
    detail: /"limt" that \/events does not know; it takes since, execution_id, limit, newest, envelope, wait; did you mean "limit"\?/,
  })
  t.match((await ask('GET', '/api/devices?page=2')).body, { detail: /it takes none/ })
  const twice = await ask('GET', '/events?since=5&limit=1&since=0')
  isRefusal(t, twice, 400, 'invalid')
  t.match(twice.body, { detail: 'the query has "since" more than once; give it once' })
  t.match((await ask('PUT', '/api/devices/shaker-1/lock?force=1', { json: {} })).status, 400)
  t.equal((await ask('POST', '/api/stop?now=1')).status, 200)
  t.equal((await ask('GET', '/docs?v=2')).status, 200, 'a page')
  for (const free of ['_=17', '_=17&_=18', 'limit=1&_dc=x']) t.equal((await ask('GET', `/events?${free}`)).status, 200, free)
})

test('a refusal for overload closes its connection when more was sent along, which is not read then', async (t) => {
  const { port, bench, secrets } = await openService(t)
  bench.config.limits.bodies_mib = 0
  bench.config.limits.long_requests_per_key = 0
  const head = `Host: localhost\r\nX-API-Key: ${secrets.admin}\r\n`
  const body = `POST /api/teachpoints/bulk HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{`
  const wait = `GET /events?since=9e9&wait=1 HTTP/1.1\r\n${head}\r\n`
  const last = `GET /health HTTP/1.1\r\n${head}Connection: close\r\n\r\n`
  const [cut, ...none] = repliesIn(await said(port, body))
  isRefusal(t, cut!, 503, 'overloaded')
  t.equal(cut!.headers.get('connection'), 'close', 'the body is not read')
  t.same(none, [])
  const [first, second, ...others] = repliesIn(await said(port, wait + wait))
  isRefusal(t, first!, 503, 'overloaded')
  isRefusal(t, second!, 503, 'overloaded')
  t.same(others, [])
  const socket = await dialled(port)
  const answers = heard(socket)
  socket.write(wait)
  await once(socket, 'data')
  socket.write(last)
  const [refused, health] = repliesIn(await answers)
  isRefusal(t, refused!, 503, 'overloaded')
  t.equal(health?.status, 200, 'one that asked nothing else may ask again')
})

test('an answer in JSON ends its line, a refusal too', async (t) => {
  const { ask } = await openTestBench(t)
  for (const path of ['/api/devices', '/events', '/api/executions', '/api/nothing', '/health'])
    t.match((await ask('GET', path)).text, /[^\n]\n$/, path)
})

test('the time of the computer, and what is known of its clock', async (t) => {
  const { ask } = await openTestBench(t)
  const before = Date.now() / 1000
  const { body } = await ask('GET', '/api/system/time')
  const { time, utc, uptime_s } = body as { time: number; utc: string; uptime_s: number }
  t.ok(time >= before && time <= Date.now() / 1000)
  t.equal(Date.parse(utc) / 1000, time)
  t.equal(uptime_s, 1)
  t.match(body, { clock_synced: null, boot_id: (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim() })
})

test('the schemas of what people write are served, the workflow of the API among them', async (t) => {
  const { ask } = await openTestBench(t)
  for (const name of ['workflow', 'topology', 'config']) {
    const { status, headers, body } = await ask('GET', `/schemas/${name}.schema.json`, { key: null })
    t.match({ status, type: headers.get('content-type') }, { status: 200, type: 'application/schema+json' })
    t.match(body, { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object' })
  }
})
