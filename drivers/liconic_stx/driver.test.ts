import { type Test, test } from 'tap'
import * as v from 'valibot'
import { type Hand, tampered } from '../../src/testing/drivers/tampered.ts'
import { type Bench, calm, onSimulator } from '../../src/testing/drivers.ts'
import type { Places } from '../transports/simulator.ts'
import { driver } from './driver.ts'
import { settings } from './models.ts'

type Storage = Bench & { hand: Hand; places: Places }

async function bench(chosen: object = {}): Promise<Storage> {
  const { driver: same, hand } = tampered(driver)
  const made = await onSimulator(same, chosen)
  await made.run(made.device.initialize({}, calm))
  made.written.length = 0
  return { ...made, hand, places: made.line.simulator.places! }
}

function begin<T>(operation: Promise<T>): Promise<T> {
  operation.catch(() => {})
  return operation
}

/** Types words at the controller behind the driver's back. */
function byHand({ line }: Bench, ...words: string[]): void {
  for (const word of words) line.simulator.receive(Buffer.from(`${word}\r`))
}

function commands({ written }: Bench): string[] {
  return written.filter((frame) => !frame.startsWith('RD') && frame !== 'CR\r').map((frame) => frame.trim())
}

async function isRefused(t: Test, b: Storage, operation: () => Promise<unknown>, message: RegExp, code = 'interlock'): Promise<void> {
  b.written.length = 0
  await t.rejects(b.run(operation()), { code, message })
  t.same(commands(b), [], 'nothing but questions is written')
}

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
  t.throws(() => v.parse(settings, { min_temperature: 50, max_temperature: 20 }), /min_temperature has to be less/)
  t.throws(() => v.parse(settings, { min_speed: 500, max_speed: 500 }), /min_speed has to be less/)
})

test('it stores a plate, and fetches it again', async (t) => {
  const b = await bench({ racks: [{ slots: 22 }, { slots: 10, pitch: 1713 }] })
  b.places.put('station')
  await b.run(b.device.store!({ slot: 25 }, calm))
  t.same(commands(b), ['WR DM0 00002', 'WR DM23 01713', 'WR DM25 00010', 'WR DM5 00003', 'ST 1904'])
  t.same([b.places.has(25), await b.run(b.device.whereIsPlate!())], [true, { station: false, handler: false }])
  b.written.length = 0
  await b.run(b.device.retrieve!({ slot: 25 }, calm))
  t.same(commands(b).at(-1), 'ST 1905')
  t.same([b.places.has(25), await b.run(b.device.whereIsPlate!())], [false, { station: true, handler: false }])
  b.places.take('station')
  b.places.put(7)
  b.written.length = 0
  await b.run(b.device.retrieve!({ slot: 7 }, calm))
  t.same(commands(b), ['WR DM0 00001', 'WR DM5 00007', 'ST 1905'], 'a rack without a pitch leaves what is set')
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
  t.notOk(commands(b).includes('ST 1905'))
})

test('it moves no plate onto another one, nor one that is not there', async (t) => {
  const b = await bench()
  const { device, places } = b
  await isRefused(t, b, () => device.store!({ slot: 1 }, calm), /no plate at its transfer station; put the plate there/)
  places.put('station')
  await isRefused(t, b, () => device.retrieve!({ slot: 1 }, calm), /has a plate at its transfer station; remove/)
  for (const slot of [0, 45, undefined]) await isRefused(t, b, () => device.store!({ slot }, calm), /no slot/, 'invalid')
  places.put('handler')
  await isRefused(t, b, () => device.store!({ slot: 1 }, calm), /plate on its handler; open its door/)
  await isRefused(t, b, () => device.initialize({}, calm), /plate on its handler; open its door/)
  places.take('handler')
  byHand(b, 'WR DM0 1', 'WR DM5 1', 'ST 1904')
  await isRefused(t, b, () => device.store!({ slot: 1 }, calm), /busy; wait/)
  await isRefused(t, b, () => device.initialize({}, calm), /busy; wait/)
})

