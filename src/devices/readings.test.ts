// Readings in the background: how often, for how long they are kept, and that they latch nothing and come before nothing.

import { test } from 'tap'
import * as v from 'valibot'
import { driver as bioshake } from '../../drivers/bioshake/driver.ts'
import { driver as ika } from '../../drivers/ika_shaker/driver.ts'
import { type Hand, tampered } from '../conformance/tampered.ts'
import { LabError } from '../errors.ts'
import { oneDevice } from '../testing/devices.ts'
import { Operations, ownOperations } from './description.ts'
import { mostReadings, Readings } from './readings.ts'

const hour_ms = 3_600_000

/** A shaker that is initialized, and the readings of it. */
async function bench(t: Parameters<typeof oneDevice>[0], driver = bioshake) {
  const one = await oneDevice(t, driver)
  const { clock, registry, start, perform } = one
  await start()
  await perform('initialize', {})
  const wall = clock.now()
  const readings = new Readings({ devices: () => registry.all(), clock, now: () => 1_000_000_000_000 + clock.now() - wall })
  t.teardown(() => readings.close())
  return { ...one, readings }
}

/** Its answers to any other question arrive. */
function withoutTemperatures(hand: Hand): void {
  hand.change((bytes, send) => {
    if (!/^\d+\.\d\s*$/.test(Buffer.from(bytes).toString('latin1'))) send(bytes)
  })
}

test('a device is asked every 10 s, and every 2 s while somebody watches', async (t) => {
  const { clock, readings } = await bench(t)
  await clock.advance(60_500)
  t.equal(readings.between('d').length, 6)
  const [unwatch, unwatchToo] = [readings.watch(), readings.watch()]
  await clock.advance(20_000)
  t.equal(readings.between('d').length, 16)
  unwatch()
  unwatch()
  await clock.advance(20_000)
  t.equal(readings.between('d').length, 26, 'somebody else still watches')
  unwatchToo()
  await clock.advance(20_000)
  t.equal(readings.between('d').length, 28)
  const [, second, third] = readings.between('d')
  t.match(second, { temperature: Number, target: null })
  t.equal(readings.between('d', { since: second!.at }).length, 27, 'since is inclusive')
  t.same(readings.between('d', { since: second!.at })[1], third)
  t.same(readings.newest(), [['d', readings.between('d').at(-1)]])
  t.same(readings.between('nobody'), [])
})

test('a wanted reading comes within 2 s, and its listeners get each answer once', async (t) => {
  const { clock, readings } = await bench(t)
  const heard: unknown[] = []
  const leave = readings.listen((device_id, noted) => heard.push([device_id, noted?.reading.temperature]))
  await clock.advance(10_500)
  const temperature = readings.newestOf('d')!.reading.temperature
  t.same(heard, [['d', temperature]])
  readings.want('d')
  readings.want('d')
  readings.want('nobody')
  await clock.advance(2500)
  t.equal(heard.length, 2, 'one question, though two wanted it')
  await clock.advance(6000)
  t.equal(heard.length, 2, 'the next question is 10 s after it')
  leave()
  await clock.advance(20_000)
  t.equal(heard.length, 2)
  await clock.advance(10_000)
  t.ok(readings.newestOf('d'))
  readings.close()
  await clock.advance(11_000)
  t.equal(readings.newestOf('d'), undefined, 'it is too old')
})

test('one hour is kept, and no more than its most', async (t) => {
  const { clock, readings } = await bench(t)
  readings.watch()
  await clock.advance(hour_ms + 60_000)
  const kept = readings.between('d')
  t.ok(kept.length <= mostReadings && kept.length >= mostReadings - 2, `${kept.length} are kept`)
  t.ok(kept.at(-1)!.at - kept[0]!.at <= 3600)
})

test('readings are forgotten after an hour, also those of a device that tells no more', async (t) => {
  const { driver, hand } = tampered(bioshake)
  const { clock, readings } = await bench(t, driver)
  await clock.advance(20_500)
  t.equal(readings.newest().length, 1)
  hand.cut()
  await clock.advance(hour_ms)
  t.same(readings.newest(), [])
  t.same(readings.between('d'), [])
})

