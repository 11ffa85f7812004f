import { test } from 'tap'
import { calm, onSimulator } from '../../src/testing/drivers.ts'
import { driver } from './driver.ts'
import type { SimulatedHettich } from './simulator.ts'

async function bench(settings: object = {}) {
  const made = await onSimulator(driver, settings)
  const simulator = made.line.simulator as SimulatedHettich
  await made.run(made.device.initialize({}, calm))
  return { ...made, simulator, spin: (g: number, duration: number) => made.device.centrifuge!({ g, duration }, calm) }
}

test('it tells its type and version, and its rotor position is under the hatch', async (t) => {
  const { device, run, simulator } = await bench({ position: 3 })
  t.same(await run(device.identify()), { model: 'ROTANTA 460 R POS', serial_number: null, firmware_version: '01.21' })
  t.equal(simulator.world.position, 'held')
})

test('a run lasts as long as asked at its speed, and the rotor comes back under the hatch', async (t) => {
  const { run, simulator, spin, clock } = await bench()
  const seen: number[] = []
  const look = () => {
    seen.push(simulator.world.rpm as number)
    stop = clock.after(1000, look)
  }
  let stop = clock.after(1000, look)
  await run(spin(1000, 120))
  stop()
  const rpm = 2364
  t.equal(Math.max(...seen), rpm)
  const atSpeed = seen.filter((one) => one === rpm).length
  t.ok(atSpeed >= 119 && atSpeed <= 124, `${atSpeed} s at its speed`)
  t.equal(simulator.world.position, 'held')
})

test('nothing begins with the key elsewhere, with an open lid, or with an open hatch', async (t) => {
  const { run, simulator, spin, device } = await bench()
  simulator.turnKey(false)
  await t.rejects(run(spin(100, 10)), { code: 'interlock', message: /key switch/ })
  simulator.turnKey(true)
  simulator.setFault('interlock_open', true)
  await t.rejects(run(spin(100, 10)), { code: 'interlock', message: /lid is open/ })
  simulator.setFault('interlock_open', false)
  await run(device.open!({}, calm))
  t.equal(simulator.world.hatch, 'open')
  await t.rejects(run(spin(100, 10)), { code: 'interlock', message: /hatch is not closed/ })
  await run(device.close!({}, calm))
  t.equal(simulator.world.hatch, 'closed')
})

test('a rotor that takes less than a request refuses it', async (t) => {
  const { run, spin } = await bench({ highest_rpm: 9000 })
  await t.rejects(run(spin(5000, 10)), { code: 'invalid', message: /its rotor takes 4500 rpm/ })
})

test('somebody presses STOP: the operation says how long it had its speed', async (t) => {
  const { run, simulator, spin, clock } = await bench()
  const going = spin(1000, 600)
  going.catch(() => {})
  await clock.advance(60_000)
  simulator.pressStop()
  await t.rejects(run(going), { code: 'device_failed', message: /it braked after \d+ s of 600 s/ })
})

test('a stop brakes the rotor, and is sent again until it brakes', async (t) => {
  const { run, simulator, spin, clock, device, written } = await bench()
  const going = spin(1000, 600)
  going.catch(() => {})
  await clock.advance(60_000)
  await run(device.halt())
  t.ok(written.some((frame) => frame.includes('00521=0001')))
  await clock.advance(30_000)
  t.equal(simulator.world.moving, false)
  await t.rejects(going, { code: 'stopped' })
})

test('a restart in between is a fault until it is initialized', async (t) => {
  const { run, simulator, device } = await bench()
  simulator.cutPower()
  await t.rejects(run(device.check()), { code: 'device_failed', message: /switched on since/ })
  await t.rejects(run(device.check()), { code: 'device_failed' })
  await run(device.initialize({}, calm))
  await t.resolves(run(device.check()))
})

test('a run that was under way before ends by itself', async (t) => {
  const { run, spin, clock, device } = await bench()
  t.equal(await run(device.underWay!()), null)
  const going = spin(1000, 100)
  await clock.advance(60_000)
  t.match(await run(device.underWay!()), { operation: 'centrifuge', seconds_left: Number })
  await run(going)
})
