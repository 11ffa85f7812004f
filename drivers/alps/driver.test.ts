import { test } from 'tap'
import { tampered } from '../../src/conformance/tampered.ts'
import { type Bench, calm, onSimulator, sealedUntilStop } from '../../src/testing/drivers.ts'
import type { Driver } from '../driver.ts'
import { alps, ultraseal } from './driver.ts'
import { alpsModels, type Settings } from './models.ts'
import { simulate } from './simulator.ts'

async function bench(driver: Driver<Settings>, settings: object = {}): Promise<Bench> {
  const bench = await onSimulator(driver, settings)
  await bench.run(bench.device.initialize({}, calm))
  bench.written.length = 0
  return bench
}

async function warmBench(driver: Driver<Settings>, settings: object = {}): Promise<Bench> {
  const made = await bench(driver, settings)
  await made.run(made.device.set_temperature!({ temperature: 100 }, calm))
  await made.clock.advance(300_000)
  made.written.length = 0
  return made
}

/** The same, but that it puts the question in front of its answer. */
const echoing: Driver<Settings> = {
  ...alps,
  simulate: (at) => simulate({ ...at, settings: { model: alpsModels[at.settings.model as '3000'], echo: true } }),
}

/** The same, but that it has 25 °C whatever it is told. */
const neverWarm: Driver<Settings> = {
  ...alps,
  simulate: (at) =>
    alps.simulate({
      ...at,
      send: (bytes) =>
        at.send(
          Buffer.from(
            Buffer.from(bytes)
              .toString()
              .replace(/^\d{3}\r/, '025\r')
              .replace(/^00\r/, '08\r'),
          ),
        ),
    }),
}

test('it is deaf at first, and is asked until it hears', async (t) => {
  const { device, run, written, clock } = await onSimulator(alps)
  await run(device.check())
  t.ok(clock.now() > 3000 && clock.now() < 6000, `${clock.now()}`)
  t.match(written.join(''), /^(\?\r){4,6}C\r\?\r\?\r$/, 'then the line is found by two questions, and the question asked')
})

test('it is deaf again after its line was lost', async (t) => {
  const { device, run, line, written } = await bench(alps)
  line.setFault('unplug')
  line.clearFaults()
  await line.open()
  await run(device.check())
  t.same(written, ['?\r', 'C\r', '?\r', '?\r'], 'asked whether it hears, looked for, and then asked how it is')
})

test('a model that has no name to tell has no identity', async (t) => {
  const { device, run } = await onSimulator(alps)
  t.same(await run(device.initialize({}, calm)), { identity: null })
  const other = await onSimulator(alps, { model: '5000' })
  t.match(await other.run(other.device.initialize({}, calm)), { identity: { firmware_version: 'SIMULATED' } })
})

test('seal sets temperature and time, waits for the heat, seals, and ends when it is not busy any more', async (t) => {
  const { device, run, written, line, clock } = await bench(alps)
  await run(device.seal!({ temperature: 165, duration: 2.5 }, calm))
  const orders = written.filter((frame) => !['?\r', 'F\r'].includes(frame))
  t.same(orders, ['A165\r', 'B25\r', 'C\r', 'S\r'])
  t.match(line.simulator.world, { seals: 1, moving: false, heating: true })
  t.ok(clock.now() > 60_000)
  t.match(await run(device.get_temperature!()), { target: 165 })
})

test('the question in front of an answer is cut off, where there is one', async (t) => {
  const { device, run, line } = await warmBench(echoing)
  await run(device.seal!({ temperature: 100, duration: 1 }, calm))
  t.equal(line.simulator.world.seals, 1)
  t.match(await run(device.get_temperature!()), { target: 100 })
  await run(device.halt())
})

test('a set point that it kept is the target after initialize', async (t) => {
  const { device, run, line, clock } = await onSimulator(alps)
  await clock.advance(3000)
  line.simulator.receive(Buffer.from('A150\r'))
  t.match(await run(device.get_temperature!()), { target: null })
  await run(device.initialize({}, calm))
  t.match(await run(device.get_temperature!()), { target: 150 })
})

