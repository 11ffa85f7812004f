// Requests that nobody should send, at random, for every route there is. The same ones each time; BENCHD_SEED makes others.

import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { test } from 'tap'
import * as v from 'valibot'
import { scopes } from '../keys/keys.ts'
import { anyCharacter } from '../testing/any_character.ts'
import { mustBeDocumented } from '../testing/documented.ts'
import { openService, openTestBench, repliesIn, said, type TestedBench } from '../testing/http.ts'
import type { Route } from './contract.ts'
import { examples } from './openapi_examples.ts'
import { routes } from './routes.ts'

const seed = Number(process.env.BENCHD_SEED ?? 20_261_120)

const home = { device_id: 'arm-1', name: 'a', coord_type: 'cartesian', coords: { x: 0, y: 0, z: 0, yaw: 0, pitch: 0, roll: 0 } }

/** Good bodies that hold more than the example of the documentation does. */
const richer: Record<string, object> = {
  createTeachpoint: { ...home, access: { access_type: 'vertical' }, gateway: 'b' },
  updateTeachpoint: { coord_type: 'joint', coords: { base: 1, shoulder: 2, elbow: 3, wrist: 4 } },
  importTeachpoints: { device_id: 'arm-1', teachpoints: [home, { ...home, name: 'b' }], overwrite: true },
  loadTopology: { name: 'demo', force: true },
  submit: { workflow: 'seal-and-spin', run_mode: 'PURE_SIM', groups: [{ group_id: 'g1', members: {} }], variables: { speed: 600 } },
  simulate: { workflow: 'seal-and-spin', run_mode: 'PURE_SIM', groups: [{ group_id: 'g1', members: {} }] },
  emitCustomEvent: { name: 'qc.done', value: 'complete', data: { a: [1] } },
  spawnThread: { thread: 'plate', start: 'pad_2' },
  createKey: { name: 'stranger', scope: 'read', expires_at: null },
  emitSimulatedEvent: { event_name: 'THREAD.t1.STARTED', execution_id: 'e1', context: { a: [1, { b: null }] } },
  setSimulatedLoad: { rate: 0, seconds: 1 },
}

/** A good body for each route whose body has a member that must be there. */
const good: Record<string, object> = Object.fromEntries(
  routes.flatMap(({ operation_id, body, body_may_be_empty }) =>
    body && !body_may_be_empty ? [[operation_id, richer[operation_id] ?? (examples[operation_id]!.body as object)]] : [],
  ),
)

// biome-ignore format: a list to look through
const words = [
  '', '.', '..', '../../etc/passwd', '%', '%zz', '%00', '%2e%2e', '%2F', '%ff', '%C3%28', '%ED%A0%80', '\u0000', '\ud800', '\u202e', 'a\r\nX-A: b',
  '__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'then', 'null', 'undefined', 'NaN', '-0', '1e999', 'true', '{}', '[]',
  '\u{1f9ea}'.repeat(200), 'a'.repeat(5000), "'; drop table devices; --", '<script>', '{{7*7}}', 'OPERATOR.CONFIRM.x', 'a.b.c.d', '..', 'bulk', 'export', 'all',
]
const word = fc.oneof(fc.constantFrom(...words), fc.string({ unit: anyCharacter }), fc.string())

const number = fc.oneof(
  fc.constantFrom(-1, -0, 0, 0.1, 1.5, 1e-320, 2 ** 31, 2 ** 53, 1e21, Number.MAX_VALUE, -Number.MAX_VALUE),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
)
const strange: fc.Arbitrary<unknown> = fc.oneof(fc.jsonValue(), word, number, fc.constantFrom(null, true, [], {}, [[]], [null]))