test('an instrument that does not answer a reading has no fault from that', async (t) => {
  const { driver, hand } = tampered(bioshake)
  const { clock, instrument, readings } = await bench(t, driver)
  withoutTemperatures(hand)
  readings.watch()
  await clock.advance(30_000)
  t.same(readings.between('d'), [])
  t.match(instrument.info(), { state: 'ready', fault: null })
  hand.leave()
  await clock.advance(10_000)
  t.ok(readings.between('d').length > 0, 'it is asked again')
})

test('an instrument that watches its host is asked nothing after a stop and after a fault', async (t) => {
  const { driver, hand } = tampered(ika)
  const { clock, instrument, readings, written, perform, registry } = await bench(t, driver as never)
  const asked = () => written.filter((line) => /^IN_PV_[12]\b/.test(line)).length
  readings.watch()
  const before = asked()
  await clock.advance(10_000)
  t.ok(asked() > before, 'it is asked while it is well')
  await clock.run(registry.halt('d'))
  const stopped = written.length
  await clock.advance(20_000)
  t.notOk(
    written.slice(stopped).some((line) => line.startsWith('OUT_WD')),
    'its watchdog is not fed',
  )
  const kept = readings.between('d').length
  await clock.advance(20_000)
  t.equal(readings.between('d').length, kept)
  await perform('initialize', {})
  hand.cut()
  while (!instrument.info().fault) await clock.advance(500)
  hand.leave()
  await clock.advance(5000)
  const faulted = written.length
  await clock.advance(60_000)
  t.same(written.slice(faulted), [], 'not one byte while the fault stands')
})

test('a stopped, a faulted and a cleared device still tells its temperature, and nothing is cleared by that', async (t) => {
  const { driver, hand } = tampered(bioshake)
  const { clock, instrument, readings, registry } = await bench(t, driver)
  const newer = async () => {
    const before = readings.between('d').length
    await clock.advance(25_000)
    return readings.between('d').length > before
  }
  t.ok(await newer())
  await clock.run(registry.halt('d'))
  t.equal(instrument.state, 'stopped')
  const { stopped } = instrument.info()
  t.ok(await newer(), 'it tells how hot it is while it is stopped')
  t.match(instrument.info(), { state: 'stopped', stopped, is_initialized: false })
  await clock.run(instrument.perform('initialize', {}))
  hand.change(() => {})
  while (!instrument.info().fault) await clock.advance(500)
  const { fault } = instrument.info()
  t.notOk(await newer(), 'it does not answer')
  hand.leave()
  t.ok(await newer(), 'it answers again, and has its fault still')
  t.match(instrument.info(), { state: 'faulted', fault })
  instrument.clearFault()
  t.equal(instrument.state, 'not_initialized')
  t.ok(await newer())
})

test('a halt that is repeated is not followed by a question before it is acknowledged', async (t) => {
  const { driver, hand } = tampered(bioshake)
  const { clock, instrument, readings, registry, written } = await bench(t, driver)
  readings.watch()
  hand.change(() => {})
  await clock.run(registry.halt('d').catch(() => {}))
  const asked = () => written.filter((line) => line === 'getTempActual').length
  const before = asked()
  await clock.advance(60_000)
  t.equal(asked(), before)
  hand.leave()
  await clock.advance(30_000)
  t.equal(instrument.state, 'stopped')
  t.ok(asked() > before, 'it is asked once it has acknowledged its halt')
})

test('a day is kept, of the last hour all and of the rest one each 10 s, and given as thin as is wished', async (t) => {
  const { clock, readings } = await bench(t)
  const unwatch = readings.watch()
  await clock.advance(2 * hour_ms)
  unwatch()
  const now = readings.between('d').at(-1)!.at
  const span = (from_s: number, until_s: number) => readings.between('d', { since: now - from_s, until: now - until_s, most: 20_000 })
  t.ok(Math.abs(span(3600, 0).length - 1800) <= 3, 'the last hour is whole')
  const older = span(7200, 3600)
  t.ok(Math.abs(older.length - 360) <= 3, `${older.length} of the hour before`)
  t.ok(older.every(({ at }, i) => i === 0 || at - older[i - 1]!.at > 9))
  const all = readings.between('d', { since: 0, most: 20_000 })
  t.ok(
    all.every(({ at }, i) => i === 0 || at > all[i - 1]!.at),
    'in order, and none twice',
  )
  const few = readings.between('d', { since: 0, most: 100 })
  t.ok(few.length <= 100 && few.length > 20)
  t.ok(
    few.every((reading) => all.some(({ at }) => at === reading.at)),
    'none is made up',
  )
  await clock.advance(25 * hour_ms)
  const day = readings.between('d', { since: 0, most: 20_000 })
  t.ok(day.at(-1)!.at - day[0]!.at <= 25 * 3600, 'a block goes when its last reading is a day old')
  t.ok(day.length <= 9360, `${day.length}`)
})