test('only models with a shuttle open and close', async (t) => {
  const { device } = await onSimulator(alps)
  t.notOk(device.open || device.close)
  for (const [driver, model, commands] of [
    [alps, '5000', ['SO\r', 'SI\r']],
    [ultraseal, 'XT Pro', ['U\r', 'P\r']],
  ] as const) {
    const { device, run, line, written } = await bench(driver, { model })
    await run(device.close!({}, calm))
    t.match(line.simulator.world, { shuttle: 'in', moving: false })
    written.length = 0
    await run(device.open!({}, calm))
    t.match(line.simulator.world, { shuttle: 'out', moving: false })
    await run(device.close!({}, calm))
    t.same(
      written.filter((frame) => frame !== '?\r'),
      commands,
    )
  }
})

test('each model has its own range', (t) => {
  t.match(alps.profile({ model: '3000' }), { model: 'ALPS 3000', limits: { temperature: { min: 5, max: 199 } } })
  t.match(ultraseal.profile({ model: 'PRO' }), { model: 'Ultraseal PRO', limits: { temperature: { min: 25, max: 200 } } })
  t.end()
})

test('an error is told by its number and what that means', async (t) => {
  const { device, run, line } = await warmBench(alps)
  line.setFault('jam')
  await t.rejects(run(device.seal!({ temperature: 100, duration: 1 }, calm)), {
    code: 'device_failed',
    message: /error 1 \(press did not go down\)/,
  })
  await t.rejects(run(device.check()), { code: 'device_failed', message: /error 1/ })
  await t.rejects(run(device.initialize({}, calm)), { code: 'device_failed', message: /error 1/ })
})

test('an error whose number is 0 has no cause that is known', async (t) => {
  const { driver, hand } = tampered(alps)
  const { device, run, written } = await onSimulator(driver)
  await run(device.initialize({}, calm))
  hand.change((bytes, send) => send(written.at(-1) === '?\r' ? Buffer.from('02\r') : bytes))
  await t.rejects(run(device.check()), {
    code: 'device_failed',
    message: 'it reports error 0 (it names no cause). Read the display of the sealer and remove the cause, then initialize the device.',
  })
})

test('an error of a model with a reset is cleared by initialize', async (t) => {
  const { device, run, line, written } = await bench(alps, { model: '5000' })
  line.setFault('jam')
  await t.rejects(run(device.close!({}, calm)), {
    code: 'device_failed',
    message: /error 3 \(shuttle jammed\)\. Remove the plate and whatever blocks the shuttle, then/,
  })
  line.clearFaults()
  written.length = 0
  await run(device.initialize({}, calm))
  t.equal(written.filter((frame) => frame === 'I\r').length, 1)
  await run(device.check())
})

test('what says that it is not initialized, though it was, does not count as initialized', async (t) => {
  const { driver: same, hand } = tampered(alps)
  const { device, run } = await onSimulator(same, { model: '5000' })
  hand.change((bytes, send) => send(/^00\r$/.test(Buffer.from(bytes).toString()) ? Buffer.from('20\r') : bytes))
  await t.rejects(run(device.initialize({}, calm)), { code: 'device_failed', message: /was initialized and says that it is not/ })
  hand.leave()
  await run(device.initialize({}, calm))
})

test('an open door is refused before anything is done', async (t) => {
  const { device, run, line, written } = await bench(alps, { model: '300' })
  line.setFault('interlock_open')
  await t.rejects(run(device.seal!({ temperature: 100, duration: 1 }, calm)), { code: 'interlock', message: /door/ })
  t.same(written, ['?\r'])
})

test('a heater that runs away while nothing runs is set cold, and the check says so', async (t) => {
  const { device, run, line, written } = await warmBench(alps)
  line.setFault('overtemperature')
  await t.rejects(run(device.check()), { code: 'device_failed', message: /240 °C, hotter than it may ever be/ })
  t.equal(written.at(-1), 'A005\r')
  t.equal(line.simulator.world.heating, false)
})

test('a heater that does not get warm ends the seal', async (t) => {
  const { device, run, clock } = await bench(neverWarm)
  const began = clock.now()
  await t.rejects(run(device.seal!({ temperature: 165, duration: 1 }, calm)), {
    code: 'device_failed',
    message: /does not get warm: 25 °C/,
  })
  t.ok(clock.now() - began < 80_000, `${clock.now() - began}`)
})

