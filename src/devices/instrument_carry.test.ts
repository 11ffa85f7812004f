// The moves of an arm: an operation in all but its address.

import { type Test, test } from 'tap'
import * as v from 'valibot'
import { driver } from '../../drivers/arm/driver.ts'
import { simulatedLine } from '../../drivers/transports/simulated_line.ts'
import { VirtualClock } from '../kit/clock.ts'
import { silent } from '../kit/log.ts'
import { openTestBench } from '../testing/http.ts'
import { targetOf } from '../testing/moves.ts'
import { Ledger } from './ledger.ts'
import { noStores } from './no_stores.ts'
import { Registry } from './registry.ts'
import { WireLog } from './wire_log.ts'

const pose = { x: 300, y: 200, z: 300, yaw: 90, pitch: 0, roll: 0 }
const pad = { at: 'pad_1', pose }
const shelf = { at: 'shelf', pose: { ...pose, y: -300 } }
const toPad = 'pick 300.000 200.000 300.000 90.000 0.000 0.000'

/** An arm alone, and all that moved it or stopped it. */
async function bench(t: Test) {
  const clock = new VirtualClock()
  const settings = v.parse(driver.settings, {})
  const line = simulatedLine({ simulate: driver.simulate, settings, serial: driver.serial, clock, wire: clock })
  const told: string[] = []
  line.onWire((direction, bytes) => {
    const text = Buffer.from(bytes).toString('latin1').trim()
    if (direction === 'to_device' && /^(home|pick|place|stop)/.test(text)) told.push(text)
  })
  const driven = { device: driver.open({ line, settings }), link: line, profile: driver.profile(), wire: new WireLog() }
  const about = { name: 'Arm', driver: 'arm', simulated: true, time_scale: 1, bounds: {}, identity: {}, on_restart: 'halt' } as const
  const ledger = new Ledger()
  const registry = new Registry([{ ...about, device_id: 'arm-1', type: 'transporter', driven }], {
    clock,
    hub: { emit() {} },
    ledger,
    log: silent,
    ...noStores,
  })
  registry.start()
  await clock.advance(1000)
  t.teardown(() => clock.run(registry.close()))
  return { clock, line, told, ledger, registry, arm: registry.find('arm-1') }
}

async function homed(t: Test) {
  const made = await bench(t)
  await made.clock.run(made.arm.perform('initialize', {}))
  return made
}

test('an arm picks and places, and each move stands in its record', async (t) => {
  const { arm, clock, ledger, told } = await homed(t)
  let id = ''
  const begun = ({ operation_id }: { operation_id: string }) => {
    id = operation_id
  }
  t.same(await clock.run(arm.carry('pick', targetOf(pad), { begun })), { success: true, message: 'arm-1: picked up at pad_1' })
  t.match(ledger.get(id), { operation: 'pick', params: { at: 'pad_1', ...pose }, status: 'ended', result: { success: true } })
  t.same(await clock.run(arm.carry('place', targetOf(shelf))), { success: true, message: 'arm-1: set down at shelf' })
  t.match(arm.info().last_operation, { operation: 'place', params: { at: 'shelf' } })
  t.same(told, ['home', toPad, 'place 300.000 -300.000 300.000 90.000 0.000 0.000'])
})

test('while it moves it is busy, and a second move is refused', async (t) => {
  const { arm, clock, told } = await homed(t)
  const moving = arm.carry('pick', targetOf(pad))
  await clock.advance(500)
  t.match(arm.info(), { state: 'busy', operation: { name: 'pick' } })
  await t.rejects(arm.carry('place', targetOf(shelf)), { code: 'busy', message: /arm-1 is running pick, about/ })
  await t.rejects(arm.perform('initialize', {}), { code: 'busy' })
  await clock.run(moving)
  t.same(told, ['home', toPad])
})

test('a stop ends a move where it is, and latches', async (t) => {
  const { arm, registry, clock, told, line } = await homed(t)
  const moving = arm.carry('pick', targetOf(pad))
  await clock.advance(500)
  const halted = registry.halt('arm-1')
  t.equal(told.at(-1), 'stop', 'in the same turn')
  t.match(await clock.run(halted), { success: true })
  t.same(await clock.run(moving), { success: false, message: 'stopped' })
  t.match(line.simulator.world, { moving: false, gripper: 'empty' })
  t.match(arm.info(), { state: 'stopped', fault: { error_type: 'Stopped', outcome: 'unknown', command: 'pick' } })
  await t.rejects(arm.carry('pick', targetOf(pad)), { code: 'stopped', message: /initialize/ })
})

