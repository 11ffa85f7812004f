// Workflows use the first description of a program, and each accepted one, at once: nobody reloads the configuration.

import { mkdirSync, writeFileSync } from 'node:fs'
import { test } from 'tap'
import { scriptedBridge, until } from '../testing/bridges.ts'
import { byHand, oneArm, standing, workflowOf } from '../testing/documents.ts'
import { isRefusal, openService } from '../testing/http.ts'

const topology = oneArm({ name: 'read', arm: 'arm-9', pads: ['pad'], nests: { nest: 'reader-1' } })
const reads = (name: string, operation: string, params: object) =>
  workflowOf(
    name,
    { plate: { ...standing('pad'), steps: [{ method: 'read_it' }] } },
    { topology: 'read', methods: { read_it: [{ do: operation, on: 'reader-1', with: params }] } },
  )
const wavelength = { type: 'integer', minimum: 230, maximum: 1000 }
const operations = {
  read: { seconds: 1, params: { properties: { wavelength }, required: ['wavelength'] } },
  shake: {
    seconds: 1,
    params: {
      properties: { speed: { type: 'number', minimum: 0, maximum: 500 }, duration: { type: 'number' } },
      required: ['speed', 'duration'],
    },
  },
}
const { read } = operations
const byHandOn = workflowOf(
  'again',
  { plate: { ...byHand('pad'), steps: [{ method: 'wait_it' }] } },
  { topology: 'read', methods: { wait_it: [{ do: 'wait', on: 'reader-1' }] } },
)

/** Makes a folder with the topology. */
function folderOf(parent: string): string {
  mkdirSync(`${parent}/topologies`)
  writeFileSync(`${parent}/topologies/read.json`, JSON.stringify(topology))
  return `${parent}/topologies`
}

test('a program that describes itself for the first time is usable in workflows at once', async (t) => {
  const reader = scriptedBridge(t)
  const arm = scriptedBridge(t, undefined, { device_id: 'arm-9', type: 'transporter' })
  const topologies = folderOf(reader.folder)
  const service = await openService(t, { devices: [reader.device, arm.device] }, { topologies })
  const { ask, bench } = service
  const put = (name: string, operation: string, params: object) =>
    ask('PUT', `/api/workflows/${name}`, { json: reads(name, operation, params) })
  const before = await put('read-it', 'read', { wavelength: 450 })
  isRefusal(t, before, 400, 'invalid')
  t.match(before.body, { detail: /nobody knows what reader-1 can do: its program has never run/ })
  await ask('POST', '/api/topology/load', { json: { name: 'read' } })

  reader.describe({ operations })
  await until(() => bench.registry.find('reader-1').abilities.knows('read'))
  t.equal((await put('read-it', 'read', { wavelength: 450 })).status, 201)
  t.match((await put('read-it', 'read', { wavelength: 45 })).body, { detail: /wavelength must be at least 230, not 45/ })
  t.match((await put('other', 'raed', {})).body, { detail: /did you mean "read"/ })
  t.match((await put('shake', 'shake', { speed: 501, duration: 1 })).body, { detail: /speed/ })
  t.match((await ask('GET', '/api/devices/reader-1/capabilities')).body, { model: 'Scripted', limits: { speed: { max: 500 } } })

  const submit = () => ask('POST', '/api/submissions', { json: { workflow: 'read-it', run_mode: 'LIVE' } })
  t.match((await submit()).body, { detail: /arm-9: its program has never run/ })
  arm.describe({ points: 'own' })
  await until(() => bench.registry.find('arm-9').abilities.knowsPositions)
  const { status, body } = await submit()
  t.equal(status, 202)

  // A dry run knows the labware on the bench, although the topology was compiled anew after the labware was loaded.
  const { execution_id } = body as { execution_id: string }
  const execution = bench.runs.runtime.runs.get(execution_id)!
  const [thread_id] = execution.threads.keys()
  await until(async () => (await ask('POST', `/api/threads/${thread_id}/placed`, { json: {} })).status === 200)
  await bench.runs.runtime.over(execution)
  reader.describe({ operations: { read, wait: { seconds: 1 } } })
  await ask('POST', '/api/devices/reader-1/initialize')
  await ask('POST', '/api/devices/reader-1/accept')
  t.equal((await ask('PUT', '/api/workflows/again', { json: byHandOn })).status, 201)
  const tried = await ask('POST', '/api/simulations', { json: { workflow: 'again', run_mode: 'LIVE' } })
  t.match(tried.body, { verdict: 'deadlock' })
})

