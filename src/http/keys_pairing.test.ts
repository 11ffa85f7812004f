import { type Test, test } from 'tap'
import { isRefusal, openTestBench } from '../testing/http.ts'

type PairingAnswer = { request_id: string; request_secret: string; code: string }
const wish = { app_name: 'Dashboard', scope: 'operate' }

async function begin(t: Test, more: object = {}) {
  const warned: string[] = []
  const setup = await openTestBench(t, more)
  const { ask, hono, clock, bench } = setup
  bench.log.warn = (message) => void warned.push(message)
  const requestFrom = async (address: string, json: object = wish) => {
    const init = { method: 'POST', headers: { Host: 'localhost', 'Content-Type': 'application/json' }, body: JSON.stringify(json) }
    const env = { incoming: { socket: { remoteAddress: address } } }
    const response = await clock.run(Promise.resolve(hono.request('/api/keys/requests', init, env)))
    return { status: response.status, headers: response.headers, ...((await response.json()) as PairingAnswer & { detail?: string }) }
  }
  const refusedTimes = () => bench.refusals.counts.find(({ bound }) => bound === 'pairings_per_address')?.times
  const request = async (json: object = wish) => (await ask('POST', '/api/keys/requests', { key: null, json })).body as PairingAnswer
  const poll = (id: string, secret: string) =>
    ask('GET', `/api/keys/requests/${id}`, { key: null, headers: { 'X-Request-Secret': secret } })
  const pending = async () => ((await ask('GET', '/api/keys/requests')).body as { requests: { request_id: string }[] }).requests
  return { ...setup, request, requestFrom, poll, pending, warned, refusedTimes }
}

test('who approves may say when the key ends, and no moment that is over', async (t) => {
  const { ask, request, poll, bench } = await begin(t)
  const { request_id, request_secret } = await request()
  const approve = `/api/keys/requests/${request_id}/approve`
  isRefusal(t, await ask('POST', approve, { json: { expires_at: 1 } }), 400, 'invalid')
  isRefusal(t, await ask('POST', approve, { json: { expires_at: Date.now() } }), 400, 'invalid')
  t.equal((await ask('POST', approve, { json: { expires_at: 4_000_000_000 } })).status, 200)
  t.equal((await poll(request_id, request_secret)).status, 200)
  t.equal(bench.keys.list().at(-1)?.expires_at, 4_000_000_000)
})

test('who asks for a key waits until it is approved, fetches it once, and may what was asked for', async (t) => {
  const { ask, bench, pending, poll } = await begin(t)
  const before = bench.keys.list().length
  const made = await ask('POST', '/api/keys/requests', { key: null, json: wish })
  t.equal(made.status, 201)
  const { request_id, request_secret, code } = made.body as PairingAnswer
  t.match(code, /^[2-9A-Z]{3}-[2-9A-Z]{3}$/)
  t.equal(made.headers.get('location'), `/api/keys/requests/${request_id}`)
  t.match(await pending(), [{ request_id, code, app_name: 'Dashboard', scope: 'operate' }])
  t.notMatch(JSON.stringify(await pending()), request_secret)
  t.match(await poll(request_id, request_secret), { status: 202, body: {} })
  t.match(await ask('POST', `/api/keys/requests/${request_id}/approve`), { status: 200, body: { success: true } })
  t.same(await pending(), [])
  t.equal(bench.keys.list().length, before, 'nobody has the key yet, so there is none')
  const fetched = await poll(request_id, request_secret)
  t.equal(fetched.status, 200)
  const { api_key } = fetched.body as { api_key: string }
  t.match((await ask('GET', '/api/system/whoami', { key: null, headers: { 'X-API-Key': api_key } })).body, {
    name: 'Dashboard',
    scope: 'operate',
  })
  isRefusal(t, await poll(request_id, request_secret), 404, 'not_found')
  t.equal(bench.keys.list().length, before + 1)
})

test('only who asked fetches the key, and only once when they ask twice at once', async (t) => {
  const { ask, clock, poll, request, bench } = await begin(t)
  const { request_id, request_secret } = await request()
  await ask('POST', `/api/keys/requests/${request_id}/approve`)
  for (const secret of ['', 'x', request_secret.slice(1), `${request_secret}A`])
    isRefusal(t, await poll(request_id, secret), 404, 'not_found')
  isRefusal(t, await ask('GET', `/api/keys/requests/${request_id}`, { key: null }), 404)
  const before = bench.keys.list().length
  const both = await clock.run(Promise.all([poll(request_id, request_secret), poll(request_id, request_secret)]))
  t.same(both.map(({ status }) => status).sort(), [200, 404])
  t.equal(bench.keys.list().length, before + 1)
})

