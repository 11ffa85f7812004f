import { test } from 'tap'
import * as v from 'valibot'
import { tampered } from '../../src/conformance/tampered.ts'
import { begin, isRefused, type Storage, storageOn, storageTests } from '../../src/testing/drivers/storage.ts'
import { calm, onSimulator } from '../../src/testing/drivers.ts'
import { driver } from './driver.ts'
import { settings } from './models.ts'

const bench = (chosen?: object) => storageOn(driver, (frame) => frame.startsWith('ch:'), chosen)

storageTests({
  ...{ driver, bench, shaker: { model: 'Cytomat 2 C450 Shake' }, storing: ['mv:ts 001'] },
  empty: /reports error 02 \(no plate came onto the shovel\)\. See whether the slot/,
  taken: /error 03 \(the plate did not leave/,
  initializing: ['rs:be\r\n', 'll:in\r\n'],
  halts: { move: 'ch:bs\r\n', shake: 'll:vd\r\n' },
})

test('its settings say what it can', async (t) => {
  t.same(driver.profile(v.parse(settings, {})), {
    model: 'Cytomat 6000',
    limits: { slot: { min: 1, max: 42, unit: '', step: 1 }, temperature: { min: 10, max: 50, unit: '°C', step: 0.1 } },
    features: { uninterruptible: true, climate: true },
    ends_early: [],
  })
  const hotel = driver.profile(v.parse(settings, { measures: [], racks: [{ slots: 5 }] }))
  t.same([hotel.limits, hotel.features], [{ slot: { min: 1, max: 5, unit: '', step: 1 } }, { uninterruptible: true }])
  const { device } = await onSimulator(driver, { measures: ['temperature'] })
  for (const name of ['humidity', 'co2', 'shake', 'end', 'open', 'close', 'scan']) t.equal(device[name as 'humidity'], undefined, name)
})

test('it stores a plate, and fetches it again', async (t) => {
  const b = await bench()
  b.places.put('station')
  await b.run(b.device.store!({ slot: 30 }, calm))
  t.same([b.commands(), b.places.has(30), b.places.has('station')], [['mv:ts 030\r\n'], true, false])
  t.same(await b.run(b.device.whereIsPlate!()), { station: false, handler: false })
  b.written.length = 0
  await b.run(b.device.retrieve!({ slot: 30 }, calm))
  t.same([b.commands(), b.places.has(30), b.places.has('station')], [['mv:st 030\r\n'], false, true])
  t.same(await b.run(b.device.whereIsPlate!()), { station: true, handler: false })
})

test('a model has its own form of words', async (t) => {
  const b = await bench({ model: 'Cytomat 2 C425' })
  b.places.put(22)
  await b.run(b.device.retrieve!({ slot: 22 }, calm))
  t.same(b.commands(), ['mv:st 01 00\r'])
  const two = await bench({ model: 'Cytomat 2' })
  two.places.put(22)
  await two.run(two.device.retrieve!({ slot: 22 }, calm))
  t.same(two.commands(), ['mv:st 022\r'])
})

test('with its door open it does not move', async (t) => {
  const b = await bench()
  b.places.put('station')
  b.line.setFault('interlock_open')
  for (const name of ['store', 'initialize'] as const)
    await isRefused(t, b, () => b.device[name]!({ slot: 1 }, calm), /its door is open; close/)
})

test('a plate that stays on the handler, and a motion without end, are faults', async (t) => {
  const b = await bench()
  b.places.put('station')
  const storing = begin(b.device.store!({ slot: 7 }, calm))
  await b.clock.advance(5000)
  b.hand.replace(/^bs 0/m, 'bs 1')
  await t.rejects(b.run(storing), {
    code: 'device_failed',
    message: /no plate at the transfer station and a plate on the handler; see where/,
  })
  b.hand.leave()
  const fetching = begin(b.device.retrieve!({ slot: 7 }, calm))
  await b.clock.advance(5000)
  b.hand.replace(/^bs .*/m, 'bs 81')
  await t.rejects(b.run(fetching), {
    code: 'device_failed',
    message: /still moves after 130 s, and its sensors show a plate at the transfer/,
  })
})

/** Answers the next questions and commands that begin with `words` in place of the instrument, `times` times. */
function refuse(b: Storage, words: string, answer: string, times: number): void {
  b.hand.hear((frame) => {
    if (!frame.startsWith(words) || times-- <= 0) return true
    b.clock.after(20, () => b.hand.say(Buffer.from(`${answer}\r`)))
    return false
  })
}

test('a question that it refuses for a moment is asked again, and one that it always refuses is a fault', async (t) => {
  const b = await bench()
  for (const answer of ['er 01', 'er 02']) {
    refuse(b, 'ch:bs', answer, 10)
    t.same(await b.run(b.device.whereIsPlate!()), { station: false, handler: false })
  }
  refuse(b, 'ch:bs', 'er 01', 1000)
  await t.rejects(b.run(b.device.check()), { code: 'device_failed', message: /refused ch:bs and reports refusal 01 \(it is busy\)/ })
})

test('a command that it refuses for a moment is given again, if nothing has moved', async (t) => {
  const b = await bench()
  b.places.put(3)
  refuse(b, 'mv:', 'er 02', 2)
  await b.run(b.device.retrieve!({ slot: 3 }, calm))
  t.equal(b.commands().length, 3)
  b.places.take('station')
  b.places.put(3)
  b.written.length = 0
  refuse(b, 'mv:', 'er 01', 1000)
  await t.rejects(b.run(b.device.retrieve!({ slot: 3 }, calm)), { code: 'interlock', message: /refusal 01 \(it is busy\)\. Wait/ })
  refuse(b, 'mv:', 'er 05', 1)
  await t.rejects(b.run(b.device.retrieve!({ slot: 3 }, calm)), { code: 'invalid', message: /no such slot\)\. Compare the racks/ })
})

