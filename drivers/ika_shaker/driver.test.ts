import { test } from 'tap'
import * as v from 'valibot'
import { tampered } from '../../src/conformance/tampered.ts'
import { type Bench, calm, onSimulator } from '../../src/testing/drivers.ts'
import { driver } from './driver.ts'
import { settings } from './models.ts'

async function bench(chosen: object = {}): Promise<Bench> {
  const bench = await onSimulator(driver, chosen)
  await bench.run(bench.device.initialize({}, calm))
  bench.written.length = 0
  return bench
}

/** What somebody else does to the instrument, at its knob. */
function byHand({ line }: Bench, command: string): void {
  line.simulator.receive(Buffer.from(`${command}\r\n`))
}

function begin<T>(operation: Promise<T>): Promise<T> {
  operation.catch(() => {})
  return operation
}

test('its line is 7E1, and it keeps no time but watches its host', (t) => {
  t.same(driver.serial, { baud: 9600, data_bits: 7, parity: 'even' })
  t.same(driver.profile(v.parse(settings, {})), {
    model: 'IKA MATRIX ORBITAL',
    limits: {
      speed: { min: 300, max: 3000, unit: 'rpm', step: 1 },
      duration: { min: 1, max: 86_400, unit: 's', step: 0.1 },
      temperature: { min: 1, max: 100, unit: '°C', step: 0.1 },
    },
    features: { heating: true, host_watchdog: true, autonomous_timer: false },
    ends_early: ['shake'],
  })
  t.end()
})

test('what a device can do depends on its model', async (t) => {
  const { device } = await onSimulator(driver, { model: 'KS 260 control' })
  t.notOk(device.set_temperature)
  t.notOk(device.get_temperature)
  t.match(driver.profile(v.parse(settings, { model: 'KS 4000 i control' })).limits, {
    speed: { min: 10, max: 500 },
    temperature: { max: 80 },
  })
  t.throws(() => v.parse(settings, { model: 'RCT' }))
})

test('initialize resets it and learns its name and version', async (t) => {
  const { device, run, written } = await onSimulator(driver)
  t.same(await run(device.initialize({}, calm)), {
    identity: { model: 'MATRIX ORBITAL', serial_number: null, firmware_version: 'V0.0 simulated' },
  })
  t.same(written.slice(0, 2), ['IN_PV_4\r\n', 'RESET\r\n'])
})

test('initialize is refused while it turns, and RESET is not sent', async (t) => {
  const b = await bench()
  byHand(b, 'START_4')
  await b.clock.advance(1000)
  await t.rejects(b.run(b.device.initialize({}, calm)), { code: 'interlock', message: /turns at/ })
  t.notOk(b.written.includes('RESET\r\n'))
})

test('a shake sets the speed, arms the watchdog, starts, and stops when the host says so', async (t) => {
  const { device, run, written, clock, line } = await bench()
  const began = clock.now()
  await run(device.shake!({ speed: 800, duration: 10 }, calm))
  t.same(written.slice(0, 5), ['IN_PV_4\r\n', 'OUT_SP_4 800\r\n', 'IN_SP_4\r\n', 'OUT_WD1@60\r\n', 'START_4\r\n'])
  t.ok(written.includes('STOP_4\r\n'))
  t.ok(clock.now() - began >= 10_000)
  t.notOk(line.simulator.world.moving, 'it is at rest when the shake has ended')
})

test('the watchdog is refreshed every 20 s while it shakes', async (t) => {
  const { device, run, written } = await bench()
  await run(device.shake!({ speed: 400, duration: 100 }, calm))
  const armed = written.filter((frame) => frame === 'OUT_WD1@60\r\n').length
  t.ok(armed >= 5 && armed <= 6, `${armed} times in 100 s`)
})

test('a host that falls silent is not missed for long: the instrument stops by itself', async (t) => {
  const { device, clock, line } = await bench()
  begin(device.shake!({ speed: 400, duration: 3600 }, calm))
  await clock.advance(30_000)
  line.setFault('unplug')
  await clock.advance(59_000)
  await clock.advance(5000)
  t.match(line.simulator.world, { moving: false, tripped: true })
})

test('while it heats the watchdog is armed again every 20 s, and never after a stop', async (t) => {
  const { device, run, written, clock, line } = await bench()
  await run(device.set_temperature!({ temperature: 60 }, calm))
  for (let s = 0; s < 100; s += 2) {
    await clock.advance(2000)
    await run(device.check())
  }
  const armed = () => written.filter((frame) => frame === 'OUT_WD1@60\r\n').length
  t.ok(armed() >= 5 && armed() <= 6, `${armed()} times in 100 s`)
  t.match(line.simulator.world, { heating: true, tripped: false })
  await run(device.halt())
  const before = armed()
  for (let s = 0; s < 60; s += 2) {
    await clock.advance(2000)
    await run(device.check())
  }
  t.equal(armed(), before)
})