/** JSON that no `JSON.stringify` would write. */
// biome-ignore format: a list to look through
const oddTexts = fc.constantFrom(
  '', ' ', '{', '[', '"', '{"a":1,}', "{'a':1}", '{"speed":NaN}', '{"speed":Infinity}', '{"speed":1e999,"duration":1}', '{"speed":-1e999,"duration":1}',
  '{"speed":01,"duration":1}', '{"speed":0x1F4,"duration":1}', '{"speed":"500","duration":"5"}', '{"speed":500,"speed":600,"duration":5}',
  '{"__proto__":{"speed":500},"duration":5}', '{"constructor":{"prototype":{"a":1}}}', '{"__proto__":null}', '{"toString":1}', 'null', '1', '"text"', 'true',
  '{"name":"\\ud800"}', '{"a":"\u0000"}', '\ufeff{}', '{} {}', '/* */{}', `${'['.repeat(20_000)}${']'.repeat(20_000)}`, `${'{"a":'.repeat(50)}1${'}'.repeat(50)}`,
  `[${'1,'.repeat(50_000)}1]`, `{"a":${'9'.repeat(10_000)}}`,
)
const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 200 }),
  fc.constantFrom(
    new Uint8Array([0xff, 0xfe, 0x7b, 0]),
    new Uint8Array([0x22, 0xed, 0xa0, 0x80, 0x22]),
    new Uint8Array(300_000).fill(0x20),
  ),
)

// biome-ignore format: a list to look through
const mediaTypes = fc.constantFrom(
  'application/json', 'application/json', 'application/json', 'application/json; charset=utf-8', 'application/json; charset=latin1', 'text/plain',
  'application/x-www-form-urlencoded', 'multipart/form-data', 'multipart/form-data; boundary=x', 'application/json, text/plain', 'json', '',
)

const headerNames = fc.constantFrom(
  'Accept',
  'Prefer',
  'Last-Event-ID',
  'Idempotency-Key',
  'X-Override',
  'Range',
  'If-None-Match',
  'Content-Encoding',
  'Origin',
  'Cookie',
  'X-Forwarded-For',
  'X-HTTP-Method-Override',
  'Content-Length',
  'Transfer-Encoding',
)
const headerValues = fc.oneof(
  fc.constantFrom('respond-async', '*/*', 'bytes=0-5', '*', '0', '-1', '99999999999999999999', 'gzip', 'chunked', 'DELETE', '1, 2', '"'),
  fc.string({ maxLength: 50 }).map((text) => text.replace(/[^\x20-\x7e]/g, '')),
)

/** Of a run that waits. */
const runIds: string[] = []

const devices = ['shaker-1', 'sealer-1', 'centrifuge-1', 'arm-1', 'robot-1', 'nobody']

type Hostile = {
  /** Its operation_id. */
  route: string
  method: string
  path: string
  key: (typeof scopes)[number] | null
  headers: Record<string, string>
  body: string | Uint8Array | undefined
}

const hostile: fc.Arbitrary<Hostile> = fc.constantFrom(...routes).chain((route) =>
  fc.record({
    route: fc.constant(route.operation_id),
    method: fc.oneof(
      { weight: 19, arbitrary: fc.constant(route.method) },
      fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'),
    ),
    path: fc.tuple(pathOf(route), queryOf(route)).map(([path, query]) => path + query),
    key: fc.oneof({ weight: 12, arbitrary: fc.constant('admin' as const) }, fc.constantFrom(...scopes, null)),
    headers: fc
      .tuple(fc.dictionary(headerNames, headerValues, { maxKeys: 3 }), mediaTypes)
      .map(([headers, type]) => ({ ...headers, 'Content-Type': type })),
    body: bodyOf(route),
  }),
)

test('each body that is sent here is one that its route takes', (t) => {
  for (const { operation_id, body } of routes) if (body && good[operation_id]) t.ok(v.is(body, good[operation_id]), operation_id)
  for (const operation_id of Object.keys(richer)) t.ok(good[operation_id], operation_id)
  t.end()
})

test('a member that JavaScript keeps for itself is refused and named, wherever it stands in a body', async (t) => {
  const { ask } = await openTestBench(t)
  for (const route of routes.filter(({ operation_id }) => good[operation_id])) {
    const path = route.path.replace(':device_id', 'spare-1').replaceAll(/:\w+/g, 'nobody')
    for (const name of ['__proto__', 'constructor', 'prototype'])
      for (const body of withMember(good[route.operation_id]!, name)) {
        const reply = await ask(route.method, path, { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } })
        const { detail } = reply.body as { detail?: string }
        if (!route.path.includes(':')) t.equal(detail, `the body has a member called ${name}, which no member may be; give it another name`)
        t.ok(reply.status >= 400, `${route.operation_id} ${JSON.stringify(body)}`)
      }
  }
})

