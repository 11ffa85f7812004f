import { test } from 'tap'
import { tampered } from '../../src/conformance/tampered.ts'
import { type Bench, calm, onSimulator } from '../../src/testing/drivers.ts'
import { driver } from './driver.ts'

async function bench(): Promise<Bench> {
  const bench = await onSimulator(driver)
  await bench.run(bench.device.initialize({}, calm))
  bench.written.length = 0
  return bench
}

async function locked(): Promise<Bench> {
  const b = await bench()
  await b.run(b.device.lock_plate!({}, calm))
  b.written.length = 0
  return b
}

/** Sends the instrument a line, as another program would. */
function byHand({ line }: Bench, code: string): void {
  line.simulator.receive(Buffer.from(`${code}\n`))
}

function begin<T>(operation: Promise<T>): Promise<T> {
  operation.catch(() => {})
  return operation
}

test('initialize learns who it is, closes a latch that is nowhere, and goes home; an open one it leaves open', async (t) => {
  const { device, run, written, line } = await onSimulator(driver)
  const identity = { model: 'Heater-Shaker simulated', serial_number: 'SIM-0001', firmware_version: 'v0.0.0-simulated' }
  t.same(await run(device.initialize({}, calm)), { identity })
  t.same(written.slice(-5), ['M243\n', 'M241\n', 'G28\n', 'M105\n', 'M105\n'])
  t.match(line.simulator.world, { latch: 'IDLE_CLOSED', home: true })
  await run(device.unlock_plate!({}, calm))
  written.length = 0
  await run(device.initialize({}, calm))
  t.notOk(written.includes('G28\n'))
  t.match(line.simulator.world, { latch: 'IDLE_OPEN' })
})

test('initialize is refused while it turns, and while its latch moves', async (t) => {
  const turning = await locked()
  byHand(turning, 'M3 S500')
  await turning.clock.advance(2000)
  await t.rejects(turning.run(turning.device.initialize({}, calm)), { code: 'interlock', message: /turns at 500 rpm/ })
  const latching = await bench()
  byHand(latching, 'M242')
  await latching.clock.advance(100)
  await t.rejects(latching.run(latching.device.initialize({}, calm)), { code: 'interlock', message: /OPENING/ })
})

test('it shakes as long as asked, counted by the host, and is at home after', async (t) => {
  const { device, run, written, clock, line } = await locked()
  const began = clock.now()
  await run(device.shake!({ speed: 500, duration: 30 }, calm))
  t.same(written.slice(0, 3), ['M123\n', 'M241\n', 'M3 S500\n'])
  t.ok(clock.now() - began >= 30_000)
  t.match(line.simulator.world, { moving: false, home: true, latch: 'IDLE_CLOSED' })
})

test('with an open latch it does not shake, and nothing goes out that would', async (t) => {
  const { device, run, written } = await bench()
  await run(device.unlock_plate!({}, calm))
  await t.rejects(run(device.shake!({ speed: 500, duration: 5 }, calm)), { code: 'interlock', message: /lock the plate first/ })
  t.notOk(written.some((frame) => frame.startsWith('M3')))
})

test('open and close are the latch, as unlock_plate and lock_plate', async (t) => {
  const { device, run, line, written } = await bench()
  await run(device.close!({}, calm))
  t.equal(line.simulator.world.latch, 'IDLE_CLOSED')
  await run(device.open!({}, calm))
  t.equal(line.simulator.world.latch, 'IDLE_OPEN')
  await run(device.lock_plate!({}, calm))
  await run(device.unlock_plate!({}, calm))
  t.same(
    written.filter((frame) => /^M24[23]/.test(frame)),
    ['M243\n', 'M242\n', 'M243\n', 'M242\n'],
  )
})

test('the latch does not open while the table turns, nor away from home', async (t) => {
  const turning = await locked()
  byHand(turning, 'M3 S500')
  await turning.clock.advance(2000)
  await t.rejects(turning.run(turning.device.unlock_plate!({}, calm)), { code: 'interlock' })
  t.notOk(turning.written.includes('M242\n'))
  byHand(turning, 'M3 S0')
  await turning.clock.advance(2000)
  await t.rejects(turning.run(turning.device.open!({}, calm)), { code: 'interlock', message: /ERR123/ })
})

