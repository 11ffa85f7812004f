// The queue of runs over the API: order, starts, what it waits for, and when it pauses.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import type { QueueView } from '../queue/view.ts'
import { isRefusal } from '../testing/http.ts'
import { beginRun, plateRun, type Scripted } from '../testing/http_runs.ts'

type Entry = QueueView['entries'][number]
type Asked = { submission?: object; [member: string]: unknown }

const unknown = '5f0c9a1e-8c5d-4f0e-9a51-0d3c7f6a1b2c'

/** A bench whose first run has ended, with a plate at pad_1 that further runs take up. */
async function bench(t: Parameters<typeof beginRun>[0], steps: object[] = [{ method: 'shake_it' }]) {
  const run = await beginRun(t, { workflow: plateRun(steps, { variables: { n: { default: 0 } } }) })
  return run
}

async function add(run: Scripted, { submission, ...more }: Asked = {}): Promise<Entry> {
  return run.post<Entry>('/api/queue', { submission: { workflow: 'work', run_mode: 'LIVE', ...submission }, ...more })
}

const queueOf = (run: Scripted) => run.get<QueueView>('/api/queue')
const waiting = async (run: Scripted) =>
  (await queueOf(run)).entries.filter(({ state }) => state === 'waiting').map(({ entry_id }) => entry_id)
const whyOf = async (run: Scripted, entry_id: string) => (await run.get<Entry>(`/api/queue/${entry_id}`)).why_it_waits

async function executions(run: Scripted): Promise<{ execution_id: string; status: string }[]> {
  return (await run.get<{ executions: { execution_id: string; status: string }[] }>('/api/executions')).executions
}

/** Resolves when the queue has nothing left. */
const drained = (run: Scripted) => run.until('an empty queue', async () => (await queueOf(run)).entries.length === 0)

test('entries run one after the other, each once, and leave the queue with their outcome', async (t) => {
  const run = await bench(t)
  await run.over()
  const first = await add(run, { submission: { submission_id: unknown, variables: { n: 1 } } })
  t.match(first, { entry_id: unknown, state: 'running', execution_id: String, why_it_waits: null })
  const second = await add(run)
  t.match(second, { state: 'waiting', number: 1, why_it_waits: /a run of the queue is open, and queue.open_runs is 1/ })
  t.match(await add(run, { submission: { submission_id: unknown, variables: { n: 1 } } }), {
    state: 'running',
    execution_id: first.execution_id,
  })
  const other = await run.ask('POST', '/api/queue', { submission: { workflow: 'work', run_mode: 'LIVE', submission_id: unknown } })
  isRefusal(t, other, 409, 'conflict')
  await drained(run)
  t.equal((await executions(run)).length, 3)
  t.match((await queueOf(run)).ended, [
    { entry_id: second.entry_id, outcome: 'COMPLETED' },
    { entry_id: unknown, outcome: 'COMPLETED' },
  ])
  isRefusal(
    t,
    await run.ask('POST', '/api/queue', { submission: { workflow: 'work', run_mode: 'LIVE', submission_id: unknown } }),
    409,
    'conflict',
  )
  const { rows } = await run.get<{ rows: object[] }>(`/api/executions/${first.execution_id}/record?kind=submission`)
  t.match(rows, [{ by: 'key to admin', queue: { entry_id: unknown, added_at: Number } }], 'the record says that it came from the queue')
  const { entries } = await run.get<{ entries: { what: string; details?: { text: string }; text?: string }[] }>(
    '/api/system/audit?limit=20',
  )
  t.match(JSON.stringify(entries), /The queue submitted work as run [0-9a-f]{8}, which key to admin had added/)
  t.match(JSON.stringify(entries), /Added work to the queue/)
})

