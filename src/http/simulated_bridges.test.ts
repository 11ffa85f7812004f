// Devices that a configuration describes: the driver of bridges over a simulated program, in workflows and under faults.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { type Test, test } from 'tap'
import { demoBench, demoTeachpoints } from '../examples/demo_bench.ts'
import { oneArm, standing, workflowOf } from '../testing/documents.ts'
import { isRefusal, openTestBench } from '../testing/http.ts'

const settings = {
  model: 'Example 96',
  operations: {
    read: {
      params: { properties: { wavelength: { type: 'integer', minimum: 230, maximum: 1000 } }, required: ['wavelength'] },
      seconds: 40,
    },
    wait: {
      params: { properties: { duration: { type: 'number' } }, required: ['duration'] },
      seconds: { param: 'duration', plus: 2 },
      can_end_early: true,
      labware_sites: 0,
    },
  },
  readings: { temperature: { unit: '°C' } },
}
const device = { device_id: 'reader-1', driver: 'simulated', type: 'reader', transport: { kind: 'simulated' }, settings }

const topology = oneArm({ name: 'reading', arm: 'arm-1', pads: ['pad_1'], nests: { shaker_in: 'reader-1' } })
const workflow = (step: object) =>
  workflowOf(
    'read-it',
    { plate: { ...standing('pad_1'), steps: [{ method: 'read_it' }] } },
    { topology: 'reading', variables: { wavelength: { default: 600 } }, methods: { read_it: [{ on: 'reader-1', ...step }] } },
  )

test('a workflow names an operation that a device describes, is checked when it is loaded, and runs', async (t) => {
  const topologies = mkdtempSync(`${tmpdir()}/topologies-`)
  t.teardown(() => rmSync(topologies, { recursive: true }))
  writeFileSync(`${topologies}/reading.json`, JSON.stringify(topology))
  const { ask, bench, clock } = await openTestBench(t, { devices: [...demoBench.devices, device] }, { topologies })
  await clock.run(bench.teachpoints.importAll(demoTeachpoints, { overwrite: false }))
  t.equal((await ask('POST', '/api/topology/load', { json: { name: 'reading' } })).status, 200)
  const put = (step: object) => ask('PUT', '/api/workflows/read-it', { json: workflow(step) })
  for (const [step, words] of [
    [{ do: 'reed', with: { wavelength: 600 } }, /read_it\[0\].do: reader-1 has no operation reed; did you mean "read"/],
    [{ do: 'read' }, /read wants wavelength too/],
    [{ do: 'read', with: { wavelength: 100 } }, /wavelength must be at least 230, not 100/],
    [{ do: 'read', with: { wavelength: 600, gain: 3 } }, /no parameter gain/],
    [{ do: 'read', with: { wavelength: 'red' } }, /wavelength must be/],
    [{ do: 'wait', with: { duration: 1 }, labware: ['plate'] }, /1 labware are more than wait of reader-1 takes at once: 0/],
  ] as const) {
    const refused = await put(step)
    isRefusal(t, refused, 400, 'invalid')
    t.match(refused.body, { detail: words })
  }
  t.match((await put({ do: 'read', with: { wavelength: { variable: 'wavelength' } } })).status, 201)
  for (const run_mode of ['LIVE', 'DEVICE_SIM', 'PURE_SIM']) {
    const json = { workflow: 'read-it', run_mode, variables: { wavelength: 450 } }
    const { status, body } = await ask('POST', '/api/submissions', { json })
    t.equal(status, 202, run_mode)
    const { execution_id } = body as { execution_id: string }
    const execution = bench.runs.runtime.runs.get(execution_id)!
    await clock.run(bench.runs.runtime.over(execution))
    t.match((await ask('GET', `/api/executions/${execution_id}`)).body, { status: 'COMPLETED' }, run_mode)
  }
  t.match((await ask('GET', '/api/devices/reader-1')).body, { last_operation: { operation: 'read', params: { wavelength: 450 } } })
})

test('every fault of the simulation can be made, and is one of the device', async (t) => {
  const { ask, clock, bench } = await openTestBench(t, { devices: [device] })
  const reader = bench.registry.find('reader-1')
  const perform = (operation: string, params: object = {}) => ask('POST', '/api/devices/reader-1/perform', { json: { operation, params } })
  const initialize = () => ask('POST', '/api/devices/reader-1/initialize')
  const broken = async (fault: string) => {
    await initialize()
    const made = await ask('POST', '/api/sim/devices/reader-1/faults', { json: { fault } })
    t.equal(made.status, 200, fault)
    await clock.advance(60_000)
    const refused = await perform('read', { wavelength: 600 })
    await ask('DELETE', '/api/sim/devices/reader-1/faults')
    await clock.advance(60_000)
    return refused
  }
  for (const [fault, words] of [
    ['no_reply', /it has not answered check within 5 s/],
    ['garbage', /it wrote a line that is no message|it has not answered check/],
    ['half_reply', /it has not answered check within 5 s/],
    ['late_reply', /it has not answered check within 5 s/],
    ['unplug', /unplugged/],
    ['jam', /something is jammed/],
    ['overtemperature', /is too hot/],
  ] as const) {
    const refused = await broken(fault)
    isRefusal(t, refused, 409, 'faulted')
    t.match(refused.body, { detail: words }, fault)
  }
  isRefusal(t, await broken('interlock_open'), 409, 'interlock')
  t.equal(reader.state, 'ready', 'nothing was done')
})