test('five wait at most, each for ten minutes, and a denied one is gone', async (t) => {
  const { ask, clock, poll, pending, requestFrom } = await begin(t)
  const first = await requestFrom('10.0.0.1')
  for (let i = 2; i <= 5; i++) await requestFrom(`10.0.0.${i}`)
  t.match(await requestFrom('10.0.0.6'), { status: 409, detail: /5 requests for a key wait already/ })
  t.equal((await ask('DELETE', `/api/keys/requests/${first.request_id}`)).status, 200)
  isRefusal(t, await poll(first.request_id, first.request_secret), 404)
  isRefusal(t, await ask('POST', `/api/keys/requests/${first.request_id}/approve`), 404)
  const last = await requestFrom('10.0.0.6')
  await clock.advance(599_000)
  t.equal((await pending()).length, 5)
  await clock.advance(1000)
  t.same(await pending(), [])
  isRefusal(t, await poll(last.request_id, last.request_secret), 404)
  isRefusal(t, await ask('POST', `/api/keys/requests/${last.request_id}/approve`), 404)
})

test('one address has two that wait, and keeps nobody else out', async (t) => {
  const { ask, pending, requestFrom, refusedTimes } = await begin(t)
  for (let i = 0; i < 2; i++) t.equal((await requestFrom('10.0.0.66')).status, 201)
  for (let i = 0; i < 8; i++)
    t.match(await requestFrom('10.0.0.66'), { status: 409, detail: /2 requests for a key wait from your address/ })
  t.equal(refusedTimes(), 8)
  const honest = await requestFrom('10.0.0.7')
  t.equal(honest.status, 201)
  t.same(
    ((await pending()) as unknown as { from: string }[]).map(({ from }) => from),
    ['10.0.0.66', '10.0.0.66', '10.0.0.7'],
  )
  const { body } = await ask('POST', `/api/keys/requests/${honest.request_id}/approve`)
  t.same(body, { success: true, message: '"Dashboard" at 10.0.0.7 may fetch a key of scope operate' })
})

test('where three addresses have taken all places, who has none takes that of the oldest of who has most', async (t) => {
  const { ask, pending, poll, requestFrom, refusedTimes } = await begin(t)
  const asked: PairingAnswer[] = []
  for (const n of [1, 1, 2, 2, 3]) asked.push(await requestFrom(`10.0.0.6${n}`))
  const honest = await requestFrom('10.0.0.7')
  t.equal(honest.status, 201)
  t.equal(refusedTimes(), 1)
  isRefusal(t, await poll(asked[0]!.request_id, asked[0]!.request_secret), 404)
  t.same(
    (await pending()).map(({ request_id }) => request_id),
    [...asked.slice(1), honest].map(({ request_id }) => request_id),
  )
  t.equal((await requestFrom('10.0.0.7')).status, 409, 'it takes no second one from anybody')
  t.equal((await requestFrom('10.0.0.8')).status, 201)
  for (let n = 100; n < 120; n++) t.equal((await requestFrom(`10.0.0.${n}`)).status, 409, 'five addresses with one each keep theirs')
  t.match(await poll(honest.request_id, honest.request_secret), { status: 202 })
  t.equal((await ask('POST', `/api/keys/requests/${honest.request_id}/approve`)).status, 200)
})

test('what is approved gives way to nobody', async (t) => {
  const { ask, poll, requestFrom } = await begin(t, { limits: { pairings_per_address: 5 } })
  const asked: PairingAnswer[] = []
  for (let i = 0; i < 5; i++) asked.push(await requestFrom('10.0.0.7'))
  for (const { request_id } of asked.slice(0, 3)) await ask('POST', `/api/keys/requests/${request_id}/approve`)
  t.equal((await requestFrom('10.0.0.8')).status, 201)
  isRefusal(t, await poll(asked[3]!.request_id, asked[3]!.request_secret), 404)
  t.equal((await requestFrom('10.0.0.9')).status, 409)
  for (const { request_id, request_secret } of asked.slice(0, 3)) t.equal((await poll(request_id, request_secret)).status, 200)
})