test('a higher priority goes first, and people move entries', async (t) => {
  const run = await bench(t)
  await run.over()
  await run.post('/api/queue/pause')
  const [a, b] = [await add(run), await add(run)]
  const urgent = await add(run, { submission: { priority: 3 } })
  t.same(
    await waiting(run),
    [urgent, a, b].map(({ entry_id }) => entry_id),
  )
  await run.post(`/api/queue/${b.entry_id}/move`, { to: 'first' })
  t.same(
    await waiting(run),
    [b, urgent, a].map(({ entry_id }) => entry_id),
  )
  await run.post(`/api/queue/${b.entry_id}/move`, { before: a.entry_id })
  t.same(
    await waiting(run),
    [urgent, b, a].map(({ entry_id }) => entry_id),
  )
  await run.post(`/api/queue/${urgent.entry_id}/move`, { to: 'last' })
  t.same(
    await waiting(run),
    [b, a, urgent].map(({ entry_id }) => entry_id),
  )
  isRefusal(t, await run.ask('POST', `/api/queue/${b.entry_id}/move`, {}), 400, 'invalid')
  isRefusal(t, await run.ask('POST', `/api/queue/${b.entry_id}/move`, { before: unknown }), 404, 'not_found')
  isRefusal(t, await run.ask('POST', `/api/queue/${b.entry_id}/move`, { before: b.entry_id }), 400, 'invalid')
  t.match(await run.get(`/api/queue/${b.entry_id}`), { number: 1, why_it_waits: 'the queue is paused', submission: { workflow: 'work' } })
  t.equal((await run.ask('DELETE', `/api/queue/${a.entry_id}`)).status, 200)
  isRefusal(t, await run.ask('DELETE', `/api/queue/${a.entry_id}`), 404, 'not_found')
  t.match(await run.post('/api/queue/clear'), { removed: 2 })
  t.match(await queueOf(run), { state: 'paused', entries: [], paused: { reason: 'person', by: 'key to admin' } })
})

test('what cannot run is refused when it is added', async (t) => {
  const run = await bench(t, [{ wait_for: 'go' }])
  const refused = async (body: object, status: number, code: string, words: RegExp) => {
    const reply = await run.ask('POST', '/api/queue', { submission: { workflow: 'work', run_mode: 'LIVE' }, ...body })
    isRefusal(t, reply, status, code)
    t.match(reply.text, words)
  }
  await refused({ submission: { workflow: 'nothing', run_mode: 'LIVE' } }, 404, 'not_found', /there is no workflow/)
  await refused({ submission: { workflow: 'work', run_mode: 'LIVE', variables: { m: 1 } } }, 400, 'invalid', /m/)
  await refused({ requires: { devices: ['shaker-9'] } }, 404, 'not_found', /shaker-9/)
  await refused({ start_at: 1000 }, 400, 'invalid', /has passed; name a later time/)
  await refused({ start_at: Date.now() + 3600_000 }, 400, 'invalid', /is after the year 9999; give it in seconds/)
  await refused({ start_at: { after: unknown } }, 400, 'invalid', /no entry and no execution/)
  await refused({ start_at: 'tomorrow' }, 400, 'invalid', /must be a Unix time/)
  t.equal((await run.bench.ask('POST', '/api/queue', { key: 'read', json: {} })).status, 403)
})

test('an entry takes a sheet of samples, once, and is refused with all mistakes of the sheet', async (t) => {
  const run = await bench(t)
  await run.over()
  await run.post('/api/queue/pause')
  const submission = { workflow: 'work', run_mode: 'LIVE', submission_id: unknown }
  const wrong = await run.ask('POST', '/api/queue', { submission: { ...submission, samples: 'group,m\nA 1,1\n' } })
  t.equal(wrong.status, 400, wrong.text)
  t.match(wrong.body, {
    mistakes: [
      { row: 1, column: 'B' },
      { row: 2, column: 'A' },
    ],
  })
  const sheet = `group,n\n${Array.from({ length: 1000 }, (_, i) => `sample-with-a-long-name-${i},${i}\n`).join('')}`
  const samples = sheet.split('\n').slice(0, 3).join('\n')
  const entry = await add(run, { submission: { ...submission, samples } })
  t.match(entry, { entry_id: unknown, groups: 2, state: 'waiting' })
  t.match(await add(run, { submission: { ...submission, samples } }), { entry_id: unknown, groups: 2 })
  t.equal((await queueOf(run)).waiting, 1, 'a repeated request adds nothing')
  isRefusal(t, await run.ask('POST', '/api/queue', { submission: { ...submission, samples: 'group,n\nA,1\n' } }), 409, 'conflict')
  t.match(await run.get(`/api/queue/${unknown}`), { submission: { groups: [{ variables: { n: 0 } }, { variables: { n: 1 } }] } })
  t.equal((await add(run, { submission: { samples: sheet } })).groups, 1000)
  const groups = Array.from({ length: 1000 }, (_, i) => ({ group_id: `sample-with-a-long-name-${i}`, variables: { n: i } }))
  t.equal((await add(run, { submission: { groups } })).groups, 1000)
})

