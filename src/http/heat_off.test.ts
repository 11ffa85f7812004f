// Heat is switched off by null as the temperature: over the API, in a run, and at a device behind which a program stands.

import { test } from 'tap'
import { openTestBench } from '../testing/http.ts'
import { beginRun, bodyOf, plateRun, shake, until } from '../testing/http_runs.ts'

const path = '/api/devices/shaker-1'

test('null switches the heater off and latches nothing; without a temperature nothing is done', async (t) => {
  const { ask } = await openTestBench(t)
  await ask('POST', `${path}/initialize`, { json: {} })
  t.match(await ask('POST', `${path}/set_temperature`, { json: { temperature: 60 } }), { status: 200 })
  t.match(await bodyOf(ask('GET', path)), { state: 'ready', heating: { target: 60, is_lowest: false } })
  for (const body of ['{}', '{"temperature": NaN}', '{"temperature": "off"}', '{"temperature": false}']) {
    t.match(await ask('POST', `${path}/set_temperature`, { body, headers: { 'Content-Type': 'application/json' } }), { status: 400 }, body)
  }
  t.match(await bodyOf(ask('GET', `${path}/get_temperature`)), { target: 60 })
  const off = { success: true, message: 'shaker-1: heater switched off' }
  t.match(await ask('POST', `${path}/set_temperature`, { json: { temperature: null } }), { status: 200, body: off })
  t.match(await bodyOf(ask('GET', `${path}/get_temperature`)), { target: null })
  t.match(await bodyOf(ask('GET', path)), { state: 'ready', heating: null, fault: null, stopped: null })
  t.match(await ask('POST', `${path}/perform`, { json: { operation: 'set_temperature', params: {} } }), { status: 400 })
  const { operations } = (await bodyOf(ask('GET', `${path}/capabilities`))) as { operations: { name: string; params: object }[] }
  t.match(
    operations.find(({ name }) => name === 'set_temperature'),
    { params: { properties: { temperature: { type: ['number', 'null'] } }, required: ['temperature'] } },
  )
})

test('an instrument that cannot switch its heater off goes to its lowest set point, and says so', async (t) => {
  const { ask } = await openTestBench(t, { devices: [{ device_id: 'sealer-1', driver: 'plateloc', transport: { kind: 'simulated' } }] })
  const sealer = '/api/devices/sealer-1'
  await ask('POST', `${sealer}/initialize`, { json: {} })
  await ask('POST', `${sealer}/set_temperature`, { json: { temperature: 170 } })
  const message = 'sealer-1: the sealer cannot switch its heater off. Its set point is now 20 °C, the lowest.'
  t.match(await ask('POST', `${sealer}/set_temperature`, { json: { temperature: null } }), {
    status: 200,
    body: { success: true, message },
  })
  const isAtItsLowest = { heating: { target: 20, is_lowest: true } }
  t.match(await bodyOf(ask('GET', sealer)), { state: 'ready', ...isAtItsLowest })
  await ask('POST', `${sealer}/initialize`, { json: {} })
  t.match(await bodyOf(ask('GET', sealer)), { state: 'ready', ...isAtItsLowest })
  await ask('POST', `${sealer}/set_temperature`, { json: { temperature: 170 } })
  await ask('POST', `${sealer}/stop`, { json: {} })
  t.match(await bodyOf(ask('GET', sealer)), { state: 'stopped', ...isAtItsLowest })
})

const bridged = (temperature: object) => ({
  ...{ device_id: 'block-1', driver: 'simulated', type: 'block', transport: { kind: 'simulated' } },
  settings: {
    operations: { set_temperature: { params: { properties: { temperature }, required: ['temperature'] }, seconds: 1, leaves_on: 'heat' } },
    readings: { temperature: { unit: '°C' } },
  },
})

test('null is passed on to a program that describes that it can, and refused for any other', async (t) => {
  const able = await openTestBench(t, { devices: [bridged({ type: ['number', 'null'], minimum: 4, maximum: 99 })] })
  await able.ask('POST', '/api/devices/block-1/initialize', { json: {} })
  const set = async ({ ask }: typeof able, temperature: number | null) =>
    ask('POST', '/api/devices/block-1/set_temperature', { json: { temperature } })
  t.match(await set(able, 60), { status: 200 })
  t.match(await bodyOf(able.ask('GET', '/api/devices/block-1')), { heating: { target: 60 } })
  t.match(await set(able, 100), { status: 400 })
  t.match(await set(able, null), { status: 200 })
  t.match(await bodyOf(able.ask('GET', '/api/devices/block-1/get_temperature')), { target: null })
  t.match(await bodyOf(able.ask('GET', '/api/devices/block-1')), { state: 'ready', heating: null })
})

test('a program that does not describe that it can switch off is not asked to', async (t) => {
  const unable = await openTestBench(t, { devices: [bridged({ type: 'number' })] })
  await unable.ask('POST', '/api/devices/block-1/initialize', { json: {} })
  for (const [route, json] of [
    ['set_temperature', { temperature: null }],
    ['perform', { operation: 'set_temperature', params: { temperature: null } }],
  ] as const) {
    const reply = await unable.ask('POST', `/api/devices/block-1/${route}`, { json })
    t.match(reply, { status: 400, body: { detail: /does not describe that it can switch the heater off; set a low temperature/ } })
  }
})

test('an operation of a program that ends what others have left on clears the heat', async (t) => {
  const operations = {
    bake: { seconds: 1, leaves_on: 'heat' },
    wait: { seconds: 1, leaves_on: null },
    cool: { seconds: 1, leaves_on: 'no heat' },
  }
  const { ask } = await openTestBench(t, { devices: [{ ...bridged({}), settings: { operations } }] })
  await ask('POST', '/api/devices/block-1/initialize', { json: {} })
  for (const [operation, heating] of [
    ['bake', { target: null, is_lowest: false }],
    ['wait', { target: null, is_lowest: false }],
    ['cool', null],
  ] as const) {
    t.match(await ask('POST', '/api/devices/block-1/perform', { json: { operation, params: {} } }), { status: 200 })
    t.match(await bodyOf(ask('GET', '/api/devices/block-1')), { heating }, operation)
  }
})

const warm = (temperature: unknown) => ({ do: 'set_temperature', on: 'shaker-1', with: { temperature } })

test('a run switches heat off, and one that leaves heat on says so at its end', async (t) => {
  for (const end of [[], [warm(null)]]) {
    const actions = [warm(60), shake, ...end]
    const workflow = plateRun([{ method: 'shake_it' }], { methods: { shake_it: actions } })
    const { bench, execution_id } = await beginRun(t, { workflow })
    const run = await until(bench, `/api/executions/${execution_id}`, ({ status }) => status !== 'IN_PROGRESS')
    const left = end.length ? undefined : [{ device_id: 'shaker-1', target: 60 }]
    t.match(run, { status: 'COMPLETED' })
    t.same(run.still_heating, left)
    const { events } = (await bodyOf(bench.ask('GET', `/events?execution_id=${execution_id}&limit=1000`))) as {
      events: { entity_type: string; context: { still_heating?: object } }[]
    }
    t.same(events.find(({ entity_type }) => entity_type === 'EXECUTION')?.context.still_heating, left)
    t.match(await bodyOf(bench.ask('GET', path)), { state: 'ready', heating: end.length ? null : { target: 60 } })
  }
})
