// The profile of a thermocycler, which is a list of steps: over the API, in workflows with variables inside, in presets, at a shell, in forms, in the clients
// and in the audit trail.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { type Test, test } from 'tap'
import type { Capabilities } from '../clients/ts/benchd.ts'
import { demoBench, demoTeachpoints } from '../examples/demo_bench.ts'
import { benchd } from '../testing/cli.ts'
import { oneArm, standing, workflowOf } from '../testing/documents.ts'
import { isRefusal, openService, openTestBench } from '../testing/http.ts'
import { printed, withPython } from '../testing/python.ts'
import { bodyOf, fieldsOf } from '../web/fields.ts'

const cycler = {
  device_id: 'cycler-1',
  driver: 'opentrons_thermocycler',
  transport: { kind: 'simulated' },
  limits: { temperature: { max: 96 } },
}
const steps = [
  { temperature: 95, seconds: 30 },
  { temperature: 60, seconds: 45 },
]
const path = '/api/devices/cycler-1'
/** A profile whose third step has these members. */
const third = (step: object) => ({ steps: [...steps, step] })

/** Profiles that are wrong, and the place that the refusal names. */
const mistakes: [params: object, words: RegExp][] = [
  [{}, /steps is missing/],
  [{ steps: [] }, /steps must have at least 1/],
  [{ steps: 95 }, /steps must be an array, not 95/],
  [third({ temperature: 97, seconds: 30 }), /steps\[2\]\.temperature 97 °C is outside what cycler-1 takes: 4 to 96 °C/],
  [third({ temperature: 60.05, seconds: 30 }), /steps\[2\]\.temperature 60\.05 °C is finer than cycler-1 knows/],
  [third({ temperature: 60, seconds: 0 }), /steps\[2\]\.seconds 0 s is outside what cycler-1 takes: 1 to 86400 s/],
  [third({ temperature: 60 }), /steps\[2\]\.seconds is missing/],
  [third({ temperature: null, seconds: 30 }), /steps\[2\]\.temperature must be a number, not null/],
  [third({ temperature: 60, second: 30 }), /there is no member steps\[2\]\.second; did you mean "seconds"/],
  [{ steps, repetitions: 0 }, /repetitions must be at least 1/],
]

async function ready(t: Test) {
  const service = await openTestBench(t, { devices: [cycler] })
  for (const verb of ['initialize', 'close']) await service.ask('POST', `${path}/${verb}`)
  return service
}

test('a profile is run, and a mistake in it is refused at its place before anything is sent', async (t) => {
  const { ask, bench } = await ready(t)
  const sent = () =>
    bench.registry
      .find('cycler-1')
      .wire()
      .frames.filter(({ text }) => text.startsWith('M104'))
      .map(({ text }) => text.trim())
  for (const [params, words] of mistakes)
    for (const reply of [
      await ask('POST', `${path}/run_profile`, { json: params }),
      await ask('POST', `${path}/perform`, { json: { operation: 'run_profile', params } }),
    ]) {
      isRefusal(t, reply, 400, 'invalid')
      t.match(reply.body, { detail: words })
    }
  t.same(sent(), [])
  t.match(await ask('POST', `${path}/run_profile`, { json: { steps, repetitions: 2 } }), {
    status: 200,
    body: { success: true, message: 'cycler-1: profile of 2 steps done 2 times' },
  })
  t.match((await ask('GET', path)).body, { heating: { target: 60 }, last_operation: { params: { steps, repetitions: 2 } } })
  t.match((await ask('GET', '/api/operations')).body, { operations: [{ text: /^Ran a temperature profile on / }] })
  const { entries } = (await ask('GET', '/api/system/audit')).body as { entries: { text: string }[] }
  t.ok(
    entries.some(({ text }) => /Ran a temperature profile on /.test(text)),
    { entries },
  )
})

test('the deadline and the forecast of a profile come from its steps, and it ends early where it is', async (t) => {
  const { ask, clock } = await ready(t)
  const long = { steps: [{ temperature: 37, seconds: 40_000 }], repetitions: 2 }
  const { body } = await ask('POST', `${path}/run_profile`, { json: long, headers: { Prefer: 'respond-async' } })
  await clock.advance(3600_000)
  const { operation } = (await ask('GET', path)).body as { operation: { seconds_left: number } }
  t.ok(operation.seconds_left > 76_000 && operation.seconds_left < 76_600, `${operation.seconds_left} s`)
  const { operation_id } = body as { operation_id: string }
  await ask('DELETE', `/api/operations/${operation_id}`)
  await clock.advance(5000)
  t.match((await ask('GET', `/api/operations/${operation_id}`)).body, {
    ended_early: true,
    result: { success: true, message: /ended after 36\d\d\.?\d* s of 80000 s/ },
  })
  t.match((await ask('GET', path)).body, { state: 'ready', heating: { target: 37 } })
})

