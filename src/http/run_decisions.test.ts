// What people decide about a run, in its record: who, what, about which thread, and in which words.

import { test } from 'tap'
import { beginRun, plateRun, type Scripted, shake } from '../testing/http_runs.ts'
import { besideArm, carrying } from '../testing/http_tasks.ts'

type Row = Record<string, unknown>

async function decisionsOf(run: Scripted): Promise<Row[]> {
  return (await run.get<{ rows: Row[] }>(`/api/executions/${run.execution_id}/record?kind=decision`)).rows
}

const look = { action: { instruct: 'look at the plate' } }
const plate = { thread_name: 'plate', labware: 'plate', barcode: null, group_id: null }

test('each verb of a run and of a thread leaves one row, in the transaction of its change', async (t) => {
  const before = await beginRun(t, { workflow: plateRun([{ wait_for: 'go' }, { method: 'shake_it' }, { method: 'seal_it' }]) })
  const of = `/api/executions/${before.execution_id}`
  const { thread_id } = await before.thread('plate', 'AWAITING_EVENT')
  await before.post(`${of}/pause`)
  await before.post(`${of}/pause`)
  await before.post(`${of}/resume`)
  await before.post(`${of}/skip`, { item: 'seal_it' })
  await before.post(`${of}/insert`, { after: 'plate/shake_it', item: look })
  t.equal((await before.ask('POST', `${of}/skip`, { item: 'nothing' })).status, 404)
  await before.post(`/api/threads/${thread_id}/pause`)
  await before.thread('plate', 'PAUSED')
  await before.carries('plate', 'pad_2')
  await before.post(`/api/threads/${thread_id}/resume`)
  await before.thread('plate', 'AWAITING_EVENT')
  await before.post(`${of}/close`)
  await before.post(`${of}/emit`, { name: 'go', value: 'now' })
  await before.does('shaker-1', 'shake')
  await before.breaks('shaker-1', 'no_reply')
  await before.heldAgain('plate', 'DEVICE_OP')
  await before.mends('shaker-1')
  const failure = async () => {
    const { incidents } = await before.get<{ incidents: { category: string; solved?: object }[] }>('/api/incidents')
    return incidents.find(({ category }) => category !== 'OTHER')
  }
  t.notOk((await failure())?.solved)
  t.equal((await before.recover(thread_id, 'RETRY')).status, 200)
  t.match((await failure())?.solved, { by: 'key to admin', timestamp: Number, text: 'Retried shake of plate at shaker-1' })
  const { steps } = await before.until('a step', async () => {
    const found = await before.get<{ steps: { step_id: string }[] }>('/api/operator/steps')
    return found.steps.length > 0 && found
  })
  await before.post(`/api/operator/steps/${steps[0]!.step_id}/confirm`)
  await before.post(`${of}/stop`)
  t.equal((await decisionsOf(before)).length, 13, 'they are on the disk')
  const run = await before.afterPowerCut()
  await run.post(`${of}/stop`)
  await run.post(`${of}/stop`, { confirm: true })
  await run.over()
  const rows = await decisionsOf(run)
  t.strictSame(
    rows.map(({ decision, text, by }) => `${by}: ${decision}: ${text}`),
    [
      'key to admin: pause: Paused the run',
      'key to admin: resume: Resumed the run',
      'key to admin: skip: Skipped plate/seal_it',
      'key to admin: insert: Inserted a step after plate/shake_it',
      'key to admin: pause: Paused the thread plate',
      'key to admin: say_where: Said that plate stands at pad_2',
      'key to admin: resume: Resumed the thread plate',
      'key to admin: close: Closed the run to further submissions',
      'key to admin: emit: Emitted go',
      'key to admin: initialize: Initialized shaker-1',
      'key to admin: retry: Retried shake of plate at shaker-1',
      'key to admin: confirm: Confirmed: look at the plate',
      'key to admin: stop: Paused the run, and armed its stop',
      'key to admin: stop: Paused the run, and armed its stop',
      'key to admin: stop: Aborted the run',
    ],
  )
  t.match(rows[3], { params: { after: 'plate/shake_it', item: look } })
  t.notOk('thread_id' in rows[0]!)
  t.match(rows[5], { ...plate, thread_id, params: { position: 'pad_2' } })
  t.match(rows[8], { params: { name: 'go', value: 'now' } })
  t.match(rows[10], { ...plate, thread_id, params: { decision: 'RETRY' }, action_id: String })
  const actions = (await run.get<{ rows: Row[] }>(`${of}/record?kind=action`)).rows
  t.ok(
    actions.some(({ action_id, outcome }) => action_id === rows[10]!.action_id && outcome !== 'COMPLETED'),
    'the action that failed',
  )
})

test('a decision about a late call names its incident and its thread', async (t) => {
  const methods = { shake_it: [{ ...shake, with: { speed: 500, duration: 200 } }] }
  const run = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }], { methods }), time_scale: 0.8 })
  await run.thread('plate', 'PAUSED')
  const { incident_id } = (await run.incidents()).at(-1)!
  await run.post(`/api/incidents/${incident_id}/extend`, { seconds: 60 })
  t.match(await decisionsOf(run), [{ decision: 'extend_call', incident_id, ...plate, params: { seconds: 60 } }])
  t.match((await decisionsOf(run))[0], { text: 'Gave shake of shaker-1 for plate 60 s more' })
})

test('the answers of people to their tasks are decisions', async (t) => {
  const { run, path } = await carrying(t, { confirm: 'twice' })
  await run.post(path, { answer: 'taken' })
  await run.post(path, { answer: 'cannot', reason: 'the shaker is full' })
  const rows = await decisionsOf(run)
  t.strictSame(
    rows.map(({ decision, text }) => `${decision}: ${text}`),
    [
      'placed: Said that plate stands at pad_1, and read its barcode P-17',
      'taken: Took the labware: Take plate (barcode P-17) from pad_1 to shaker_in',
      'cannot: Said that this cannot be done (the shaker is full): Take plate (barcode P-17) from pad_1 to shaker_in',
    ],
  )
  t.match(rows[2], { thread_name: 'plate', barcode: 'P-17', action_id: String, params: { reason: 'the shaker is full' } })
})

test('the key of the caller is named, and a topology that is unloaded by force is a decision about each of its runs', async (t) => {
  const run = await besideArm(t)
  const { ask } = run.bench
  t.equal((await ask('POST', `/api/executions/${run.execution_id}/pause`, { key: 'operate' })).status, 200)
  t.equal((await ask('POST', '/api/topology/unload', { json: { force: true } })).status, 200)
  await run.over()
  t.match((await decisionsOf(run)).slice(1), [
    { by: 'key to operate', decision: 'pause' },
    { by: 'key to admin', decision: 'unload', text: 'Unloaded the topology, which aborts the run' },
  ])
})
