import { type Test, test } from 'tap'
import { LabError } from '../../errors.ts'
import { demoBench, demoTeachpoints } from '../../examples/demo_bench.ts'
import { openTestBench } from '../../testing/http.ts'
import { carrying } from '../../testing/moves.ts'
import { DrivenEquipment } from './driven_equipment.ts'

const calm = new AbortController().signal

/** The demo bench, as a run in LIVE reaches it, and the operations and moves it did. */
async function setup(t: Test, { forgives = false, more = [] as object[] } = {}) {
  const { bench, clock, ask } = await openTestBench(t, more.length > 0 ? { devices: [...demoBench.devices, ...more] } : {})
  await clock.run(bench.teachpoints.importAll(demoTeachpoints, { overwrite: false }))
  const equipment = new DrivenEquipment({ ...bench, forgives, clock })
  const did: string[] = []
  const begin = bench.ledger.begin.bind(bench.ledger)
  bench.ledger.begin = (device_id, operation, params) => {
    did.push(`${device_id} ${operation}`)
    return begin(device_id, operation, params)
  }
  return { bench, clock, ask, equipment, did, run: <T>(work: Promise<T>) => clock.run(work), find: (id: string) => bench.registry.find(id) }
}

test('a device that is not initialized is, once, however many need it', async (t) => {
  const { equipment, run, did } = await setup(t)
  await run(Promise.all([equipment.ready('shaker-1', calm), equipment.ready('shaker-1', calm), equipment.open('shaker-1', calm)]))
  await run(equipment.ready('shaker-1', calm))
  t.same(did, ['shaker-1 initialize', 'shaker-1 unlock_plate'])
})

test('a device that was stopped or has a fault is left as it is, and what to do is said', async (t) => {
  const { equipment, run, did, bench, clock } = await setup(t)
  await run(bench.registry.halt('shaker-1'))
  bench.simulations.get('sealer-1')!.setFault('no_reply', 0)
  await clock.advance(15_000)
  const asked = [
    (id: string) => equipment.ready(id, calm),
    (id: string) => equipment.open(id, calm),
    (id: string) => equipment.perform(id, 'initialize', {}, { signal: calm }),
    (id: string) => equipment.perform(id, 'set_temperature', { temperature: 60 }, { signal: calm }),
  ]
  for (const ask of asked) {
    await t.rejects(run(ask('shaker-1')), { code: 'stopped', message: /shaker-1 was stopped.*POST .*initialize/ })
    await t.rejects(run(ask('sealer-1')), { code: 'faulted', message: /sealer-1 has a fault.*POST .*initialize/ })
  }
  t.same(did, [])
})

test('where nothing real can move, a stop ends when a run needs the device again', async (t) => {
  const { equipment, run, bench, find } = await setup(t, { forgives: true })
  await run(bench.registry.halt('shaker-1'))
  await run(equipment.ready('shaker-1', calm))
  t.match(find('shaker-1').info(), { state: 'ready', fault: null })
})

test("somebody else's operation that is soon over is waited for, a longer one is not", async (t) => {
  const { equipment, run, find, clock } = await setup(t)
  await run(equipment.ready('shaker-1', calm))
  const short = find('shaker-1').perform('lock_plate', {})
  await run(equipment.perform('shaker-1', 'shake', { speed: 500, duration: 2 }, { signal: calm }))
  t.match(await short, { success: true })
  const long = find('shaker-1').perform('shake', { speed: 500, duration: 60 })
  const before = clock.now()
  await t.rejects(run(equipment.open('shaker-1', calm)), { code: 'busy', message: /is running shake, about \d+ s left/ })
  t.ok(clock.now() - before < 1000, 'it is said at once')
  t.match(await run(long), { success: true })
})

