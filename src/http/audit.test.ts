import { readFileSync } from 'node:fs'
import { test } from 'tap'
import type { AuditEntry } from '../keys/audit_entry.ts'
import { verifyChain } from '../kit/chained_lines.ts'
import { isRefusal, openService, openTestBench } from '../testing/http.ts'

type Line = AuditEntry & { file: string; seq: number; hash: string }
type Ask = Awaited<ReturnType<typeof openTestBench>>['ask']
const shaker = '/api/devices/shaker-1'

async function taken(ask: Ask, limit = 1000): Promise<Line[]> {
  return ((await ask('GET', `/api/system/audit?limit=${limit}`)).body as { entries: Line[] }).entries
}

test('whatever changes something is taken down, and what was refused that; reading is not', async (t) => {
  const { ask, bench, data_dir } = await openTestBench(t)
  await ask('GET', '/api/devices')
  await ask('POST', `${shaker}/initialize`, { key: 'operate' })
  await ask('POST', `${shaker}/shake`, { key: 'read', json: { speed: 500, duration: 5 } })
  await ask('POST', `${shaker}/shake`, { key: null, json: {} })
  bench.registry.find('shaker-1').lock.hold('some-execution')
  await ask('POST', `${shaker}/lock_plate`, { key: 'operate' })
  await ask('DELETE', '/api/keys/nobody00')
  await ask('POST', `${shaker}/stop`, { key: 'read' })
  const [start, ...lines] = await taken(ask)
  t.match(start, { seq: 1, what: /^start /, key_id: 'service' })
  t.match(lines, [
    {
      what: `POST ${shaker}/initialize`,
      status: 200,
      name: 'key to operate',
      scope: 'operate',
      reason: null,
      operation_id: /^[0-9a-f-]{36}$/,
    },
    { what: `POST ${shaker}/shake`, status: 403, name: 'key to read', reason: 'forbidden', operation_id: null },
    { what: `POST ${shaker}/shake`, status: 401, key_id: null, name: null, reason: 'unauthorized' },
    { what: `POST ${shaker}/lock_plate`, status: 423, reason: 'locked' },
    { what: 'DELETE /api/keys/nobody00', status: 404, scope: 'admin' },
    { what: `POST ${shaker}/stop`, status: 200, name: 'key to read' },
  ])
  t.equal(lines.length, 6)
  t.equal((await taken(ask, 2)).length, 2)
  for (const key of ['read', 'operate'] as const) isRefusal(t, await ask('GET', '/api/system/audit', { key }), 403)
  const done = lines.filter(({ file }) => file === 'audit.jsonl')
  t.same(
    done.map(({ status }) => status),
    [200, 200],
  )
  t.match(await verifyChain(`${data_dir}/audit.jsonl`), { broken: [], torn: 0, lines: 3, head: { hash: done.at(-1)?.hash } })
  t.match(await verifyChain(`${data_dir}/audit-refused.jsonl`), { broken: [], torn: 0, lines: 4 })
})

test('a dry run that was carried out has no line, and one that was refused has', async (t) => {
  const { ask } = await openTestBench(t)
  const body = { workflow: 'seal-and-spin', run_mode: 'LIVE' }
  t.equal((await ask('POST', '/api/simulations', { key: 'operate', json: body })).status, 200)
  t.equal((await ask('POST', '/api/simulations', { key: 'read', json: body })).status, 403)
  t.match((await taken(ask)).slice(1), [{ what: 'POST /api/simulations', status: 403 }])
})

test('what was done and what was refused are asked for together or each alone', async (t) => {
  const { ask } = await openTestBench(t)
  await ask('POST', '/api/stop')
  await ask('DELETE', '/api/keys/nobody00')
  const statuses = async (query: string) =>
    ((await ask('GET', `/api/system/audit${query}`)).body as { entries: Line[] }).entries.map(({ status }) => status)
  t.same(await statuses(''), [null, 200, 404])
  t.same(await statuses('?outcome=done'), [null, 200])
  t.same(await statuses('?outcome=refused'), [404])
  t.same(await statuses('?limit=1'), [404])
  isRefusal(t, await ask('GET', '/api/system/audit?outcome=else'), 400, 'invalid')
  const { head, refused_head } = (await ask('GET', '/api/system/audit')).body as Record<string, { seq: number; hash: string }>
  t.match(
    [head, refused_head],
    [
      { seq: 2, hash: /^[0-9a-f]{64}$/ },
      { seq: 1, hash: /^[0-9a-f]{64}$/ },
    ],
  )
})

test('a key to read that is refused in a storm pushes nothing out of the audit trail, and writes little', async (t) => {
  const { ask, data_dir } = await openTestBench(t)
  await ask('POST', '/api/stop')
  const before = readFileSync(`${data_dir}/audit.jsonl`, 'utf8')
  const path = `/api/keys/${encodeURIComponent('漢'.repeat(300))}`
  for (let i = 0; i < 200; i++) isRefusal(t, await ask('DELETE', path, { key: 'read' }), 403)
  const lines = await taken(ask)
  t.equal(readFileSync(`${data_dir}/audit.jsonl`, 'utf8'), before)
  t.ok(readFileSync(`${data_dir}/audit-refused.jsonl`).length < 60 * 700)
  const refused = lines.filter(({ status }) => status === 403)
  t.ok(refused.length >= 20 && refused.length < 60, `${refused.length} of 200`)
  t.equal(
    refused.reduce((sum, { left_out = 0 }) => sum + left_out, refused.length),
    200,
  )
})

test('the same request over and over is few lines, and each is counted', async (t) => {
  const { ask } = await openTestBench(t)
  for (let i = 0; i < 100; i++) await ask('POST', `${shaker}/stop`, { key: 'read' })
  const stops = (await taken(ask)).filter(({ what }) => what === `POST ${shaker}/stop`)
  t.ok(stops.length < 60, `${stops.length} of 100`)
  t.equal(
    stops.reduce((sum, { times = 1 }) => sum + times, 0),
    100,
  )
})

test('a key that somebody put into an address is not written down', async (t) => {
  const { ask, secrets, data_dir } = await openTestBench(t)
  const secret = secrets.read.slice(12)
  await ask('DELETE', `/api/keys/${secrets.read}`)
  await ask('DELETE', `/api/keys/${[...secrets.read].map((letter) => `%${letter.charCodeAt(0).toString(16)}`).join('')}`)
  const lines = (await taken(ask)).slice(-2)
  for (const { what } of lines) t.match(what, /^DELETE \/api\/keys\/bk_[a-z0-9]{8}_…$/)
  t.notMatch(readFileSync(`${data_dir}/audit-refused.jsonl`, 'utf8'), secret)
})

test('a storm of strangers fills neither the record nor the disk, and is counted', async (t) => {
  const { ask, clock } = await openTestBench(t)
  for (let i = 0; i < 100; i++) await ask('POST', '/api/stop', { key: null })
  const lines = await taken(ask)
  const strangers = lines.filter(({ key_id }) => key_id === null)
  t.ok(strangers.length >= 20 && strangers.length < 60, `${strangers.length} of 100`)
  t.equal(
    lines.reduce((sum, { left_out = 0 }) => sum + left_out, strangers.length),
    100,
  )
  await clock.advance(5000)
  await ask('POST', '/api/stop', { key: null })
  t.equal((await taken(ask)).at(-1)?.key_id, null)
})

test('over a socket the address is taken down', async (t) => {
  const { ask } = await openService(t)
  await ask('POST', '/api/stop', { key: 'read' })
  t.match((await taken(ask)).at(-1), { what: 'POST /api/stop', from: /127\.0\.0\.1$/ })
})
