import { test } from 'tap'
import { openTestBench } from '../testing/http.ts'

type Key = { key_id: string; api_key: string; name: string; scope: string; revoked_at: number | null }

test('a key is made, shown once, listed without its secret, and revoked', async (t) => {
  const { ask } = await openTestBench(t)
  const made = await ask('POST', '/api/keys', { json: { name: 'laptop', scope: 'read' } })
  t.equal(made.status, 201)
  const { key_id, api_key } = made.body as Key
  t.equal(made.headers.get('location'), `/api/keys/${key_id}`)
  const opens = async (key: string) => (await ask('GET', '/api/devices', { key: null, headers: { 'X-API-Key': key } })).status
  t.equal(await opens(api_key), 200)
  const { text, body } = await ask('GET', '/api/keys')
  t.notMatch(text, api_key.slice(12))
  t.notMatch(text, /sha256/)
  t.ok((body as { keys: Key[] }).keys.some((key) => key.key_id === key_id && key.revoked_at === null))
  t.equal((await ask('DELETE', `/api/keys/${key_id}`)).status, 200)
  t.equal(await opens(api_key), 401)
  t.equal((await ask('DELETE', '/api/keys/nobody00')).status, 404)
})

test('white space at the ends of a name is taken off, and a name of nothing else is refused', async (t) => {
  const { ask } = await openTestBench(t)
  t.match((await ask('POST', '/api/keys', { json: { name: '  x ', scope: 'read' } })).body, { name: 'x' })
  t.match(await ask('POST', '/api/keys', { json: { name: '  ', scope: 'read' } }), { status: 400, body: { detail: /name/ } })
})

test('a rotated key works beside the old one until that is revoked, or its overlap is over', async (t) => {
  const { ask } = await openTestBench(t)
  const old = (await ask('POST', '/api/keys', { json: { name: 'laptop', scope: 'operate' } })).body as Key
  const rotated = await ask('POST', `/api/keys/${old.key_id}/rotate`)
  t.equal(rotated.status, 201)
  const fresh = rotated.body as Key
  t.match(fresh, { name: 'laptop', scope: 'operate' })
  const opens = async (key: string) => (await ask('GET', '/api/devices', { key: null, headers: { 'X-API-Key': key } })).status
  t.same([await opens(old.api_key), await opens(fresh.api_key)], [200, 200])
  const last = (await ask('POST', `/api/keys/${fresh.key_id}/rotate`, { json: { overlap_s: 0 } })).body as Key
  t.same([await opens(fresh.api_key), await opens(last.api_key)], [401, 200])
  t.equal((await ask('POST', '/api/keys/nobody00/rotate')).status, 404)
})

test('a key ends in seconds, and not beyond the year 2100: milliseconds are a slip', async (t) => {
  const { ask } = await openTestBench(t)
  for (const expires_at of [Date.now() + 60_000, 9e15, 1e300, 4_102_444_801]) {
    const answer = await ask('POST', '/api/keys', { json: { name: 'x', scope: 'read', expires_at } })
    t.equal(answer.status, 400, answer.text)
    t.match(answer.text, /seconds, not in milliseconds/)
  }
  const made = await ask('POST', '/api/keys', { json: { name: 'x', scope: 'read', expires_at: 4_102_444_800 } })
  t.match(made, { status: 201, body: { expires_at: 4_102_444_800 } })
  const rotated = await ask('POST', `/api/keys/${(made.body as Key).key_id}/rotate`, { json: { expires_at: 4_000_000_000 } })
  t.match(rotated.body, { expires_at: 4_000_000_000 })
  t.equal((await ask('POST', `/api/keys/${(made.body as Key).key_id}/rotate`, { json: { expires_at: 1 } })).status, 400)
})

test('keys are for admins', async (t) => {
  const { ask } = await openTestBench(t)
  for (const [method, path] of [
    ['GET', '/api/keys'],
    ['POST', '/api/keys'],
    ['POST', '/api/keys/x/rotate'],
    ['DELETE', '/api/keys/x'],
  ] as const) {
    t.equal((await ask(method, path, { key: 'operate' })).status, 403, `${method} ${path}`)
  }
})