test('while nothing runs the watchdog stays armed, so that a shake can follow another however much later', async (t) => {
  for (const model of ['MATRIX ORBITAL', 'KS 260 control']) {
    const { device, run, clock, line, written } = await bench({ model })
    await run(device.shake!({ speed: 400, duration: 5 }, calm))
    for (let s = 0; s < 120; s += 2) {
      await clock.advance(2000)
      await run(device.check())
    }
    t.match(line.simulator.world, { tripped: false }, model)
    await run(device.shake!({ speed: 400, duration: 5 }, calm))
    await run(device.initialize({}, calm))
    written.length = 0
    await clock.advance(30_000)
    await run(device.check())
    t.notOk(written.includes('OUT_WD1@60\r\n'), `${model}: RESET disarms it, and nothing arms it before the next operation`)
  }
})

test('a heater whose watchdog does not confirm any more is switched off', async (t) => {
  const { device, run, clock, line } = await onSimulator({ ...driver, simulate: forgetful })
  await run(device.initialize({}, calm))
  await run(device.set_temperature!({ temperature: 60 }, calm))
  await clock.advance(21_000)
  await t.rejects(run(device.check()), { code: 'no_reply', message: /did not confirm OUT_WD1@60/ })
  await clock.advance(100)
  t.notOk(line.simulator.world.heating)
})

test('a KS is asked for its version by IN_SOFTWARE', async (t) => {
  const { device, run } = await onSimulator(driver, { model: 'KS 4000 i control' })
  t.match(await run(device.identify()), { model: 'KS 4000 i control', firmware_version: 'V0.0 simulated' })
})

test('nothing starts when the watchdog does not confirm', async (t) => {
  const { device, clock, line, written } = await bench()
  const shaking = begin(device.shake!({ speed: 400, duration: 60 }, calm))
  while (!written.includes('OUT_WD1@60\r\n')) await clock.advance(5)
  line.setFault('no_reply')
  await clock.advance(5000)
  await t.rejects(shaking, { code: 'no_reply', message: /did not confirm OUT_WD1@60, its watchdog/ })
  t.notOk(written.includes('START_4\r\n'))
})

test('a shaker that is blocked, or turns slower than asked, fails the shake', async (t) => {
  const blocked = await bench()
  const shaking = begin(blocked.device.shake!({ speed: 800, duration: 60 }, calm))
  await blocked.clock.advance(10_000)
  blocked.line.setFault('jam')
  await t.rejects(blocked.run(shaking), { code: 'device_failed', message: /turns at 0 rpm/ })
  const slow = await bench()
  const slowly = begin(slow.device.shake!({ speed: 800, duration: 60 }, calm))
  await slow.clock.advance(10_000)
  byHand(slow, 'OUT_SP_4 500')
  await t.rejects(slow.run(slowly), { code: 'device_failed', message: /should turn at 800 rpm/ })
})

test('a shake is refused while it turns already', async (t) => {
  const b = await bench()
  byHand(b, 'START_4')
  await b.clock.advance(1000)
  await t.rejects(b.run(b.device.shake!({ speed: 800, duration: 5 }, calm)), { code: 'interlock' })
  t.notOk(b.written.some((frame) => frame.startsWith('OUT_SP_4')))
})

test('a temperature is set, read back and held, with the watchdog armed', async (t) => {
  const { device, run, written, clock, line } = await bench()
  t.same(await run(device.get_temperature!()), { temperature: 22, target: null })
  await run(device.set_temperature!({ temperature: 37.5 }, calm))
  t.same(written.slice(-4), ['OUT_SP_2 37.5\r\n', 'IN_SP_2\r\n', 'OUT_WD1@60\r\n', 'START_2\r\n'])
  for (let s = 0; s < 3600; s += 10) {
    await clock.advance(10_000)
    await run(device.check())
  }
  t.same(await run(device.get_temperature!()), { temperature: 37.5, target: 37.5 })
  t.equal(line.simulator.world.watchdog_s, 60)
})

test('a heater that is too hot, or silent, is switched off by the check that sees it', async (t) => {
  const hot = await bench()
  await hot.run(hot.device.set_temperature!({ temperature: 60 }, calm))
  hot.line.setFault('overtemperature')
  await t.rejects(hot.run(hot.device.check()), { code: 'device_failed', message: /130 °C/ })
  await hot.clock.advance(100)
  t.notOk(hot.line.simulator.world.heating)
  const silent = await bench()
  await silent.run(silent.device.set_temperature!({ temperature: 60 }, calm))
  silent.line.setFault('no_reply')
  await t.rejects(silent.run(silent.device.check()), { code: 'no_reply' })
  await silent.clock.advance(100)
  t.notOk(silent.line.simulator.world.heating)
})

