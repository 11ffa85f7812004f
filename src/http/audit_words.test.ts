// The audit trail in words: a sentence and members for each request, the same for every client.

import { test } from 'tap'
import { auditFiles } from '../keys/audit.ts'
import type { AuditEntry } from '../keys/audit_entry.ts'
import { ChainedLines, verifyChain } from '../kit/chained_lines.ts'
import { isRefusal, openTestBench, type TestedBench } from '../testing/http.ts'
import { carrying } from '../testing/http_tasks.ts'
import { modeWords } from '../workflow/state/modes.ts'
import { bounded, detailsOf } from './audit_details.ts'
import { auditWords } from './audit_words.ts'
import type { Exchange } from './contract.ts'
import { routes } from './routes.ts'

const shaker = '/api/devices/shaker-1'

async function newest({ ask }: Pick<TestedBench, 'ask'>, query = ''): Promise<AuditEntry[]> {
  return ((await ask('GET', `/api/system/audit?limit=1000${query}`)).body as { entries: AuditEntry[] }).entries
}

test('each route that changes something has words, or performs an operation of a device', (t) => {
  const isNamed = ({ operation_id, path }: (typeof routes)[number]) =>
    operation_id in auditWords || /^\/api\/devices\/:device_id\/\w+$/.test(path)
  const silent = routes.filter(({ method }) => method !== 'GET').filter((route) => !isNamed(route))
  t.same(
    silent.map(({ operation_id }) => operation_id),
    [],
    'routes without words: add a row to audit_words.ts',
  )
  t.end()
})

test('who set 37 °C has an answer: by the route of the operation, by perform, and in the background', async (t) => {
  const bench = await openTestBench(t)
  const { ask } = bench
  await ask('POST', `${shaker}/initialize`, { key: 'operate' })
  await ask('POST', `${shaker}/set_temperature`, { key: 'operate', json: { temperature: 37 } })
  await ask('POST', `${shaker}/set_temperature`, { key: 'read', json: { temperature: 170 } })
  const perform = { operation: 'set_temperature', params: { temperature: null } }
  await ask('POST', `${shaker}/perform`, { key: 'operate', json: perform })
  const begun = { json: { speed: 500, duration: 5 }, headers: { Prefer: 'respond-async' } }
  await ask('POST', `${shaker}/shake`, begun)
  await ask('POST', `${shaker}/shake`, begun)
  await ask('POST', `${shaker}/stop`, { key: 'read' })
  await ask('POST', `${shaker}/clear_fault`)
  const [start, ...entries] = await newest(bench)
  t.match(start?.text, /^Started benchd /)
  t.match(
    entries.map(({ text }) => text),
    [
      'Initialized shaker-1',
      'Set shaker-1 to 37 °C',
      'Wanted to set shaker-1, which was refused: forbidden',
      'Switched the heater of shaker-1 off',
      'Began to shake shaker-1 at 500 rpm for 5 s',
      'Wanted to shake shaker-1 at 500 rpm for 5 s, which was refused: busy',
      'Stopped shaker-1',
      'Wanted to clear the fault of shaker-1, which was refused: stopped',
    ],
  )
  t.match(entries[1], { operation: 'set_temperature', params: { temperature: 37 }, device_id: 'shaker-1', outcome: 'done' })
  t.match(entries[3], { operation: 'set_temperature', params: { temperature: null }, outcome: 'done' })
  t.match(entries[4], { operation: 'shake', outcome: 'accepted', operation_id: /^[0-9a-f-]{36}$/, device_id: 'shaker-1' })
  t.match(entries[5], { outcome: 'refused', params: { speed: 500, duration: 5 } })
  t.notOk('decision' in entries[1]!, 'a member that does not apply is absent')
  t.match(await verifyChain(`${bench.data_dir}/${auditFiles.done}`), { broken: [] })
})

test('the lines of a device are asked for alone, with the stops of all devices', async (t) => {
  const bench = await openTestBench(t)
  const { ask } = bench
  await ask('POST', `${shaker}/initialize`)
  await ask('POST', '/api/devices/sealer-1/initialize')
  await ask('POST', '/api/stop')
  const texts = async (query: string) => (await newest(bench, query)).map(({ text }) => text)
  t.same(await texts('&device_id=shaker-1'), ['Initialized shaker-1', 'Stopped every device'])
  t.same(await texts('&device_id=shaker'), ['Stopped every device'])
  t.same(await texts('&device_id=shaker-1&outcome=refused'), [])
  isRefusal(t, await ask('GET', '/api/system/audit?device=shaker-1'), 400, 'invalid')
})

