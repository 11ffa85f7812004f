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

/** Sends the instrument a line, as another program would. */
function byHand({ line }: Bench, code: string): void {
  line.simulator.receive(Buffer.from(`${code}\r\n\r\n`))
}

test('initialize learns who it is, and switches nothing', async (t) => {
  const { device, run, written } = await onSimulator(driver)
  const identity = { model: 'Temperature Module GEN2 (temp_deck_v20)', serial_number: 'SIM-0001', firmware_version: 'v0.0.0-simulated' }
  t.same(await run(device.initialize({}, calm)), { identity })
  t.same([...new Set(written)], ['M115\r\n\r\n', 'M105\r\n\r\n'])
})

test('a target goes out in °C and is read back, above the room and below it', async (t) => {
  for (const temperature of [95, 37.5, 4]) {
    const { device, run, written, clock } = await bench()
    await run(device.set_temperature!({ temperature }, calm))
    t.ok(written.includes(`M104 S${temperature}\r\n\r\n`))
    for (let minutes = 0; minutes < 60; minutes++) {
      await clock.advance(60_000)
      await run(device.check())
    }
    t.same(await run(device.get_temperature!()), { temperature, target: temperature })
    await run(device.set_temperature!({ temperature: null }, calm))
    t.match(await run(device.get_temperature!()), { target: null })
  }
})

test('a target that the module replaces by another is not taken for done', async (t) => {
  const { driver: same, hand } = tampered(driver)
  const { device, run } = await onSimulator(same)
  await run(device.initialize({}, calm))
  hand.replace(/T:60.000/, 'T:99.000')
  await t.rejects(run(device.set_temperature!({ temperature: 60 }, calm)), { code: 'device_failed', message: /set to 60 °C and says 99/ })
})

test('an ok that belongs to something else confirms neither a target nor a stop', async (t) => {
  const { driver: same, hand } = tampered(driver)
  const { device, run } = await onSimulator(same)
  await run(device.initialize({}, calm))
  hand.hear((frame) => {
    if (!/^M(104|18)/.test(frame)) return true
    hand.say(Buffer.from('ok\r\nok\r\n'))
    return false
  })
  await t.rejects(run(device.set_temperature!({ temperature: 60 }, calm)), { code: 'device_failed', message: /that it is off/ })
  hand.leave()
  await run(device.initialize({}, calm))
  await run(device.set_temperature!({ temperature: 60 }, calm))
  hand.hear((frame) => {
    if (!frame.startsWith('M18')) return true
    hand.say(Buffer.from('ok\r\nok\r\n'))
    return false
  })
  await t.rejects(run(device.halt()), { code: 'device_failed', message: /still on/ })
})

test('an overheated module is a fault in words, which stands until somebody initializes it', async (t) => {
  const { device, run, line, clock } = await bench()
  await run(device.set_temperature!({ temperature: 60 }, calm))
  line.setFault('overtemperature')
  await clock.advance(1000)
  await t.rejects(run(device.check()), {
    code: 'device_failed',
    message: /"Temperature module overheated! Deactivating." \(the plate was above 99 °C/,
  })
  await t.rejects(run(device.set_temperature!({ temperature: 60 }, calm)), { code: 'device_failed' })
  line.clearFaults()
  await run(device.halt())
  await run(device.initialize({}, calm))
  await run(device.check())
})

test('a plate that gets neither warm nor cold has failed, and is switched off', async (t) => {
  for (const [temperature, words] of [
    [60, /does not get warm/],
    [4, /does not get cold/],
  ] as const) {
    const { driver: same, hand } = tampered(driver)
    const { device, run, clock, written } = await onSimulator(same)
    await run(device.initialize({}, calm))
    await run(device.set_temperature!({ temperature }, calm))
    hand.replace(/C:\S+/, 'C:22.000')
    await clock.advance(100_000)
    await run(device.check())
    await clock.advance(600_000)
    await t.rejects(run(device.check()), { code: 'device_failed', message: words })
    t.equal(written.at(-1), 'M18\r\n\r\n')
  }
})

test('a module that is off though it was set has restarted', async (t) => {
  const b = await bench()
  await b.run(b.device.set_temperature!({ temperature: 60 }, calm))
  byHand(b, 'M18')
  await t.rejects(b.run(b.device.check()), { code: 'device_failed', message: /was set to 60 °C and is off/ })
})

test('a plate that is found on is watched, and switched off when nobody sees it any more', async (t) => {
  const b = await onSimulator(driver)
  byHand(b, 'M104 S60')
  await b.clock.advance(100)
  await b.run(b.device.initialize({}, calm))
  b.line.setFault('no_reply')
  await t.rejects(b.run(b.device.check()), { code: 'no_reply' })
  await b.clock.advance(100)
  t.notOk(b.line.simulator.world.heating)
})

test('a halt is on the wire at once, and is acknowledged before the service gives up waiting', async (t) => {
  const { device, run, written, clock, line } = await bench()
  await run(device.set_temperature!({ temperature: 60 }, calm))
  written.length = 0
  const began = clock.now()
  const halting = device.halt()
  t.same(written, ['M18\r\n\r\n'])
  await run(halting)
  t.ok(clock.now() - began < 400, `${clock.now() - began} ms`)
  t.notOk(line.simulator.world.heating)
})
