// A plain request passes Hono by. It gets the answer that Hono would have given it.

import { test } from 'tap'
import { openBench, openService, said } from '../testing/http.ts'
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
  const { ask, lab } = await openBench(t)
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
    const { entries } = await lab.audit.newest(1)
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
