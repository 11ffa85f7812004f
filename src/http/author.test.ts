// The name of a person in X-Operator: stored with what the request did, shown as unchecked, and never believed.

import { test } from 'tap'
import { openService, openTestBench, type TestedBench } from '../testing/http.ts'
import { beginRun, plateRun } from '../testing/http_runs.ts'

type Row = Record<string, unknown>

const shaker = '/api/devices/shaker-1'
const named = (name: string) => ({ 'X-Operator': encodeURIComponent(name) })
const newest = async ({ ask }: Pick<TestedBench, 'ask'>, query = '') =>
  (await ask('GET', `/api/system/audit?limit=1000${query}`)).body as { entries: Row[]; next: string | null }

test('the name is in the audit trail and in the record of the operation, beside the key', async (t) => {
  const bench = await openTestBench(t)
  const { ask } = bench
  await ask('POST', `${shaker}/initialize`, { key: 'operate', headers: named('Żaneta 李') })
  await ask('POST', `${shaker}/lock_plate`, { key: 'operate' })
  await ask('POST', `${shaker}/shake`, { key: 'read', headers: named('ann') })
  const { entries } = await newest(bench)
  t.match(entries.slice(-3), [
    { name: 'key to operate', operator: 'Żaneta 李', status: 200 },
    { name: 'key to operate', status: 200 },
    { name: 'key to read', operator: 'ann', status: 403 },
  ])
  t.notOk('operator' in entries.at(-2)!, 'nobody is named where nobody gave a name')
  const { operations } = (await ask('GET', '/api/operations')).body as { operations: Row[] }
  t.match(operations, [{ operation: 'lock_plate' }, { operation: 'initialize', operator: 'Żaneta 李' }])
})

test('an operation by the local socket, which needs no key, says so', async (t) => {
  const { ask, bench } = await openService(t)
  await bench.registry.find('shaker-1').perform('initialize', {}, { by: { key_id: 'local', override: false } })
  t.match((await ask('GET', '/api/operations')).body, { operations: [{ operation: 'initialize', by_name: 'local' }] })
})

test('the name is shown with a latched stop, the first and the last, and with the versions of a teachpoint', async (t) => {
  const bench = await openTestBench(t)
  const { ask } = bench
  await ask('POST', `${shaker}/initialize`)
  await ask('POST', `${shaker}/stop`, { key: 'operate', headers: named('ann') })
  await ask('POST', '/api/stop', { key: 'read', headers: named('ben') })
  const shown = { stopped: { by: 'key to operate, said to be ann', again: { by: 'key to read, said to be ben' } } }
  t.match((await ask('GET', shaker)).body, shown)
  const { events } = (await ask('GET', '/events?newest=1000')).body as { events: { status: string; context: Row }[] }
  t.match(events.findLast(({ status }) => status === 'STOPPED')!.context, { by: 'key to read, said to be ben' })
  const coords = { x: 1, y: 2, z: 3, yaw: 0, pitch: 0, roll: 0 }
  const point = { device_id: 'arm-1', name: 'tray', coord_type: 'cartesian', coords }
  await ask('POST', '/api/teachpoints', { key: 'operate', json: point, headers: named('ann') })
  const { versions } = (await ask('GET', '/api/teachpoints/arm-1/tray/history')).body as { versions: Row[] }
  t.match(versions, [{ by: 'key to operate, said to be ann' }])
  await bench.ask('POST', `${shaker}/stop`, { key: 'operate' })
  t.match((await ask('GET', shaker)).body, { stopped: { again: { by: 'key to operate' } } }, 'nobody gave a name')
})

test('a bad name is refused with a sentence, and nothing is done; a stop is never refused for it', async (t) => {
  const bench = await openTestBench(t)
  const long = 'n'.repeat(65)
  for (const header of [encodeURIComponent(long), '%', '%ff', 'Ann%0ABob', '%1b[31m', 'Ann%E2%80%AE', '%00', 'J\u00fcrgen']) {
    const { status, text } = await bench.ask('POST', `${shaker}/initialize`, { headers: { 'X-Operator': header } })
    t.equal(status, 400, header)
    t.match(text, /X-Operator must hold a name of at most 64 characters/)
    const stop = await bench.ask('POST', '/api/stop', { key: 'read', headers: { 'X-Operator': header } })
    t.equal(stop.status, 200, header)
    t.equal((await bench.ask('GET', shaker, { headers: { 'X-Operator': header } })).status, 200, 'a question has no author')
  }
  t.equal((await bench.ask('POST', `${shaker}/initialize`, { headers: named('n'.repeat(64)) })).status, 200)
  t.equal((await bench.ask('POST', `${shaker}/lock_plate`, { headers: { 'X-Operator': '  ' } })).status, 200, 'an empty name is none')
  t.equal((await bench.ask('POST', `${shaker}/initialize`, { headers: named('\u200b\ufeff') })).status, 200, 'so is an invisible one')
  const { entries } = await newest(bench)
  t.notOk(JSON.stringify(entries).includes(long), 'a refused name is not kept')
  t.notOk('operator' in entries.at(-1)!)
})

