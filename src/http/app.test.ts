import { test } from 'tap'
import { atTheEnd, dialled, heard, isRefusal, openService, openTestBench, repliesIn, said, usualBounds } from '../testing/http.ts'
import { serverOf } from './server.ts'

const home = { x: 0, y: 0, z: 0, yaw: 0, pitch: 0, roll: 0 }
const point = (name: string) => ({ device_id: 'arm-1', name, coord_type: 'cartesian', coords: home })

test('checks come in the order that is promised: of two things wrong, the first is told', async (t) => {
  const { ask } = await openTestBench(t)
  const shake = '/api/devices/shaker-1/shake'
  const nobody = '/api/devices/nobody/shake'
  const form = { 'Content-Type': 'text/plain' }
  const json = { 'Content-Type': 'application/json' }
  const large = '['.repeat(300_000)
  const elsewhere = { Host: 'evil.example' }

  isRefusal(t, await ask('GET', '/api/devices', { key: null, headers: elsewhere }), 421, 'misdirected')
  isRefusal(t, await ask('GET', '/health', { key: null, headers: elsewhere }), 421, 'misdirected')
  isRefusal(t, await ask('GET', '/api/nothing', { key: null }), 401, 'unauthorized')
  isRefusal(t, await ask('PATCH', '/api/devices', { key: null }), 401, 'unauthorized')
  isRefusal(t, await ask('POST', shake, { key: null, headers: form, body: large }), 401, 'unauthorized')
  isRefusal(t, await ask('GET', '/api/devices/%zz', { key: null }), 401, 'unauthorized')
  isRefusal(t, await ask('PATCH', '/api/nothing', { key: 'read' }), 404, 'not_found')
  isRefusal(t, await ask('PATCH', shake, { key: 'read' }), 405, 'method_not_allowed')
  isRefusal(t, await ask('POST', shake, { key: 'read', headers: form, body: large }), 403, 'forbidden')
  isRefusal(t, await ask('POST', shake, { headers: form, body: large }), 415, 'media_type')
  isRefusal(t, await ask('POST', nobody, { headers: json, body: large }), 413, 'too_large')
  isRefusal(t, await ask('POST', nobody, { headers: json, body: '{' }), 404, 'not_found')
  isRefusal(t, await ask('POST', '/api/devices/sealer-1/shake', { headers: json, body: '{' }), 400, 'invalid')
  t.match((await ask('POST', '/api/devices/sealer-1/shake', { headers: json, body: '{' })).text, /cannot shake/)
  isRefusal(t, await ask('POST', shake, { headers: json, body: '{' }), 400, 'invalid')
  isRefusal(t, await ask('POST', shake, { json: { speed: 500, duration: 5 } }), 409, 'not_initialized')
})

test('a method that is not for a path is told which are, and OPTIONS is one of those', async (t) => {
  const { ask } = await openTestBench(t)
  for (const [method, path, allowed] of [
    ['DELETE', '/api/devices', 'GET, HEAD, POST'],
    ['GET', '/api/devices/shaker-1/shake', 'POST'],
    ['GET', '/api/devices/nobody/stop', 'POST'],
    ['POST', '/api/teachpoints/arm-1/home', 'GET, HEAD, PUT, DELETE'],
    ['PUT', '/api/teachpoints', 'GET, HEAD, POST'],
    ['OPTIONS', '/api/devices', 'GET, HEAD, POST'],
    ['PATCH', '/health', 'GET, HEAD'],
  ] as const) {
    const answer = await ask(method, path)
    isRefusal(t, answer, 405, 'method_not_allowed')
    t.same(answer.headers.get('allow'), allowed, `${method} ${path}`)
  }
  isRefusal(t, await ask('OPTIONS', '/api/devices', { key: null }), 401)
})

test('HEAD is GET without the body, and neither acts', async (t) => {
  const { ask, hono, secrets } = await openTestBench(t)
  const answer = await ask('HEAD', '/api/devices')
  t.match(answer, { status: 200, text: '' })
  t.equal((await ask('HEAD', '/api/devices/nobody')).status, 404)
  t.equal((await ask('HEAD', '/api/devices', { key: null })).status, 401)
  t.equal((await ask('HEAD', '/health', { key: null })).status, 200)
  const overridden = { Host: 'localhost', 'X-API-Key': secrets.admin, 'X-HTTP-Method-Override': 'POST' }
  t.equal((await hono.request('/api/devices/shaker-1/initialize?_method=POST', { headers: overridden })).status, 405)
  t.match((await ask('GET', '/api/devices/shaker-1')).body, { state: 'not_initialized', last_operation: null })
})