test('a move that fails halts the arm and latches', async (t) => {
  const { arm, clock, line, told } = await homed(t)
  const moving = arm.carry('pick', targetOf(pad))
  await clock.advance(500)
  line.setFault('jam')
  await t.rejects(clock.run(moving), { code: 'device_failed', message: /in its way/ })
  t.equal(told.at(-1), 'stop')
  t.match(arm.info(), { state: 'faulted', fault: { command: 'pick', outcome: 'failed' }, last_operation: { result: { success: false } } })
})

test('a move that the arm refuses latches nothing', async (t) => {
  const { arm, clock } = await homed(t)
  await t.rejects(clock.run(arm.carry('place', targetOf(pad))), { code: 'interlock', message: /holds nothing/ })
  await t.rejects(clock.run(arm.carry('pick', targetOf({ at: 'far', pose: { ...pose, x: 5000 } }))), { code: 'invalid', message: /reach/ })
  t.equal(arm.state, 'ready')
})

test('a place that was mistyped never reaches the wire', async (t) => {
  const { arm, clock, told } = await homed(t)
  for (const slip of [{ x: 31_500 }, { y: -1e9 }, { yaw: 9000 }]) {
    const place = { at: 'slip', pose: { ...pose, ...slip } }
    await t.rejects(clock.run(arm.carry('pick', targetOf(place))), { code: 'invalid', message: /outside what arm-1 takes/ })
  }
  t.same(told, ['home'])
  t.equal(arm.info().last_operation?.operation, 'initialize')
})

test('an arm that does not know any more where it is counts as not initialized', async (t) => {
  const { arm, clock, line } = await homed(t)
  line.simulator.receive(Buffer.from('stop\n'))
  await clock.advance(100)
  t.equal(arm.condition.isInitialized, true, 'nobody has noticed yet')
  await t.rejects(clock.run(arm.carry('pick', targetOf(pad))), { code: 'not_initialized' })
  t.equal(arm.condition.isInitialized, false)
  await clock.run(arm.perform('initialize', {}))
  t.match(await clock.run(arm.carry('pick', targetOf(pad))), { success: true })
})

test('an arm that was not initialized moves nothing', async (t) => {
  const { arm, told } = await bench(t)
  await t.rejects(arm.carry('pick', targetOf(pad)), { code: 'not_initialized' })
  t.same(told, [])
})

test('a move is neither an operation of the API nor told as a capability, and only an arm has it', async (t) => {
  const { ask, bench } = await openTestBench(t)
  const { operations } = bench.registry.find('arm-1').capabilities()
  t.same(
    operations.map(({ name }) => name),
    ['initialize', 'stop', 'jog', 'free_drive', 'go_to', 'initialized', 'pose'],
  )
  for (const name of ['pick', 'place']) t.equal((await ask('POST', `/api/devices/arm-1/${name}`, { json: pose })).status, 404)
  for (const device_id of ['shaker-1', 'robot-1']) {
    await t.rejects(bench.registry.find(device_id).carry('pick', targetOf(pad)), {
      code: 'invalid',
      message: new RegExp(`${device_id} cannot pick`),
    })
  }
})

test('an arm that nobody has initialized or stopped since the service began tells of its gripper, if it stands where its last move ended', async (t) => {
  const before = await bench(t)
  t.equal(await before.clock.run(before.arm.witness.gripper(targetOf(pad).labware)), null, 'it has just been switched on')
  const say = (words: string) => before.line.simulator.receive(Buffer.from(`${words}\n`))
  say('home')
  await t.rejects(before.clock.run(before.arm.witness.gripper(targetOf(pad).labware)), {
    code: 'interlock',
    message: /arm-1 is moving; wait until it stands/,
  })
  await before.clock.advance(10_000)
  t.equal(await before.clock.run(before.arm.witness.gripper(targetOf(pad).labware)), 'empty', 'a service before this one has homed it')
  say(toPad)
  await before.clock.advance(10_000)
  t.equal(await before.clock.run(before.arm.witness.gripper(targetOf(pad).labware)), 'full')
  t.same(before.told, [], 'a question moves nothing')
  await before.clock.run(before.arm.perform('initialize', {}))
  t.equal(await before.clock.run(before.arm.witness.gripper(targetOf(pad).labware)), null, 'somebody was at it')

  const stopped = await bench(t)
  stopped.line.simulator.receive(Buffer.from('home\n'))
  await stopped.clock.advance(10_000)
  await stopped.clock.run(stopped.registry.halt('arm-1'))
  t.equal(await stopped.clock.run(stopped.arm.witness.gripper(targetOf(pad).labware)), null, 'it was stopped')
})