test('no arm reaches into a device that is at work, though it has neither door nor clamp', async (t) => {
  const { equipment, run, find } = await setup(t, {
    more: [{ device_id: 'tray-1', driver: 'ika_shaker', transport: { kind: 'simulated' } }],
  })
  await run(equipment.ready('tray-1', calm))
  t.notOk(find('tray-1').abilities.knows('open') || find('tray-1').abilities.knows('unlock_plate'))
  const shaking = find('tray-1').perform('shake', { speed: 300, duration: 12 })
  await t.rejects(run(equipment.open('tray-1', calm)), { code: 'busy', message: /tray-1 is running shake, about \d+ s left/ })
  t.match(await run(shaking), { success: true })
  await run(equipment.open('tray-1', calm))
})

test('a device that somebody else drives is refused', async (t) => {
  const { equipment, run } = await setup(t)
  await t.rejects(run(equipment.ready('robot-1', calm)), { code: 'invalid', message: /driven elsewhere/ })
  await t.rejects(run(equipment.carry('translator_1', 'pick', carrying('a', calm))), { code: 'not_found', message: /translator_1/ })
})

test('before an operation the device is told what it needs, and before an arm reaches in that it lets go', async (t) => {
  const { equipment, run, did } = await setup(t)
  const perform = (id: string, name: string, params: object) => run(equipment.perform(id, name, { ...params }, { signal: calm }))
  await run(equipment.open('centrifuge-1', calm))
  t.match(await perform('centrifuge-1', 'centrifuge', { g: 200, duration: 5 }), { success: true, message: /centrifuge-1: spun/ })
  await run(equipment.open('centrifuge-1', calm))
  t.same(
    did.splice(0).map((what) => what.split(' ')[1]),
    ['initialize', 'open', 'close', 'centrifuge', 'open'],
  )
  await run(equipment.open('shaker-1', calm))
  t.match(await perform('shaker-1', 'shake', { speed: 500, duration: 5 }), { success: true })
  await run(equipment.open('shaker-1', calm))
  t.same(
    did.splice(0).map((what) => what.split(' ')[1]),
    ['initialize', 'unlock_plate', 'lock_plate', 'shake', 'unlock_plate'],
  )
  await run(equipment.open('sealer-1', calm))
  t.match(await perform('sealer-1', 'seal', { temperature: 100, duration: 2 }), { success: true })
  t.same(
    did.splice(0).map((what) => what.split(' ')[1]),
    ['initialize', 'open', 'seal'],
  )
})

test('before a device is initialized or opened, and only then, what must be on the card first is waited for', async (t) => {
  const { equipment, run, did } = await setup(t, {
    more: [{ device_id: 'tray-1', driver: 'ika_shaker', transport: { kind: 'simulated' } }],
  })
  const beforeMotion = async () => void did.push('sync')
  for (const device of ['shaker-1', 'tray-1']) {
    await run(equipment.ready(device, calm, beforeMotion))
    await run(equipment.ready(device, calm, beforeMotion))
    await run(equipment.open(device, calm, beforeMotion))
  }
  t.same(did, ['sync', 'shaker-1 initialize', 'sync', 'shaker-1 unlock_plate', 'sync', 'tray-1 initialize'])
})

test('where that cannot be written, nothing is sent to the device', async (t) => {
  const { equipment, run, did } = await setup(t)
  const refused = async () => {
    throw new LabError('storage', 'the disk is full')
  }
  await t.rejects(run(equipment.ready('shaker-1', calm, refused)), { code: 'storage' })
  await t.rejects(run(equipment.open('shaker-1', calm, refused)), { code: 'storage' })
  await run(equipment.ready('shaker-1', calm))
  await t.rejects(run(equipment.open('shaker-1', calm, refused)), { code: 'storage' })
  t.same(did, ['shaker-1 initialize'])
})

test('a reading answers what was read, and needs no initialize', async (t) => {
  const { equipment, run, did } = await setup(t)
  t.match(await run(equipment.perform('sealer-1', 'get_temperature', {}, { signal: calm })), { temperature: Number, target: null })
  t.same(await run(equipment.perform('sealer-1', 'initialized', {}, { signal: calm })), { is_initialized: false })
  t.same(did, [])
})