test('a stop goes out in its turn while a reading waits for its answer', async (t) => {
  const { driver, hand } = tampered(bioshake)
  const { clock, instrument, readings, registry, written } = await bench(t, driver)
  withoutTemperatures(hand)
  readings.watch()
  const asked = written.length
  for (let tries = 0; tries < 1000 && !written.slice(asked).includes('getTempActual'); tries++) await clock.advance(10)
  t.equal(written.at(-1), 'getTempActual', 'the reading waits')
  const before = written.length
  const halted = registry.halt('d')
  t.ok(written.length > before, 'its bytes are on the wire before the call returns')
  hand.leave()
  await clock.run(halted)
  t.match(instrument.info(), { state: 'stopped' })
  const after = written.length
  await clock.advance(1000)
  t.notOk(written.slice(after).includes('getTempActual'), 'the question is not repeated after the stop')
})

test('hundreds who ask for a temperature at once disturb nothing that runs', async (t) => {
  const { clock, instrument, perform, written } = await bench(t)
  await perform('lock_plate', {})
  const shaking = instrument.perform('shake', { speed: 500, duration: 10 })
  await clock.advance(1000)
  const before = written.length
  const answers = await clock.run(Promise.all(Array.from({ length: 300 }, () => instrument.questions.ask('get_temperature'))))
  t.match(new Set(answers.map(({ temperature }) => temperature)), new Set([22]))
  t.ok(written.slice(before).filter((frame) => frame === 'getTempActual').length <= 2, 'two questions answer all of them')
  t.match(await clock.run(shaking), { success: true })
  t.match(instrument.info(), { state: 'ready', fault: null })
})

test('a temperature that is asked for while another answer is on its way is no older than its question', async (t) => {
  const { clock, instrument, link } = await bench(t)
  const first = instrument.questions.ask('get_temperature')
  const second = instrument.questions.ask('get_temperature')
  await clock.run(first)
  link.setFault('no_reply')
  await t.rejects(clock.run(second), { code: 'no_reply' })
  t.equal(instrument.state, 'faulted')
})

test('a driver that throws at once when it is asked is as unwell as one that fails later', async (t) => {
  const open: typeof bioshake.open = (at) => {
    const get_temperature = () => {
      if (isGone) throw new LabError('device_failed', 'its sensor is gone')
      return Promise.resolve({ temperature: 22, target: null })
    }
    return Object.assign(bioshake.open(at), { get_temperature })
  }
  let isGone = false
  const { instrument } = await bench(t, { ...bioshake, open })
  isGone = true
  await t.rejects(instrument.questions.ask('get_temperature'), { code: 'device_failed', message: /^d: its sensor is gone/ })
  t.equal(instrument.state, 'faulted')
})

test('a program that describes an operation by the name of a question is not asked that question, and has no fault', async (t) => {
  const open: typeof bioshake.open = (at) => {
    const device = bioshake.open(at)
    const described = { operations: ownOperations({ operations: named('pose') }), readings: {}, isKnown: true }
    return Object.assign(device, {
      described: { ...described, accept: () => false, perform: async () => ({}), read: () => device.get_temperature!() },
    })
  }
  const { instrument } = await bench(t, { ...bioshake, open })
  await t.rejects(instrument.questions.ask('pose'), { code: 'invalid', message: /^d cannot pose: it knows initialize, / })
  t.match(instrument.info(), { state: 'ready', fault: null })
})

function named(name: string) {
  return v.parse(Operations, { [name]: { seconds: 1 } })
}
