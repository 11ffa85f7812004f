import { type Test, test } from 'tap'
import { isRefusal, openBench } from './testing.ts'

type Answer = { request_id: string; request_secret: string; code: string }
const wish = { app_name: 'Dashboard', scope: 'operate' }

async function begin(t: Test) {
  const bench = await openBench(t)
  const { ask } = bench
  const request = async (json: object = wish) => (await ask('POST', '/api/keys/requests', { key: null, json })).body as Answer
  const poll = (id: string, secret: string) =>
    ask('GET', `/api/keys/requests/${id}`, { key: null, headers: { 'X-Request-Secret': secret } })
  const pending = async () => ((await ask('GET', '/api/keys/requests')).body as { requests: { request_id: string }[] }).requests
  return { ...bench, request, poll, pending }
}

test('who approves may say when the key ends, and no moment that is over', async (t) => {
  const { ask, request, poll, lab } = await begin(t)
  const { request_id, request_secret } = await request()
  const approve = `/api/keys/requests/${request_id}/approve`
  isRefusal(t, await ask('POST', approve, { json: { expires_at: 1 } }), 400, 'invalid')
  isRefusal(t, await ask('POST', approve, { json: { expires_at: Date.now() } }), 400, 'invalid')
  t.equal((await ask('POST', approve, { json: { expires_at: 4_000_000_000 } })).status, 200)
  t.equal((await poll(request_id, request_secret)).status, 200)
  t.equal(lab.keys.list().at(-1)?.expires_at, 4_000_000_000)
})

test('who asks for a key waits until it is approved, fetches it once, and may what was asked for', async (t) => {
  const { ask, lab, pending, poll } = await begin(t)
  const before = lab.keys.list().length
  const made = await ask('POST', '/api/keys/requests', { key: null, json: wish })
  t.equal(made.status, 201)
  const { request_id, request_secret, code } = made.body as Answer
  t.match(code, /^[2-9A-Z]{3}-[2-9A-Z]{3}$/)
  t.equal(made.headers.get('location'), `/api/keys/requests/${request_id}`)
  t.match(await pending(), [{ request_id, code, app_name: 'Dashboard', scope: 'operate' }])
  t.notMatch(JSON.stringify(await pending()), request_secret)
  t.match(await poll(request_id, request_secret), { status: 202, body: {} })
  t.match(await ask('POST', `/api/keys/requests/${request_id}/approve`), { status: 200, body: { success: true } })
  t.same(await pending(), [])
  t.equal(lab.keys.list().length, before, 'nobody has the key yet, so there is none')
  const fetched = await poll(request_id, request_secret)
  t.equal(fetched.status, 200)
  const { api_key } = fetched.body as { api_key: string }
  t.match((await ask('GET', '/api/system/whoami', { key: null, headers: { 'X-API-Key': api_key } })).body, {
    name: 'Dashboard',
    scope: 'operate',
  })
  isRefusal(t, await poll(request_id, request_secret), 404, 'not_found')
  t.equal(lab.keys.list().length, before + 1)
})

test('only who asked fetches the key, and only once when they ask twice at once', async (t) => {
  const { ask, clock, poll, request, lab } = await begin(t)
  const { request_id, request_secret } = await request()
  await ask('POST', `/api/keys/requests/${request_id}/approve`)
  for (const secret of ['', 'x', request_secret.slice(1), `${request_secret}A`])
    isRefusal(t, await poll(request_id, secret), 404, 'not_found')
  isRefusal(t, await ask('GET', `/api/keys/requests/${request_id}`, { key: null }), 404)
  const before = lab.keys.list().length
  const both = await clock.run(Promise.all([poll(request_id, request_secret), poll(request_id, request_secret)]))
  t.same(both.map(({ status }) => status).sort(), [200, 404])
  t.equal(lab.keys.list().length, before + 1)
})

test('five wait at most, each for ten minutes, and a denied one is gone', async (t) => {
  const { ask, clock, poll, pending, request } = await begin(t)
  const first = await request()
  for (let i = 0; i < 4; i++) await request()
  isRefusal(t, await ask('POST', '/api/keys/requests', { key: null, json: wish }), 409, 'conflict')
  t.equal((await ask('DELETE', `/api/keys/requests/${first.request_id}`)).status, 200)
  isRefusal(t, await poll(first.request_id, first.request_secret), 404)
  isRefusal(t, await ask('POST', `/api/keys/requests/${first.request_id}/approve`), 404)
  const last = await request()
  await clock.advance(599_000)
  t.equal((await pending()).length, 5)
  await clock.advance(1000)
  t.same(await pending(), [])
  isRefusal(t, await poll(last.request_id, last.request_secret), 404)
  isRefusal(t, await ask('POST', `/api/keys/requests/${last.request_id}/approve`), 404)
})

test('an approved key that nobody fetches in time is never made', async (t) => {
  const { ask, clock, poll, request, lab } = await begin(t)
  const { request_id, request_secret } = await request()
  await ask('POST', `/api/keys/requests/${request_id}/approve`)
  const before = lab.keys.list().length
  await clock.advance(600_000)
  isRefusal(t, await poll(request_id, request_secret), 404)
  t.equal(lab.keys.list().length, before)
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
