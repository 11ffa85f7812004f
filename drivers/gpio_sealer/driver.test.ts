import { test } from 'tap'
import * as v from 'valibot'
import { LabError } from '../../src/errors.ts'
import { calm, onPins } from '../../src/testing/drivers.ts'
import { simulatedThermometer } from '../parts/simulated_parts.ts'
import { driver } from './driver.ts'

async function ready(settings: object = {}) {
  const bench = await onPins(driver, settings)
  await bench.run(bench.device.initialize({}, calm))
  bench.written.length = 0
  const world = () => bench.board.simulator.world as { heating: boolean; temperature: number; clamp_down: boolean; moving: boolean }
  return { ...bench, world }
}

/** Hot at 120 °C, and steady. */
async function hot(settings: object = {}) {
  const bench = await ready(settings)
  await bench.run(bench.device.set_temperature!({ temperature: 120 }, calm))
  await bench.clock.advance(180_000)
  return bench
}

const wiring = { heater: { bcm: 5 }, clamp: { bcm: 6 } }
const sensor = { i2c: { sensor: { part: 'tmp117' } } } as const

test('it seals: hot first, then the clamp for as long as it is asked, and hot afterwards', async (t) => {
  const { device, clock, world } = await ready()
  const sealing = device.seal!({ temperature: 120, duration: 3 }, calm)
  let [downFrom, downTo] = [0, 0]
  let coldest = Number.POSITIVE_INFINITY
  let done = false
  void sealing.then(() => {
    done = true
  })
  while (!done) {
    await clock.advance(20)
    if (!world().clamp_down) continue
    downFrom ||= clock.now()
    downTo = clock.now()
    coldest = Math.min(coldest, world().temperature)
  }
  t.ok(Math.abs(downTo - downFrom - 3300) < 100, `${downTo - downFrom} ms down, with its stroke`)
  t.ok(coldest > 117.5, `at least ${coldest} °C`)
  t.match(await clock.run(device.get_temperature!()), { target: 120 })
})

test('a seal that is ended early lets go of the plate where it presses, and does not press where it heats', async (t) => {
  const { device, clock, world, run } = await hot()
  const sealing = device.seal!({ temperature: 120, duration: 10 }, calm)
  await clock.advance(4000)
  t.equal(world().clamp_down, true)
  const ended = await run(device.end!())
  t.ok(ended.seconds_left > 5 && ended.seconds_left < 7, `${ended.seconds_left} s left`)
  await run(sealing)
  t.equal(world().clamp_down, false)
  const heating = device.seal!({ temperature: 150, duration: 10 }, calm)
  await clock.advance(500)
  t.same(await run(device.end!()), { seconds_left: 10 })
  await run(heating)
  t.equal(world().clamp_down, false)
  t.match(await run(device.get_temperature!()), { target: 150 })
})

test('it keeps a temperature within a degree, and comes up to it without much more', async (t) => {
  const { device, clock, run, world } = await ready()
  await run(device.set_temperature!({ temperature: 120 }, calm))
  let [hottest, coldest] = [0, 200]
  for (let second = 0; second < 600; second++) {
    await clock.advance(1000)
    hottest = Math.max(hottest, world().temperature)
    if (second > 200) coldest = Math.min(coldest, world().temperature)
  }
  t.ok(hottest < 124, `at most ${hottest} °C`)
  t.ok(coldest > 119, `at least ${coldest} °C`)
})

test('while its sensor is silent it does not heat, and goes on after a short loss', async (t) => {
  const { device, board, clock, world } = await hot()
  board.setFault('unplug')
  await clock.advance(600)
  const { temperature } = world()
  await clock.advance(600)
  t.equal(world().heating, false)
  t.ok(world().temperature < temperature)
  board.clearFaults()
  await clock.advance(60_000)
  t.match(await clock.run(device.get_temperature!()), { target: 120 })
  t.ok(world().temperature > 119)
})

test('without a reading for two seconds it is off, and stays so until it is initialized', async (t) => {
  const { device, board, clock, world } = await hot()
  board.setFault('unplug')
  await clock.advance(2500)
  board.clearFaults()
  await clock.advance(60_000)
  t.equal(world().heating, false)
  await t.rejects(clock.run(device.check()), { code: 'no_reply', message: /could not be read for 2 s; its heater was switched off/ })
  t.equal((await clock.run(device.get_temperature!())).target, null)
  await clock.run(device.initialize({}, calm))
  await clock.run(device.check())
})