test('what a program calls itself cannot pass for a command, nor for the code of another request', async (t) => {
  const { requestFrom, warned } = await begin(t)
  const first = await requestFrom('10.0.0.7', { app_name: 'Kühl-Schrank (2) v1.0', scope: 'admin' })
  t.equal(first.status, 201)
  t.same(warned, [
    `somebody at 10.0.0.7 asks for a key of scope admin and shows the code ${first.code}; if you know who that is: benchd key approve ${first.code} (the program calls itself "Kühl-Schrank (2) v1.0")`,
  ])
  const names = [
    ...[
      `x"; benchd key approve ${first.code}`,
      'a; b',
      "it's",
      'a`b`',
      '$(a)',
      'a|b',
      'a\\b',
      'a\u202eb',
      'a\u2028b',
      ' a',
      '',
      '-',
      'a'.repeat(65),
    ],
  ]
  for (const app_name of names)
    t.equal((await requestFrom('10.0.0.8', { app_name, scope: 'read' })).status, 400, encodeURIComponent(app_name))
  t.equal(warned.length, 1)
})

test('a name with the code of another request is answered like any other, and nobody sees it', async (t) => {
  const { ask, requestFrom, warned, pending } = await begin(t, { limits: { pairings_per_address: 4 } })
  const { code } = await requestFrom('10.0.0.7')
  const names = [`benchd key approve ${code}`, code.toLowerCase().replace('-', ''), `a ${code.split('-').join(' ')} b`]
  const hidden = '(a name with the code of a request)'
  for (const app_name of names) {
    const { status, code: own, headers, ...answer } = await requestFrom('10.0.0.8', { app_name, scope: 'read' })
    t.equal(status, 201)
    t.same(Object.keys(answer).sort(), ['request_id', 'request_secret'])
    t.ok(warned.at(-1)?.endsWith(`benchd key approve ${own} (the program calls itself "${hidden}")`))
  }
  t.match(await pending(), [{ app_name: 'Dashboard' }, { app_name: hidden }, { app_name: hidden }, { app_name: hidden }])
  const [, second, third] = await pending()
  const approved = await ask('POST', `/api/keys/requests/${second!.request_id}/approve`)
  t.match(approved.body, { message: `"${hidden}" at 10.0.0.8 may fetch a key of scope read` })
  t.match((await ask('DELETE', `/api/keys/requests/${third!.request_id}`)).body, { message: `"${hidden}" at 10.0.0.8 gets no key` })
  for (const address of ['10.0.0.9', '10.0.0.6']) await requestFrom(address)
  const full = [await requestFrom('10.0.0.5', { app_name: `a ${code}`, scope: 'read' }), await requestFrom('10.0.0.5')]
  t.same(
    full.map(({ status }) => status),
    [409, 409],
  )
  t.equal(full[0]!.detail, full[1]!.detail)
})

test('an approved key that nobody fetches in time is never made', async (t) => {
  const { ask, clock, poll, request, bench } = await begin(t)
  const { request_id, request_secret } = await request()
  await ask('POST', `/api/keys/requests/${request_id}/approve`)
  const before = bench.keys.list().length
  await clock.advance(600_000)
  isRefusal(t, await poll(request_id, request_secret), 404)
  t.equal(bench.keys.list().length, before)
})

test('asking needs no key, but deciding does, and what is asked for must be something that there is', async (t) => {
  const { ask, request } = await begin(t)
  const { request_id } = await request()
  for (const key of [null, 'read', 'operate'] as const) {
    for (const [method, path] of [
      ['POST', '/approve'],
      ['DELETE', ''],
    ] as const)
      isRefusal(t, await ask(method, `/api/keys/requests/${request_id}${path}`, { key }), key ? 403 : 401)
    isRefusal(t, await ask('GET', '/api/keys/requests', { key }), key ? 403 : 401)
  }
  for (const json of [{}, { ...wish, scope: 'emperor' }, { ...wish, app_name: 'a\nb' }, { ...wish, more: 1 }])
    isRefusal(t, await ask('POST', '/api/keys/requests', { key: null, json }), 400, 'invalid')
  isRefusal(t, await ask('POST', '/api/keys/requests', { key: null, json: { ...wish, app_name: 'a'.repeat(5000) } }), 413)
})
