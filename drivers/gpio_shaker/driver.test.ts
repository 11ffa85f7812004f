import { test } from 'tap'
import * as v from 'valibot'
import { LabError } from '../../src/errors.ts'
import { calm, onPins } from '../../src/testing/drivers.ts'
import { driver } from './driver.ts'

async function ready(settings: object = {}) {
  const bench = await onPins(driver, settings)
  await bench.run(bench.device.initialize({}, calm))
  bench.written.length = 0
  return { ...bench, world: () => bench.board.simulator.world }
}

const wiring = { pins: { enable: { bcm: 17, active_low: true } }, i2c: { speed: {} } }

test('it shakes at the speed and for as long as it is asked, and rests afterwards', async (t) => {
  const { device, clock, world } = await ready()
  const began = clock.now()
  const shaking = device.shake!({ speed: 600, duration: 10 }, calm)
  await clock.advance(6000)
  t.ok(Math.abs((world().speed as number) - 600) < 1)
  await clock.run(shaking)
  t.equal(world().moving, false)
  t.ok(clock.now() - began > 10_000 && clock.now() - began < 15_000)
})

test('its relay closes with the converter at nothing, and opens before the converter is set back', async (t) => {
  const { device, run, written } = await ready()
  await run(device.shake!({ speed: 750, duration: 5 }, calm))
  const steps = written.filter((frame) => /=|write/.test(frame))
  t.same(steps, ['direction = 0', 'write 1/0x60 00 00', 'enable = 1', 'write 1/0x60 08 00', 'enable = 0', 'write 1/0x60 00 00'])
})

test('a factory-new converter at half of its range turns nothing', async (t) => {
  const { device, board, clock, run } = await onPins(driver)
  await clock.advance(10_000)
  t.equal(board.simulator.world.moving, false)
  await run(device.initialize({}, calm))
  t.equal(board.simulator.world.moving, false)
})

test('a lid that opens in a run switches off at that moment, and the run fails', async (t) => {
  const { device, board, clock, world } = await ready()
  const shaking = device.shake!({ speed: 600, duration: 60 }, calm)
  shaking.catch(() => {})
  await clock.advance(10_033)
  board.setFault('interlock_open')
  t.equal(world().enabled, false)
  await t.rejects(clock.run(shaking), { code: 'device_failed', message: /its lid was opened/ })
  board.clearFaults()
  await clock.advance(10_000)
  await t.rejects(clock.run(device.check()), { message: /its lid was opened/ }, 'it stays so')
  await clock.run(device.initialize({}, calm))
  await clock.run(device.shake!({ speed: 600, duration: 5 }, calm))
})

test('after it switched itself off nothing begins until it is initialized, though no check has told of it yet', async (t) => {
  const { device, board, clock, world, written, run } = await ready()
  const shaking = device.shake!({ speed: 600, duration: 60 }, calm)
  shaking.catch(() => {})
  await clock.advance(10_000)
  board.setFault('interlock_open')
  await t.rejects(run(shaking), { message: /its lid was opened/ })
  board.clearFaults()
  await clock.advance(10_000)
  written.length = 0
  const refused = { code: 'device_failed', message: /its lid was opened/ }
  await t.rejects(run(device.shake!({ speed: 600, duration: 5 }, calm)), refused)
  await t.rejects(run(device.unlock_plate!({}, calm)), refused)
  await t.rejects(run(device.lock_plate!({}, calm)), refused)
  t.same([written, world().moving, world().enabled], [[], false, false])
  await run(device.initialize({}, calm))
  await run(device.shake!({ speed: 600, duration: 5 }, calm))
})

test('a relay that somebody else switches on while nothing runs is noticed', async (t) => {
  const { device, board, run } = await ready()
  await run(device.check())
  board.pin('enable').writeNow(true)
  await t.rejects(run(device.check()), { code: 'device_failed', message: /its relay was switched on by somebody else/ })
})