test('a key that is not exactly a key opens nothing', async (t) => {
  const { ask, bench, secrets } = await openTestBench(t)
  const good = secrets.admin
  const [, id, secret] = /^bk_(.{8})_(.*)$/.exec(good)!
  const wrong = {
    empty: '',
    prefix: good.slice(0, -1),
    longer: `${good}A`,
    'other case': good.toUpperCase(),
    'other case of the secret alone': `bk_${id}_${swapCase(secret!)}`,
    'an id without its secret': `bk_${id}_${'A'.repeat(43)}`,
    'another id with the secret': `bk_aaaaaaaa_${secret}`,
    quoted: `"${good}"`,
    bearer: `Bearer ${good}`,
    twice: `${good}, ${good}`,
    'the hash': `bk_${id}_${'0'.repeat(64)}`,
  }
  for (const [what, key] of Object.entries(wrong)) {
    isRefusal(t, await ask('GET', '/api/devices', { key: null, headers: { 'X-API-Key': key } }), 401, 'unauthorized')
    t.pass(what)
  }
  isRefusal(t, await ask('GET', `/api/devices?api_key=${good}&X-API-Key=${good}`, { key: null }), 401)
  isRefusal(t, await ask('GET', '/api/devices', { key: null, headers: { Cookie: `X-API-Key=${good}; api_key=${good}` } }), 401)
  for (const Authorization of [
    good,
    `Basic ${btoa(`:${good}`)}`,
    `Bearer ${good}, Bearer ${good}`,
    `Bearer ${good.slice(0, -1)}`,
    'Bearer',
  ])
    isRefusal(t, await ask('GET', '/api/devices', { key: null, headers: { Authorization } }), 401)
  t.equal((await ask('GET', '/api/devices')).status, 200)
  await bench.keys.revoke(id!)
  isRefusal(t, await ask('GET', '/api/devices'), 401)
})

test('guessing keys is made slow, and the right key goes on', async (t) => {
  const { ask } = await openTestBench(t)
  const guess = () => ask('GET', '/api/devices', { key: null, headers: { 'X-API-Key': `bk_aaaaaaaa_${'A'.repeat(43)}` } })
  let refused = 0
  for (let i = 0; i < 60; i++) {
    const answer = await guess()
    if (answer.status === 429) refused++
    isRefusal(t, answer, answer.status === 429 ? 429 : 401)
    if (answer.status === 429) t.match(answer.headers.get('retry-after'), /^[1-9]\d*$/)
    if (i % 10 === 9) t.equal((await ask('GET', '/api/devices', { key: 'read' })).status, 200)
  }
  t.ok(refused > 20, `${refused} of 60 were refused`)
  t.equal((await ask('POST', '/api/stop', { key: 'read' })).status, 200)
})