test('no request, however hostile, for no route, is answered with anything but sense', async (t) => {
  t.comment(`BENCHD_SEED=${seed}`)
  const setup = await openTestBench(t)
  const { bench, ask, logged, data_dir } = setup
  await beginRun(setup)
  const seen = new Set<string>()
  const stored = () =>
    [readFile(`${data_dir}/teachpoints.json`), ...devices.map((id) => JSON.stringify(bench.teachpoints.list(id)))].join('\n')
  const property = fc.asyncProperty(hostile, async (request) => {
    const before = request.path.startsWith('/api/teachpoints') ? stored() : ''
    const { status, refused } = await answerTo(setup, request)
    seen.add(`${request.route} ${refused}`)
    if (before && refused && stored() !== before) throw new Error(`${status}, and the store has changed`)
  })
  await fc.assert(property, { seed, numRuns: 2500 })

  for (const { operation_id } of routes) t.ok(seen.has(`${operation_id} true`) || seen.has(`${operation_id} false`), operation_id)
  t.ok([...seen].filter((key) => key.endsWith('false')).length > routes.length / 3, 'good requests are among them')
  t.same(logged, [], 'nothing went wrong inside')
  for (const instrument of bench.registry.all()) {
    if (instrument.device_id !== 'spare-1') t.match(instrument.info().fault?.error_type ?? 'Stopped', 'Stopped', instrument.device_id)
  }
  t.match(await ask('GET', '/health'), { status: 200, body: { status: 'ok' } })
  await ask('DELETE', '/api/devices/shaker-1/lock', { headers: { 'X-Override': 'true' } })
  t.match(await ask('POST', '/api/devices/shaker-1/initialize'), { status: 200, body: { success: true } })
  t.match(await ask('POST', '/api/devices/shaker-1/lock_plate'), { status: 200, body: { success: true } })
  t.match(await ask('POST', '/api/devices/shaker-1/shake', { json: good.shakeDevice }), { status: 200, body: { success: true } })
  t.match(await ask('POST', '/api/teachpoints', { json: { ...home, name: 'afterwards' } }), { status: 201 })
})

test('no bytes, however hostile, make the server hang, fail or talk nonsense', async (t) => {
  t.comment(`BENCHD_SEED=${seed}`)
  const { port, secrets, ask } = await openService(t)
  const target = fc.oneof(
    fc.constantFrom(
      '/health',
      '/api/devices',
      '/api/teachpoints',
      '/api/teachpoints/arm-1/a',
      '/api/devices/robot-1/stop',
      '/events',
      '*',
      '',
      '//',
      '/%',
      'http://localhost/health',
    ),
    word.map((text) => `/api/devices/${Buffer.from(text).toString('latin1').slice(0, 100)}`),
  )
  const header = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.constantFrom(
        'Host: localhost',
        `X-API-Key: ${secrets.read}`,
        `X-API-Key: ${secrets.admin}`,
        'Content-Type: application/json',
      ),
    },
    // biome-ignore format: a list to look through
    fc.constantFrom(
      'Host:', 'Host: evil', 'Host: [::1', 'Content-Length: 2', 'Content-Length: 99999999999999999999', 'Content-Length: -1', 'Transfer-Encoding: chunked',
      'Transfer-Encoding: chunked, chunked', 'Connection: upgrade', 'Upgrade: websocket', 'Upgrade: h2c', 'Expect: 100-continue', 'Expect: x', ': x', 'X : y', ' folded',
    ),
    word.map((text) => `X-A: ${Buffer.from(text).toString('latin1').slice(0, 100)}`),
  )
  const text = fc
    .tuple(
      fc.constantFrom('GET', 'GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT', 'PATCH', 'get', 'PRI', ''),
      target,
      fc.constantFrom('HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', 'http/1.1', ''),
      fc.array(header, { maxLength: 6 }),
      fc.constantFrom('', '', '{}', '2\r\n{}\r\n0\r\n\r\n', 'zz\r\n', 'GET /health HTTP/1.1\r\n\r\n', '\0\0\0'),
    )
    .map(([method, path, version, headers, body]) =>
      Buffer.from([`${method} ${path} ${version}`, ...headers, '', body].join('\r\n'), 'latin1'),
    )
  const cut = fc.tuple(text, fc.nat(), fc.uint8Array({ maxLength: 4 })).map(([all, at, more]) => {
    const place = at % (all.length + 1)
    return Buffer.concat([all.subarray(0, place), more, all.subarray(place + (at % 3))])
  })
  const property = fc.asyncProperty(fc.oneof(text, cut), async (request) => {
    for (const reply of repliesIn(await said(port, request, { end: true })))
      if (reply.status !== 100) mustMakeSense(reply.status, reply.headers, reply.text, 'GET')
  })
  await fc.assert(property, { seed, numRuns: 500 })
  t.match(await ask('GET', '/health'), { status: 200, body: { status: 'ok' } })
})

