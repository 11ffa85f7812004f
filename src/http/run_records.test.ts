// The record of a run: what it did and measured, as a reader gets it, also after a restart.

import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { test } from 'tap'
import type { RuntimeEvent } from '../events/event.ts'
import { demoBench, demoTeachpoints } from '../examples/demo_bench.ts'
import { bridgeTo, programFile, reader, until } from '../testing/bridges.ts'
import { oneArm, standing, workflowOf } from '../testing/documents.ts'
import { isRefusal, openService } from '../testing/http.ts'
import { beginRun, plateRun, seal, shake } from '../testing/http_runs.ts'
import { withPython } from '../testing/python.ts'

type Rows = { rows: Record<string, unknown>[]; damaged: number }

const topology = oneArm({ name: 'reading', arm: 'arm-1', pads: ['pad_1'], nests: { shaker_in: 'reader-1' } })
const workflow = workflowOf(
  'read-it',
  { plate: { ...standing('pad_1'), steps: [{ method: 'read_it' }] } },
  {
    topology: 'reading',
    variables: { gain: { default: 2 } },
    methods: { read_it: [{ do: 'read', on: 'reader-1', with: { wavelength: 450 } }] },
  },
)

withPython('an absorbance that a bridge returned in a LIVE run is kept with its plate, in the record and in the event', async (t) => {
  const path = programFile(t, reader)
  const topologies = `${dirname(path)}/topologies`
  mkdirSync(topologies)
  writeFileSync(`${topologies}/reading.json`, JSON.stringify(topology))
  const { ask, bench } = await openService(t, { devices: [...demoBench.devices, bridgeTo(path)] }, { topologies })
  await bench.teachpoints.importAll(demoTeachpoints, { overwrite: false })
  for (const [method, url, json] of [
    ['POST', '/api/devices/reader-1/initialize', {}],
    ['POST', '/api/topology/load', { name: 'reading' }],
    ['PUT', '/api/workflows/read-it', workflow],
  ] as const) {
    const { status, text } = await ask(method, url, { json })
    t.ok(status < 300, text)
  }
  const groups = [{ group_id: 'g1', members: { plate: { barcode: 'P001' } } }]
  const { body } = await ask('POST', '/api/submissions', { json: { workflow: 'read-it', run_mode: 'LIVE', groups } })
  const { execution_id } = body as { execution_id: string }
  const [thread] = bench.runs.runtime.runs.get(execution_id)!.threads.keys()
  await until(async () => (await ask('POST', `/api/threads/${thread}/placed`, { json: { barcode: 'P001' } })).status === 200)
  await bench.runs.runtime.over(bench.runs.runtime.runs.get(execution_id)!)
  const of = `/api/executions/${execution_id}`
  const { rows, damaged } = (await ask('GET', `${of}/record`)).body as Rows
  t.equal(damaged, 0)
  t.match(rows[0], { kind: 'submission', operator_id: null, workflow: 'read-it', workflow_hash: String, variables: { gain: 2 } })
  t.match(rows[0], { workflow_document: { name: 'read-it' }, topology_document: { name: 'reading' } })
  const whose = { labware: 'plate', barcode: 'P001', group_id: 'g1', thread_name: 'plate' }
  const [there, value, read] = rows.filter(({ kind }) => kind === 'move' || kind === 'value' || kind === 'action')
  t.match(there, { kind: 'move', from: 'pad_1', to: 'shaker_in', transporter: 'arm-1', outcome: 'COMPLETED', ...whose })
  t.match(value, { kind: 'value', name: 'absorbance', value: [0.25, 0.45], shape: [2], unit: null, device_id: 'reader-1', ...whose })
  t.match(read, {
    kind: 'action',
    name: 'read',
    method_name: 'read_it',
    device_id: 'reader-1',
    outcome: 'COMPLETED',
    error: null,
    ...whose,
  })
  t.match(read!.operations, [{ operation: 'read', params: { wavelength: 450 }, operation_id: value!.operation_id as string }])
  t.equal((await ask('GET', `/api/operations/${value!.operation_id}`)).status, 200, 'the id leads to the operation')
  const values = (await ask('GET', `${of}/values`)).body as { values: object[] }
  t.same(values, { values: [value], damaged: 0 })
  const csv = await ask('GET', `${of}/values`, { headers: { Accept: 'text/csv' } })
  t.match(csv.headers.get('content-type'), /^text\/csv/)
  const [head, line] = csv.text.split('\r\n')
  t.match(head, /^at,name,value,unit,shape,labware,barcode,group_id,/)
  t.match(line, /^[\d.]+,absorbance,"\[0.25,0.45\]",,\[2\],plate,P001,g1,plate,read_it,read,read,reader-1,/)
  const { events } = (await ask('GET', `/events?execution_id=${execution_id}`)).body as { events: RuntimeEvent[] }
  const ends = events.filter(({ entity_type, status }) => entity_type === 'ACTION' && status === 'COMPLETED')
  const whosePlate = { labware: 'plate', barcode: 'P001', group_id: 'g1' }
  t.match(
    ends.map(({ context }) => context),
    [
      { from: 'pad_1', to: 'shaker_in', device_id: 'arm-1', ...whosePlate },
      { operation_id: value!.operation_id, device_id: 'reader-1', values: [{ name: 'absorbance', value: [0.25, 0.45] }], ...whosePlate },
    ],
  )
  await ask('DELETE', of)
  isRefusal(t, await ask('GET', `${of}/record`), 404)
})