test('an operation whose parameter says how long is ended early', async (t) => {
  const { ask, clock } = await openTestBench(t, { devices: [device] })
  await ask('POST', '/api/devices/reader-1/initialize')
  const headers = { Prefer: 'respond-async' }
  const begun = await ask('POST', '/api/devices/reader-1/perform', { json: { operation: 'wait', params: { duration: 60 } }, headers })
  const { operation_id } = begun.body as { operation_id: string }
  await clock.advance(12_000)
  t.equal((await ask('DELETE', `/api/operations/${operation_id}`)).status, 202)
  await clock.advance(100)
  const { body } = await ask('GET', `/api/operations/${operation_id}`)
  t.match(body, { ended_early: true, result: { success: true, message: /ended after 1\d(\.\d)? s of 62 s/ } })
})

const carrier = (settings: object) => ({
  ...{ device_id: 'arm-9', driver: 'simulated', type: 'transporter', transport: { kind: 'simulated' } },
  settings: { points: 'own', ...settings },
})
const carried = oneArm({ name: 'carried', arm: 'arm-9', pads: ['pad_1'], nests: { shaker_in: 'shaker-1' } })
const shaken = workflowOf(
  'shake-it',
  { plate: { ...standing('pad_1'), steps: [{ method: 'shake_it' }] } },
  { topology: 'carried', methods: { shake_it: [{ do: 'shake', on: 'shaker-1', with: { speed: 500, duration: 10 } }] } },
)

async function carrying(t: Test, settings: object) {
  const topologies = mkdtempSync(`${tmpdir()}/topologies-`)
  t.teardown(() => rmSync(topologies, { recursive: true }))
  writeFileSync(`${topologies}/carried.json`, JSON.stringify(carried))
  const made = await openTestBench(t, { devices: [...demoBench.devices, carrier(settings)] }, { topologies })
  const { ask, clock, bench } = made
  const load = () => ask('POST', '/api/topology/load', { json: { name: 'carried' } })
  t.equal((await load()).status, 200)
  t.equal((await ask('PUT', '/api/workflows/shake-it', { json: shaken })).status, 201)
  const submit = (run_mode: string) => ask('POST', '/api/submissions', { json: { workflow: 'shake-it', run_mode } })
  const begin = async (run_mode: string) => {
    const { execution_id } = (await submit(run_mode)).body as { execution_id: string }
    const began = clock.now()
    await clock.run(bench.runs.runtime.over(bench.runs.runtime.runs.get(execution_id)!))
    const { body } = await ask('GET', `/api/executions/${execution_id}`)
    return { status: (body as { status: string }).status, seconds: (clock.now() - began) / 1000 }
  }
  return { ...made, submit, begin }
}

test('a described transporter carries labware in every mode, in its own time', async (t) => {
  const slow = await carrying(t, { move_s: 40 })
  const seconds: Record<string, number> = {}
  for (const mode of ['LIVE', 'DEVICE_SIM', 'PURE_SIM']) {
    const ended = await slow.begin(mode)
    t.equal(ended.status, 'COMPLETED', mode)
    seconds[mode] = ended.seconds
  }
  t.ok(seconds.LIVE! > 160, 'two picks and two places take 40 s each')
  t.match((await slow.ask('GET', '/api/devices/arm-9')).body, {
    state: 'ready',
    last_operation: { operation: 'place', params: { at: 'pad_1' } },
  })
})

test('a described transporter whose picks fail holds the run', async (t) => {
  const { submit, clock, ask } = await carrying(t, { failures: { pick: 1 } })
  await submit('LIVE')
  await clock.advance(120_000)
  const { incidents } = (await ask('GET', '/api/incidents')).body as { incidents: { category: string; message: string }[] }
  t.match(
    incidents.find(({ category }) => category === 'MOVE_FAILED')?.message,
    /pick failed, as its simulation was told to; .*it is at pad_1 or held by arm-9/,
  )
})

test('points that a described transporter needs must be taught, and must not need a skill that it lacks', async (t) => {
  const { submit, ask } = await carrying(t, { points: 'taught' })
  const untaught = await submit('DEVICE_SIM')
  isRefusal(t, untaught, 400, 'invalid')
  t.match(untaught.body, { detail: /arm-9 was not taught pad_1, shaker_in/ })
  const coords = { x: 1, y: 2, z: 3, yaw: 0, pitch: 0, roll: 0 }
  const point = (name: string, more: object = {}) => ({ device_id: 'arm-9', name, coord_type: 'cartesian', coords, ...more })
  await ask('POST', '/api/teachpoints/bulk', { json: [point('pad_1'), point('gate'), point('shaker_in', { gateway: 'gate' })] })
  const unable = await submit('DEVICE_SIM')
  isRefusal(t, unable, 400, 'invalid')
  t.match(unable.body, { detail: /arm-9 cannot pass a gateway, and shaker_in is taught with a gateway; extend its adapter or its program/ })
})