test('an entry whose bench is not fit waits and says why, and begins when it is', async (t) => {
  const run = await bench(t)
  await run.over()
  await run.post('/api/queue/pause')
  const needs = await add(run, { requires: { devices: ['sealer-1'], labware: ['pad_1', 'P-7'] } })
  await run.post('/api/queue/resume')
  t.match(await whyOf(run, needs.entry_id), /sealer-1 is not initialized/)
  const behind = await add(run)
  t.match(behind, { state: 'waiting', why_it_waits: /behind entry [0-9a-f]{8} \(work\)/ })
  await run.post('/api/devices/sealer-1/initialize')
  await run.until('the next reason', async () => /the barcode P-7 is not on the bench/.test((await whyOf(run, needs.entry_id)) ?? ''))
  isRefusal(t, await run.ask('POST', `/api/queue/${needs.entry_id}/start`), 409, 'conflict')
  await run.post('/api/queue/clear')
  await run.carries('plate', 'pad_2')
  await run.post('/api/topology/unload')
  const nowhere = await add(run)
  t.match(nowhere.why_it_waits, /no topology is loaded/)
  await run.post('/api/topology/load', { name: 'island' })
  await drained(run)
})

test('labware in the way keeps an entry from beginning', async (t) => {
  const run = await bench(t, [{ method: 'shake_it' }, { wait_for: 'go' }])
  await run.does('shaker-1', 'shake')
  await run.post(`/api/executions/${run.execution_id}/stop`)
  await run.post(`/api/executions/${run.execution_id}/stop`, { confirm: true })
  await run.over()
  await run.mends('shaker-1')
  const entry = await add(run)
  t.match(entry, { state: 'waiting', why_it_waits: /shaker_in is taken: plate has stood there/ })
  await run.carries('plate', 'pad_1')
  t.match(await run.until('its begin', async () => (await queueOf(run)).entries.find(({ state }) => state === 'running')), {
    entry_id: entry.entry_id,
  })
})

test('an entry that may be passed lets others begin', async (t) => {
  const run = await bench(t)
  await run.over()
  const stuck = await add(run, { requires: { devices: ['sealer-1'] }, may_be_passed: true })
  t.equal(stuck.state, 'waiting')
  t.match(await add(run), { state: 'running' })
  await run.until('the end of the other', async () => (await queueOf(run)).ended.length === 1)
  t.same(await waiting(run), [stuck.entry_id])
})

test('after a start of the service nothing begins until somebody resumes the queue', async (t) => {
  const before = await bench(t, [{ wait_for: 'go' }])
  await before.emits('go')
  await before.over()
  const open = await add(before)
  const entry = await add(before)
  const run = await before.afterPowerCut()
  const { state, paused, entries } = await queueOf(run)
  t.match(
    { state, paused },
    { state: 'paused', paused: { reason: 'start', message: /the service started with 2 entries.*POST \/api\/queue\/resume/ } },
  )
  t.match(entries, [
    { entry_id: open.entry_id, state: 'running' },
    { entry_id: entry.entry_id, why_it_waits: 'the queue is paused' },
  ])
  const { incidents } = await run.get<{ incidents: { message: string }[] }>('/api/incidents')
  t.match(incidents.map(({ message }) => message).join(), /the queue is paused: the service started/)
  const opened = run.of(open.execution_id!)
  await opened.post(`/api/executions/${open.execution_id}/resume`)
  await opened.emits('go')
  await opened.over()
  await run.bench.clock.advance(120_000)
  t.equal((await executions(run)).length, 2, 'nothing has begun')
  isRefusal(t, await run.ask('POST', '/api/queue/resume', { since: 1 }), 409, 'conflict')
  await run.post('/api/queue/resume', { since: paused!.since })
  const begun = (await run.get<Entry>(`/api/queue/${entry.entry_id}`)).execution_id!
  t.equal((await executions(run)).length, 3)
  await run.of(begun).thread('plate', 'AWAITING_EVENT')
  await run.of(begun).emits('go')
  await drained(run)
  const later = await run.afterPowerCut()
  t.match(
    await queueOf(later),
    { state: 'running', entries: [], ended: [{ entry_id: entry.entry_id }, {}] },
    'an empty queue is not paused',
  )
})

