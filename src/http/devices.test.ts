// The rows of the devices, from the request to the simulated instrument and back.

import { type Test, test } from 'tap'
import type { OperationRecord } from '../devices/records.ts'
import { atTheEnd, isRefusal, openService, openTestBench, type Reply, type TestedBench } from '../testing/http.ts'

const shaker = '/api/devices/shaker-1'
const gentle = { speed: 500, duration: 60 }

test('the list has exactly four members of each device', async (t) => {
  const { ask } = await openTestBench(t)
  const { status, body } = await ask('GET', '/api/devices', { key: 'read' })
  t.equal(status, 200)
  t.strictSame(body, {
    devices: [
      { device_id: 'shaker-1', type: 'shaker', name: 'Plate shaker', is_initialized: false },
      { device_id: 'sealer-1', type: 'sealer', name: 'Plate sealer', is_initialized: false },
      { device_id: 'centrifuge-1', type: 'centrifuge', name: 'Centrifuge', is_initialized: false },
      { device_id: 'arm-1', type: 'transporter', name: 'Robot arm', is_initialized: false },
      { device_id: 'robot-1', type: 'transporter', name: 'robot-1', is_initialized: false },
      { device_id: 'spare-1', type: 'shaker', name: 'spare-1', is_initialized: false },
    ],
  })
})

test('a device tells what it is, what it does, and what is latched on it', async (t) => {
  const { ask } = await openTestBench(t)
  const { body } = await ask('GET', shaker, { key: 'read' })
  t.match((body as { identity: object }).identity, { model: /BIOSHAKE/i, serial_number: String, firmware_version: String })
  const { identity: _, heard_at, ...rest } = body as Record<string, unknown>
  t.ok(Math.abs(Number(heard_at) - Date.now() / 1000) < 60, 'when it last answered')
  t.strictSame(rest, {
    device_id: 'shaker-1',
    type: 'shaker',
    name: 'Plate shaker',
    is_initialized: false,
    driver: 'bioshake',
    simulated: true,
    state: 'not_initialized',
    operation: null,
    last_operation: null,
    fault: null,
    stopped: null,
    may_still_be_on: false,
    unfit: null,
    heating: null,
    parts: {},
    lock: null,
  })
  t.match((await ask('GET', '/api/devices/robot-1')).body, {
    heard_at: null,
    state: 'external',
    driver: 'external',
    simulated: false,
    identity: null,
  })
})

test('a device that is not there is named, on every path', async (t) => {
  const { ask } = await openTestBench(t)
  const rows = [
    ['GET', ''],
    ['GET', '/capabilities'],
    ['GET', '/initialized'],
    ['GET', '/get_temperature'],
    ...[
      'initialize',
      'shake',
      'centrifuge',
      'seal',
      'stop',
      'open',
      'close',
      'lock_plate',
      'unlock_plate',
      'set_temperature',
      'clear_fault',
    ].map((name) => ['POST', `/${name}`]),
  ] as const
  for (const [method, path] of rows) {
    const answer = await ask(method as string, `/api/devices/shaker-2${path}`)
    isRefusal(t, answer, 404, 'not_found')
    t.match(answer.text, /no device \\"shaker-2\\"/)
  }
})