test('with its lid open or its plate not locked it does not begin', async (t) => {
  const { device, board, run, written } = await ready()
  board.setFault('interlock_open')
  await t.rejects(run(device.shake!({ speed: 600, duration: 5 }, calm)), { code: 'interlock', message: /its lid is open/ })
  board.clearFaults()
  await run(device.unlock_plate!({}, calm))
  await t.rejects(run(device.shake!({ speed: 600, duration: 5 }, calm)), { code: 'interlock', message: /lock_plate first/ })
  t.notMatch(written.join(), /enable = 1/)
})

test('the solenoid is on no longer than it stands', async (t) => {
  const { device, clock, run, world } = await ready({ solenoid_s: 8 })
  await run(device.unlock_plate!({}, calm))
  t.equal(world().plate_locked, false)
  await clock.advance(7000)
  t.equal(world().plate_locked, false)
  await clock.advance(1000)
  t.equal(world().plate_locked, true)
  await run(device.shake!({ speed: 600, duration: 5 }, calm))
})

test('a halt has every output off when it returns, and resolves when the relay says so', async (t) => {
  const { device, clock, world, written } = await ready()
  const shaking = device.shake!({ speed: 600, duration: 60 }, calm)
  await clock.advance(10_000)
  const halting = device.halt()
  t.equal(world().enabled, false)
  t.same(
    written.slice(-3).filter((frame) => frame.includes('=') || frame.includes('write')),
    ['enable = 0', 'solenoid = 0', 'write 1/0x60 00 00'],
  )
  await t.rejects(clock.run(shaking), { code: 'stopped' })
  await clock.run(halting)
})

test('a halt opens the relay though the converter does not answer', async (t) => {
  const { device, board, clock, world } = await ready()
  const shaking = device.shake!({ speed: 600, duration: 60 }, calm)
  shaking.catch(() => {})
  await clock.advance(10_000)
  board.setFault('unplug')
  await t.rejects(clock.run(device.halt()), LabError)
  t.equal(world().enabled, false)
  await t.rejects(clock.run(shaking), { code: 'stopped' })
})

test('without a tachometer it waits as long as it takes to coast', async (t) => {
  const { device, clock, run, world } = await ready({ ...wiring, coast_s: 12 })
  const began = clock.now()
  await run(device.shake!({ speed: 600, duration: 5 }, calm))
  t.equal(Math.round((clock.now() - began) / 1000), 17)
  t.equal(world().moving, false)
  t.notOk(device.lock_plate || device.get_temperature)
})

test('more pulses in a turn, and the other direction', async (t) => {
  const settings = {
    ...wiring,
    pins: { ...wiring.pins, tach: { bcm: 24 }, direction: { bcm: 23 } },
    pulses_per_turn: 6,
    counter_clockwise: true,
  }
  const { device, clock, world } = await ready(settings)
  const shaking = device.shake!({ speed: 1500, duration: 6 }, calm)
  await clock.advance(3000)
  t.equal(world().counter_clockwise, true)
  await clock.run(shaking)
})

test('it takes no speed that the configuration has not, and a wire that the schema does not know is refused', (t) => {
  const limits = (settings: object) => driver.profile(v.parse(driver.settings, settings)).limits
  t.match(limits({ rpm: { min: 200, max: 900 }, longest_s: 600 }), { speed: { min: 200, max: 900 }, duration: { max: 600 } })
  t.equal(limits({ full_scale_rpm: 1200 }).speed?.max, 1200, 'what the converter cannot give is no speed')
  t.throws(() => v.parse(driver.settings, { ...wiring, pins: { enable: { bcm: 99 } } }))
  t.throws(() =>
    v.parse(driver.settings, { ...wiring, pins: { ...wiring.pins, tach: { expander: { part: 'mcp23017', address: 32, pin: 'A0' } } } }),
  )
  t.end()
})
