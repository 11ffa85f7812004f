// A plain request passes Hono by. It gets the answer that Hono would have given it.

import { test } from 'tap'
import { openService, openTestBench, said } from '../testing/http.ts'
import { finderOf } from './direct.ts'
import { serviceRoutes } from './service_routes.ts'

const find = finderOf(serviceRoutes)

test('every route is found by a plain address, with its parameters', (t) => {
  for (const route of serviceRoutes) {
    const found = find(route.method, route.path.replaceAll(/:(\w+)/g, 'its-$1'))
    t.equal(found?.route, route, `${route.method} ${route.path}`)
    const names = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name!)
    t.same({ ...found?.params }, Object.fromEntries(names.map((name) => [name, `its-${name}`])))
  }
  t.end()
})

test('an address that has to be decoded is left to Hono, and so is one that is nowhere', (t) => {
  for (const path of [
    '/api/devices?x=1',
    '/%61pi/devices',
    '/api/devices#x',
    '/api/devices/',
    '/api/devices//shake',
    '/api/devices/..',
    '/api/./devices',
    'http://localhost/api/devices',
    '*',
    '',
    '/api',
    '/',
  ])
    for (const method of ['GET', 'POST']) t.equal(find(method, path), undefined, `${method} ${path}`)
  for (const method of ['HEAD', 'OPTIONS', 'DELETE', 'get']) t.equal(find(method, '/api/devices'), undefined, method)
  t.end()
})

test('each of thousands of addresses is found as it is', (t) => {
  const ids = Array.from({ length: 3000 }, (_, i) => `shaker-${i % 1500}`)
  t.same(
    ids.filter((id) => find('GET', `/api/devices/${id}`)?.params.device_id !== id),
    [],
  )
  t.end()
})

test('a long address is found each time anew, and takes no memory', (t) => {
  const [short, long] = ['x', 'x'.repeat(10_000)].map((id) => `/api/devices/${id}`)
  t.equal(find('GET', short!), find('GET', short!))
  t.not(find('GET', long!), find('GET', long!))
  t.equal(find('GET', long!)?.params.device_id?.length, 10_000)
  t.end()
})

test('whether Hono sees a request or not, it is answered and taken down alike', async (t) => {
  const { ask, bench } = await openTestBench(t)
  const shake = '/api/devices/shaker-1/shake'
  const json = { speed: 500, duration: 1 }
  const requests = [
    ['GET', '/api/devices', {}],
    ['GET', '/api/devices', { key: null }],
    ['GET', '/api/devices', { headers: { Host: 'elsewhere' } }],
    ['GET', '/api/devices/shaker-1', { key: 'read' }],
    ['GET', '/api/devices/nothing-1', {}],
    ['GET', '/api/nothing', {}],
    ['DELETE', '/api/devices', {}],
    ['POST', shake, { key: 'read', json }],
    ['POST', shake, { json }],
    ['POST', shake, { json: { speed: 'fast' } }],
    ['POST', shake, { body: '{}', headers: { 'Content-Type': 'text/plain' } }],
    ['POST', shake, { json, headers: { 'If-State': 'busy' } }],
    ['POST', shake, { json, headers: { 'Idempotency-Key': 'ä' } }],
    ['POST', '/api/devices/shaker-1/stop', { key: 'read' }],
    ['PUT', '/api/devices/shaker-1/lock', { json: { owner: 'Ada', ttl_s: 'x' } }],
  ] as const
  const shown = async (method: string, path: string, asking: object) => {
    const { status, headers, text } = await ask(method, path, asking)
    const { entries } = await bench.audit.newest(1)
    const { what, reason, key_id } = entries.at(-1)!
    return { status, text, headers: [...headers.keys()], taken: method === 'GET' ? null : { what, reason, key_id } }
  }
  for (const [method, path, asking] of requests) {
    const plain = await shown(method, path, asking)
    t.same(await shown(method, path.replace('/api', '/%61pi'), asking), plain, `${method} ${path}: ${plain.status}`)
  }
})

test('over a socket both ways write the same bytes', async (t) => {
  const { port, secrets } = await openService(t)
  const asked = (method: string, path: string, { key = secrets.admin, host = `localhost:${port}`, body = '' } = {}) => {
    const head = [`${method} ${path} HTTP/1.1`, `Host: ${host}`, `X-API-Key: ${key}`, 'X-Request-Id: mine', 'Connection: close']
    const more = body ? ['Content-Type: application/json', `Content-Length: ${body.length}`] : []
    return said(port, `${[...head, ...more].join('\r\n')}\r\n\r\n${body}`)
  }
  const shake = '/api/devices/shaker-1/shake'
  const requests = [
    ['GET', '/api/devices', {}],
    ['GET', '/api/devices', { key: 'none' }],
    ['GET', '/api/devices', { host: 'elsewhere' }],
    ['GET', '/api/devices', { host: 'not a host' }],
    ['GET', '/api/devices', { host: '1.2.3:80' }],
    ['GET', '/api/devices', { host: 'localhost:99999' }],
    ['GET', '/api/devices/nothing-1', {}],
    ['POST', shake, { body: '{"speed":"fast"}' }],
    ['POST', shake, { key: 'none', body: '{"speed":500,"duration":1}' }],
    ['POST', shake, { body: '{"speed":500' }],
    ['POST', '/api/devices/shaker-1/clear_fault', { body: '{}' }],
    ['POST', '/api/devices/shaker-1/clear_fault', {}],
    ['DELETE', '/api/devices/shaker-1/lock', {}],
  ] as const
  /** In any order: nobody may depend on it. */
  const linesOf = (answer: string) =>
    answer
      .replace(/date: .*/i, '')
      .toLowerCase()
      .split('\r\n')
      .sort()
  for (const [method, path, more] of requests) {
    const plain = await asked(method, path, more)
    t.match(plain, /^HTTP\/1\.1 \d{3} /)
    t.same(linesOf(plain), linesOf(await asked(method, path.replace('/api', '/%61pi'), more)), `${method} ${path}: ${plain.slice(9, 12)}`)
  }
})