test('a stop that is not confirmed is no success in the trail', async (t) => {
  const bench = await openTestBench(t)
  const { ask } = bench
  await ask('POST', `${shaker}/initialize`)
  await ask('POST', '/api/sim/devices/shaker-1/faults', { json: { fault: 'no_reply' } })
  for (const [path, words] of [
    [`${shaker}/stop`, 'Tried to stop shaker-1, which was sent and is not confirmed'],
    ['/api/stop', 'Tried to stop every device, which was sent and is not confirmed'],
  ] as const) {
    t.match((await ask('POST', path)).body, { success: false })
    t.match((await newest(bench)).at(-1), { text: words, outcome: 'failed', status: 200 })
  }
})

test('a change that the disk did not keep may have happened, so it is not among the refused ones', async (t) => {
  const c = { get: () => undefined, req: { method: 'POST', path: '/api/labware/1/location' } } as unknown as Exchange
  const answered = { status: 503, reason: 'storage', operation_id: null, location: null }
  const { text, outcome } = detailsOf(c, answered)
  t.equal(outcome, 'failed')
  t.match(text, /was not kept on the disk, and may have happened: storage$/)
  t.match(detailsOf(c, { ...answered, reason: 'overloaded' }), { outcome: 'refused' })
  const bench = await openTestBench(t)
  for (const reason of ['storage', 'overloaded']) bench.bench.audit.note({ what: `POST /${reason}`, status: 503, reason })
  t.match(await newest(bench, '&outcome=refused'), [{ what: 'POST /overloaded' }])
  t.match((await newest(bench, '&outcome=done')).at(-1), { what: 'POST /storage' })
})

test('a decision about an error, its answer and its place are in the line', async (t) => {
  const { run, path } = await carrying(t)
  await run.ask('POST', path, { answer: 'cannot', reason: 'the door is locked' })
  const { thread_id } = await run.heldAgain('plate', 'MOVE')
  await run.ask('POST', `/api/threads/${thread_id}/recover`, { decision: 'CONTINUE_ALL' })
  await run.ask('POST', `/api/threads/${thread_id}/recover`, { decision: 'RETRY' })
  const entries = (await newest(run.bench)).slice(-3)
  t.match(entries, [
    { text: /^Answered that a step cannot be done: Take plate .*; the door is locked$/, decision: 'cannot', place: 'pad_1' },
    { text: 'Wanted to decide about the error of plate, which was refused: invalid', decision: 'CONTINUE_ALL', outcome: 'refused' },
    { text: /^Retried the move of plate$/, decision: 'RETRY', operation: 'recoverThread', execution_id: run.execution_id, place: 'pad_1' },
  ])
  await run.ask('POST', '/api/stop')
})

test('a submission names its mode as the page does', (t) => {
  const { words } = auditWords.submit as { words: Record<string, string> }
  for (const [mode, its] of Object.entries(modeWords)) t.match(words[mode], `(${its})`)
  t.end()
})

test('a submission names its run', async (t) => {
  const bench = await openTestBench(t)
  const { body } = await bench.ask('POST', '/api/submissions', { json: { workflow: 'seal-and-spin', run_mode: 'PURE_SIM' } })
  const { execution_id } = body as { execution_id: string }
  const text = `Submitted seal-and-spin (Plan only) as run ${execution_id.slice(0, 8)}`
  t.match((await newest(bench)).at(-1), { text, outcome: 'accepted', execution_id })
})

test('parameters are short, and have no secrets', (t) => {
  t.same(bounded({ speed: 5, api_key: 'x', nested: { password: 'x', at: 'bk_abcdefgh_0123' } }), {
    speed: 5,
    api_key: '…',
    nested: { password: '…', at: 'bk_abcdefgh_…' },
  })
  t.same(bounded({ list: Array(1000).fill(0), text: 'y'.repeat(1000) }), { list: '…', text: `${'y'.repeat(59)}…` })
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`m${i}`, 'z'.repeat(100)]))
  t.ok(JSON.stringify(bounded(many)).length < 700)
  for (const none of [undefined, null, 5, [], {}]) t.equal(bounded(none), undefined)
  t.end()
})

test('lines of an earlier version are shown and filtered, and the chain goes on behind them', async (t) => {
  const data_dir = t.testdir({})
  const old = { key_id: 'k', name: 'notebook', scope: 'operate', from: null, status: 200, reason: null, operation_id: null }
  const lines = new ChainedLines({ path: `${data_dir}/${auditFiles.done}`, report: () => t.fail('damaged') })
  await lines.add([
    { at: 1, what: `POST ${shaker}/shake`, ...old },
    { at: 2, what: 'POST /api/devices/sealer-1/seal', ...old },
  ])
  await lines.close()
  const bench = await openTestBench(t, {}, { folder: data_dir })
  await bench.ask('POST', `${shaker}/initialize`)
  const entries = await newest(bench, '&device_id=shaker-1')
  t.match(entries, [{ text: `POST ${shaker}/shake` }, { text: 'Initialized shaker-1' }])
  t.match(await verifyChain(`${data_dir}/${auditFiles.done}`), { broken: [], first_seq: 1, lines: 4 })
})