test('capabilities tell each operation with the schema of its body, and the limits that hold', async (t) => {
  const { ask } = await openTestBench(t)
  const { body } = await ask('GET', `${shaker}/capabilities`, { key: 'read' })
  const { operations, safety, ...rest } = body as { operations: { name: string; method: string }[]; safety: string }
  t.match(safety, /not a safety function/)
  t.strictSame(rest, {
    device_id: 'shaker-1',
    type: 'shaker',
    driver: 'bioshake',
    model: 'BioShake 3000-T elm',
    simulated: true,
    source: 'model',
    limits: {
      speed: { min: 200, max: 3000, unit: 'rpm', step: 1 },
      duration: { min: 1, max: 99_999, unit: 's', step: 1 },
      temperature: { min: 0, max: 99, unit: '°C', step: 0.1 },
    },
    features: { locking: true, heating: true, cooling: false, autonomous_timer: true },
  })
  t.strictSame(
    operations.map(({ name, method }) => `${method} ${name}`),
    [
      'POST initialize',
      'POST shake',
      'POST stop',
      'POST lock_plate',
      'POST unlock_plate',
      'POST set_temperature',
      'GET initialized',
      'GET get_temperature',
    ],
  )
  t.strictSame(operations[1], {
    name: 'shake',
    method: 'POST',
    params: {
      type: 'object',
      properties: {
        speed: { type: 'integer', description: 'Speed of the shaker', unit: 'rpm', minimum: 200, maximum: 3000, step: 1 },
        duration: { type: 'integer', description: 'Time of shaking', unit: 's', minimum: 1, maximum: 99_999, step: 1 },
      },
      required: ['speed', 'duration'],
      additionalProperties: false,
    },
    typical_seconds: 5,
    max_seconds: 100_029,
    can_end_early: true,
  })
  t.match(operations[0], { name: 'initialize', typical_seconds: 4 }, 'as its driver says')
  await ask('POST', `${shaker}/initialize`, { headers: { Prefer: 'respond-async' } })
  const { operation } = (await ask('GET', shaker)).body as { operation: { seconds_left: number } }
  t.ok(operation.seconds_left > 0 && operation.seconds_left <= 4, `${operation.seconds_left} s are left`)
  await ask('POST', `${shaker}/stop`)
  await ask('POST', `${shaker}/initialize`)
  t.match((await ask('GET', `${shaker}/capabilities`)).body, { source: 'instrument' })
})

test('each operation that a device knows is done and answered, and no other is', async (t) => {
  const { ask } = await openTestBench(t)
  const all: Record<string, object> = {
    initialize: {},
    open: {},
    close: {},
    lock_plate: {},
    unlock_plate: {},
    stop: {},
    shake: { speed: 500, duration: 5 },
    centrifuge: { g: 200, duration: 5 },
    seal: { temperature: 100, duration: 2 },
    set_temperature: { temperature: 60 },
  }
  const known: Record<string, string[]> = {
    'shaker-1': ['initialize', 'lock_plate', 'shake', 'unlock_plate', 'set_temperature', 'stop'],
    'sealer-1': ['initialize', 'open', 'close', 'set_temperature', 'seal', 'stop'],
    'centrifuge-1': ['initialize', 'open', 'close', 'centrifuge', 'stop'],
    'arm-1': ['initialize', 'stop'],
    'robot-1': [],
  }
  for (const [device_id, names] of Object.entries(known)) {
    for (const name of names) {
      const { status, body, headers, text } = await ask('POST', `/api/devices/${device_id}/${name}`, { json: all[name] })
      t.equal(status, 200, `${device_id} ${name} ${text}`)
      t.strictSame(Object.keys(body as object), ['success', 'message'])
      // A stop just behind another command may be acknowledged too late for its answer.
      t.match(body, { success: name === 'stop' ? Boolean : true, message: new RegExp(device_id) })
      t.equal(headers.get('operation-id') !== null, name !== 'stop')
    }
    for (const name of Object.keys(all).filter((other) => !names.includes(other))) {
      isRefusal(t, await ask('POST', `/api/devices/${device_id}/${name}`, { json: all[name] }), 400, 'invalid')
    }
  }
})

test('an operation without members takes an empty body and {}, and nothing else', async (t) => {
  const { ask } = await openTestBench(t)
  const path = `${shaker}/initialize`
  t.equal((await ask('POST', path)).status, 200)
  t.equal((await ask('POST', path, { json: {} })).status, 200)
  for (const json of [[], null, 1, 'x', { force: true }]) isRefusal(t, await ask('POST', path, { json }), 400, 'invalid')
  isRefusal(t, await ask('POST', path, { headers: { 'Content-Type': 'application/json' }, body: '{"__proto__": {}}' }), 400, 'invalid')
  isRefusal(t, await ask('POST', `${shaker}/shake`), 400, 'invalid')
})

