// Parameters of any JSON shape: over the API, in workflows with variables inside, in presets, and in the words of people.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { type Test, test } from 'tap'
import { demoBench, demoTeachpoints } from '../examples/demo_bench.ts'
import { oneArm, standing, workflowOf } from '../testing/documents.ts'
import { isRefusal, openTestBench } from '../testing/http.ts'

const wells = { type: 'array', items: { type: 'string', maxLength: 3 }, minItems: 1, maxItems: 96 }
const properties = {
  wells,
  volumes: { type: ['array', 'null'], items: { type: ['number', 'null'], minimum: 0, maximum: 300 }, unit: 'µL', default: null },
  plate: {
    type: 'object',
    properties: { name: { type: 'string' }, lid: { type: 'boolean', default: false } },
    required: ['name'],
    additionalProperties: false,
    default: { name: 'corning_96' },
  },
  speed: { type: ['number', 'string'], minimum: 1, default: 'fast' },
}
const operations = { read: { params: { properties, required: ['wells'] }, seconds: 40 } }
const device = { device_id: 'reader-1', driver: 'simulated', type: 'reader', transport: { kind: 'simulated' }, settings: { operations } }
const full = { wells: ['A1', 'B2'], volumes: [10, null], plate: { name: 'x', lid: true }, speed: 3 }

test('parameters of any shape are performed, refused at their place, shown, and kept as presets', async (t) => {
  const { ask } = await openTestBench(t, { devices: [device] })
  await ask('POST', '/api/devices/reader-1/initialize')
  const perform = (params: object) => ask('POST', '/api/devices/reader-1/perform', { json: { operation: 'read', params } })
  const last = async () =>
    ((await ask('GET', '/api/devices/reader-1')).body as { last_operation: { params: object } }).last_operation.params
  t.equal((await perform(full)).status, 200)
  t.same(await last(), full)
  t.equal((await perform({ wells: ['A1'] })).status, 200)
  t.same(await last(), { wells: ['A1'], volumes: null, plate: { name: 'corning_96', lid: false }, speed: 'fast' })
  for (const [params, words] of [
    [{}, /wells is missing/],
    [{ wells: 'A1' }, /wells must be an array, not "A1"/],
    [{ wells: ['A1', 7] }, /wells\[1\] must be a text, not 7/],
    [{ ...full, volumes: [1, 2, 301] }, /volumes\[2\] must be at most 300, not 301/],
    [{ ...full, plate: { lid: true } }, /plate\.name is missing/],
    [{ ...full, plate: { name: 'x', lidd: true } }, /there is no member plate\.lidd; did you mean "lid"/],
    [{ ...full, speed: 0 }, /speed must be at least 1, not 0/],
    [{ ...full, speed: null }, /speed must be a number or a text/],
  ] as const) {
    const refused = await perform(params)
    isRefusal(t, refused, 400, 'invalid')
    t.match(refused.body, { detail: words })
  }
  const { operations: shown } = (await ask('GET', '/api/devices/reader-1/capabilities')).body as { operations: { params: object }[] }
  t.match(
    shown.find(({ params }) => 'wells' in Object((params as { properties?: object }).properties)),
    { params: { properties } },
  )
  const preset = '/api/devices/reader-1/presets/read/two wells'
  t.equal((await ask('PUT', preset, { json: { params: full } })).status, 200)
  t.match((await ask('GET', '/api/devices/reader-1/presets')).body, { presets: [{ params: full }] })
  const { operations: done } = (await ask('GET', '/api/operations')).body as { operations: { text: string }[] }
  t.match(done[0]!.text, /wells \["A1"\]/)
})

const topology = oneArm({ name: 'reading', arm: 'arm-1', pads: ['pad_1'], nests: { shaker_in: 'reader-1' } })
const variables = { first: { default: 'A1' }, volumes: { default: [1, 2] }, lid: {}, volume: { nullable: true, default: null }, cold: {} }
const workflow = (params: object) =>
  workflowOf(
    'read-it',
    { plate: { ...standing('pad_1'), steps: [{ method: 'read_it' }] } },
    { topology: 'reading', variables, methods: { read_it: [{ do: 'read', on: 'reader-1', with: params }] } },
  )