test('a restart while it heats shows when its set point is asked for, within 20 s, and its heater is switched off', async (t) => {
  const { device, run, clock, line, written } = await bench()
  await run(device.set_temperature!({ temperature: 60 }, calm))
  line.simulator.powerOff()
  byHand({ line } as Bench, 'START_2')
  await clock.advance(20_000)
  written.length = 0
  await t.rejects(run(device.check()), {
    code: 'device_failed',
    message: /set to 60 °C and says 1: it has started anew, .*its heater was switched off/,
  })
  await clock.advance(100)
  t.same(written, ['IN_PV_2\r\n', 'IN_SP_2\r\n', 'STOP_2\r\n'])
  t.notOk(line.simulator.world.heating)
})

test('a heater that somebody else switched on is switched off when it is too hot for anything', async (t) => {
  const b = await bench()
  byHand(b, 'START_2')
  b.line.setFault('overtemperature')
  await t.rejects(b.run(b.device.check()), { code: 'device_failed', message: /hotter than it may ever be/ })
  await b.clock.advance(100)
  t.notOk(b.line.simulator.world.heating)
})

test('a halt is on the wire at once, motor and heater, and is acknowledged before the service gives up waiting', async (t) => {
  const { device, run, clock, written, line } = await bench()
  await run(device.set_temperature!({ temperature: 60 }, calm))
  const shaking = begin(device.shake!({ speed: 3000, duration: 60 }, calm))
  await clock.advance(10_000)
  written.length = 0
  const began = clock.now()
  const halting = device.halt()
  t.same(written, ['STOP_4\r\n', 'STOP_2\r\n'])
  await run(halting)
  t.ok(clock.now() - began < 400, `${clock.now() - began} ms`)
  await t.rejects(shaking, { code: 'stopped' })
  await clock.advance(10_000)
  t.match(line.simulator.world, { moving: false, heating: false })
  t.notOk(written.some((frame) => frame.startsWith('START')))
})

test('an instrument that sends each command back is understood', async (t) => {
  const { device, run, line } = await onSimulator({ ...driver, simulate: echoing })
  await run(device.initialize({}, calm))
  await run(device.shake!({ speed: 400, duration: 5 }, calm))
  await run(device.set_temperature!({ temperature: 40 }, calm))
  t.same(await run(device.identify()), { model: 'MATRIX ORBITAL', serial_number: null, firmware_version: 'V0.0 simulated' })
  await run(device.halt())
  t.match(line.simulator.world, { moving: false, heating: false })
})

/** One of those of the family that answer a command with the command. */
const echoing: typeof driver.simulate = (at) => {
  const simulator = driver.simulate(at)
  const receive = simulator.receive.bind(simulator)
  simulator.receive = (bytes) => {
    receive(bytes)
    if (/^(START|STOP|OUT_SP|RESET)/.test(Buffer.from(bytes).toString('latin1'))) at.send(bytes)
  }
  return simulator
}

/** A simulator that confirms the watchdog once, and not again. */
const forgetful: typeof driver.simulate = (at) => {
  let confirmed = 0
  const isEcho = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1').startsWith('60 ')
  return driver.simulate({ ...at, send: (bytes) => (isEcho(bytes) && confirmed++ ? undefined : at.send(bytes)) })
}

test('a motor whose speed has a minus sign turns all the same', async (t) => {
  const { driver: same, hand } = tampered(driver)
  const { device, run } = await onSimulator(same)
  await run(device.initialize({}, calm))
  hand.replace(/^[\d.]+ 4/, '-500.0 4')
  await t.rejects(run(device.initialize({}, calm)), { code: 'interlock', message: /turns at 500 rpm/ })
  await t.rejects(run(device.shake!({ speed: 500, duration: 5 }, calm)), { code: 'interlock' })
  await t.rejects(run(device.halt()), { code: 'device_failed', message: /still turns at 500 rpm/ })
})

test('a shaker whose name was damaged on its way when it was learned is found again all the same', async (t) => {
  const { driver: same, hand } = tampered(driver)
  const { device, run, written } = await onSimulator(same)
  hand.change((bytes, send) => send(written.at(-1) === 'IN_NAME\r\n' ? Buffer.from('KS_3000\r\n') : bytes))
  await run(device.initialize({}, calm))
  hand.cut()
  await t.rejects(run(device.check()), { code: 'no_reply' })
  hand.leave()
  await run(device.check())
})