test('a value that the device cannot take is refused, naming field, value and range, and nothing begins', async (t) => {
  const setup = await ready(t)
  const { ask, bench } = setup
  const before = bench.registry.find('shaker-1').info().last_operation
  for (const [json, sentence] of [
    [{ speed: 90_000, duration: 5 }, /speed 90000 rpm.*200 to 3000 rpm/],
    [{ speed: -500, duration: 5 }, /speed -500 rpm/],
    [{ speed: 500, duration: 1.5 }, /duration 1.5 s.*multiple of 1/],
    [{ speed: 500, duration: 0 }, /duration 0 s/],
    [{ speed: '500', duration: 5 }, /speed must be a number/],
    [{ speed: 500 }, /duration is missing/],
    [{ sped: 500, duration: 5 }, /no member sped; did you mean \\"speed\\"/],
  ] as const) {
    const answer = await ask('POST', `${shaker}/shake`, { json })
    isRefusal(t, answer, 400, 'invalid')
    t.match(answer.text, sentence)
  }
  for (const body of ['{"speed":NaN,"duration":5}', '{"speed":1e999,"duration":5}', '{"speed":500,"duration":5', '[500,5]', '"\ud800"'])
    isRefusal(t, await ask('POST', `${shaker}/shake`, { headers: { 'Content-Type': 'application/json' }, body }), 400, 'invalid')
  t.same(bench.registry.find('shaker-1').info().last_operation, before)
})

test('an operation has an id, under which its outcome stands', async (t) => {
  const { ask } = await ready(t)
  const answer = await ask('POST', `${shaker}/shake`, { json: { speed: 500, duration: 5 } })
  const operation_id = answer.headers.get('operation-id')
  const record = await ask('GET', `/api/operations/${operation_id}`, { key: 'read' })
  const { started, ended, ...rest } = record.body as OperationRecord
  t.strictSame(rest, {
    operation_id,
    device_id: 'shaker-1',
    operation: 'shake',
    params: { speed: 500, duration: 5 },
    status: 'ended',
    result: answer.body,
    detail: null,
    reason: null,
    ended_early: false,
    execution_id: null,
    by: record.body && (record.body as { by: string }).by,
    notice: null,
  })
  t.ok(ended! >= started && started > 1e9)
  t.strictSame((await ask('GET', shaker)).body, { ...((await ask('GET', shaker)).body as object), last_operation: record.body })
  isRefusal(t, await ask('GET', '/api/operations/none'), 404, 'not_found')
})

test('who does not want to wait is answered at once, and finds the outcome later', async (t) => {
  const { ask, clock } = await ready(t)
  const answer = await begin(t, { ask })
  const { operation_id } = answer.body as OperationRecord
  t.strictSame(Object.keys(answer.body as object), [
    'operation_id',
    'device_id',
    'operation',
    'params',
    'status',
    'result',
    'detail',
    'reason',
    'ended_early',
    'notice',
    'started',
    'ended',
    'execution_id',
    'by',
  ])
  t.match(answer.body, { status: 'running', result: null, ended: null })
  t.equal(answer.headers.get('location'), `/api/operations/${operation_id}`)
  t.equal(answer.headers.get('operation-id'), operation_id)
  t.equal(answer.headers.get('preference-applied'), 'respond-async')
  t.match((await ask('GET', shaker)).body, {
    state: 'busy',
    operation: { operation_id, name: 'shake', started: Number, seconds_left: Number },
  })
  await clock.advance(90_000)
  t.match((await ask('GET', `/api/operations/${operation_id}`)).body, { status: 'ended', result: { success: true } })
  t.match((await ask('GET', shaker)).body, { state: 'ready', operation: null, last_operation: { operation_id } })
})

test('a second operation is refused with what runs and how long still, and readings are not', async (t) => {
  const { ask } = await ready(t)
  await begin(t, { ask })
  for (const name of ['unlock_plate', 'initialize']) {
    const answer = await ask('POST', `${shaker}/${name}`)
    isRefusal(t, answer, 409, 'busy')
    t.match(answer.text, /shaker-1 is running shake, about 6\d s left/)
    t.match(Number(answer.headers.get('retry-after')), 65)
    t.equal(answer.headers.get('operation-id'), null)
  }
  t.match(await ask('GET', `${shaker}/get_temperature`), {
    status: 200,
    body: { device_id: 'shaker-1', temperature: Number, target: null },
  })
  t.strictSame((await ask('GET', `${shaker}/initialized`)).body, { device_id: 'shaker-1', is_initialized: true })
})

