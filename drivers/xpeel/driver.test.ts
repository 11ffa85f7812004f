import { test } from 'tap'
import * as v from 'valibot'
import { operations } from '../../src/devices/operations.ts'
import { type Bench, calm, onSimulator } from '../../src/testing/drivers.ts'
import { driver } from './driver.ts'
import type { SimulatedXPeel } from './simulator.ts'

const usual = { parameter_set: 4, adhere: 1 }

async function bench(settings: object = {}): Promise<Bench & { peeler: SimulatedXPeel }> {
  const bench = await onSimulator(driver, settings)
  await bench.run(bench.device.initialize({}, calm))
  bench.written.length = 0
  return { ...bench, peeler: bench.line.simulator as SimulatedXPeel }
}

test('initialize asks how it is and who it is, and then resets it', async (t) => {
  const { device, run, written } = await onSimulator(driver)
  const identity = { model: 'XPeel', serial_number: null, firmware_version: 'simulated 1.00' }
  t.same(await run(device.initialize({}, calm)), { identity })
  t.same(written, ['*stat\r\n', '*version\r\n', '*reset\r\n'])
})

test('a peel is written as two codes, and ends when the instrument says that it is done', async (t) => {
  const { device, run, written, peeler, clock } = await bench()
  const began = clock.now()
  await run(device.peel!({ parameter_set: 7, adhere: 3 }, calm))
  t.same(written, ['*xpeel:73\r\n'])
  t.match(peeler.world, { peels: 1, moving: false })
  t.ok(clock.now() - began > 7500)
})

test('a body without members is a peel as the instrument does it by itself', async (t) => {
  const { device, run, written } = await bench()
  await run(device.peel!(v.parse(operations.peel.params, {}), calm))
  t.same(written, ['*xpeel:41\r\n'])
})

test('open goes out step by step until it must be out, and close goes in', async (t) => {
  const { device, run, written, peeler } = await bench()
  await run(device.close!({}, calm))
  t.match(peeler.world, { conveyor_mm: 150 })
  await run(device.open!({}, calm))
  t.match(peeler.world, { conveyor_mm: 0 })
  t.same(written, ['*movein\r\n', ...Array<string>(25).fill('*moveout\r\n')])
})

test('how many steps go out is in the settings', async (t) => {
  const { device, run, written } = await bench({ outward_steps: 3 })
  await run(device.open!({}, calm))
  t.equal(written.length, 3)
})

test('a warning is no error', async (t) => {
  const { device, run, peeler } = await bench()
  peeler.putInRoll(10)
  await run(device.peel!(usual, calm))
  t.same(peeler.world.codes, [20])
  await run(device.check())
})

test('the stop button ends a peel, and says so until the next motion', async (t) => {
  const { device, run, peeler, clock } = await bench()
  const peeling = device.peel!(usual, calm)
  await clock.advance(5000)
  peeler.pressStop()
  await t.rejects(run(peeling), { code: 'device_failed', message: /code 09 \(its stop button was pressed\)/ })
  await t.rejects(run(device.check()), { code: 'device_failed', message: /code 09/ })
  await run(device.initialize({}, calm))
  await run(device.check())
})

test('an open cover is an emergency stop', async (t) => {
  const { device, run, line, clock } = await bench()
  const peeling = device.peel!(usual, calm)
  await clock.advance(5000)
  line.setFault('interlock_open')
  await t.rejects(run(peeling), { code: 'device_failed', message: /code 51 \(emergency stop/ })
  await t.rejects(run(device.peel!(usual, calm)), { code: 'device_failed', message: /code 51/ })
})

test('a jam is told in words', async (t) => {
  const { device, run, line } = await bench()
  line.setFault('jam')
  await t.rejects(run(device.peel!(usual, calm)), { code: 'device_failed', message: /code 01 \(the conveyor stalled\)/ })
})

test('a refusal without an acknowledgement ends at once', async (t) => {
  const { device, run, clock } = await bench()
  const began = clock.now()
  await t.rejects(run(device.peel!({ parameter_set: 4, adhere: 9 }, calm)), { code: 'device_failed', message: /code 05/ })
  t.ok(clock.now() - began < 1000)
})

test('a stop writes a question that moves nothing, ends the operation at once, and is true when the peel has ended', async (t) => {
  const { device, run, clock, written, peeler } = await bench()
  const peeling = device.peel!(usual, calm)
  await clock.advance(5000)
  written.length = 0
  const began = clock.now()
  const halted = device.halt()
  t.same(written, ['*version\r\n'])
  await t.rejects(run(peeling), { code: 'stopped' })
  t.equal(clock.now(), began)
  t.equal(peeler.world.moving, true)
  await run(halted)
  t.equal(peeler.world.moving, false)
  t.same(written, ['*version\r\n', '*stat\r\n', '*stat\r\n'])
})

test('a stop between a command and its acknowledgement waits for what may have begun', async (t) => {
  const { device, run, clock, peeler } = await bench()
  const peeling = device.peel!(usual, calm)
  // Written after a gap of 50 ms, its eleven bytes take 11 ms, and the acknowledgement 27 more.
  await clock.advance(70)
  t.equal(peeler.world.moving, true)
  const halted = device.halt()
  await t.rejects(run(peeling), { code: 'stopped' })
  await run(halted)
  t.match(peeler.world, { moving: false, peels: 1 })
})

test('a stop while nothing moves is acknowledged soon', async (t) => {
  const { device, run, clock } = await bench()
  const began = clock.now()
  await run(device.halt())
  t.ok(clock.now() - began < 400)
})

test('a peel that somebody starts at its panel is not ours, and nothing is begun meanwhile', async (t) => {
  const { device, run, clock, peeler, written } = await bench()
  peeler.pressPeel()
  await clock.advance(1000)
  await run(device.check())
  await t.rejects(run(device.peel!(usual, calm)), { code: 'interlock', message: /panel/ })
  t.same(written, [])
  await clock.advance(30_000)
  await run(device.peel!(usual, calm))
  t.match(peeler.world, { peels: 2, moving: false })
})

test('what it says when it is switched on answers no question, and it must be initialized', async (t) => {
  const { device, run, clock, peeler } = await bench()
  peeler.cutPower()
  await clock.advance(100)
  await t.rejects(run(device.check()), { code: 'device_failed', message: /restarted by itself/ })
  await run(device.initialize({}, calm))
  t.equal(peeler.world.moving, false)
  await run(device.peel!(usual, calm))
  t.match(peeler.world, { peels: 1 })
})

test('a restart in the middle of a peel ends it', async (t) => {
  const { device, run, clock, peeler } = await bench()
  const peeling = device.peel!(usual, calm)
  await clock.advance(5000)
  peeler.cutPower()
  await t.rejects(run(peeling), { code: 'device_failed', message: /restarted by itself/ })
})