test('it is done only when the sensors show it', async (t) => {
  const b = await bench()
  b.places.put(7)
  let isDone = false
  const fetching = b.device.retrieve!({ slot: 7 }, calm).then(() => {
    isDone = true
  })
  while (!b.places.has('station')) await b.clock.advance(250)
  t.notOk(isDone, 'the plate is there, and the handler still moves')
  await b.run(fetching)
  t.notOk(b.line.simulator.world.moving)
  const storing = begin(b.device.store!({ slot: 7 }, calm))
  await b.clock.advance(10_000)
  b.line.simulator.places!.put('station')
  await t.rejects(b.run(storing), {
    code: 'device_failed',
    message: /at rest, and its sensors show a plate at the transfer station and no plate on the handler; see where the plate is/,
  })
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

test('a motion without end, and a plate on the shovel after an initialize, are faults', async (t) => {
  const b = await bench()
  b.places.put('station')
  const began = b.clock.now()
  const storing = begin(b.device.store!({ slot: 7 }, calm))
  await b.clock.advance(8000)
  b.hand.replace(/^1/m, '0')
  await t.rejects(b.run(storing), { code: 'device_failed', message: /did not move the plate within 130 s; see what blocks it/ })
  t.ok(b.clock.now() - began >= 130_000)
  b.hand.leave()
  const initializing = begin(b.device.initialize({}, calm))
  await b.clock.advance(8000)
  b.places.put('handler')
  await t.rejects(b.run(initializing), { code: 'device_failed', message: /plate on its handler/ })
})

test('what goes wrong is told in words, and ends with an initialize', async (t) => {
  const b = await bench()
  await t.rejects(b.run(b.device.retrieve!({ slot: 3 }, calm)), {
    code: 'device_failed',
    message: /reports error 00016 \(no plate came onto the shovel\)\. See whether the slot/,
  })
  await t.rejects(b.run(b.device.check()), { code: 'device_failed', message: /error 00016/ })
  b.written.length = 0
  await b.run(b.device.initialize({}, calm))
  t.same(commands(b), ['ST 1900', 'ST 1801'])
  await t.resolves(b.run(b.device.check()))
  b.places.put('station')
  b.places.put(3)
  await t.rejects(b.run(b.device.store!({ slot: 3 }, calm)), {
    message: /error 00108 \(the lift as it put the plate into the slot got stuck\)/,
  })
  t.same(await b.run(b.device.whereIsPlate!()), { station: false, handler: true })
  await isRefused(t, b, () => b.device.initialize({}, calm), /plate on its handler/)
  b.places.take('handler')
  await t.resolves(b.run(b.device.initialize({}, calm)))
})

test('after a loss of power in the middle of a move no plate is lost', async (t) => {
  const b = await bench()
  b.places.put('station')
  const storing = begin(b.device.store!({ slot: 3 }, calm))
  await b.clock.advance(11_000)
  t.ok(b.places.has('handler'))
  b.hand.restart()
  b.line.simulator.places!.put('handler')
  await t.rejects(b.run(storing), { code: 'device_failed', message: /restarted.*where its plates are/ })
  t.same(await b.run(b.device.whereIsPlate!()), { station: false, handler: true })
  await isRefused(t, b, () => b.device.initialize({}, calm), /plate on its handler/)
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

test('a halt ends no motion, and is acknowledged when the handler is at rest', async (t) => {
  const b = await bench()
  b.places.put('station')
  const storing = begin(b.device.store!({ slot: 3 }, calm))
  await b.clock.advance(11_000)
  b.written.length = 0
  const halting = b.device.halt()
  t.same(b.written, ['RD 1915\r'])
  await t.rejects(storing, { code: 'stopped' })
  t.ok(b.line.simulator.world.moving)
  await b.run(halting)
  t.same([b.line.simulator.world.moving, b.places.has(3), commands(b)], [false, true, []])
})

test('its climate is read and set, and not switched off', async (t) => {
  const b = await bench({ co2: true })
  t.match(await b.run(b.device.get_temperature!()), { target: 37 })
  t.same(await b.run(b.device.humidity!()), { humidity: 88.5, target: 90 })
  t.same(await b.run(b.device.co2!()), { co2: 4.92, target: 5 })
  b.written.length = 0
  await b.run(b.device.set_temperature!({ temperature: 30.5 }, calm))
  t.same(commands(b), ['WR DM890 00305'])
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
    t.same(commands(b), [`WR DM39 ${word}`, 'ST 1913', 'RS 1913'])
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

test('a stop of the shaker is on the wire at once', async (t) => {
  const b = await bench({ shaker: true })
  const shaking = begin(b.device.shake!({ speed: 600, duration: 600 }, calm))
  await b.clock.advance(10_000)
  b.written.length = 0
  const halting = b.device.halt()
  t.same(b.written, ['RS 1913\r'])
  await b.run(halting)
  await t.rejects(shaking, { code: 'stopped' })
  t.notOk(b.line.simulator.world.moving)
})

test('its serial number is told, where it has one', async (t) => {
  const b = await bench()
  t.same(await b.run(b.device.identify()), { model: 'LiCONiC STX', serial_number: '4711', firmware_version: null })
  for (const none of ['E0', '00000']) {
    b.hand.replace(/^04711/m, none)
    t.equal((await b.run(b.device.identify()))!.serial_number, null)
  }
})