test('with Prefer: handling=strict an operation that was stopped is refused as an error', async (t) => {
  const { ask, hono, clock, secrets } = await ready(t)
  const headers = { Host: 'localhost', 'X-API-Key': secrets.operate, 'Content-Type': 'application/json' }
  for (const [preference, status] of [
    ['handling=strict', 409],
    ['wait=5, Handling="Strict"', 409],
    ['handling=lenient', 200],
  ] as const) {
    const init = { method: 'POST', headers: { ...headers, Prefer: preference }, body: JSON.stringify(gentle) }
    const run = Promise.resolve(hono.request(`${shaker}/shake`, init))
    await clock.advance(5000)
    await ask('POST', `${shaker}/stop`)
    const answer = await clock.run(run)
    t.equal(answer.status, status, preference)
    if (status === 409) {
      t.equal(answer.headers.get('x-reason'), 'stopped')
      t.match(await answer.json(), { detail: 'shake of shaker-1 has not ended well: stopped; initialize the device before it goes on' })
    }
    t.ok(answer.headers.get('operation-id'))
    await clock.run(ask('POST', `${shaker}/initialize`))
    await clock.run(ask('POST', `${shaker}/lock_plate`))
  }
  const good = hono.request(`${shaker}/shake`, {
    method: 'POST',
    headers: { ...headers, Prefer: 'handling=strict' },
    body: JSON.stringify(gentle),
  })
  t.equal((await clock.run(Promise.resolve(good))).status, 200)
})

test('a stop ends the run, which answers that it was stopped, and holds until initialize', async (t) => {
  const { ask, hono, clock, secrets } = await ready(t)
  const headers = { Host: 'localhost', 'X-API-Key': secrets.operate, 'Content-Type': 'application/json' }
  const run = Promise.resolve(hono.request(`${shaker}/shake`, { method: 'POST', headers, body: JSON.stringify(gentle) }))
  await clock.advance(5000)
  const stop = await ask('POST', `${shaker}/stop`, { key: 'read', headers: { 'Content-Type': 'text/plain' }, body: '{not even JSON' })
  t.match(stop, { status: 200, body: { success: Boolean, message: /^shaker-1/ } })
  t.strictSame(Object.keys(stop.body as object), ['success', 'message'])
  const answer = await clock.run(run)
  t.strictSame([answer.status, await answer.json()], [200, { success: false, message: 'stopped' }])
  t.match((await ask('GET', `/api/operations/${answer.headers.get('operation-id')}`)).body, {
    result: { success: false, message: 'stopped' },
    detail: null,
  })
  t.match((await ask('GET', shaker)).body, {
    state: 'stopped',
    is_initialized: false,
    fault: { command: 'shake', outcome: 'unknown', error_type: 'Stopped', may_still_be_moving: false },
  })
  isRefusal(t, await ask('POST', `${shaker}/lock_plate`), 409, 'stopped')
  isRefusal(t, await ask('POST', `${shaker}/clear_fault`), 409, 'stopped')
  t.match(await ask('POST', `${shaker}/stop`), { status: 200, body: { success: Boolean } })
  t.match(await ask('POST', `${shaker}/initialize`), { status: 200, body: { success: true } })
  t.match(await ask('POST', `${shaker}/lock_plate`), { status: 200, body: { success: true } })
})