test('requests as no ordinary client sends them get the same answer both ways', async (t) => {
  const { port, secrets } = await openService(t)
  const key = `X-API-Key: ${secrets.admin}`
  const json = 'Content-Type: application/json'
  const [length, chunked] = [`${json}\r\nContent-Length: 16`, `${json}\r\nTransfer-Encoding: chunked`]
  const [wrong, inChunks] = ['{"speed":"fast"}', '10\r\n{"speed":"fast"}\r\n0\r\n\r\n']
  /** Lines of the head, and what follows it. */
  const odd: readonly (readonly [lines: string, body?: string])[] = [
    [''],
    [`${key}\r\n${key}`],
    [`${key}\r\nAuthorization: Bearer ${secrets.admin}`],
    [`${key}\r\nAuthorization: Bearer ${secrets.read}`],
    [`Authorization:   bearer   ${secrets.admin}   `],
    [`Authorization: Basic ${secrets.admin}`],
    [`x-aPi-kEy:\t${secrets.admin}\t`],
    [`X_API_Key: ${secrets.admin}`],
    [`Cookie: X-API-Key=${secrets.admin}`],
    [`${key},`],
    [`${key}\r\nHost: elsewhere`],
    [`${key}\r\nExpect: 100-continue`],
    [`${key}\r\nExpect: much`],
    [`${key}\r\nUpgrade: websocket`],
    [`${key}\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__`],
    [`${key}\r\nX-HTTP-Method-Override: DELETE`],
    [`${key}\r\nOrigin: http://elsewhere`],
    [`${key}\r\n__proto__: x\r\nconstructor: y`],
    [`${key}\r\nX-Odd: \xe9\xff`],
    [`${key}\r\nX-Odd: a\x01b`],
    [`${key}\r\nX-Odd: a\r\n b`],
    [`${key}\r\nX-Odd : a`],
    [`${key}\r\nX-Odd: ${'a'.repeat(17_000)}`],
    [`${key}\r\nContent-Encoding: gzip`],
    [`${key}\r\n${length}`, wrong],
    [`${key}\r\n${length}\r\nExpect: 100-continue`, wrong],
    [`${key}\r\n${chunked}`, inChunks],
    [`${key}\r\n${chunked}\r\nTrailer: X-API-Key`, inChunks.replace('\r\n0\r\n', '\r\n0\r\nX-API-Key: none\r\n')],
    [`${key}\r\n${length}\r\nTransfer-Encoding: chunked`, inChunks],
    [`${key}\r\n${length}\r\nContent-Length: 3`, wrong],
    [`${key}\r\n${json}\r\nContent-Length: 16, 16`, wrong],
    [`${key}\r\n${json}\r\nContent-Length: +16`, wrong],
    [`${key}\r\n${json}\r\nTransfer-Encoding: chunked, identity`, inChunks],
    [`${key}\r\n${json}\r\nTransfer-Encoding: gzip, chunked`, inChunks],
    [`${key}\r\n${json}\r\nContent-Length: 300000`, 'x'.repeat(300_000)],
  ]
  const [list, shake] = ['GET /api/devices', 'POST /api/devices/shaker-1/shake']
  const others = ['HEAD', 'OPTIONS', 'TRACE', 'PROPFIND'].map((method) => `${method} /api/devices`)
  const long = [
    '/x'.repeat(4000),
    `/devices/${'x'.repeat(15_000)}`,
    '/devices/__proto__',
    '/devices/shaker-1;x',
    '/devices/shaker-1\\x',
    '/devices?',
  ]
  const plain = `${key}\r\n`
  const requests = [
    ...[list, shake].flatMap((first) => odd.map(([lines, body = '']) => `${first} HTTP/1.1\r\n${lines && `${lines}\r\n`}|${body}`)),
    ...others.flatMap((first) => ['|', `${length}\r\n|${wrong}`].map((more) => `${first} HTTP/1.1\r\n${plain}${more}`)),
    ...long.map((path) => `GET /api${path} HTTP/1.1\r\n${plain}|`),
    `GET /api/devices HTTP/1.0\r\n${plain}Connection: keep-alive\r\n|`,
    ...['http://localhost', 'http://elsewhere', '//localhost', 'x'].map((start) => `GET ${start}/api/devices HTTP/1.1\r\n${plain}|`),
  ]
  /** The same request twice on one connection: what the first leaves there would be taken for the second. */
  const asked = (text: string) => {
    const [head, body] = text.split('|')
    const request = (more: string) => `${head}Host: localhost:${port}\r\nX-Request-Id: mine\r\n${more}\r\n${body}`
    return said(port, Buffer.from(request('') + request('Connection: close\r\n'), 'latin1'))
  }
  const linesOf = (answers: string) =>
    answers
      .replaceAll(/date: .*/gi, '')
      .replaceAll('%61pi', 'api')
      .toLowerCase()
      .split('\r\n')
      .sort()
  for (const request of requests) {
    const [answer, throughHono] = [await asked(request), await asked(request.replace('/api', '/%61pi'))]
    t.match(answer, /^HTTP\/1\.1 \d{3} /, request.slice(0, 80))
    t.same(linesOf(answer), linesOf(throughHono), request.slice(0, 200))
  }
})
