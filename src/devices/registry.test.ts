import { readFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import * as v from 'valibot'
import { drivers, type SerialDriverName } from '../../drivers/index.ts'
import { type SimulatedLine, simulatedLine } from '../../drivers/transports/simulated_line.ts'
import { VirtualClock } from '../kit/clock.ts'
import { silent } from '../kit/log.ts'
import type { Configured } from './configured.ts'
import { type Latches, openLatches } from './latches.ts'
import { Ledger } from './ledger.ts'
import type { Bounds } from './limits.ts'
import { noStores } from './no_stores.ts'
import { OperationJournal } from './operation_journal.ts'
import { Registry } from './registry.ts'
import { WireLog } from './wire_log.ts'

type Emitted = { name: string; context: Record<string, unknown> }

type Bench = {
  clock: VirtualClock
  registry: Registry
  lines: Record<string, SimulatedLine>
  events: Emitted[]
  ledger: Ledger
  latches: Latches
  /** What the host wrote to the shaker, as text. */
  written: string[]
}

/** What is to be done before the test's folder goes: tap does it in this order only when it hears of it before the folder. */
function atTheEnd(t: Test): (() => Promise<void>)[] {
  const work: (() => Promise<void>)[] = []
  t.teardown(async () => {
    for (const end of work) await end()
  })
  return work
}

/** A shaker, a sealer and an external robot; `connected` after their first look. */
async function bench(t: Test, options: { folder?: string; bounds?: Bounds } = {}): Promise<Bench> {
  const ending = atTheEnd(t)
  const clock = new VirtualClock()
  const lines: Record<string, SimulatedLine> = {}
  const events: Emitted[] = []
  const written: string[] = []
  const device = async (device_id: string, name: SerialDriverName, bounds: Bounds = {}): Promise<Configured> => {
    const driver = await drivers[name]()
    const settings = v.parse(driver.settings, {})
    const line = simulatedLine({ simulate: driver.simulate, settings, serial: driver.serial, clock, wire: clock })
    lines[device_id] = line
    const wire = new WireLog()
    line.onWire((direction, bytes) => wire.note(direction, bytes))
    const driven = { device: driver.open({ line, clock, settings }), link: line, profile: driver.profile(settings), wire }
    return {
      device_id,
      type: driver.type,
      name: device_id,
      driver: name,
      simulated: true,
      time_scale: 1,
      bounds,
      identity: {},
      on_restart: 'halt',
      driven,
    }
  }
  const folder = options.folder ?? t.testdir()
  const ledger = new Ledger()
  const hub = {
    emit(name: string, context: object) {
      events.push({ name, context: context as Record<string, unknown> })
      return {} as never
    },
  }
  const latches = await openLatches(folder, { clock, report: ({ message }) => t.fail(message) })
  const journal = await OperationJournal.open(folder, ({ message }) => t.fail(message))
  const devices = [await device('shaker-1', 'bioshake', options.bounds), await device('sealer-1', 'a4s')]
  const robot: Configured = {
    device_id: 'robot-1',
    type: 'transporter',
    name: 'robot-1',
    driver: 'external',
    simulated: false,
    time_scale: 1,
    bounds: {},
    identity: {},
    on_restart: 'halt',
  }
  const registry = new Registry([...devices, robot], { clock, hub, ledger, latches, leases: noStores.leases, journal, log: silent })
  lines['shaker-1']!.onWire((direction, bytes) => {
    if (direction === 'to_device') written.push(Buffer.from(bytes).toString('latin1'))
  })
  registry.start()
  await clock.advance(1000)
  ending.push(async () => {
    await clock.run(registry.close())
    await latches.settled()
    await journal.close()
    for (const line of Object.values(lines)) line.simulator.powerOff()
  })
  return { clock, registry, lines, events, ledger, latches, written }
}

/** The bench with a shaker that is initialized and holds its plate. */
async function shaking(t: Test, options: { folder?: string; bounds?: Bounds } = {}) {
  const made = await bench(t, options)
  const shaker = made.registry.find('shaker-1')
  await made.clock.run(shaker.perform('initialize', {}))
  await made.clock.run(shaker.perform('lock_plate', {}))
  return { ...made, shaker }
}

test('a device that is not there is named, and the nearest is suggested', async (t) => {
  const { registry } = await bench(t)
  t.throws(() => registry.find('shaker-2'), { code: 'not_found', message: /"shaker-2".*did you mean "shaker-1"/ })
})

test('at start only queries are sent, and nothing is initialized', async (t) => {
  const { registry, lines, written } = await bench(t)
  t.ok(written.length > 0)
  t.same(
    written.filter((frame) => !/^(get|version|info|v\r|g)/.test(frame)),
    [],
  )
  t.equal(lines['shaker-1']!.simulator.world.moving, false)
  t.match(registry.find('shaker-1').info(), { state: 'not_initialized', is_initialized: false, identity: { model: /BIOSHAKE/i } })
})

test('an operation needs initialize first', async (t) => {
  const { registry } = await bench(t)
  await t.rejects(registry.find('shaker-1').perform('lock_plate', {}), { code: 'not_initialized', message: /initialize/ })
})

test('a shake answers when it has ended, and its record says what came of it', async (t) => {
  const { clock, shaker, ledger } = await shaking(t)
  let id = ''
  const before = clock.now()
  const shake = shaker.perform(
    'shake',
    { speed: 500, duration: 10 },
    {
      begun({ operation_id }) {
        id = operation_id
      },
    },
  )
  await clock.advance(3000)
  t.match(shaker.info(), { state: 'busy', operation: { name: 'shake', operation_id: id } })
  t.match(ledger.get(id), { status: 'running', result: null, ended: null })
  t.match(await clock.run(shake), { success: true, message: 'shaker-1: shook at 500 rpm for 10 s' })
  t.ok(clock.now() - before >= 10_000)
  t.match(ledger.get(id), { status: 'ended', result: { success: true }, detail: null })
  t.match(shaker.info(), { state: 'ready', operation: null, last_operation: { operation_id: id } })
})

test('a second operation is refused, naming what runs and how long still', async (t) => {
  const { clock, shaker, written } = await shaking(t)
  const shake = shaker.perform('shake', { speed: 500, duration: 60 })
  await clock.advance(10_000)
  const before = written.length
  await t.rejects(shaker.perform('unlock_plate', {}), {
    code: 'busy',
    message: /shaker-1 is running shake, about 55 s left/,
    retry_after_s: 55,
  })
  t.equal(written.length, before, 'nothing of it is on the wire')
  await clock.run(shake)
})

test('what is outside the limits never reaches the wire', async (t) => {
  const { shaker, written } = await shaking(t, { bounds: { speed: { max: 1500 } } })
  const before = written.length
  await t.rejects(shaker.perform('shake', { speed: 1501, duration: 5 }), { code: 'invalid', message: /speed 1501 rpm.*200 to 1500 rpm/ })
  await t.rejects(shaker.perform('shake', { speed: 500, duration: 1.5 }), { code: 'invalid', message: /duration 1.5 s.*multiple of 1/ })
  t.equal(written.length, before)
  t.equal(shaker.capabilities().limits.speed?.max, 1500)
})

test('an operation that the device does not know is refused with those that it does', async (t) => {
  const { registry } = await bench(t)
  t.throws(() => registry.find('sealer-1').abilities.mustKnow('shake'), { code: 'invalid', message: /cannot shake: it knows .*seal/ })
  t.throws(() => registry.find('robot-1').abilities.mustKnow('initialize'), { code: 'invalid', message: /driven elsewhere/ })
})

test('a stop is on the wire before anything else happens', async (t) => {
  const { clock, shaker, registry, written, events, lines } = await shaking(t)
  const shake = shaker.perform('shake', { speed: 500, duration: 60 })
  await clock.advance(5000)
  const before = written.length
  const stopped = registry.halt('shaker-1')
  t.match(written[before], /shakeEmergencyOff/, 'in the same turn of the event loop')
  t.match(await clock.run(stopped), { success: true })
  t.same(await clock.run(shake), { success: false, message: 'stopped' })
  await clock.advance(2000)
  t.equal(lines['shaker-1']!.simulator.world.moving, false)
  t.match(shaker.info(), {
    state: 'stopped',
    is_initialized: false,
    fault: { error_type: 'Stopped', outcome: 'unknown', command: 'shake' },
  })
  t.match(events, [{ name: 'DEVICE.shaker-1.FAULTED', context: { device_name: 'shaker-1', cleared: false, error_type: 'Stopped' } }])
})

test('a stop holds until initialize, and nothing else ends it', async (t) => {
  const { clock, shaker, registry, events } = await shaking(t)
  await clock.run(registry.halt('shaker-1'))
  await t.rejects(shaker.perform('lock_plate', {}), { code: 'stopped' })
  t.throws(() => shaker.clearFault(), { code: 'stopped' })
  t.match(await clock.run(registry.halt('shaker-1')), { success: true }, 'and may be given again')
  t.equal(events.length, 1)
  await clock.run(shaker.perform('initialize', {}))
  t.match(shaker.info(), { state: 'ready', fault: null })
  t.equal(events[1]?.name, 'DEVICE.shaker-1.FAULT_CLEARED')
})

test('what is latched is still latched after a restart', async (t) => {
  atTheEnd(t)
  const folder = t.testdir()
  const first = await bench(t, { folder })
  await first.clock.run(first.registry.halt('shaker-1'))
  await first.latches.settled()
  const written = () => JSON.parse(readFileSync(`${folder}/latches.json`, 'utf8')).latches['shaker-1'].stop
  t.same(Object.keys(written()), ['by', 'at'], 'as version 0.2.0 reads it')
  const second = await bench(t, { folder })
  t.match(second.registry.find('shaker-1').info(), { state: 'stopped', fault: { error_type: 'Stopped' }, stopped: { again: null } })
  t.same(second.events, [], 'and is no new event')
  await second.clock.run(second.registry.halt('shaker-1', { by: 'ann' }))
  await second.latches.settled()
  const third = await bench(t, { folder })
  t.match(third.registry.find('shaker-1').info().stopped, { by: null, again: { by: 'ann', at: Number } })
})

test('stopping all stops every device that has a driver', async (t) => {
  const { clock, registry } = await shaking(t)
  const answer = await clock.run(registry.haltAll())
  t.match(
    answer.devices.map(({ device_id }) => device_id),
    ['shaker-1', 'sealer-1'],
  )
  t.equal(registry.find('sealer-1').state, 'stopped')
})

test('an unplugged device is a fault that only initialize ends', async (t) => {
  const { clock, shaker, lines, events } = await shaking(t)
  lines['shaker-1']!.setFault('unplug')
  t.match(shaker.info(), { state: 'disconnected', is_initialized: false, fault: { error_type: 'Disconnected' } })
  t.equal(events[0]?.name, 'DEVICE.shaker-1.FAULTED')
  await t.rejects(shaker.perform('initialize', {}), { code: 'disconnected' })
  lines['shaker-1']!.clearFaults()
  await clock.advance(3000)
  t.equal(shaker.state, 'faulted')
  await clock.run(shaker.perform('initialize', {}))
  t.equal(shaker.state, 'ready')
})

test('a device that falls silent is latched within a few seconds, with nobody asking', async (t) => {
  const { clock, shaker, lines, events } = await shaking(t)
  lines['shaker-1']!.setFault('no_reply')
  await clock.advance(15_000)
  t.match(shaker.info(), { state: 'faulted', fault: { error_type: 'NoReply', outcome: 'unknown' } })
  t.equal(events.length, 1, 'and it is one fault, however often it is looked at')
  t.match(shaker.wire().fault_frames?.at(-1), { direction: 'to_device', text: /^get/ }, 'the words before it are kept')
  t.ok(shaker.clearFault())
  t.notOk(shaker.clearFault())
})

test('an unplug in the middle of a run ends it as a failure that says so', async (t) => {
  const { clock, shaker, lines } = await shaking(t)
  const shake = shaker.perform('shake', { speed: 500, duration: 60 })
  await clock.advance(5000)
  lines['shaker-1']!.setFault('unplug')
  await t.rejects(clock.run(shake), { code: 'disconnected' })
  t.match(shaker.info(), {
    fault: { may_still_be_moving: true, command: 'shake' },
    last_operation: { status: 'ended', result: { success: false } },
  })
})

test('a stop that cannot be sent says so, and latches all the same', async (t) => {
  const { clock, shaker, registry, lines } = await shaking(t)
  lines['shaker-1']!.setFault('unplug')
  await t.rejects(clock.run(registry.halt('shaker-1')), { code: 'stop_not_sent', message: /red button/ })
  t.throws(() => shaker.clearFault(), { code: 'stopped' })
  await t.rejects(clock.run(registry.haltAll()), { code: 'stop_not_sent' })
})

test('a stop that nobody acknowledges is answered after 400 ms', async (t) => {
  const { clock, registry, lines } = await shaking(t)
  lines['shaker-1']!.setFault('no_reply')
  const before = clock.now()
  t.match(await clock.run(registry.halt('shaker-1')), { success: false, message: /stop sent, not confirmed/ })
  t.equal(clock.now() - before, 400)
})

test('many stops at once are all on the wire at once, and are confirmed by what the instrument acknowledges last', async (t) => {
  const { clock, shaker, registry, lines, written } = await shaking(t)
  const shake = shaker.perform('shake', { speed: 500, duration: 60 })
  await clock.advance(5000)
  const before = written.length
  const stops = Array.from({ length: 20 }, (_, i) => registry.halt('shaker-1', { by: `client ${i}` }))
  t.equal(written.length, before + 20)
  for (const stop of await clock.run(Promise.all(stops))) t.match(stop, { success: true })
  t.match(shaker.info(), { state: 'stopped', fault: { may_still_be_moving: false } })
  await clock.run(shake)
  lines['shaker-1']!.setFault('no_reply')
  const unheard = await clock.run(Promise.all([registry.halt('shaker-1'), registry.halt('shaker-1')]))
  for (const stop of unheard) t.match(stop, { success: false }, 'an acknowledgement of before confirms none')
})

test('a shaker that was left shaking is busy until it has ended, and can be stopped', async (t) => {
  const { clock, shaker, registry, lines, written } = await shaking(t)
  const line = lines['shaker-1']!
  for (const command of ['setShakeTargetSpeed500\r', 'shakeOnWithRuntime60\r']) {
    line.simulator.receive(Buffer.from(command))
    await clock.advance(200)
  }
  line.setFault('unplug')
  line.clearFaults()
  const before = written.length
  await clock.advance(5000)
  t.match(shaker.info(), { state: 'busy', operation: { name: 'shake' }, is_initialized: false })
  await t.rejects(shaker.perform('initialize', {}), { code: 'busy' })
  t.notOk(
    written.slice(before).some((frame) => /^(set|shake)/.test(frame)),
    'it is only asked',
  )
  await clock.advance(80_000)
  t.match(shaker.info(), {
    operation: null,
    last_operation: {
      operation: 'shake',
      status: 'ended',
      result: { success: true, message: 'shaker-1: shake that was under way has ended' },
    },
  })
  t.match(await clock.run(registry.halt('shaker-1')), { success: true })
})

for (const fault of ['no_reply', 'jam'] as const) {
  test(`a heater that was switched on is off after ${fault}, with nobody asking`, async (t) => {
    const { clock, shaker, lines } = await shaking(t)
    await clock.run(shaker.perform('set_temperature', { temperature: 60 }))
    t.equal(lines['shaker-1']!.simulator.world.heating, true)
    lines['shaker-1']!.setFault(fault)
    await clock.advance(20_000)
    t.equal(shaker.state, 'faulted')
    t.equal(lines['shaker-1']!.simulator.world.heating, false)
  })
}

test('a fault that is ordered for later touches nothing now', async (t) => {
  const { clock, lines } = await shaking(t)
  const line = lines['shaker-1']!
  const before = { ...line.simulator.world }
  t.ok(line.canHave('interlock_open'))
  t.ok(line.canHave('jam'))
  t.same({ ...line.simulator.world }, before)
  await clock.advance(0)
})

test('before a process ends at once, the bytes of the halt of what is hot are on the wire, and nothing else is halted', async (t) => {
  const { registry, clock, written, shaker, lines } = await shaking(t)
  const toSealer: string[] = []
  lines['sealer-1']!.onWire((direction, bytes) => direction === 'to_device' && toSealer.push(Buffer.from(bytes).toString('latin1')))
  written.length = 0
  await clock.run(registry.haltBeforeExit())
  t.same(written, [], 'a cold one that stands')
  await clock.run(shaker.perform('set_temperature', { temperature: 60 }))
  written.length = 0
  const halted = registry.haltBeforeExit()
  t.match(written.join(''), /tempOff/)
  await clock.run(halted)
  t.same(toSealer, [])
  lines['shaker-1']!.setFault('no_reply')
  await clock.run(shaker.halted(shaker.halt()))
  written.length = 0
  const again = registry.haltBeforeExit()
  t.match(written.join(''), /tempOff/, 'a halt that was not acknowledged is sent again')
  await clock.run(again)
})
