import { test } from 'tap'
import * as v from 'valibot'
import { begin, byHand, isRefused, storageOn, storageTests } from '../../src/testing/drivers/storage.ts'
import { calm, onSimulator } from '../../src/testing/drivers.ts'
import { driver } from './driver.ts'
import { settings } from './models.ts'

const bench = (chosen?: object) => storageOn(driver, (frame) => frame.startsWith('RD') || frame === 'CR\r', chosen)

storageTests({
  ...{ driver, bench, shaker: { shaker: true }, storing: ['WR DM0 1', 'WR DM5 1', 'ST 1904'] },
  empty: /reports error 00016 \(no plate came onto the shovel\)\. See whether the slot/,
  taken: /error 00108 \(the lift as it put the plate into the slot got stuck\)/,
  initializing: ['ST 1900\r', 'ST 1801\r'],
  halts: { move: 'RD 1915\r', shake: 'RS 1913\r' },
})

test('its settings say what it can', async (t) => {
  t.same(driver.profile(v.parse(settings, {})), {
    model: 'STX44 IC',
    limits: { slot: { min: 1, max: 44, unit: '', step: 1 }, temperature: { min: 4, max: 50, unit: '°C', step: 0.1 } },
    features: { uninterruptible: true, climate: true },
    ends_early: [],
  })
  const hotel = driver.profile(v.parse(settings, { climate: 'NC', racks: [{}, { slots: 10 }] }))
  t.same([hotel.limits, hotel.features], [{ slot: { min: 1, max: 32, unit: '', step: 1 } }, { uninterruptible: true }])
  t.match(driver.profile(v.parse(settings, { shaker: true, speed_unit: '0.1 Hz' })).limits.speed, { min: 60, max: 1200, step: 6 })
  const { device } = await onSimulator(driver, { climate: 'DF' })
  for (const name of ['set_temperature', 'co2', 'shake', 'end', 'open', 'close', 'scan'] as const) t.equal(device[name], undefined, name)
  t.ok(device.get_temperature && device.humidity)
  const { device: other } = await onSimulator(driver, { climate: 'NC', co2: true })
  for (const name of ['set_temperature', 'get_temperature', 'humidity', 'co2'] as const) t.equal(other[name], undefined, name)
})

test('it stores a plate, and fetches it again', async (t) => {
  const b = await bench({ racks: [{ slots: 22 }, { slots: 10, pitch: 1713 }] })
  b.places.put('station')
  await b.run(b.device.store!({ slot: 25 }, calm))
  t.same(b.commands(), ['WR DM0 00002\r', 'WR DM23 01713\r', 'WR DM25 00010\r', 'WR DM5 00003\r', 'ST 1904\r'])
  t.same([b.places.has(25), await b.run(b.device.whereIsPlate!())], [true, { station: false, handler: false }])
  b.written.length = 0
  await b.run(b.device.retrieve!({ slot: 25 }, calm))
  t.same(b.commands().at(-1), 'ST 1905\r')
  t.same([b.places.has(25), await b.run(b.device.whereIsPlate!())], [false, { station: true, handler: false }])
  b.places.take('station')
  b.places.put(7)
  b.written.length = 0
  await b.run(b.device.retrieve!({ slot: 7 }, calm))
  t.same(b.commands(), ['WR DM0 00001\r', 'WR DM5 00007\r', 'ST 1905\r'], 'a rack without a pitch leaves what is set')
})

test('it moves nothing unless its controller has taken rack and level', async (t) => {
  const b = await bench()
  b.places.put(7)
  b.hand.hear((frame) => {
    if (!frame.startsWith('WR DM5')) return true
    b.clock.after(20, () => b.hand.say(Buffer.from('OK\r\n')))
    return false
  })
  await t.rejects(b.run(b.device.retrieve!({ slot: 7 }, calm)), { code: 'device_failed', message: /took 1 and not 7 for the level/ })
  t.notOk(b.commands().includes('ST 1905\r'))
})

test('without sensors nobody is told where a plate is, and the end of a motion counts', async (t) => {
  const b = await bench({ station_sensor: false, shovel_sensor: false })
  t.same(await b.run(b.device.whereIsPlate!()), { station: null, handler: null })
  b.places.put('station')
  const began = b.clock.now()
  await b.run(b.device.store!({ slot: 1 }, calm))
  t.ok(b.places.has(1) && b.clock.now() - began > 15_000)
  t.notOk(b.written.includes('RD 1813\r'))
})

test('a motion without end is a fault', async (t) => {
  const b = await bench()
  b.places.put('station')
  const began = b.clock.now()
  const storing = begin(b.device.store!({ slot: 7 }, calm))
  await b.clock.advance(8000)
  b.hand.replace(/^1/m, '0')
  await t.rejects(b.run(storing), { code: 'device_failed', message: /did not move the plate within 130 s; see what blocks it/ })
  t.ok(b.clock.now() - began >= 130_000)
})

test('a reading that finds the communication closed does not hide the restart from the next check', async (t) => {
  const b = await bench()
  b.hand.restart()
  await t.rejects(b.run(b.device.get_temperature!()), { code: 'device_failed', message: /restarted/ })
  await b.run(b.device.get_temperature!())
  for (const time of ['first', 'second']) await t.rejects(b.run(b.device.check()), { message: /restarted/ }, time)
  await b.run(b.device.initialize({}, calm))
  await t.resolves(b.run(b.device.check()))
})

test('its climate is read and set, and not switched off', async (t) => {
  const b = await bench({ co2: true })
  t.match(await b.run(b.device.get_temperature!()), { target: 37 })
  t.same(await b.run(b.device.humidity!()), { humidity: 88.5, target: 90 })
  t.same(await b.run(b.device.co2!()), { co2: 4.92, target: 5 })
  b.written.length = 0
  await b.run(b.device.set_temperature!({ temperature: 30.5 }, calm))
  t.same(b.commands(), ['WR DM890 00305\r'])
  t.match(await b.run(b.device.get_temperature!()), { target: 30.5 })
  await isRefused(t, b, () => b.device.set_temperature!({ temperature: null }, calm), /cannot switch that off/, 'invalid')
})

test('its shaker takes the speed in the unit of its controller, shakes for the time, and stops', async (t) => {
  for (const [speed_unit, word] of [
    ['10 rpm', '00060'],
    ['0.1 Hz', '00100'],
  ] as const) {
    const b = await bench({ shaker: true, speed_unit })
    const began = b.clock.now()
    await b.run(b.device.shake!({ speed: 600, duration: 60 }, calm))
    t.same(b.commands(), [`WR DM39 ${word}\r`, 'ST 1913\r', 'RS 1913\r'])
    t.ok(b.clock.now() - began >= 60_000)
    t.notOk(b.line.simulator.world.moving)
  }
})

test('a shaker that somebody stops, or that goes on, is a fault', async (t) => {
  const b = await bench({ shaker: true })
  const shaking = begin(b.device.shake!({ speed: 600, duration: 60 }, calm))
  await b.clock.advance(10_000)
  await isRefused(t, b, () => b.device.initialize({}, calm), /shakes; stop it/)
  byHand(b, 'RS 1913')
  await t.rejects(b.run(shaking), { code: 'device_failed', message: /does not shake any more after 1\d s/ })
})

test('its serial number is told, where it has one', async (t) => {
  const b = await bench()
  t.same(await b.run(b.device.identify()), { model: 'LiCONiC STX', serial_number: '4711', firmware_version: null })
  for (const none of ['E0', '00000']) {
    b.hand.replace(/^04711/m, none)
    t.equal((await b.run(b.device.identify()))!.serial_number, null)
  }
})