/** The value with one member more, in each of its objects in turn. */
function withMember(value: object, name: string): object[] {
  const here = Array.isArray(value) ? [] : [Object.defineProperty({ ...value }, name, { value: { a: 1 }, enumerable: true })]
  const deeper = Object.entries(value).flatMap(([key, inner]) =>
    typeof inner === 'object' && inner !== null
      ? withMember(inner, name).map((changed) => (Array.isArray(value) ? value.with(Number(key), changed) : { ...value, [key]: changed }))
      : [],
  )
  return [...here, ...deeper]
}

/** One that waits for an event that nobody emits. */
async function beginRun({ ask, clock }: TestedBench): Promise<void> {
  const { threads, ...workflow } = examples.putWorkflow!.body as { threads: { plate: object } }
  const patient = { ...workflow, name: 'patient', threads: { plate: { ...threads.plate, steps: [{ wait_for: 'godot' }] } } }
  await ask('PUT', '/api/workflows/patient', { json: patient })
  const { body } = await ask('POST', '/api/submissions', { json: { workflow: 'patient', run_mode: 'PURE_SIM' } })
  const { execution_id, submission_id } = body as { execution_id: string; submission_id: string }
  await clock.advance(100)
  const listed = await ask('GET', `/api/executions/${execution_id}/threads`)
  const [thread] = (listed.body as { threads: { thread_id: string }[] }).threads
  runIds.push(execution_id, submission_id, thread!.thread_id)
}

async function answerTo({ hono, clock, secrets }: TestedBench, { route, method, path, key, headers, body }: Hostile) {
  const withoutBody = method === 'GET' || method === 'HEAD' || body === undefined
  const all = new Headers({ ...headers, Host: 'localhost', ...(key && { 'X-API-Key': secrets[key] }) })
  const request = new Request(`http://localhost${path}`, { method, headers: all, ...(!withoutBody && { body: body as string }) })
  const response = await clock.run(Promise.resolve(hono.request(request)))
  const type = response.headers.get('content-type') ?? ''
  if (type.startsWith('text/event-stream')) {
    await response.body?.cancel()
    return { status: response.status, refused: false }
  }
  const text = await clock.run(response.text())
  mustMakeSense(response.status, response.headers, text, method)
  mustBeDocumented(route, response)
  return { status: response.status, refused: response.status >= 400 }
}