test('CORS is off: no answer says that another page may read it', async (t) => {
  const { ask } = await openTestBench(t)
  const headers = { Origin: 'http://evil.example', 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': 'x-api-key' }
  for (const answer of [await ask('GET', '/api/devices', { headers }), await ask('OPTIONS', '/api/devices', { headers, key: null })]) {
    t.same(
      [...answer.headers.keys()].filter((name) => name.startsWith('access-control')),
      [],
    )
  }
})

test('every answer says which version of the API it is of', async (t) => {
  const { ask } = await openTestBench(t)
  for (const path of ['/health', '/api/system', '/api/devices', '/api/devices/shaker-1', '/api/nothing', '/api/operations/none']) {
    t.equal((await ask('GET', path)).headers.get('x-api-version'), '2.1.0', path)
  }
})

test('a detail is never longer than 300 characters, whatever it repeats', async (t) => {
  const { ask } = await openTestBench(t)
  const long = '\u{1f9ea}'.repeat(3000)
  isRefusal(t, await ask('GET', `/api/devices/${encodeURIComponent(long)}`), 404)
  isRefusal(t, await ask('GET', `/${encodeURIComponent(long)}`), 404)
  isRefusal(t, await ask('POST', '/api/devices/shaker-1/shake', { json: { [long]: 1 } }), 400)
  isRefusal(t, await ask('POST', '/api/devices/shaker-1/shake', { json: { speed: long, duration: 1 } }), 400)
  isRefusal(t, await ask('POST', '/api/teachpoints', { headers: { 'Content-Type': 'x'.repeat(5000) }, body: '{}' }), 415)
  isRefusal(t, await ask('POST', '/api/teachpoints', { json: { ...point('a'), gateway: 'a'.repeat(4000) } }), 400)
})

test('what fails inside is told to the log, and to nobody else', async (t) => {
  const { ask, bench, logged } = await openTestBench(t)
  const path = '/api/devices/shaker-1'
  bench.registry.find = () => {
    throw new TypeError('secret of the house at /some/where.ts:12:7')
  }
  const answer = await ask('GET', path)
  isRefusal(t, answer, 500, 'internal')
  t.notMatch(answer.text, /secret|TypeError|\.ts|at /)
  t.match(logged, [/GET \/api\/devices\/shaker-1 failed, request \S+ .*secret of the house/s])
  t.equal((await ask('GET', '/api/system')).status, 200)
})

test('a name may hold anything that a person writes, and is addressed percent-encoded', async (t) => {
  const { ask } = await openTestBench(t)
  const names = [
    'Ablage 3/ü',
    'a b',
    'a/b/c',
    '/',
    '//',
    '?',
    '#',
    '%',
    '%2F',
    '%2e%2e',
    '%zz',
    '100 %',
    '...',
    '.a',
    'a;b=c',
    'a+b',
    "'",
    '"',
    '\\',
  ]
  names.push(
    'プレート',
    'لوحة',
    '\u{1f9ea}',
    'e\u0301',
    '__proto__',
    'constructor',
    'toString',
    'bulk',
    'export',
    'x'.repeat(128),
    '\u{1f9ea}'.repeat(128),
  )
  for (const name of names) {
    const address = `/api/teachpoints/arm-1/${encodeURIComponent(name)}`
    const created = await ask('POST', '/api/teachpoints', { json: point(name) })
    t.equal(created.status, 201, `${JSON.stringify(name)} ${created.text}`)
    t.equal(created.headers.get('location'), address)
    t.same((await ask('GET', address)).body, point(name))
    t.equal((await ask('PUT', address, { json: { coord_type: 'cartesian', coords: { ...home, x: 1 } } })).status, 200)
  }
  t.equal(((await ask('GET', '/api/teachpoints?device_id=arm-1')).body as { teachpoints: [] }).teachpoints.length, names.length)
  for (const name of names) t.equal((await ask('DELETE', `/api/teachpoints/arm-1/${encodeURIComponent(name)}`)).status, 200, name)
  t.same((await ask('GET', '/api/teachpoints?device_id=arm-1')).body, { teachpoints: [] })
})

test('a name that no address could reach is refused', async (t) => {
  const { ask } = await openTestBench(t)
  const names = ['', ' ', '.', '..', 'a\u0000b', 'a\nb', '\u007f', '\u0085', 'x'.repeat(129), '\ud800']
  for (const name of names) isRefusal(t, await ask('POST', '/api/teachpoints', { json: point(name) }), 400, 'invalid')
  t.same((await ask('GET', '/api/teachpoints?device_id=arm-1')).body, { teachpoints: [] })
})

test('a bad escape is refused, so that no two addresses name one thing', async (t) => {
  const { port, secrets } = await openService(t)
  const get = async (target: string) => repliesIn(await said(port, request(target, secrets.admin)))[0]!
  for (const target of [
    '/api/devices/%zz',
    '/api/devices/%',
    '/api/devices/%2',
    '/api/devices/%ff',
    '/api/devices/%c3%28',
    '/api/devices/%ed%a0%80',
  ])
    isRefusal(t, await get(target), 400, 'invalid')
  isRefusal(t, await get('/api/teachpoints?device_id=%zz'), 400, 'invalid')
  isRefusal(t, await get('/api/teachpoints/arm-1/%2e%2e'), 404)
  isRefusal(t, await get('/api/devices/shaker-1/../../../etc/passwd'), 404)
  isRefusal(t, await get('/api/devices/..%2f..%2fetc%2fpasswd'), 404)
  isRefusal(t, await get('/api\\devices'), 400)
  isRefusal(t, await get('//api/devices'), 404)
  isRefusal(t, await get('/api/devices/'), 404)
  t.equal((await get('/api/devic%65s')).status, 200)
})

test('what is not HTTP as it should be is refused in the form of every refusal', async (t) => {
  const { port, secrets, ask } = await openService(t)
  const auth = `X-API-Key: ${secrets.admin}\r\n`
  const shake = `POST /api/devices/shaker-1/shake HTTP/1.1\r\nHost: localhost\r\n${auth}Content-Type: application/json\r\n`
  const cases: [what: string, bytes: string, status: number][] = [
    ['no HTTP at all', 'hello\r\n\r\n', 400],
    ['a malformed request line', 'GET/api/devices HTTP/1.1\r\nHost: localhost\r\n\r\n', 400],
    ['a space in the target', 'GET /api/ devices HTTP/1.1\r\nHost: localhost\r\n\r\n', 400],
    ['a version that is none', 'GET /api/devices HTTP/9.9\r\nHost: localhost\r\n\r\n', 400],
    ['a method that is none', 'FROB /api/devices HTTP/1.1\r\nHost: localhost\r\n\r\n', 400],
    ['TLS where there is none', '\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03', 400],
    ['a NUL in the target', `GET /api/\0 HTTP/1.1\r\nHost: localhost\r\n${auth}\r\n`, 400],
    ['a NUL in a header', `GET /api/devices HTTP/1.1\r\nHost: localhost\r\nX-A: a\0b\r\n${auth}\r\n`, 400],
    ['a header without a colon', `GET /api/devices HTTP/1.1\r\nHost: localhost\r\nnothing\r\n\r\n`, 400],
    ['huge headers', `GET /api/devices HTTP/1.1\r\nHost: localhost\r\nX-A: ${'a'.repeat(20_000)}\r\n\r\n`, 431],
    ['a huge target', `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`, 431],
    ['no Host', `GET /api/devices HTTP/1.1\r\n${auth}Connection: close\r\n\r\n`, 421],
    ['an empty Host', `GET /api/devices HTTP/1.1\r\nHost:\r\n${auth}Connection: close\r\n\r\n`, 421],
    ['two Hosts', `GET /api/devices HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n${auth}Connection: close\r\n\r\n`, 421],
    ['a Host that is a path', `GET /api/devices HTTP/1.1\r\nHost: localhost/x\r\n${auth}Connection: close\r\n\r\n`, 400],
    ['a Host with a user', `GET /api/devices HTTP/1.1\r\nHost: a@localhost\r\n${auth}Connection: close\r\n\r\n`, 400],
    ['somebody else', `GET /api/devices HTTP/1.1\r\nHost: evil.example\r\n${auth}Connection: close\r\n\r\n`, 421],
    ['a target that is an asterisk', `OPTIONS * HTTP/1.1\r\nHost: localhost\r\n${auth}Connection: close\r\n\r\n`, 400],
    ['a length and chunks', `${shake}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`, 400],
    ['two lengths', `${shake}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`, 400],
    ['a length that is no number', `${shake}Content-Length: two\r\n\r\n{}`, 400],
    ['a length below zero', `${shake}Content-Length: -2\r\n\r\n{}`, 400],
    ['a coding that nobody knows', `${shake}Transfer-Encoding: gzip\r\n\r\n{}`, 400],
    ['a bad chunk', `${shake}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`, 400],
    ['an Expect', `${shake}Expect: a-miracle\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`, 400],
  ]
  for (const [what, bytes, status] of cases) {
    const replies = repliesIn(await said(port, bytes))
    t.equal(replies.length, 1, what)
    isRefusal(t, replies[0]!, status)
  }
  t.equal((await ask('GET', '/api/devices')).status, 200)
})

test('a client that hangs up before its body is whole is refused, and nothing is done', async (t) => {
  const { port, secrets, bench, logged } = await openService(t)
  const half = `POST /api/teachpoints HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${secrets.admin}\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"device_id"`
  const [answer] = repliesIn(await said(port, half, { end: true }))
  isRefusal(t, answer!, 400)
  t.same(bench.teachpoints.list('arm-1'), [])
  t.same(logged, [], 'and is no fault of ours')
})

test('JSON may be 32 deep, and no deeper', async (t) => {
  const { ask } = await openTestBench(t)
  // The body and its context are the two on the outside.
  const nested = (depth: number) => JSON.parse(`${'{"a":'.repeat(depth - 2)}{}${'}'.repeat(depth - 2)}`)
  const emit = (depth: number) => ask('POST', '/api/sim/events', { json: { event_name: 'A.B', context: nested(depth) } })
  t.equal((await emit(31 + 1)).status, 201)
  const answer = await emit(31 + 2)
  isRefusal(t, answer, 400, 'invalid')
  t.match(answer.text, /the body is nested deeper than 32/)
})

test('without a key nothing is waited for: the answer comes before the body', async (t) => {
  const { port } = await openService(t)
  const head = 'POST /api/teachpoints/bulk HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n'
  isRefusal(t, repliesIn(await said(port, head))[0]!, 401)
  const expecting = `${head.slice(0, -2)}Expect: 100-continue\r\n\r\n`
  t.match(await said(port, expecting), /HTTP\/1\.1 401/)
})

test('a body that is too large is refused before it has come, and in pieces as soon as it is', async (t) => {
  const { port, secrets } = await openService(t)
  const head = `POST /api/devices/shaker-1/shake HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${secrets.admin}\r\nContent-Type: application/json\r\n`
  isRefusal(t, repliesIn(await said(port, `${head}Content-Length: 300000\r\n\r\n`))[0]!, 413, 'too_large')
  const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`
  isRefusal(t, repliesIn(await said(port, `${head}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(5)}`))[0]!, 413, 'too_large')
})

test('a target with a host of its own is served like any other, and HTTP/1.0 is', async (t) => {
  const { port, secrets } = await openService(t)
  const own = `GET http://localhost:${port}/api/devices HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${secrets.read}\r\nConnection: close\r\n\r\n`
  t.match(repliesIn(await said(port, own)), [{ status: 200, body: { devices: Array } }])
  const old = `GET /api/devices HTTP/1.0\r\nHost: localhost\r\nX-API-Key: ${secrets.read}\r\n\r\n`
  t.match(repliesIn(await said(port, old)), [{ status: 200 }])
  isRefusal(t, repliesIn(await said(port, 'GET /health HTTP/1.0\r\n\r\n'))[0]!, 421)
})