test('capabilities describe the steps with the limits of the device, and the form of the page takes them as JSON', async (t) => {
  const { ask } = await ready(t)
  const capabilities = (await ask('GET', `${path}/capabilities`)).body as Capabilities
  const profile = capabilities.operations.find(({ name }) => name === 'run_profile')!
  t.match(profile.params, {
    required: ['steps'],
    properties: {
      steps: {
        ...{ type: 'array', minItems: 1, maxItems: 100 },
        items: {
          ...{ type: 'object', required: ['temperature', 'seconds'], additionalProperties: false },
          properties: {
            temperature: { type: 'number', unit: '°C', minimum: 4, maximum: 96, step: 0.1 },
            seconds: { type: 'integer', unit: 's', minimum: 1, maximum: 86_400 },
          },
        },
      },
      repetitions: { type: 'integer', minimum: 1, maximum: 999, default: 1 },
    },
  })
  t.equal(profile.can_end_early, true)
  t.ok(profile.max_seconds > 86_400)
  const fields = fieldsOf(profile, capabilities.limits, { steps })
  t.match(fields, [
    {
      name: 'steps',
      kind: 'json',
      required: true,
      initial: JSON.stringify(steps),
      hint: 'As JSON, such as [{"temperature":4,"seconds":1}] (1 to 100 items)',
    },
    { name: 'repetitions', kind: 'number', required: false, min: 1, max: 999, initial: '1' },
  ])
  t.same(bodyOf(fields, { steps: JSON.stringify(steps), repetitions: '35' }), { steps, repetitions: 35 })
  t.throws(() => bodyOf(fields, { steps: '95, 60', repetitions: '' }), {
    message: /^steps must be a JSON array such as \[\{"name":1\}\], not 95, 60/,
  })
})

test('a profile is kept as a preset', async (t) => {
  const { ask } = await ready(t)
  const params = { steps, repetitions: 35 }
  t.equal((await ask('PUT', `${path}/presets/run_profile/pcr`, { json: { params } })).status, 200)
  t.match((await ask('GET', `${path}/presets`)).body, { presets: [{ operation: 'run_profile', name: 'pcr', params }] })
})

test('at a shell a profile is JSON, of the named command and of perform', async (t) => {
  const { url, secrets, bench } = await openService(t, { devices: [cycler] })
  const env = { BENCHD_URL: url, BENCHD_API_KEY: secrets.admin }
  const run = (...args: string[]) => benchd(t.testdirName, ['devices', ...args], env)
  for (const verb of ['init', 'close']) t.match(await run(verb, 'cycler-1'), { code: 0 })
  const done = { code: 0, stdout: 'cycler-1: profile of 2 steps done once\n', stderr: '' }
  t.match(await run('run-profile', 'cycler-1', '--steps', JSON.stringify(steps)), done)
  t.match(await run('perform', 'cycler-1', 'run_profile', '--steps', JSON.stringify(steps), '--repetitions', '1'), done)
  t.match(bench.registry.find('cycler-1').info().last_operation?.params, { steps, repetitions: 1 })
  t.match(await run('set-lid-temperature', 'cycler-1', '--lid-temperature', '105'), {
    code: 0,
    stdout: 'cycler-1: lid temperature set to 105 °C\n',
  })
  t.match(await run('get-lid-temperature', 'cycler-1'), { code: 0, stdout: /lid_temperature [\d.]+ °C, target 105 °C/ })
  t.match(await run('set-lid-temperature', 'cycler-1', '--lid-temperature', 'off'), { code: 0 })
  for (const words of [
    ['run-profile', 'cycler-1'],
    ['perform', 'cycler-1', 'run_profile'],
  ]) {
    for (const [text, refusal] of [
      ['[{"temperature":95', /--steps is not JSON: /],
      ['95,60', /--steps must be a JSON array such as \[\{"name":1\}\], not 95,60/],
      ['[{"temperature":95}]', /steps\[0\]\.seconds is missing/],
      ['[{"temperature":95,"seconds":30},{"temperature":120,"seconds":30}]', /steps\[1\]\.temperature 120 °C is outside/],
    ] as const)
      t.match(await run(...words, '--steps', text), { code: 2, stderr: refusal }, text)
  }
  t.match(await run('run-profile', 'cycler-1'), {
    code: 2,
    stderr: /--steps is missing: Steps of the profile: \[\{"temperature": 95, "seconds": 30\}\]/,
  })
})

withPython('a Python program gives a profile as a list of dictionaries', async (t) => {
  const { url, secrets } = await openService(t, { devices: [cycler] })
  const program = `
cycler = bench["cycler-1"]
cycler.initialize()
cycler.close()
say(cycler.run_profile(steps=[{"temperature": 95, "seconds": 30}, {"temperature": 60, "seconds": 45}], repetitions=2)["result"]["message"])
try:
    cycler.run_profile(steps=[{"temperature": 200, "seconds": 30}])
except Refused as refused:
    say(str(refused))
cycler.set_lid_temperature(lid_temperature=105)
say(cycler.get_lid_temperature()["target"])
`
  t.match(await printed(t, { url, key: secrets.operate }, program), [
    'cycler-1: profile of 2 steps done 2 times',
    /steps\[0\]\.temperature 200 °C is outside/,
    105,
  ])
})

