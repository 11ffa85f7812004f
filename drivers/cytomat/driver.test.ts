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

/** Types words at the instrument behind the driver's back. */
function byHand({ line }: Bench, words: string): void {
  line.simulator.receive(Buffer.from(`${words}\r`))
}

function commands({ written }: Bench): string[] {
  return written.filter((frame) => !frame.startsWith('ch:'))
}

async function isRefused(t: Test, b: Storage, operation: () => Promise<unknown>, message: RegExp, code = 'interlock'): Promise<void> {
  b.written.length = 0
  await t.rejects(b.run(operation()), { code, message })
  t.same(commands(b), [], 'nothing but questions is written')
}

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
  t.throws(() => v.parse(settings, { min_temperature: 50, max_temperature: 20 }), /min_temperature has to be less/)
  t.throws(() => v.parse(settings, { min_speed: 500, max_speed: 500 }), /min_speed has to be less/)
})

test('it stores a plate, and fetches it again', async (t) => {
  const b = await bench()
  b.places.put('station')
  await b.run(b.device.store!({ slot: 30 }, calm))
  t.same([commands(b), b.places.has(30), b.places.has('station')], [['mv:ts 030\r\n'], true, false])
  t.same(await b.run(b.device.whereIsPlate!()), { station: false, handler: false })
  b.written.length = 0
  await b.run(b.device.retrieve!({ slot: 30 }, calm))
  t.same([commands(b), b.places.has(30), b.places.has('station')], [['mv:st 030\r\n'], false, true])
  t.same(await b.run(b.device.whereIsPlate!()), { station: true, handler: false })
})

test('a model has its own form of words', async (t) => {
  const b = await bench({ model: 'Cytomat 2 C425' })
  b.places.put(22)
  await b.run(b.device.retrieve!({ slot: 22 }, calm))
  t.same(commands(b), ['mv:st 01 00\r'])
  const two = await bench({ model: 'Cytomat 2' })
  two.places.put(22)
  await two.run(two.device.retrieve!({ slot: 22 }, calm))
  t.same(commands(two), ['mv:st 022\r'])
})

test('it moves no plate onto another one, nor one that is not there', async (t) => {
  const b = await bench()
  const { device, places } = b
  await isRefused(t, b, () => device.store!({ slot: 1 }, calm), /no plate at its transfer station; put the plate there/)
  places.put('station')
  await isRefused(t, b, () => device.retrieve!({ slot: 1 }, calm), /has a plate at its transfer station; remove/)
  for (const slot of [0, 43]) await isRefused(t, b, () => device.store!({ slot }, calm), /no slot/, 'invalid')
  await isRefused(t, b, () => device.store!({}, calm), /no slot/, 'invalid')
  b.line.setFault('interlock_open')
  for (const name of ['store', 'initialize'] as const)
    await isRefused(t, b, () => device[name]!({ slot: 1 }, calm), /its door is open; close/)
  b.line.clearFaults()
  byHand(b, 'mv:ts 001')
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
  t.ok(b.line.simulator.world.moving)
  await b.run(fetching)
  t.notOk(b.line.simulator.world.moving)
})