test('a name decides nothing: not what a key may do, and not what an Idempotency-Key repeats', async (t) => {
  const { ask } = await openTestBench(t)
  t.equal((await ask('POST', '/api/keys', { key: 'operate', json: { name: 'x', scope: 'read' }, headers: named('local') })).status, 403)
  const once = (name: string) =>
    ask('POST', '/api/keys', { json: { name: 'once', scope: 'read' }, headers: { ...named(name), 'Idempotency-Key': 'one' } })
  const [first, second] = [await once('ann'), await once('ben')]
  t.equal(first.status, 201)
  t.equal(second.headers.get('idempotency-replayed'), 'true')
})

test('an API key in the place of a name is not kept', async (t) => {
  const bench = await openTestBench(t)
  await bench.ask('POST', `${shaker}/initialize`, { headers: named(bench.secrets.operate) })
  t.notOk(JSON.stringify(await newest(bench)).includes(bench.secrets.operate))
})

test('the record of a run has the name in its submission, decisions and notes, and the report says "said to be"', async (t) => {
  const run = await beginRun(t, { workflow: plateRun([{ wait_for: 'go' }]) })
  const { bench, execution_id } = run
  const of = `/api/executions/${execution_id}`
  await bench.ask('POST', `${of}/pause`, { headers: named('ann') })
  await bench.ask('POST', `${of}/notes`, { json: { text: 'a scratch' }, headers: named('ben') })
  const { rows } = await run.get<{ rows: Row[] }>(`${of}/record?kind=decision`)
  t.match(rows, [{ decision: 'pause', by: 'key to admin', operator: 'ann' }])
  const notes = await run.get<{ rows: Row[] }>(`${of}/record?kind=note`)
  t.match(notes.rows, [{ text: 'a scratch', by: 'key to admin', operator: 'ben' }])
  const { text } = await bench.ask('GET', `${of}/report`)
  for (const words of ['key to admin, said to be ann', 'key to admin, said to be ben']) t.match(text, words)
})

test('a submission without an operator gets the name, and is the same one when another person repeats it', async (t) => {
  const run = await beginRun(t, { workflow: plateRun([{ wait_for: 'go' }]) })
  const asked = { workflow: 'work', run_mode: 'PURE_SIM', submission_id: '00000000-0000-4000-8000-000000000001' }
  const submit = (name: string, more: object = {}) =>
    run.bench.ask('POST', '/api/submissions', { json: { ...asked, ...more }, headers: named(name) })
  const first = await submit('ann')
  t.equal(first.status, 202)
  t.match((await run.get(`/api/submissions/${asked.submission_id}`)) as Row, { operator_id: 'ann' })
  t.match((await submit('ben')).body, { execution_id: (first.body as Row).execution_id })
  t.equal((await submit('ann', { operator_id: 'carl' })).status, 409, 'an operator of the body is a part of the request')
  const other = (await submit('ann', { submission_id: '00000000-0000-4000-8000-000000000002', operator_id: 'carl' })).body as Row
  t.match(await run.get(`/api/submissions/${other.submission_id}`), { operator_id: 'carl' })
})

test('a page of an origin that is configured may send the name', async (t) => {
  const origin = 'https://dashboard.lab.example'
  const { ask } = await openTestBench(t, { cors: { origins: [origin] } })
  const headers = { Origin: origin, 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': 'x-operator' }
  const preflight = await ask('OPTIONS', `${shaker}/shake`, { key: null, headers })
  t.match(preflight.headers.get('access-control-allow-headers'), /X-Operator/)
})

test('the audit trail is filtered by person, text, device and time, page by page, and answered as CSV', async (t) => {
  const bench = await openTestBench(t)
  await bench.ask('POST', `${shaker}/initialize`, { headers: named('Ann') })
  await bench.ask('POST', `${shaker}/lock_plate`, { headers: named('Ann') })
  await bench.ask('POST', '/api/devices/sealer-1/initialize', { key: 'operate', headers: named('=Ben') })
  const texts = async (query: string) => (await newest(bench, query)).entries.map(({ text }) => text)
  t.same(await texts('&who=ann'), ['Initialized shaker-1', 'Locked the plate in shaker-1'])
  t.same(await texts('&who=TO+OPERATE'), ['Initialized sealer-1'])
  t.same(await texts('&who=ann&text=plate'), ['Locked the plate in shaker-1'])
  t.same(await texts('&device_id=sealer-1'), ['Initialized sealer-1'])
  t.same(await texts('&since=8999999999'), [])
  const { ask } = bench
  const page = async (query: string) => (await ask('GET', `/api/system/audit?limit=2${query}`)).body as Awaited<ReturnType<typeof newest>>
  const first = await page('')
  t.same(
    first.entries.map(({ text }) => text),
    ['Locked the plate in shaker-1', 'Initialized sealer-1'],
  )
  const second = await page(`&before=${first.next}`)
  t.match(
    second.entries.map(({ text }) => text),
    [/^Started benchd/, 'Initialized shaker-1'],
  )
  t.equal(second.next, null)
  const csv = await ask('GET', '/api/system/audit?who=ben', { headers: { Accept: 'text/csv' } })
  t.match(csv.headers.get('content-type'), /^text\/csv/)
  const [head, line, ...rest] = csv.text.split('\r\n')
  t.match(head, /^at,utc,name,key_id,operator,scope,text,outcome/)
  t.match(line, /^\d+(\.\d+)?,\d{4}-\d\d-\d\dT[\d:.]+Z,key to operate,\w+,'=Ben,operate,Initialized sealer-1,done,200,/)
  t.same(rest, [''])
})