test('what a device does not know is refused before it moves', async (t) => {
  const { equipment, run, did } = await setup(t)
  for (const [id, name] of [
    ['shaker-1', 'seal'],
    ['shaker-1', 'stop'],
    ['shaker-1', 'dance'],
    ['shaker-1', 'toString'],
  ] as const)
    await t.rejects(run(equipment.perform(id, name, {}, { signal: calm })), { code: 'invalid' }, name)
  t.same(did, [])
})

test('a value that the operation does not take is refused before anything moves', async (t) => {
  const { equipment, run, did } = await setup(t)
  for (const params of [
    { speed: '500', duration: 5 },
    { speed: 500 },
    { speed: 500, duration: 5, sped: 1 },
    { speed: Number.NaN, duration: 5 },
  ])
    await t.rejects(run(equipment.perform('shaker-1', 'shake', params, { signal: calm })), {
      code: 'invalid',
      message: /shake of shaker-1/,
    })
  t.same(did, [])
})

test('an arm carries from the point that is taught to the other, as they are when it goes', async (t) => {
  const { equipment, run, bench, find, did } = await setup(t)
  await run(equipment.carry('arm-1', 'pick', carrying('pad_1', calm)))
  t.match(find('arm-1').info().last_operation, { operation: 'pick', params: { at: 'pad_1', x: 120, y: 320, z: 40 } })
  const pad = bench.teachpoints.get('arm-1', 'pad_2')
  const coords = { x: 261, y: 320, z: 40, yaw: 0, pitch: 0, roll: 0 }
  await run(bench.teachpoints.replace('arm-1', 'pad_2', { ...pad, coord_type: 'cartesian', coords }))
  await run(equipment.carry('arm-1', 'place', carrying('pad_2', calm)))
  t.match(find('arm-1').info().last_operation, { operation: 'place', params: { at: 'pad_2', x: 261 } })
  t.same(did, ['arm-1 initialize', 'arm-1 pick', 'arm-1 place'])
})

test('a place that is not taught, or not so that an arm can be sent there, says what to teach, and nothing is picked', async (t) => {
  const old = { device_id: 'arm-0', driver: 'arm', transport: { kind: 'simulated' }, settings: { can: [] } }
  const { equipment, run, bench, did } = await setup(t, { more: [old] })
  const joint = { base: 0, shoulder: 0, elbow: 0, wrist: 0, rail: 0, gripper: 0 }
  await run(bench.teachpoints.create({ device_id: 'arm-0', name: 'bent', coord_type: 'joint', coords: joint }))
  const pad = demoTeachpoints.find(({ name }) => name === 'pad_1')!
  await run(bench.teachpoints.create({ ...pad, device_id: 'arm-0' }))
  await run(bench.teachpoints.create({ ...pad, name: 'nest', gateway: 'gat' }))
  await t.rejects(run(equipment.carry('arm-1', 'pick', carrying('pad_9', calm))), {
    code: 'not_found',
    message: /arm-1 has no teachpoint pad_9; teach it/,
  })
  await t.rejects(run(equipment.carry('arm-1', 'pick', carrying('nest', calm))), {
    code: 'invalid',
    message: /its gateway gat is not taught/,
  })
  const cannot = { code: 'invalid', message: /^arm-0 cannot be sent to joint coordinates, and bent is taught in joint coordinates; extend/ }
  await t.rejects(run(equipment.carry('arm-0', 'place', carrying('bent', calm))), cannot)
  t.throws(() => equipment.mustReach('arm-0', ['pad_1', 'bent']), cannot, 'before anything is picked up')
  t.doesNotThrow(() => equipment.mustReach('arm-0', ['pad_1']))
  t.same(
    did.filter((what) => !what.endsWith('place')),
    ['arm-1 initialize', 'arm-0 initialize'],
  )
})