test('what its sensors show otherwise than it should be is a fault, and where the plate seems to be is told', async (t) => {
  const b = await bench()
  b.places.put('station')
  const storing = begin(b.device.store!({ slot: 7 }, calm))
  await b.clock.advance(5000)
  b.hand.replace(/^bs 0/, 'bs 8')
  await t.rejects(b.run(storing), {
    code: 'device_failed',
    message: /at rest, and its sensors show a plate at the transfer station and no plate on the handler; see where the plate is/,
  })
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

test('one that holds a plate after it has found its positions is not initialized', async (t) => {
  const b = await bench()
  const initializing = begin(b.device.initialize({}, calm))
  await b.clock.advance(5000)
  b.places.put('handler')
  await t.rejects(b.run(initializing), { code: 'device_failed', message: /plate on its handler/ })
})

test('an empty slot and a slot that is taken are errors in words', async (t) => {
  const b = await bench()
  await t.rejects(b.run(b.device.retrieve!({ slot: 3 }, calm)), {
    code: 'device_failed',
    message: /reports error 02 \(no plate came onto the shovel\)\. See whether the slot/,
  })
  await t.rejects(b.run(b.device.check()), { code: 'device_failed', message: /error 02/ })
  b.written.length = 0
  await b.run(b.device.initialize({}, calm))
  t.same(commands(b), ['rs:be\r\n', 'll:in\r\n'])
  await t.resolves(b.run(b.device.check()))
  b.places.put('station')
  b.places.put(3)
  await t.rejects(b.run(b.device.store!({ slot: 3 }, calm)), { code: 'device_failed', message: /error 03 \(the plate did not leave/ })
})

test('with a plate on its handler it neither initializes nor moves, until a person has taken it', async (t) => {
  const b = await bench()
  b.places.put('station')
  b.places.put(3)
  await t.rejects(b.run(b.device.store!({ slot: 3 }, calm)), { code: 'device_failed' })
  t.same(await b.run(b.device.whereIsPlate!()), { station: false, handler: true })
  await isRefused(t, b, () => b.device.initialize({}, calm), /plate on its handler; open its door, take the plate out.*then initialize/)
  b.places.take('handler')
  await b.run(b.device.initialize({}, calm))
  b.places.put('handler')
  b.places.put('station')
  await isRefused(t, b, () => b.device.store!({ slot: 4 }, calm), /plate on its handler/)
})

test('after a loss of power in the middle of a move no plate is lost', async (t) => {
  const b = await bench()
  b.places.put('station')
  const storing = begin(b.device.store!({ slot: 3 }, calm))
  await b.clock.advance(9000)
  t.ok(b.places.has('handler'))
  b.hand.restart()
  b.line.simulator.places!.put('handler')
  await t.rejects(b.run(storing), { code: 'device_failed', message: /restarted by itself.*where its plates are/ })
  t.same(await b.run(b.device.whereIsPlate!()), { station: false, handler: true })
  await isRefused(t, b, () => b.device.initialize({}, calm), /plate on its handler/)
})

test('a halt ends no motion, and is acknowledged when the handler is at rest', async (t) => {
  const b = await bench()
  b.places.put('station')
  const storing = begin(b.device.store!({ slot: 3 }, calm))
  await b.clock.advance(9000)
  b.written.length = 0
  const halting = b.device.halt()
  t.same(b.written, ['ch:bs\r\n'])
  await t.rejects(storing, { code: 'stopped' })
  t.ok(b.line.simulator.world.moving)
  await b.run(halting)
  t.notOk(b.line.simulator.world.moving)
  t.same([b.places.has(3), commands(b)], [true, []])
  t.same(await b.run(b.device.whereIsPlate!()), { station: false, handler: false })
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
  t.equal(commands(b).length, 3)
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
  t.same(commands(b), ['mv:st 003\r\n'])
})

test('its climate is read and set, and not switched off', async (t) => {
  const b = await bench()
  t.match(await b.run(b.device.get_temperature!()), { target: 37 })
  t.same(await b.run(b.device.humidity!()), { humidity: 93.4, target: 95 })
  t.same(await b.run(b.device.co2!()), { co2: 4.9, target: 5 })
  b.written.length = 0
  await b.run(b.device.set_temperature!({ temperature: 30.5 }, calm))
  t.same(commands(b), ['ll:it 30.5\r\n'])
  t.match(await b.run(b.device.get_temperature!()), { target: 30.5 })
  await isRefused(t, b, () => b.device.set_temperature!({ temperature: null }, calm), /cannot switch that off/, 'invalid')
  b.hand.replace(/^it \+30.5/m, 'it +25.0')
  await t.rejects(b.run(b.device.set_temperature!({ temperature: 30.5 }, calm)), { message: /set point is 25 °C and not 30.5 °C/ })
})

test('its shakers take the speed, shake for the time, and stop', async (t) => {
  const b = await bench({ model: 'Cytomat 2 C450 Shake' })
  const began = b.clock.now()
  await b.run(b.device.shake!({ speed: 400, duration: 60 }, calm))
  t.same(commands(b), ['se:pb 20 0400\r\n', 'se:pb 21 0400\r\n', 'll:va\r\n', 'll:vd\r\n'])
  t.ok(b.clock.now() - began >= 60_000)
  t.notOk(b.line.simulator.world.moving)
  b.hand.replace(/^pb 0400/m, 'pb 0300')
  await t.rejects(b.run(b.device.shake!({ speed: 400, duration: 60 }, calm)), { message: /shaker 1 took 300 rpm and not 400 rpm/ })
})

test('a stop of the shakers is on the wire at once', async (t) => {
  const b = await bench({ model: 'Cytomat 2 C450 Shake' })
  const shaking = begin(b.device.shake!({ speed: 400, duration: 600 }, calm))
  await b.clock.advance(10_000)
  t.ok(b.line.simulator.world.moving)
  b.written.length = 0
  const halting = b.device.halt()
  t.same(b.written, ['ll:vd\r\n'])
  await b.run(halting)
  await t.rejects(shaking, { code: 'stopped' })
  t.notOk(b.line.simulator.world.moving)
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