test('a stop, a stopped run and a failed run pause the queue', async (t) => {
  const run = await bench(t, [{ wait_for: 'go' }])
  await run.emits('go')
  await run.over()
  const first = await add(run, { on_failure: 'go_on' })
  const second = await add(run)
  for (const json of [{}, { confirm: true }]) await run.post(`/api/executions/${first.execution_id}/stop`, json)
  await run.until('a pause', async () => (await queueOf(run)).state === 'paused')
  t.match((await queueOf(run)).paused, { reason: 'run_ended', message: /ended ABORTED: an operator stopped it/ })
  t.same(await waiting(run), [second.entry_id])
  await run.post('/api/stop')
  const { paused } = await queueOf(run)
  t.match(paused, { reason: 'stop', message: /was stopped/ })
  for (const device_id of ['arm-1', 'shaker-1', 'centrifuge-1', 'sealer-1', 'spare-1', 'peeler-1', 'thermocycler-1'])
    await run.ask('POST', `/api/devices/${device_id}/initialize`)
  await run.bench.clock.advance(120_000)
  t.same(await waiting(run), [second.entry_id], 'nobody has resumed it')
  const { incidents } = await run.get<{ incidents: { message: string }[] }>('/api/incidents')
  t.equal(incidents.filter(({ message }) => message.startsWith('the queue is paused')).length, 1, 'one incident for one pause')
})

test('an entry begins at its time or after a run, and not before', async (t) => {
  const run = await bench(t, [{ wait_for: 'go' }])
  const after = await add(run, { start_at: { after: run.execution_id } })
  t.match(after, { state: 'waiting', why_it_waits: /it starts when run [0-9a-f]{8} \(work\) has ended/ })
  const chained = await add(run, { start_at: { after: after.entry_id } })
  isRefusal(t, await run.ask('POST', `/api/queue/${after.entry_id}/move`, { start_at: { after: chained.entry_id } }), 400, 'invalid')
  const timed = await add(run, { start_at: Date.now() / 1000 + 3600 })
  t.match(timed.why_it_waits, /it starts at \d{4}-/)
  await run.emits('go')
  await run.until('its begin', async () => (await run.get<Entry>(`/api/queue/${after.entry_id}`)).state === 'running')
  t.match(await whyOf(run, chained.entry_id), /it starts when entry [0-9a-f]{8} \(work\) has ended/)
  t.equal((await run.ask('DELETE', `/api/queue/${after.entry_id}`)).status, 409)
  const free = await run.post<Entry>(`/api/queue/${timed.entry_id}/move`, { start_at: null })
  t.match(free.why_it_waits, /a run of the queue is open/)
})

test('the answer is 304 until something has changed', async (t) => {
  const run = await bench(t, [{ wait_for: 'go' }])
  const { headers } = await run.bench.ask('GET', '/api/queue')
  const known = { headers: { 'If-None-Match': headers.get('etag')! } }
  t.equal((await run.bench.ask('GET', '/api/queue', known)).status, 304)
  await run.post('/api/queue/pause')
  t.equal((await run.bench.ask('GET', '/api/queue', known)).status, 200)
})

test('a run of a bench that never used the queue leaves no file of it', async (t) => {
  const run = await bench(t)
  await run.over()
  t.equal(run.bench.bench.queue, undefined, 'it is not loaded')
  t.throws(() => readFileSync(join(run.bench.data_dir, 'queue.json')))
})