test('an error that it tells by itself ends the shake, and stands until it is initialized', async (t) => {
  const b = await locked()
  const shaking = begin(b.device.shake!({ speed: 500, duration: 60 }, calm))
  await b.clock.advance(10_000)
  b.line.setFault('jam')
  await t.rejects(b.run(shaking), { code: 'device_failed' })
  await t.rejects(b.run(b.device.check()), { code: 'device_failed', message: /ERR111 \(the motor cannot move\)/ })
  await t.rejects(b.run(b.device.lock_plate!({}, calm)), { code: 'device_failed' })
  await b.run(b.device.halt())
  await t.rejects(b.run(b.device.initialize({}, calm)), { code: 'device_failed', message: /switch the module off and on, then initialize/ })
  b.line.clearFaults()
  await b.run(b.device.halt())
  await b.run(b.device.initialize({}, calm))
  await b.run(b.device.check())
})

for (const error of [
  'async ERR203:heater:thermistor a overtemp OK',
  'async ERR214:heater:heatpad OK',
  'ERR203:heater:thermistor a overtemp',
]) {
  test(`${error} by itself is a fault, in a shake and while it heats`, async (t) => {
    const { driver: same, hand } = tampered(driver)
    const { device, run, clock, line } = await onSimulator(same)
    await run(device.initialize({}, calm))
    await run(device.set_temperature!({ temperature: 60 }, calm))
    hand.say(Buffer.from(`${error}\n`))
    await clock.advance(1000)
    await t.rejects(run(device.check()), { code: 'device_failed', message: /ERR2(03|14)/ })
    await clock.advance(100)
    t.notOk(line.simulator.world.heating)
    await run(device.halt())
    await run(device.initialize({}, calm))
    await run(device.lock_plate!({}, calm))
    const shaking = begin(device.shake!({ speed: 500, duration: 60 }, calm))
    await clock.advance(10_000)
    hand.say(Buffer.from(`${error}\n`))
    await t.rejects(run(shaking), { code: 'device_failed', message: /ERR2(03|14)/ })
  })
}

test('an error that comes by itself while it goes home at the end of a shake is not passed over', async (t) => {
  const { driver: same, hand } = tampered(driver)
  const { device, run, clock, written } = await onSimulator(same)
  await run(device.initialize({}, calm))
  await run(device.lock_plate!({}, calm))
  written.length = 0
  const shaking = begin(device.shake!({ speed: 500, duration: 5 }, calm))
  await clock.advance(5500)
  t.equal(written.at(-1), 'G28\n')
  hand.say(Buffer.from('async ERR105:motor:bldc overtemp OK\n'))
  await t.rejects(run(shaking), { code: 'device_failed', message: /ERR105/ })
})

test('a heater that is off though it was set is noticed: the module has restarted', async (t) => {
  const b = await bench()
  await b.run(b.device.set_temperature!({ temperature: 60 }, calm))
  await b.run(b.device.check())
  byHand(b, 'M106')
  await t.rejects(b.run(b.device.check()), { code: 'device_failed', message: /does not heat any more/ })
})

test('a restart while nothing is hot is noticed by its latch, and said once', async (t) => {
  const { driver: same, hand } = tampered(driver)
  const { device, run } = await onSimulator(same)
  await run(device.check())
  await run(device.initialize({}, calm))
  await run(device.check())
  hand.restart()
  await t.rejects(run(device.check()), { code: 'device_failed', message: /where its latch is: it restarted/ })
  await run(device.check())
  await run(device.initialize({}, calm))
  await run(device.check())
})

test('an error that comes by itself is never the answer to what is asked', async (t) => {
  const { driver: same, hand } = tampered(driver)
  const { device, run } = await onSimulator(same)
  await run(device.initialize({}, calm))
  const reading = run(device.get_temperature!())
  hand.say(Buffer.from('async ERR214:heater:heatpad OK\n'))
  t.match(await reading, { temperature: 22 })
})

test('a stop while it goes home is acknowledged when it is there', async (t) => {
  const b = await locked()
  const initializing = begin(b.device.initialize({}, calm))
  while (!b.written.includes('G28\n')) await b.clock.advance(5)
  await b.clock.advance(200)
  const began = b.clock.now()
  await b.run(b.device.halt())
  t.ok(b.clock.now() - began > 1000, `${b.clock.now() - began} ms`)
  t.match(b.line.simulator.world, { moving: false })
  await t.rejects(initializing, { code: 'stopped' })
})

test('a latch that is forced open ends the shake', async (t) => {
  const b = await locked()
  const shaking = begin(b.device.shake!({ speed: 500, duration: 60 }, calm))
  await b.clock.advance(10_000)
  const forced = b.clock.now()
  b.line.setFault('interlock_open')
  await t.rejects(b.run(shaking), { code: 'device_failed', message: /its latch is IDLE_UNKNOWN/ })
  t.ok(b.clock.now() - forced < 2500)
})