test('what an accepted description no longer has is reported, and refused, as after a reload', async (t) => {
  const reader = scriptedBridge(t, { operations })
  const topologies = folderOf(reader.folder)
  const service = await openService(t, { devices: [reader.device] }, { topologies })
  const { ask, bench, warned } = service
  await until(() => bench.registry.find('reader-1').abilities.knows('read'))
  const workflow = reads('read-it', 'read', { wavelength: 450 })
  t.equal((await ask('PUT', '/api/workflows/read-it', { json: workflow })).status, 201)
  const library = bench.runs.runtime.library
  await ask('POST', '/api/devices/reader-1/initialize')
  await ask('POST', '/api/devices/reader-1/accept')
  t.equal(bench.runs.runtime.library, library, 'nothing is compiled where nothing has changed')

  reader.describe({ operations: { scan: read } })
  isRefusal(t, await ask('POST', '/api/devices/reader-1/initialize'), 500, 'device_failed')
  t.equal(bench.runs.runtime.library, library, 'nothing has changed before somebody accepts it')
  t.equal((await ask('POST', '/api/devices/reader-1/accept')).status, 200)
  const why = /reader-1 has no operation read/
  t.match((await ask('GET', '/api/topologies')).body, { faults: [{ origin: 'workflows.json', reason: why }] })
  t.equal(warned.filter((line) => why.test(line)).length, 1)
  t.match((await ask('PUT', '/api/workflows/read-it', { json: workflow })).body, { detail: why })
  isRefusal(t, await ask('POST', '/api/submissions', { json: { workflow: 'read-it', run_mode: 'PURE_SIM' } }), 404, 'not_found')
  t.equal((await ask('PUT', '/api/workflows/read-it', { json: reads('read-it', 'scan', { wavelength: 450 }) })).status, 200)
  const { faults } = (await ask('POST', '/api/system/reload')).body as { faults: object[] }
  t.same(faults, [])
})

test('a class with a thousand operations is described, and the last of them is used by a workflow', async (t) => {
  const reader = scriptedBridge(t)
  const topologies = folderOf(reader.folder)
  const { ask, bench } = await openService(t, { devices: [reader.device] }, { topologies })
  const properties = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`wavelength_${i}`, wavelength]))
  const one = { seconds: 1, params: { properties } }
  reader.describe({ operations: Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`read_${i}`, one])) })
  await until(() => bench.registry.find('reader-1').abilities.knows('read_999'))
  t.equal((await ask('PUT', '/api/workflows/read-it', { json: reads('read-it', 'read_999', { wavelength_19: 450 }) })).status, 201)
  t.match((await ask('PUT', '/api/workflows/read-it', { json: reads('read-it', 'read_1000', {}) })).body, {
    detail: /did you mean "read_100"/,
  })
  t.equal((await ask('GET', '/api/devices/reader-1/capabilities')).status, 200)
  t.match((await ask('POST', '/api/devices/reader-1/perform', { json: { operation: 'dance' } })).body, { detail: /and 98\d more/ })
})

test('a bench of simulators that is open already follows a description that changes', async (t) => {
  const reader = scriptedBridge(t, { operations: { read } })
  const arm = scriptedBridge(t, { points: 'own' }, { device_id: 'arm-9', type: 'transporter' })
  const topologies = folderOf(reader.folder)
  const { ask, bench } = await openService(t, { devices: [reader.device, arm.device] }, { topologies })
  await until(() => bench.registry.find('reader-1').abilities.knows('read') && bench.registry.find('arm-9').abilities.knowsPositions)
  await ask('POST', '/api/topology/load', { json: { name: 'read' } })
  const waits = workflowOf('waits', { plate: { ...standing('pad'), steps: [{ wait_for: 'never' }] } }, { topology: 'read' })
  await ask('PUT', '/api/workflows/waits', { json: waits })
  const submit = async (workflow: string) => {
    const { body } = await ask('POST', '/api/submissions', { json: { workflow, run_mode: 'DEVICE_SIM' } })
    return bench.runs.runtime.runs.get((body as { execution_id: string }).execution_id)!
  }
  const open = await submit('waits')
  reader.describe({ operations: { read, scan: read } })
  await ask('POST', '/api/devices/reader-1/initialize')
  await ask('POST', '/api/devices/reader-1/accept')
  const other = workflowOf(
    'scan-it',
    { plate: { ...byHand('nest'), steps: [{ method: 'scan_it' }] } },
    { topology: 'read', methods: { scan_it: [{ do: 'scan', on: 'reader-1', with: { wavelength: 450 } }] } },
  )
  t.equal((await ask('PUT', '/api/workflows/scan-it', { json: other })).status, 201)
  const scan = await submit('scan-it')
  const incidents = async () =>
    ((await ask('GET', `/api/incidents?execution_id=${scan.execution_id}`)).body as { incidents: object[] }).incidents
  await until(async () => scan.isOver || (await incidents()).length > 0)
  t.same(await incidents(), [])
  t.match((await ask('GET', `/api/executions/${scan.execution_id}`)).body, { status: 'COMPLETED' })
  await ask('POST', `/api/executions/${open.execution_id}/abort`, { json: {} })
})