test('the timeline is the same before and after a power cut, counted from the beginning of the run, and what was cut off is in it', async (t) => {
  const before = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }, { method: 'seal_it' }]) })
  await before.does('sealer-1', 'seal')
  const timeline = async (run: typeof before) => (await run.get<Rows>(`/api/executions/${run.execution_id}/timeline`)).rows
  const seen = await timeline(before)
  t.ok(seen.length >= 4, `${seen.length} rows`)
  const run = await before.afterPowerCut()
  const done = (rows: Rows['rows']) => rows.filter(({ ended, status }) => ended !== null && status !== 'ABORTED')
  const again = await timeline(run)
  t.same(done(again), done(seen))
  const [cut] = seen.filter(({ ended }) => ended === null)
  t.match(
    again.find(({ action_id }) => action_id === cut!.action_id),
    { ...cut, status: 'ABORTED', ended: Number },
  )
  await run.post('/api/devices/sealer-1/initialize')
  await run.post(`/api/executions/${run.execution_id}/resume`)
  t.equal(await run.over(), 'COMPLETED')
  const whole = await timeline(run)
  const late = await run.afterPowerCut()
  t.same(await timeline(late), whole, 'also when the run is known from its record alone')
  const { rows, damaged } = await late.get<Rows>(`/api/executions/${run.execution_id}/record`)
  t.equal(damaged, 0)
  const ids = rows.flatMap(({ kind, action_id }) => (kind === 'action' || kind === 'move' ? [action_id] : []))
  t.equal(new Set(ids).size, ids.length, 'each once')
  t.same(new Set(ids), new Set(whole.map(({ action_id }) => action_id)))
})

test('a run in PURE_SIM has no record, and says so', async (t) => {
  const run = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }]) })
  const { execution_id } = await run.post<{ execution_id: string }>('/api/submissions', { workflow: 'work', run_mode: 'PURE_SIM' })
  const reply = await run.ask('GET', `/api/executions/${execution_id}/record`)
  isRefusal(t, reply, 404)
  t.match(reply.body, { detail: /has no record: PURE_SIM executions keep none/ })
})

test('a move has its operations, a missed window both of its actions, and the end of the run its threads', async (t) => {
  const late = { ...shake, with: { speed: 500, duration: 5 }, max_wait_after: 20 }
  const workflow = plateRun([{ method: 'shake_it' }, { method: 'seal_it' }], { methods: { shake_it: [late], seal_it: [seal] } })
  const run = await beginRun(t, { workflow })
  await run.does('shaker-1', 'shake')
  await run.post(`/api/executions/${run.execution_id}/pause`)
  await run.until('the missed window', async () => (await run.incidents()).length > 0)
  await run.post(`/api/executions/${run.execution_id}/resume`)
  t.equal(await run.over(), 'COMPLETED')
  const { rows } = await run.get<Rows>(`/api/executions/${run.execution_id}/record`)
  const of = (kind: string) => rows.filter((row) => row.kind === kind)
  const [there] = of('move')
  t.match(there!.operations, [
    { operation: 'pick', part: 'pick', operation_id: String },
    { operation: 'place', part: 'place', operation_id: String },
  ])
  for (const { operation_id } of there!.operations as { operation_id: string }[])
    t.match(await run.get(`/api/operations/${operation_id}`), { device_id: 'arm-1', status: 'ended' })
  const moved = (await run.events()).filter(
    ({ entity_type, context }) => entity_type === 'ACTION' && context.action_id === there!.action_id,
  )
  const [, placed] = there!.operations as { operation_id: string }[]
  t.equal(moved.at(-1)!.context.operation_id, placed!.operation_id)
  const [shaken, sealed] = of('action')
  t.match(of('window_missed'), [{ thread_name: 'plate', labware: 'plate', after: 'shake', before: 'seal', allowed_s: 20, took_s: Number }])
  const took_s = (sealed!.started as number) - (shaken!.ended as number)
  t.ok(Math.abs((of('window_missed')[0]!.took_s as number) - took_s) < 0.1, `${took_s} s`)
  t.match(of('ended'), [{ status: 'COMPLETED', reason: null, threads: { COMPLETED: 1 } }])
  t.equal(rows.at(-1)!.kind, 'ended')
})