async function benchWithTopology(t: Test) {
  const topologies = mkdtempSync(`${tmpdir()}/topologies-`)
  t.teardown(() => rmSync(topologies, { recursive: true }))
  writeFileSync(`${topologies}/reading.json`, JSON.stringify(topology))
  const service = await openTestBench(t, { devices: [...demoBench.devices, device] }, { topologies })
  const { ask, bench, clock } = service
  await clock.run(bench.teachpoints.importAll(demoTeachpoints, { overwrite: false }))
  await ask('POST', '/api/topology/load', { json: { name: 'reading' } })
  const put = (params: object) => ask('PUT', '/api/workflows/read-it', { json: workflow(params) })
  const run = async (given: object, run_mode = 'LIVE') => {
    const reply = await ask('POST', '/api/submissions', { json: { workflow: 'read-it', run_mode, variables: given } })
    const execution = bench.runs.runtime.runs.get((reply.body as { execution_id: string }).execution_id)
    if (execution) await clock.run(bench.runs.runtime.over(execution))
    return { ...reply, execution }
  }
  return { ...service, put, run }
}

test('a workflow gives values of any shape, with variables inside, which are checked as the others', async (t) => {
  const { ask, put, run } = await benchWithTopology(t)
  for (const [params, words] of [
    [{ wells: ['A1', 5] }, /read_it\[0\]\.with: wells\[1\] must be a text, not 5/],
    [{ wells: ['A1', { variable: 'frist' }] }, /read_it\[0\]\.with\.wells\[1\]: there is no variable frist; did you mean "first"/],
    [{ wells: ['A1'], plate: { name: 'x', lid: 1 } }, /with: plate\.lid must be true or false, not 1/],
    [{ wells: ['A1'], volumes: { variable: 'first' } }, /with: volumes must be/],
  ] as const) {
    const refused = await put(params)
    isRefusal(t, refused, 400, 'invalid')
    t.match(refused.body, { detail: words })
  }
  const params = {
    wells: [{ variable: 'first' }, 'B2'],
    volumes: { variable: 'volumes' },
    plate: { name: 'x', lid: { variable: 'lid' } },
  }
  t.equal((await put(params)).status, 201)
  const { variables: typed } = (await ask('GET', '/api/workflows/read-it')).body as { variables: object }
  t.match(typed, { first: { type: 'string' }, lid: { type: 'boolean' }, volumes: { type: 'array' } })
  t.match((await run({})).body, { detail: /wants a value for lid/ })
  t.match((await run({ lid: 'yes' })).body, { detail: /with: plate\.lid must be true or false, not "yes"/ })
  t.match((await run({ lid: null })).body, { detail: /with\.plate\.lid: the variable lid is null/ })
  t.match((await run({ lid: true, volumes: [1, 301] })).body, { detail: /volumes\[1\] must be at most 300/ })
  for (const mode of ['LIVE', 'DEVICE_SIM', 'PURE_SIM']) {
    const { status, execution } = await run({ lid: true, first: 'H12' }, mode)
    t.equal(status, 202)
    t.match((await ask('GET', `/api/executions/${execution!.execution_id}`)).body, { status: 'COMPLETED' }, mode)
  }
  const expected = { wells: ['H12', 'B2'], volumes: [1, 2], plate: { name: 'x', lid: true }, speed: 'fast' }
  t.match((await ask('GET', '/api/devices/reader-1')).body, { last_operation: { params: expected } })
  t.equal((await put({ wells: ['A1'], volumes: [{ variable: 'volume' }] })).status, 200, 'a variable that may be null is null inside, too')
  t.equal((await run({})).status, 202)
})