test('requests sent at once on one connection are answered in their order', async (t) => {
  const { port, secrets } = await openService(t)
  const key = `Host: localhost\r\nX-API-Key: ${secrets.admin}\r\n`
  const requests = [
    `GET /api/devices/shaker-1 HTTP/1.1\r\n${key}\r\n`,
    `POST /api/devices/shaker-1/stop HTTP/1.1\r\n${key}Content-Length: 5\r\nContent-Type: text/plain\r\n\r\nGET /`,
    `POST /api/devices/nobody/shake HTTP/1.1\r\n${key}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    `GET /api/nothing HTTP/1.1\r\n${key}\r\n`,
    `GET /health HTTP/1.1\r\n${key}Connection: close\r\n\r\n`,
  ]
  const replies = repliesIn(await said(port, requests.join('')))
  t.same(
    replies.map(({ status }) => status),
    [200, 200, 404, 404, 200],
  )
})

test('nonsense behind a request that is being answered does not get into its answer', async (t) => {
  const { port, secrets } = await openService(t)
  const stream = `GET /events/stream HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${secrets.read}\r\n\r\n`
  const socket = await dialled(port)
  const answer = heard(socket)
  socket.once('data', () => socket.write('nonsense\r\n\r\n'))
  socket.write(stream)
  t.match(await answer, /^HTTP\/1\.1 200 OK\r\n/)
  t.notMatch(await answer, /HTTP\/1\.1 400/)
})

test('who sends slowly is told so, and hung up on', async (t) => {
  const server = serverOf(
    () => {
      throw new Error('no request ever arrives whole')
    },
    await usualBounds(),
  )
  t.match(server, { headersTimeout: 10_000, requestTimeout: 30_000, keepAliveTimeout: 5000 })
  const ending = atTheEnd(t)
  ending.push(async () => void server.close())
  server.headersTimeout = 1
  server.requestTimeout = 1
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port))
  })
  const socket = await dialled(port)
  const answer = heard(socket)
  socket.write('GET /api/devices HTTP/1.1\r\nHost: loc')
  isRefusal(t, repliesIn(await answer)[0]!, 408, 'request_timeout')
})

function request(target: string, key: string): string {
  return `GET ${target} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${key}\r\nConnection: close\r\n\r\n`
}

function swapCase(text: string): string {
  return text.replace(/[a-z]/gi, (letter) => (letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase()))
}