test('a temperature goes out in °C, and the target is null until one is set', async (t) => {
  const { device, run, written, clock } = await bench()
  t.same(await run(device.get_temperature!()), { temperature: 22, target: null })
  await run(device.set_temperature!({ temperature: 37.5 }, calm))
  t.ok(written.includes('M104 S37.5\n'))
  await clock.advance(3_600_000)
  t.same(await run(device.get_temperature!()), { temperature: 37.5, target: 37.5 })
})

test('a heater that is found on is watched', async (t) => {
  const b = await onSimulator(driver)
  byHand(b, 'M104 S60')
  await b.clock.advance(100)
  await b.run(b.device.initialize({}, calm))
  b.line.setFault('no_reply')
  await t.rejects(b.run(b.device.check()), { code: 'no_reply' })
  await b.clock.advance(100)
  t.notOk(b.line.simulator.world.heating, 'nobody sees what it does, so it is off')
})

test('a check that finds nothing wrong, or an error without heating, switches nothing', async (t) => {
  const b = await bench()
  await b.run(b.device.check())
  b.line.setFault('no_reply')
  await t.rejects(b.run(b.device.check()), { code: 'no_reply' })
  t.notOk(b.written.includes('M106\n'))
})

test('a halt is on the wire at once, and is acknowledged before the service gives up waiting', async (t) => {
  const b = await locked()
  await b.run(b.device.set_temperature!({ temperature: 60 }, calm))
  const shaking = begin(b.device.shake!({ speed: 3000, duration: 60 }, calm))
  await b.clock.advance(10_000)
  b.written.length = 0
  const began = b.clock.now()
  const halting = b.device.halt()
  t.same(b.written, ['M3 S0\n', 'M106\n'])
  await b.run(halting)
  t.ok(b.clock.now() - began < 400, `${b.clock.now() - began} ms`)
  await t.rejects(shaking, { code: 'stopped' })
  await b.clock.advance(10_000)
  t.match(b.line.simulator.world, { moving: false, heating: false })
  await t.rejects(b.run(b.device.unlock_plate!({}, calm)), { code: 'interlock' }, 'it is not at home')
  await b.run(b.device.initialize({}, calm))
  await b.run(b.device.unlock_plate!({}, calm))
})

for (const refusal of ['ERR126:motor:plate lock not closed', 'ERR124:motor:not stopped']) {
  test(`a shaker that turns, and refuses to end that with ${refusal}, has failed`, async (t) => {
    const { driver: same, hand } = tampered(driver)
    const { device, run, written } = await onSimulator(same)
    await run(device.initialize({}, calm))
    await run(device.lock_plate!({}, calm))
    hand.change((bytes, send) => send(written.at(-1) === 'G28\n' ? Buffer.from(`${refusal} OK\n`) : bytes))
    await t.rejects(run(device.shake!({ speed: 500, duration: 5 }, calm)), { code: 'device_failed' })
  })
}

test('a target that is neither a number nor None does not pass for none', async (t) => {
  const { driver: same, hand } = tampered(driver)
  const { device, run } = await onSimulator(same)
  await run(device.initialize({}, calm))
  hand.replace(/T:None/, 'T:nan')
  await t.rejects(run(device.get_temperature!()), { code: 'device_failed' })
  await t.rejects(run(device.halt()), { code: 'device_failed' })
})

for (const nonsense of ['-273.00', '9999.00']) {
  test(`a sensor that says ${nonsense} °C has failed, and the heater is switched off`, async (t) => {
    const { driver: same, hand } = tampered(driver)
    const { device, run, written } = await onSimulator(same)
    await run(device.initialize({}, calm))
    await run(device.set_temperature!({ temperature: 60 }, calm))
    hand.change((bytes, send) => send(Buffer.from(Buffer.from(bytes).toString().replace(/C:\S+/, `C:${nonsense}`))))
    await t.rejects(run(device.get_temperature!()), { code: 'device_failed', message: /which cannot be/ })
    await t.rejects(run(device.check()), { code: 'device_failed' })
    t.equal(written.at(-1), 'M106\n')
  })
}

test('a temperature that the module refuses is not watched for', async (t) => {
  const { driver: same, hand } = tampered(driver)
  const b = await onSimulator(same)
  await b.run(b.device.initialize({}, calm))
  hand.change((bytes, send) => send(b.written.at(-1)?.startsWith('M104') ? Buffer.from('ERR213:heater:value OK\n') : bytes))
  await t.rejects(b.run(b.device.set_temperature!({ temperature: 60 }, calm)), { code: 'invalid' })
  hand.leave()
  byHand(b, 'M106')
  await b.run(b.device.check())
})