test('a command that it refuses and begins all the same is not given again', async (t) => {
  const b = await bench()
  b.places.put(3)
  b.hand.change((bytes, send) =>
    send(
      Buffer.from(
        Buffer.from(bytes)
          .toString()
          .replace(/^ok .*/m, 'er 02'),
      ),
    ),
  )
  await t.rejects(b.run(b.device.retrieve!({ slot: 3 }, calm)), {
    code: 'device_failed',
    message: /refused mv:st 003 and moves all the same/,
  })
  t.same(b.commands(), ['mv:st 003\r\n'])
})

test('its climate is read and set, and not switched off', async (t) => {
  const b = await bench()
  t.match(await b.run(b.device.get_temperature!()), { target: 37 })
  t.same(await b.run(b.device.humidity!()), { humidity: 93.4, target: 95 })
  t.same(await b.run(b.device.co2!()), { co2: 4.9, target: 5 })
  b.written.length = 0
  await b.run(b.device.set_temperature!({ temperature: 30.5 }, calm))
  t.same(b.commands(), ['ll:it 30.5\r\n'])
  t.match(await b.run(b.device.get_temperature!()), { target: 30.5 })
  await isRefused(t, b, () => b.device.set_temperature!({ temperature: null }, calm), /cannot switch that off/, 'invalid')
  b.hand.replace(/^it \+30.5/m, 'it +25.0')
  await t.rejects(b.run(b.device.set_temperature!({ temperature: 30.5 }, calm)), { message: /set point is 25 °C and not 30.5 °C/ })
})

test('its shakers take the speed, shake for the time, and stop', async (t) => {
  const b = await bench({ model: 'Cytomat 2 C450 Shake' })
  const began = b.clock.now()
  await b.run(b.device.shake!({ speed: 400, duration: 60 }, calm))
  t.same(b.commands(), ['se:pb 20 0400\r\n', 'se:pb 21 0400\r\n', 'll:va\r\n', 'll:vd\r\n'])
  t.ok(b.clock.now() - began >= 60_000)
  t.notOk(b.line.simulator.world.moving)
  b.hand.replace(/^pb 0400/m, 'pb 0300')
  await t.rejects(b.run(b.device.shake!({ speed: 400, duration: 60 }, calm)), { message: /shaker 1 took 300 rpm and not 400 rpm/ })
})

test('it tells what it is, and that it has restarted', async (t) => {
  const b = await bench()
  t.same(await b.run(b.device.identify()), { model: 'Cytomat', serial_number: null, firmware_version: null })
  b.hand.restart()
  for (const time of ['first', 'second']) await t.rejects(b.run(b.device.check()), { code: 'device_failed', message: /restarted/ }, time)
  await b.run(b.device.initialize({}, calm))
  await t.resolves(b.run(b.device.check()))
})

test('one that never shows that it is ready has not restarted', async (t) => {
  const { driver: same, hand } = tampered(driver)
  const b = await onSimulator(same)
  hand.replace(/^bs (.)2/m, 'bs $10')
  await b.run(b.device.initialize({}, calm))
  await t.resolves(b.run(b.device.check()))
})