test('a set point that was changed at the instrument ends the seal', async (t) => {
  const { device, run, line, clock, written } = await bench(alps)
  const sealing = device.seal!({ temperature: 165, duration: 1 }, calm)
  await clock.advance(3000)
  line.simulator.receive(Buffer.from('A030\r'))
  await t.rejects(run(sealing), { code: 'device_failed', message: /set to 30 °C, not to 165 °C/ })
  t.notOk(written.includes('S\r'))
})

test('a stop sets it cold at once, and is true when the press, which none can stop, is up', async (t) => {
  const { device, run, line, clock, written } = await warmBench(alps)
  const sealing = device.seal!({ temperature: 100, duration: 9 }, calm)
  await clock.advance(8000)
  t.match(line.simulator.world, { pressed: true })
  written.length = 0
  const halted = device.halt()
  t.same(written, ['A005\r'])
  await t.rejects(run(sealing), { code: 'stopped' })
  await run(halted)
  t.match(line.simulator.world, { moving: false, heating: false, seals: 1 })
  t.match(await run(device.get_temperature!()), { target: null })
})

test('a stop of an XT Pro resets it first, and that ends the press', async (t) => {
  const { device, run, line, clock, written } = await warmBench(ultraseal, { model: 'XT Pro' })
  const sealing = device.seal!({ temperature: 100, duration: 9 }, calm)
  await clock.advance(10_000)
  t.match(line.simulator.world, { pressed: true })
  written.length = 0
  const halted = device.halt()
  t.same(written, ['R\r', 'A025\r'])
  await t.rejects(run(sealing), { code: 'stopped' })
  await run(halted)
  t.match(line.simulator.world, { moving: false, heating: false, seals: 0 })
})

test('a stop while it is deaf is sent again when it hears', async (t) => {
  const { device, run, written, clock, line } = await onSimulator(alps)
  const halted = device.halt()
  t.same(written, ['A005\r'])
  await run(halted)
  t.ok(clock.now() > 3000)
  t.equal(written.filter((frame) => frame === 'A005\r').length, 2)
  t.equal(line.simulator.world.heating, false)
})

test('capabilities say which of them no stop can interrupt', (t) => {
  t.match(alps.profile({ model: '3000' }).features, { uninterruptible: true, door: false })
  t.match(ultraseal.profile({ model: 'XT Pro' }).features, { uninterruptible: false, door: true })
  t.end()
})

test('whenever a stop comes, the seal that was under way does nothing after it', async (t) => {
  // After each of the first words, and a few turns of the microtask queue later: there the seal goes from one step to the next.
  for (let words = 1; words <= 8; words++) {
    for (let turns = 0; turns < 10; turns++) t.same(await writtenAfterStop(words, turns), [], `after ${words} words and ${turns} turns`)
  }
})

/** What is written after a stop that comes so many words into a seal, save for the stop itself and questions. */
async function writtenAfterStop(words: number, turns: number): Promise<string[]> {
  const bench = await warmBench(alps)
  const after = await sealedUntilStop(bench, words, turns)
  if ((await bench.run(bench.device.get_temperature!())).target !== null) after.push('it is believed to heat')
  return after.filter((frame) => !/^([?CFE]|A005)\r$/.test(frame))
}

test('a sealer that is late by one answer for good gives no temperature: the set point is none', async (t) => {
  const { driver: same, hand } = tampered(alps)
  const { device, run } = await onSimulator(same)
  await run(device.initialize({}, calm))
  let before: Uint8Array | undefined
  hand.change((bytes, send) => {
    if (before) send(before)
    before = Uint8Array.from(bytes)
  })
  await t.rejects(run(device.get_temperature!()), { code: 'no_reply' })
  await t.rejects(run(device.get_temperature!()), { code: 'no_reply' })
  hand.leave()
  t.match(await run(device.get_temperature!()), { temperature: 22 })
})

test('a sealer that takes most of a second for each answer is found again after it was silent once', async (t) => {
  const { driver: same, hand } = tampered(alps)
  const { device, run, clock } = await onSimulator(same)
  await run(device.initialize({}, calm))
  hand.change(() => {})
  await t.rejects(run(device.get_temperature!()), { code: 'no_reply' })
  hand.change((bytes, send) => {
    const late = Uint8Array.from(bytes)
    clock.after(700, () => send(late))
  })
  t.match(await run(device.get_temperature!()), { temperature: 22 })
})