test('an operation that an operator stops rejects as stopped', async (t) => {
  const { equipment, run, clock, bench } = await setup(t)
  const moving = equipment.carry('arm-1', 'pick', carrying('pad_1', calm))
  moving.catch(() => undefined)
  await clock.advance(7000)
  await run(bench.registry.halt('arm-1'))
  await t.rejects(run(moving), { code: 'stopped', message: /arm-1 was stopped during pick/ })
})

for (const what of ['shake', 'pick', 'initialize'] as const) {
  test(`an abort during ${what} halts the device, which is latched as unknown, and rejects with the reason`, async (t) => {
    const { equipment, run, clock, find } = await setup(t)
    const device_id = what === 'pick' ? 'arm-1' : 'shaker-1'
    if (what !== 'initialize') await run(equipment.ready(device_id, calm))
    const abort = new AbortController()
    const { signal } = abort
    const begin = {
      shake: () => equipment.perform(device_id, 'shake', { speed: 500, duration: 60 }, { signal }),
      pick: () => equipment.carry(device_id, 'pick', carrying('pad_1', signal)),
      initialize: () => equipment.ready(device_id, signal),
    }
    const doing = begin[what]()
    doing.catch(() => undefined)
    await clock.advance(what === 'shake' ? 10_000 : 1000)
    t.match(find(device_id).info().operation, { name: what })
    const reason = new Error('the thread was aborted')
    abort.abort(reason)
    await t.rejects(run(doing), reason)
    t.match(find(device_id).info(), { state: 'stopped', operation: null, fault: { outcome: 'unknown', command: what } })
  })
}

test('an abort before anything has begun touches no device', async (t) => {
  const { equipment, run, find } = await setup(t)
  const signal = AbortSignal.abort(new Error('too late'))
  for (const begin of [
    () => equipment.ready('shaker-1', signal),
    () => equipment.open('shaker-1', signal),
    () => equipment.carry('arm-1', 'pick', carrying('pad_1', signal)),
    () => equipment.perform('shaker-1', 'shake', { speed: 500, duration: 5 }, { signal }),
  ])
    await t.rejects(run(begin()), { message: 'too late' })
  t.equal(find('shaker-1').state, 'not_initialized')
})

test('an abort of a run that was refused halts nothing of somebody else', async (t) => {
  const { equipment, run, clock, find } = await setup(t)
  await run(equipment.ready('shaker-1', calm))
  await run(equipment.perform('shaker-1', 'lock_plate', {}, { signal: calm }))
  const others = find('shaker-1').perform('shake', { speed: 500, duration: 30 })
  await clock.advance(5000)
  for (let turns = 0; turns < 30; turns++) {
    const abort = new AbortController()
    const refused = equipment.perform('shaker-1', 'unlock_plate', {}, { signal: abort.signal })
    refused.catch(() => undefined)
    for (let turn = 0; turn < turns; turn++) await undefined
    abort.abort(new Error('enough'))
    await t.rejects(refused)
  }
  t.match(await run(others), { success: true })
})

test('a halt that does not reach the device is told instead of the abort', async (t) => {
  const { equipment, run, clock, bench } = await setup(t)
  await run(equipment.ready('shaker-1', calm))
  const abort = new AbortController()
  const shaking = equipment.perform('shaker-1', 'shake', { speed: 500, duration: 60 }, { signal: abort.signal })
  shaking.catch(() => undefined)
  await clock.advance(10_000)
  bench.simulations.get('shaker-1')!.setFault('unplug', 0)
  abort.abort(new Error('enough'))
  await t.rejects(run(shaking), { code: 'stop_not_sent', message: /red button/ })
})

test('a device is held for an execution, and let go of', async (t) => {
  const { equipment, find, ask } = await setup(t)
  const release = equipment.hold('shaker-1', 'e1')
  t.equal(find('shaker-1').info().lock?.owner, 'execution e1')
  t.equal((await ask('POST', '/api/devices/shaker-1/initialize')).status, 423)
  release()
  t.equal((await ask('POST', '/api/devices/shaker-1/initialize')).status, 200)
})