test('one stop is for all devices that have a driver', async (t) => {
  const { ask } = await ready(t)
  await begin(t, { ask })
  const { status, body } = await ask('POST', '/api/stop', { key: 'read', body: 'whatever' })
  t.equal(status, 200)
  t.strictSame(Object.keys(body as object), ['success', 'message', 'devices'])
  const { success, devices } = body as { success: boolean; devices: { device_id: string; success: boolean }[] }
  t.strictSame(
    devices.map(({ device_id }) => device_id),
    ['shaker-1', 'sealer-1', 'centrifuge-1', 'arm-1', 'spare-1'],
  )
  for (const device of devices) t.strictSame(Object.keys(device), ['device_id', 'success', 'message'])
  t.equal(
    success,
    devices.every((device) => device.success),
  )
  isRefusal(t, await ask('POST', '/api/devices/robot-1/stop'), 400, 'invalid')
  for (const device_id of ['shaker-1', 'arm-1']) t.match((await ask('GET', `/api/devices/${device_id}`)).body, { state: 'stopped' })
})

test('a stop that could not be written is a 500 that says to use the red button, and latches all the same', async (t) => {
  const { ask } = await ready(t)
  t.equal((await ask('POST', '/api/sim/devices/shaker-1/faults', { json: { fault: 'unplug' } })).status, 200)
  for (const path of [`${shaker}/stop`, '/api/stop']) {
    const answer = await ask('POST', path)
    isRefusal(t, answer, 500, 'stop_not_sent')
    t.match(answer.text, /shaker-1 may still be moving: use its red button/)
  }
  t.equal((await ask('DELETE', '/api/sim/devices/shaker-1/faults')).status, 200)
  isRefusal(t, await ask('POST', `${shaker}/clear_fault`), 409, 'stopped')
})

test('what is not safe is refused, and nothing is locked or closed unasked', async (t) => {
  const { ask } = await ready(t)
  await ask('POST', `${shaker}/unlock_plate`)
  const unlocked = await ask('POST', `${shaker}/shake`, { json: gentle })
  isRefusal(t, unlocked, 409, 'interlock')
  t.match(unlocked.text, /lock/)
  t.ok(unlocked.headers.get('operation-id'))
  await ask('POST', '/api/devices/centrifuge-1/initialize')
  await ask('POST', '/api/devices/centrifuge-1/open')
  isRefusal(t, await ask('POST', '/api/devices/centrifuge-1/centrifuge', { json: { g: 200, duration: 5 } }), 409, 'interlock')
  t.match((await ask('GET', shaker)).body, { state: 'ready', fault: null }, 'and is no fault')
})

test('before initialize nothing is done', async (t) => {
  const { ask } = await openTestBench(t)
  isRefusal(t, await ask('POST', `${shaker}/shake`, { json: gentle }), 409, 'not_initialized')
  isRefusal(t, await ask('POST', '/api/devices/sealer-1/open'), 409, 'not_initialized')
})

test('a fault that is ordered is met, latched, told as an event, and cleared', async (t) => {
  const setup = await ready(t)
  const { ask } = setup
  const faults = '/api/sim/devices/shaker-1/faults'
  t.strictSame((await ask('POST', faults, { json: { fault: 'no_reply' } })).body, {
    success: true,
    message: 'shaker-1 has the fault no_reply',
  })
  const failed = await ask('POST', `${shaker}/unlock_plate`)
  isRefusal(t, failed, 500, 'no_reply')
  t.match(failed.text, /shaker-1/)
  t.match((await ask('GET', `/api/operations/${failed.headers.get('operation-id')}`)).body, {
    status: 'ended',
    result: { success: false },
    detail: (failed.body as { detail: string }).detail,
  })
  isRefusal(t, await ask('POST', `${shaker}/unlock_plate`), 409, 'faulted')
  t.match((await ask('GET', shaker)).body, {
    state: 'faulted',
    fault: { command: 'unlock_plate', outcome: 'unknown', error_type: 'NoReply' },
  })
  t.strictSame((await ask('DELETE', faults)).body, { success: true, message: 'shaker-1 is mended' })
  t.match((await ask('GET', shaker)).body, { state: 'faulted' }, 'what is latched stays latched')
  t.strictSame((await ask('POST', `${shaker}/clear_fault`)).body, {
    success: true,
    message: 'fault cleared; initialize before the next operation',
  })
  t.strictSame((await ask('POST', `${shaker}/clear_fault`)).body, { success: true, message: 'there was no fault' })
  isRefusal(t, await ask('POST', `${shaker}/unlock_plate`), 409, 'not_initialized')
  t.equal((await ask('POST', `${shaker}/initialize`)).status, 200)
  t.match(await eventsOf(setup), ['DEVICE.shaker-1.FAULTED', 'DEVICE.shaker-1.FAULT_CLEARED'])
})