test('a program behind a device may describe a profile of its own, whose steps have limits of their own', async (t) => {
  const bridge = (properties: object) => ({
    ...{ device_id: 'cycler-2', driver: 'simulated', type: 'thermocycler', transport: { kind: 'simulated' } },
    settings: {
      operations: {
        set_temperature: {
          params: { properties: { temperature: { type: 'number', minimum: 4, maximum: 50 } }, required: ['temperature'] },
          seconds: 1,
        },
        run_profile: { params: { properties, required: ['steps', 'repetitions'] }, seconds: 5 },
      },
    },
  })
  const list = { type: 'array', items: { type: 'object', properties: { temperature: { type: 'number', maximum: 200 } } } }
  const { ask } = await openTestBench(t, { devices: [bridge({ steps: list, repetitions: { type: 'integer' } })] })
  await ask('POST', '/api/devices/cycler-2/initialize')
  const run = (temperature: number) =>
    ask('POST', '/api/devices/cycler-2/run_profile', { json: { steps: [{ temperature, seconds: 1 }], repetitions: 1 } })
  t.match(await run(95), { status: 200 })
  t.match((await run(201)).body, { detail: /steps\[0\]\.temperature must be at most 200/ })
})

const topology = oneArm({ name: 'cycling', arm: 'arm-1', pads: ['pad_1'], nests: { shaker_in: 'cycler-1' } })
const variables = { annealing: { default: 58 }, cycles: { default: 2 }, all: { default: steps }, unset: {} }
const workflow = (params: object) =>
  workflowOf(
    'pcr',
    { plate: { ...standing('pad_1'), steps: [{ method: 'cycle' }] } },
    {
      ...{ topology: 'cycling', variables },
      methods: {
        cycle: [
          { do: 'close', on: 'cycler-1' },
          { do: 'run_profile', on: 'cycler-1', with: params },
        ],
      },
    },
  )

test('a workflow gives the steps, with variables inside and in place of them', async (t) => {
  const topologies = mkdtempSync(`${tmpdir()}/topologies-`)
  t.teardown(() => rmSync(topologies, { recursive: true }))
  writeFileSync(`${topologies}/cycling.json`, JSON.stringify(topology))
  const { ask, bench, clock } = await openTestBench(t, { devices: [...demoBench.devices, cycler] }, { topologies })
  await clock.run(bench.teachpoints.importAll(demoTeachpoints, { overwrite: false }))
  await ask('POST', '/api/topology/load', { json: { name: 'cycling' } })
  const put = (params: object) => ask('PUT', '/api/workflows/pcr', { json: workflow(params) })
  const submit = (given: object, run_mode: string) =>
    ask('POST', '/api/submissions', { json: { workflow: 'pcr', run_mode, variables: given } })
  for (const [params, words] of [
    [third({ temperature: 97, seconds: 30 }), /cycle\[1\]\.with: steps\[2\]\.temperature 97 °C is outside what cycler-1 takes/],
    [third({ temperature: 60 }), /cycle\[1\]\.with: steps\[2\]\.seconds is missing/],
    [
      third({ temperature: { variable: 'anealing' }, seconds: 30 }),
      /with\.steps\[2\]\.temperature: there is no variable anealing; did you mean "annealing"/,
    ],
  ] as const) {
    const refused = await put(params)
    isRefusal(t, refused, 400, 'invalid')
    t.match(refused.body, { detail: words })
  }
  const params = third({ temperature: { variable: 'annealing' }, seconds: 20 })
  t.equal((await put({ ...params, repetitions: { variable: 'cycles' } })).status, 201)
  t.match((await submit({ annealing: 99 }, 'LIVE')).body, { detail: /with: steps\[2\]\.temperature 99 °C is outside/ })
  for (const mode of ['LIVE', 'DEVICE_SIM', 'PURE_SIM']) {
    const { status, body } = await submit({ annealing: 55 }, mode)
    t.equal(status, 202)
    const { execution_id } = body as { execution_id: string }
    await clock.run(bench.runs.runtime.over(bench.runs.runtime.runs.get(execution_id)!))
    t.match((await ask('GET', `/api/executions/${execution_id}`)).body, { status: 'COMPLETED' }, mode)
  }
  const { last_operation } = (await ask('GET', path)).body as { last_operation: { operation: string } }
  t.ok(last_operation)
  const { operations } = (await ask('GET', '/api/operations?device_id=cycler-1')).body as {
    operations: { operation: string; params: object }[]
  }
  t.match(
    operations.find(({ operation }) => operation === 'run_profile'),
    { params: { steps: [...steps, { temperature: 55, seconds: 20 }], repetitions: 2 } },
  )
  t.equal((await put({ steps: { variable: 'all' } })).status, 200)
  t.match((await submit({ all: [{ temperature: 3, seconds: 1 }] }, 'LIVE')).body, { detail: /steps\[0\]\.temperature 3 °C is outside/ })
})
