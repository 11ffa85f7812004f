// What an operator tells a run over the API beyond pause and stop, and where labware is.

import { readFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import { demoTeachpoints } from '../examples/demo_bench.ts'
import { isRefusal, openTestBench } from '../testing/http.ts'
import { type Body, bodyOf, stateFilesIn, until } from '../testing/http_runs.ts'
import { examples } from './openapi_examples.ts'

const justShake = examples.putWorkflow!.body as Record<string, unknown>
const nobody = '00000000-0000-4000-8000-000000000000'
const place = { start: { at: 'pad_1', mode: 'REUSE_EXISTING' }, end: { at: ['pad_1'], mode: 'LEAVE_IN_PLACE' } }
/** Waits until it is told `go`. */
const patient = {
  ...justShake,
  name: 'patient',
  labware: { plate: { type: '96-well' }, lid: { type: 'lid' } },
  threads: {
    plate: { labware: 'plate', ...place, steps: [{ wait_for: 'go' }, { method: 'shake_it' }] },
    lid: { labware: 'lid', start: { at: 'pad_3', mode: 'REUSE_EXISTING' }, end: { at: ['pad_3'], mode: 'LEAVE_IN_PLACE' }, steps: [] },
  },
}

async function waiting(t: Test) {
  const setup = await openTestBench(t)
  const { ask, bench } = setup
  await bench.teachpoints.importAll(demoTeachpoints, { overwrite: false })
  await ask('POST', '/api/topology/load', { json: { name: 'demo' } })
  t.equal((await ask('PUT', '/api/workflows/patient', { json: patient })).status, 201)
  const { execution_id } = await bodyOf(ask('POST', '/api/submissions', { json: { workflow: 'patient', run_mode: 'LIVE' } }))
  const path = `/api/executions/${execution_id}`
  await until(setup, path, ({ threads }) => (threads as Body[])[0]?.status === 'AWAITING_EVENT')
  return { ...setup, path, over: () => until(setup, path, ({ status }) => status !== 'IN_PROGRESS') }
}

test('a step is skipped by its name, while it waits too', async (t) => {
  const { ask, path, over } = await waiting(t)
  isRefusal(t, await ask('POST', `${path}/skip`, { key: 'read', json: { item: 'shake_it' } }), 403)
  isRefusal(t, await ask('POST', `/api/executions/${nobody}/skip`, { json: { item: 'shake_it' } }), 404)
  isRefusal(t, await ask('POST', `${path}/skip`, { json: {} }), 400)
  isRefusal(t, await ask('POST', `${path}/skip`, { json: { item: 'shake_them' } }), 404, 'not_found')
  t.match(await ask('POST', `${path}/skip`, { json: { item: 'shake_it' } }), {
    status: 200,
    body: { success: true, message: 'plate/shake_it is skipped' },
  })
  t.match(await ask('POST', `${path}/skip`, { json: { item: 'wait_for' } }), { status: 200 })
  t.match(await over(), { status: 'COMPLETED' })
  t.match(await bodyOf(ask('GET', `${path}/timeline`)), { rows: [] })
  isRefusal(t, await ask('POST', `${path}/skip`, { json: { item: 'shake_it' } }), 409, 'conflict')
  isRefusal(t, await ask('POST', `${path}/skip`, { json: { itm: 'shake_it' } }), 400, 'invalid')
})

test('an event is emitted to one group of a run, or to all', async (t) => {
  const setup = await waiting(t)
  const { ask, path, over } = setup
  isRefusal(t, await ask('POST', `${path}/emit`, { json: { name: 'go', group_id: 'g1' } }), 404, 'not_found')
  t.match(await bodyOf(ask('POST', `${path}/emit`, { json: { name: 'go' } })), { message: 'go is emitted' })
  t.match(await over(), { status: 'COMPLETED' })
  const groups = ['g1', 'g2'].map((group_id) => ({ group_id, members: { plate: { location: group_id === 'g1' ? 'pad_1' : 'pad_2' } } }))
  const asked = { workflow: 'patient', run_mode: 'PURE_SIM', groups }
  const { execution_id } = await bodyOf(ask('POST', '/api/submissions', { json: asked }))
  const run = `/api/executions/${execution_id}`
  await until(setup, run, ({ threads }) => (threads as Body[]).filter(({ status }) => status === 'AWAITING_EVENT').length === 2)
  isRefusal(t, await ask('POST', `${run}/emit`, { json: { name: 'go', group_id: 'g3' } }), 404, 'not_found')
  t.match(await bodyOf(ask('POST', `${run}/emit`, { json: { name: 'go', group_id: 'g2' } })), { message: 'go is emitted to g2' })
  const statusOf = (threads: unknown, group: string) => (threads as Body[]).find(({ group_id }) => group_id === group)?.status
  // The plate of g1 may be moved out of the way of the other meanwhile, and waits again after that.
  const isOnlyOther = (threads: unknown) => statusOf(threads, 'g1') === 'AWAITING_EVENT' && statusOf(threads, 'g2') !== 'AWAITING_EVENT'
  await until(setup, run, ({ threads }) => isOnlyOther(threads))
})

test('a step is put in beside another, and is checked as one of a workflow', async (t) => {
  const { ask, path, over } = await waiting(t)
  const insert = (json: object) => ask('POST', `${path}/insert`, { json })
  const item = { action: { emit: 'soon' } }
  isRefusal(t, await insert({ item }), 400)
  isRefusal(t, await insert({ before: 'shake_it', after: 'shake_it', item }), 400)
  isRefusal(t, await insert({ before: 'shake_it', item: { methd: 'shake_it' } }), 400)
  isRefusal(t, await insert({ before: 'shake_it', item: { method: 'spin_it' } }), 400)
  isRefusal(t, await insert({ before: 'spin_it', item }), 404)
  t.match(await insert({ before: 'shake_it', item }), { status: 200, body: { message: 'it is inserted before plate/shake_it' } })
  await ask('POST', `${path}/skip`, { json: { item: 'wait_for' } })
  t.match(await over(), { status: 'COMPLETED' })
  const { rows } = (await bodyOf(ask('GET', `${path}/timeline`))) as { rows: Body[] }
  t.match(
    rows.filter(({ kind }) => kind === 'action').map(({ name, status }) => `${name} ${status}`),
    ['emit COMPLETED', 'shake COMPLETED'],
  )
})

test('a thread is put in, and its labware, when nobody moves it any more, is put elsewhere and taken away', async (t) => {
  const setup = await waiting(t)
  const { ask, path, over } = setup
  isRefusal(t, await ask('POST', `${path}/spawn`, { json: { thread: 'lids' } }), 404)
  isRefusal(t, await ask('POST', `${path}/spawn`, { json: { thread: 'lid', start: 'pad_1' } }), 409, 'conflict')
  t.match(await ask('POST', `${path}/spawn`, { json: { thread: 'lid' } }), { status: 200, body: { message: /^thread lid is there/ } })
  await until(setup, path, ({ threads }) =>
    (threads as Body[]).some(({ thread_name, status }) => thread_name === 'lid' && status === 'COMPLETED'),
  )
  const { labware } = (await bodyOf(ask('GET', '/api/labware', { key: 'read' }))) as { labware: (Body & { labware_id: string })[] }
  t.match(labware, [
    { name: 'plate', position: 'pad_1', held_by: null, thread_name: 'plate', run_mode: 'LIVE' },
    { name: 'lid', position: 'pad_3', thread_id: null, execution_id: null },
  ])
  const [plate, lid] = labware
  const put = (labware_id: string, json: object) => ask('PUT', `/api/labware/${labware_id}/location`, { key: 'operate', json })
  isRefusal(t, await put(nobody, { position: 'pad_2' }), 404)
  isRefusal(t, await put(lid!.labware_id, {}), 400)
  isRefusal(t, await put(lid!.labware_id, { position: 'pad_99' }), 404)
  isRefusal(t, await put(lid!.labware_id, { position: 'pad_1' }), 409, 'conflict')
  isRefusal(t, await put(plate!.labware_id, { position: null }), 409, 'conflict')
  t.match(await put(lid!.labware_id, { position: 'pad_2' }), { status: 200, body: { message: 'lid stands at pad_2' } })
  const states = stateFilesIn(setup.data_dir).map((name) => readFileSync(`${setup.data_dir}/executions/${name}`, 'utf8'))
  t.match(states.join('\n'), `"LIVE ${lid!.labware_id}":{"seat":"pad_2"`, 'it is on the card when it is answered')
  t.match(await put(plate!.labware_id, { position: 'pad_3' }), { status: 200 })
  t.match(await put(lid!.labware_id, { position: null }), { status: 200, body: { message: 'lid is off the bench' } })
  await ask('POST', `${path}/emit`, { json: { name: 'go' } })
  t.match(await over(), { status: 'COMPLETED' })
  const { rows } = (await bodyOf(ask('GET', `${path}/timeline`))) as { rows: Body[] }
  t.match(
    rows.find(({ kind }) => kind === 'move'),
    { from: 'pad_3' },
  )
})

test('a run that waits on an error has let go of its device, so that an operator clears the fault', async (t) => {
  const setup = await waiting(t)
  const { ask, bench, path } = setup
  bench.simulations.get('shaker-1')?.setFault('jam', 0)
  await ask('POST', `${path}/skip`, { json: { item: 'wait_for' } })
  await until(setup, path, ({ threads }) => (threads as Body[])[0]?.status === 'PAUSED')
  t.match(await bodyOf(ask('GET', '/api/devices/shaker-1')), { state: 'faulted', lock: null })
  t.match(await ask('POST', '/api/devices/shaker-1/clear_fault', { key: 'operate' }), { status: 200, body: { message: /fault cleared/ } })
})

test('what is said of a device call that takes too long needs one', async (t) => {
  const { ask, bench } = await waiting(t)
  const { incident_id } = bench.hub.incident('OTHER', 'something else', {})
  for (const [verb, json] of [
    ['extend', { seconds: 5 }],
    ['abort', {}],
    ['complete', {}],
  ] as const) {
    isRefusal(t, await ask('POST', `/api/incidents/${nobody}/${verb}`, { json }), 404)
    isRefusal(t, await ask('POST', `/api/incidents/${incident_id}/${verb}`, { json }), 404, 'not_found')
    isRefusal(t, await ask('POST', `/api/incidents/${incident_id}/${verb}`, { key: 'read', json }), 403)
  }
  isRefusal(t, await ask('POST', `/api/incidents/${incident_id}/extend`, { json: { seconds: 0 } }), 400)
})

test('what is put into a run, and stays there, is bounded in its length', async (t) => {
  const { ask, path } = await waiting(t)
  const long = 'x'.repeat(17_000)
  isRefusal(t, await ask('POST', `${path}/emit`, { json: { name: 'a', data: { long } } }), 413, 'too_large')
  isRefusal(t, await ask('POST', `${path}/emit`, { json: { name: 'a', value: long } }), 413, 'too_large')
  const item = { action: { instruct: 'look', name: 'look' } }
  isRefusal(t, await ask('POST', `${path}/insert`, { json: { before: 'shake_it', item: { ...item, long } } }), 413, 'too_large')
  const submission = { workflow: 'patient', run_mode: 'PURE_SIM' }
  const group = (plate: object) => ({ ...submission, groups: [{ group_id: 'g', members: { plate } }] })
  for (const json of [
    group({ barcode: 'x'.repeat(129) }),
    group({ location: 'pad_1', barcode: 'x'.repeat(129) }),
    { ...submission, variables: { a: long } },
  ])
    isRefusal(t, await ask('POST', '/api/submissions', { json }), 400, 'invalid')
  t.equal((await ask('POST', `${path}/emit`, { json: { name: 'a', data: { text: 'x'.repeat(16_000) } } })).status, 200)
  t.equal((await ask('POST', '/api/sim/events', { json: { event_name: 'A.B', context: { long } } })).status, 413)
})