test('each fault breaks each simulated device, or is refused because it cannot have it', async (t) => {
  const { ask } = await ready(t)
  const faults = ['no_reply', 'garbage', 'half_reply', 'late_reply', 'unplug', 'jam', 'overtemperature', 'interlock_open']
  for (const fault of faults)
    t.equal((await ask('POST', '/api/sim/devices/spare-1/faults', { json: { fault, after: 3600 } })).status, 200, fault)
  t.equal((await ask('DELETE', '/api/sim/devices/spare-1/faults')).status, 200)
  isRefusal(t, await ask('POST', '/api/sim/devices/shaker-1/faults', { json: { fault: 'gremlins' } }), 400)
  isRefusal(t, await ask('POST', '/api/sim/devices/shaker-1/faults', { json: { fault: 'jam', after: -1 } }), 400)
  isRefusal(t, await ask('POST', '/api/sim/devices/robot-1/faults', { json: { fault: 'jam' } }), 404)
  isRefusal(t, await ask('POST', '/api/sim/devices/nobody/faults', { json: { fault: 'jam' } }), 404)
  isRefusal(t, await ask('DELETE', '/api/sim/devices/nobody/faults'), 404)
})

test('a stop and the initialize that ends it are events', async (t) => {
  const setup = await ready(t)
  const { ask } = setup
  await ask('POST', `${shaker}/stop`)
  await ask('POST', `${shaker}/stop`)
  await ask('POST', `${shaker}/initialize`)
  t.strictSame(await eventsOf(setup), ['DEVICE.shaker-1.FAULTED', 'DEVICE.shaker-1.FAULT_CLEARED'])
})

test('what is put in by hand is an event like any other', async (t) => {
  const { ask } = await openTestBench(t)
  const answer = await ask('POST', '/api/sim/events', { json: { event_name: 'THREAD.t1.STARTED', execution_id: 'e1', context: { n: 1 } } })
  t.equal(answer.status, 201)
  const { timestamp, ...rest } = answer.body as { timestamp: number }
  t.type(timestamp, 'number')
  t.strictSame(rest, {
    event_name: 'THREAD.t1.STARTED',
    execution_id: 'e1',
    entity_type: 'THREAD',
    entity_id: 't1',
    status: 'STARTED',
    context: { n: 1 },
  })
  t.match((await ask('GET', '/events?execution_id=e1')).body, { events: [answer.body] })
  for (const event_name of ['', 'nodots', 'a..b', 'a.b.c.d', '.a', 'OPERATOR.CONFIRM.s1'])
    isRefusal(t, await ask('POST', '/api/sim/events', { json: { event_name } }), 400)
  for (const context of [[], null, 1, 'x'])
    isRefusal(t, await ask('POST', '/api/sim/events', { json: { event_name: 'A.B', context } }), 400)
})

test('a client that goes away stops nothing', async (t) => {
  const { ask, url, secrets } = await openService(t, { time_scale: 20 })
  await ask('POST', `${shaker}/initialize`)
  await ask('POST', `${shaker}/lock_plate`)
  const gone = new AbortController()
  const headers = { 'X-API-Key': secrets.admin, 'Content-Type': 'application/json' }
  const asked = fetch(`${url}${shaker}/shake`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ speed: 500, duration: 20 }),
    signal: gone.signal,
  })
  const operation_id = await until(ask, ({ state, operation }) => state === 'busy' && operation?.operation_id)
  gone.abort()
  await t.rejects(asked, { name: 'AbortError' })
  const last = await until(ask, ({ last_operation }) => last_operation?.operation_id === operation_id && last_operation)
  t.match(last, { operation: 'shake', status: 'ended', result: { success: true } })
})