/** Throws unless it is an answer, or a refusal as every refusal must be. */
function mustMakeSense(status: number, headers: Headers, text: string, method: string): void {
  const nonsense = (what: string) => new Error(`${what}: ${status} ${JSON.stringify(text.slice(0, 500))}`)
  if (!(status >= 200 && status < 500)) throw nonsense('no such status may be')
  if (headers.get('x-api-version') !== '2.1.0') throw nonsense('no version')
  if (method === 'HEAD') return
  if (status < 400 && headers.get('content-type') !== 'application/json') return
  const body = JSON.parse(text) as Record<string, unknown>
  if (status < 400) return
  if (Object.keys(body).join() !== 'detail' || typeof body.detail !== 'string') throw nonsense('not exactly {detail}')
  if (body.detail === '' || body.detail.length > 300) throw nonsense('a detail of the wrong length')
  if (/\bat .*[.:][jt]s\b|node_modules|file:\/\//.test(body.detail)) throw nonsense('a stack')
  if (!/^[a-z_]+$/.test(headers.get('x-reason') ?? '')) throw nonsense('no reason')
  if (!headers.get('content-type')?.startsWith('application/json')) throw nonsense('no JSON')
}

function pathOf({ path, tag }: Route): fc.Arbitrary<string> {
  // One device is there to be broken; the others must never fail.
  const known = tag === 'simulation' ? ['spare-1', 'nobody'] : [...devices, ...devices, 'a', 'b']
  const named = fc.constantFrom(...known)
  const value = fc.oneof(
    { weight: 3, arbitrary: knownOf(tag, named) },
    word.map(escaped),
    fc.constantFrom(...words.filter((text) => /^%/.test(text))),
  )
  const parts = path.split('/').map((part) => (part.startsWith(':') ? value : fc.constant(part)))
  return fc.tuple(...parts).map((values) => values.join('/'))
}

function knownOf(tag: Route['tag'], others: fc.Arbitrary<string>): fc.Arbitrary<string> {
  if (tag === 'workflows') return fc.constantFrom('just-shake', 'seal-and-spin', 'nobody')
  if (tag === 'runs') return fc.nat().map((at) => runIds[at % runIds.length] ?? 'nobody')
  return others
}

function queryOf({ query }: Route): fc.Arbitrary<string> {
  const names = Object.keys((query as { entries?: object } | undefined)?.entries ?? {})
  const name = fc.oneof(fc.constantFrom('a', ...names), word.map(escaped))
  const value = fc.oneof(fc.constantFrom('arm-1', '0', '1', '-1', '1e9', 'NaN', 'true', 'COMPLETED', '%', '%zz'), word.map(escaped))
  const pair = fc.tuple(name, value).map((both) => both.join('='))
  return fc.oneof(
    { weight: names.length ? 1 : 5, arbitrary: fc.constant('') },
    fc.array(pair, { maxLength: 3 }).map((pairs) => `?${pairs.join('&')}`),
  )
}

function bodyOf({ operation_id, body }: Route): fc.Arbitrary<Hostile['body']> {
  const valid = good[operation_id] ?? {}
  const mutated = fc
    .tuple(fc.nat(), strange, word, fc.constantFrom('replace', 'remove', 'add', 'wrap'))
    .map((how) => JSON.stringify(mutate(valid, ...how)))
  return fc.oneof(
    { weight: body ? 3 : 1, arbitrary: fc.constantFrom(JSON.stringify(valid), undefined) },
    { weight: 6, arbitrary: mutated },
    { weight: 2, arbitrary: strange.map((value) => JSON.stringify(value)) },
    { weight: 2, arbitrary: oddTexts },
    bytes,
  )
}

/** The same with one member, anywhere in it, made strange. */
function mutate(valid: unknown, at: number, strangeness: unknown, name: string, how: string): unknown {
  if (typeof valid !== 'object' || valid === null) return strangeness
  const entries = Object.entries(valid)
  const index = at % Math.max(1, entries.length)
  const [key, inner] = entries[index] ?? ['a', null]
  if (how === 'wrap') return [valid]
  if (how === 'add') entries.push([name, strangeness])
  else if (how === 'remove') entries.splice(index, 1)
  else entries[index] = [key, at % 2 ? mutate(inner, at >> 3, strangeness, name, how) : strangeness]
  return Array.isArray(valid) ? entries.map(([, value]) => value) : Object.fromEntries(entries)
}

function escaped(text: string): string {
  return encodeURIComponent(text.replace(/\p{Cs}/gu, '\ufffd'))
}

function readFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