test('a heater that cannot be switched off because its expander is gone, too, is not said to be off', async (t) => {
  const heater = { expander: { part: 'mcp23017', address: 32, pin: 'A0' } }
  const { device, board, clock } = await hot({ pins: { ...wiring, heater }, ...sensor })
  board.setFault('unplug')
  await clock.advance(3000)
  await t.rejects(clock.run(device.check()), {
    code: 'device_failed',
    message: /That could not be done \(the stop could not be sent: heater: (?!the stop).*: use its red button/,
  })
  t.throws(() => board.pin('heater').writeNow(false), { code: 'stop_not_sent' })
})

test('too hot, whatever was set, switches off and is said', async (t) => {
  const { device, board, clock, world } = await hot()
  board.setFault('overtemperature')
  await clock.advance(1000)
  t.equal(world().heating, false)
  await t.rejects(clock.run(device.check()), { code: 'device_failed', message: /hotter than it may ever be|which it cannot measure/ })
})

/** Ready, with a sensor that says the temperature of the plate unless `sensor.says` is another. */
async function withSensor() {
  const says: { celsius: number | undefined } = { celsius: undefined }
  const broken: typeof driver = {
    ...driver,
    simulate({ wires, clock, settings }) {
      const mechanism = driver.simulate({ wires, clock, settings })
      wires.put(
        'sensor',
        simulatedThermometer('tmp117', () => says.celsius ?? Number(mechanism.world.temperature)),
      )
      return mechanism
    },
  }
  const bench = await onPins(broken, { pins: wiring, ...sensor })
  await bench.run(bench.device.initialize({}, calm))
  const world = () => bench.board.simulator.world as { heating: boolean; temperature: number; moving: boolean }
  return { ...bench, says, world }
}

test('a value that the sensor cannot measure switches off at once, and stays so until it is initialized', async (t) => {
  for (const nonsense of [-256, 255.99]) {
    const { device, clock, world, run, says } = await withSensor()
    await run(device.set_temperature!({ temperature: 120 }, calm))
    await clock.advance(10_000)
    says.celsius = nonsense
    await clock.advance(300)
    t.equal(world().heating, false, `${nonsense}`)
    says.celsius = undefined
    await clock.advance(60_000)
    t.equal(world().heating, false, 'it stays off')
    for (const begin of [() => device.set_temperature!({ temperature: 120 }, calm), () => device.check()])
      await t.rejects(run(begin()), { code: 'device_failed', message: /which it cannot measure/ })
    t.equal(world().heating, false, 'nothing begins before it is initialized')
    await run(device.initialize({}, calm))
    await run(device.set_temperature!({ temperature: 120 }, calm))
  }
})

test('a sensor that says the very same, whatever heat is given, makes nothing hot, and lets nothing be sealed', async (t) => {
  for (const frozen of [118.5, 119.4, 120, 120.6]) {
    const { device, clock, world, run, says } = await withSensor()
    await run(device.set_temperature!({ temperature: 120 }, calm))
    await clock.advance(180_000)
    says.celsius = frozen
    await clock.advance(60_000)
    t.ok(world().temperature < 135, `${world().temperature} °C`)
    t.equal(world().heating, false)
    const message = /its? .*has said exactly .* for [34]\d s.*; its heater was switched off, see to it, then initialize/
    await t.rejects(run(device.seal!({ temperature: 120, duration: 1 }, calm)), { code: 'device_failed', message })
  }
})

test('a sensor of coarse steps that says the very same for minutes beside the set point is no fault', async (t) => {
  const { device, clock, world, run, says } = await withSensor()
  await run(device.set_temperature!({ temperature: 120 }, calm))
  await clock.advance(900_000)
  says.celsius = 119.9375
  await clock.advance(120_000)
  t.match(await run(device.get_temperature!()), { target: 120 })
  const { temperature } = world()
  t.ok(temperature > 115 && temperature < 125, `${temperature} °C`)
  await run(device.set_temperature!({ temperature: 119.5 }, calm))
  await clock.advance(2000)
  t.match(await run(device.get_temperature!()), { target: 119.5 }, 'nor is it where the set point is lowered then')
  await clock.advance(30_000)
  await t.rejects(run(device.check()), { message: /has said exactly 119.9375 °C for 3\d s/ }, 'but it has to cool')
})

test('a reading that jumps as no plate does is none: off at once, and for good after two seconds', async (t) => {
  for (const jumped of [0, 0.47, -0.0078125]) {
    const { device, clock, world, run, says } = await withSensor()
    await run(device.set_temperature!({ temperature: 120 }, calm))
    await clock.advance(180_000)
    says.celsius = jumped
    await clock.advance(300)
    says.celsius = undefined
    await clock.advance(30_000)
    t.match(await run(device.get_temperature!()), { target: 120 }, 'a single one is got over')
    says.celsius = jumped
    await clock.advance(300)
    const { temperature } = world()
    await clock.advance(3000)
    t.ok(world().temperature < temperature, `${jumped}: it cools`)
    await t.rejects(run(device.check()), { code: 'no_reply', message: /could not be read for 2 s/ })
  }
})

test('a heater that does not warm trips', async (t) => {
  const { device, board, clock, run, world, written } = await ready({ warm_up: { gain_c: 2, within_s: 30 } })
  // Its mains switch is off: the relay clicks, and nothing gets warm.
  board.simulator.powerOff()
  await run(device.set_temperature!({ temperature: 120 }, calm))
  await clock.advance(29_000)
  t.match(written.join(), /heater = 1/)
  await run(device.check())
  await clock.advance(3000)
  t.equal(world().heating, false)
  await t.rejects(run(device.check()), { code: 'device_failed', message: /it does not get warm: 22 °C, set to 120 °C/ })
})

test('its guard opening while it seals lifts the clamp and switches off at that moment', async (t) => {
  const { device, board, clock, world, written } = await ready()
  const sealing = device.seal!({ temperature: 60, duration: 30 }, calm)
  sealing.catch(() => {})
  while (!world().clamp_down) await clock.advance(100)
  board.setFault('interlock_open')
  t.same(written.slice(-2).sort(), ['clamp = 0', 'heater = 0'])
  await t.rejects(clock.run(sealing), { code: 'device_failed', message: /its guard was opened/ })
  await clock.advance(1000)
  t.same([world().heating, world().clamp_down], [false, false])
})

test('with its guard open it does not begin to seal, nor to heat', async (t) => {
  const { device, board, run, world } = await ready()
  board.setFault('interlock_open')
  await t.rejects(run(device.seal!({ temperature: 60, duration: 1 }, calm)), { code: 'interlock' })
  t.equal(world().heating, false)
})

test('a clamp that sticks is noticed, and its heater is left to whoever halts it', async (t) => {
  const { device, board, clock } = await ready()
  board.setFault('jam')
  const sealing = device.seal!({ temperature: 60, duration: 1 }, calm)
  await t.rejects(clock.run(sealing), { code: 'device_failed', message: /its clamp was to go down and did not/ })
})

test('a clamp that goes up while it is to press has sealed nothing, and one that stays down is not ready', async (t) => {
  const { device, board, clock, run } = await hot()
  const lifted = device.seal!({ temperature: 120, duration: 10 }, calm)
  lifted.catch(() => {})
  await clock.advance(4000)
  await board.pin('clamp').write(false)
  await t.rejects(run(lifted), { code: 'device_failed', message: /its clamp went up while it was to press/ })
  const sealing = device.seal!({ temperature: 120, duration: 10 }, calm)
  sealing.catch(() => {})
  await clock.advance(4000)
  board.setFault('jam')
  await run(device.halt())
  await t.rejects(run(device.initialize({}, calm)), { code: 'device_failed', message: /its clamp was to go up and did not/ })
})

test('a heater that cannot be switched off because its pin fails is not said to be off', async (t) => {
  const { device, board, clock } = await hot()
  const pin = board.pin('heater')
  pin.writeNow = async () => Promise.reject(new LabError('stop_not_sent', 'the stop could not be sent: heater: EIO'))
  board.setFault('overtemperature')
  await clock.advance(1000)
  await t.rejects(clock.run(device.check()), { code: 'device_failed', message: /That could not be done .*: use its red button/ })
})

test('without a contact at the clamp its time is waited for', async (t) => {
  const { device, clock, run } = await hot({ pins: wiring, ...sensor, clamp_s: 2 })
  const began = clock.now()
  await run(device.seal!({ temperature: 120, duration: 1 }, calm))
  t.ok(Math.abs(clock.now() - began - 5050) < 300, `${clock.now() - began} ms`)
})

test('a halt has heater and clamp off when it returns', async (t) => {
  const { device, clock, world, written } = await hot()
  const sealing = device.seal!({ temperature: 120, duration: 30 }, calm)
  sealing.catch(() => {})
  await clock.advance(5000)
  const halting = device.halt()
  t.same(written.slice(-2), ['heater = 0', 'clamp = 0'])
  t.equal(world().heating, false)
  await clock.run(halting)
  await t.rejects(clock.run(sealing), { code: 'stopped' })
  await clock.advance(120_000)
  t.equal(world().heating, false)
})

test('nothing may be set that its sensor cannot see, nor above 200 °C', (t) => {
  const hottest = (settings: object) => driver.profile(v.parse(driver.settings, settings)).limits.temperature?.max
  t.equal(hottest({}), 140)
  t.equal(hottest({ i2c: { sensor: { part: 'mcp9808', address: 24 } } }), 115)
  t.equal(hottest({ temperature: { min: 40, max: 90 } }), 90)
  t.throws(() => v.parse(driver.settings, { temperature: { max: 201 } }))
  t.end()
})