test('where a device is real, no event can be put in by hand, and no fault ordered from it', async (t) => {
  atTheEnd(t)
  const serial = { kind: 'serial', path: `${t.testdir({})}/ttyNONE` }
  const { ask } = await openTestBench(t, { devices: [{ device_id: 'shaker-1', driver: 'bioshake', transport: serial }] })
  isRefusal(t, await ask('POST', '/api/sim/events', { json: { event_name: 'A.B' } }), 404)
  isRefusal(t, await ask('POST', '/api/sim/devices/shaker-1/faults', { json: { fault: 'jam' } }), 404)
  isRefusal(t, await ask('POST', `${shaker}/initialize`), 500, 'disconnected')
  t.match((await ask('GET', shaker)).body, { simulated: false, state: 'disconnected' })
})

/** A bench whose shaker is initialized and holds its plate. */
async function ready(t: Test): Promise<TestedBench> {
  const setup = await openTestBench(t)
  for (const name of ['initialize', 'lock_plate']) t.equal((await setup.ask('POST', `${shaker}/${name}`)).status, 200)
  return setup
}

async function begin(t: Test, { ask }: Pick<TestedBench, 'ask'>): Promise<Reply> {
  const answer = await ask('POST', `${shaker}/shake`, { json: gentle, headers: { Prefer: 'wait=5, Respond-Async' } })
  t.equal(answer.status, 202)
  return answer
}

async function eventsOf({ ask, clock, bench }: TestedBench): Promise<string[]> {
  // Resolves when all that was fired is in the file, and is shown.
  await clock.run(bench.hub.getEventsSince())
  const { events } = (await ask('GET', '/events?since=0')).body as { events: { event_name: string }[] }
  return events.map(({ event_name }) => event_name).filter((name) => name.startsWith('DEVICE.'))
}

type Info = { state: string; operation: { operation_id: string } | null; last_operation: OperationRecord | null }

/** Asks the shaker until what is looked for is there. */
async function until<Found>(ask: TestedBench['ask'], find: (info: Info) => Found): Promise<Found> {
  for (;;) {
    const found = find((await ask('GET', shaker)).body as Info)
    if (found) return found
  }
}

test('who stopped a device, and when, is shown until it is initialized, over a restart too', async (t) => {
  const { ask, bench, clock, data_dir } = await openTestBench(t)
  const stopped = async (its = ask) => ((await its('GET', shaker)).body as { stopped: object | null }).stopped
  await ask('POST', `${shaker}/stop`, { key: 'read' })
  await ask('POST', '/api/stop', { key: 'operate' })
  const first = await stopped()
  t.match(first, { by: 'key to read', at: Number, again: { by: 'key to operate', at: Number } })
  await clock.run(bench.close())
  const again = await openTestBench(t, {}, { folder: data_dir })
  t.same(await stopped(again.ask), first)
  await again.ask('POST', `${shaker}/initialize`)
  t.equal(await stopped(again.ask), null)
})

test('an arm tells where it is as the coordinates of a teachpoint, and not while it moves', async (t) => {
  const { ask, bench, clock } = await openTestBench(t)
  const pose = '/api/devices/arm-1/pose'
  await ask('POST', '/api/devices/arm-1/initialize')
  const { body } = await ask('GET', pose, { key: 'read' })
  t.match(body, {
    device_id: 'arm-1',
    coord_type: 'cartesian',
    coords: { x: Number, y: Number, z: Number, yaw: Number, pitch: Number, roll: Number },
  })
  const { coord_type, coords } = body as Record<string, object>
  t.equal((await ask('POST', '/api/teachpoints', { json: { device_id: 'arm-1', name: 'taken', coord_type, coords } })).status, 201)
  const homing = ask('POST', '/api/devices/arm-1/initialize')
  const homes = () =>
    bench.registry
      .find('arm-1')
      .wire()
      .frames.filter(({ text }) => text.startsWith('home')).length
  while (homes() < 2) await clock.advance(10)
  isRefusal(t, await ask('GET', pose), 409, 'interlock')
  t.equal((await homing).status, 200, 'a question harms nothing')
  isRefusal(t, await ask('GET', `${shaker}/pose`), 400, 'invalid')
})
