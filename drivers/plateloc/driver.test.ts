import { test } from 'tap'
import { type Bench, calm, onSimulator, sealedUntilStop } from '../../src/testing/drivers.ts'
import { driver } from './driver.ts'

const stop = ['AC 00\r', 'ST 0.020\r']

/** The same, but that it is never hot enough, and says so of every cycle. */
const neverHot: typeof driver = {
  ...driver,
  simulate: (at) =>
    driver.simulate({
      ...at,
      send: (bytes) => at.send(Buffer.from(Buffer.from(bytes).toString().replace(/GO.*/, 'GONK(Not at Temperature)'))),
    }),
}

async function bench(): Promise<Bench> {
  const bench = await onSimulator(driver)
  await bench.run(bench.device.initialize({}, calm))
  bench.written.length = 0
  return bench
}

/** Hot enough to seal at 100 °C. */
async function warmBench(): Promise<Bench> {
  const bench = await onSimulator(driver)
  await bench.run(bench.device.initialize({}, calm))
  await bench.run(bench.device.set_temperature!({ temperature: 100 }, calm))
  await bench.clock.advance(300_000)
  bench.written.length = 0
  return bench
}

test('it tells no temperature', async (t) => {
  const { device } = await onSimulator(driver)
  t.notOk(device.get_temperature)
})

test('initialize asks whether a cycle runs, and clears its error', async (t) => {
  const { device, run, written } = await onSimulator(driver)
  t.match(await run(device.initialize({}, calm)), { identity: { model: 'PlateLoc', serial_number: null } })
  t.same(written, ['CC 00\r', 'CC 00\r', 'CL 00\r', 'CC 00\r'])
})

test('on a dead line initialize gives up within five seconds', async (t) => {
  const { device, run, line, clock } = await onSimulator(driver)
  line.setFault('no_reply')
  const began = clock.now()
  await t.rejects(run(device.initialize({}, calm)), { code: 'no_reply', message: /switched on and connected/ })
  t.ok(clock.now() - began < 5000, `${clock.now() - began} ms`)
})

test('seal sets temperature and time, goes, and asks until the cycle is complete', async (t) => {
  const { device, run, written, line } = await warmBench()
  await run(device.seal!({ temperature: 100, duration: 3 }, calm))
  t.same([...new Set(written)], ['ST 0.100\r', 'SS 0.30\r', 'GO 00\r', 'CC 00\r'])
  t.match(line.simulator.world, { seals: 1, moving: false, stage: 'out' })
})

test('a block that is not hot yet is waited for, as far as the instrument says so', async (t) => {
  const { device, run, written, line, clock } = await bench()
  await run(device.seal!({ temperature: 175, duration: 0.5 }, calm))
  t.ok(written.filter((frame) => frame === 'GO 00\r').length > 5)
  t.ok(clock.now() > 60_000)
  t.match(line.simulator.world, { seals: 1, set_point: 175 })
})

test('a block that does not get hot is given up', async (t) => {
  const { device, run, clock } = await onSimulator(neverHot)
  await run(device.initialize({}, calm))
  await t.rejects(run(device.seal!({ temperature: 100, duration: 1 }, calm)), { code: 'device_failed', message: /not at its temperature/ })
  t.ok(clock.now() > 300_000 && clock.now() < 320_000, `${clock.now()}`)
})

test('the stage has had its time when open and close end', async (t) => {
  const { device, run, line, clock, written } = await bench()
  const began = clock.now()
  await run(device.open!({}, calm))
  t.match(line.simulator.world, { stage: 'out', moving: false })
  t.ok(clock.now() - began >= 6000)
  await run(device.close!({}, calm))
  t.match(line.simulator.world, { stage: 'in', moving: false })
  t.same(written, ['SO 00\r', 'CC 00\r', 'SI 00\r', 'CC 00\r'])
})

test('what it refuses is told in its own words', async (t) => {
  const { device, run } = await bench()
  const setting = device.set_temperature!({ temperature: 250 }, calm)
  await t.rejects(run(setting), { code: 'device_failed', message: /Desired Temperature is Out of Range/ })
})

test('a stop writes abort and the coldest set point at once, and the seal that was under way does nothing more', async (t) => {
  const { device, run, line, clock, written } = await warmBench()
  const sealing = device.seal!({ temperature: 100, duration: 10 }, calm)
  await clock.advance(6000)
  t.match(line.simulator.world, { moving: true, pressed: true })
  written.length = 0
  const halted = device.halt()
  t.same(written, stop)
  const began = clock.now()
  await t.rejects(run(sealing), { code: 'stopped' })
  await run(halted)
  t.ok(clock.now() - began < 400, 'soon enough to be confirmed')
  t.match(line.simulator.world, { moving: false, heating: false, seals: 0 })
  await clock.advance(400_000)
  t.same([...new Set(written)], [...stop, 'CC 00\r'])
})

test('a stop is not acknowledged while the stage, which none can stop, is on its way', async (t) => {
  const { device, run, line, clock } = await bench()
  const opening = device.open!({}, calm)
  await clock.advance(500)
  const halted = device.halt()
  await t.rejects(run(opening), { code: 'stopped' })
  t.equal(line.simulator.world.moving, true)
  await run(halted)
  t.equal(line.simulator.world.moving, false)
})

test('a stop that cannot be written is told as not sent', async (t) => {
  const { device, line } = await bench()
  await line.close()
  await t.rejects(device.halt(), { code: 'stop_not_sent' })
})

test('a cycle that is never complete fails, and initialize waits until none can run any more', async (t) => {
  const { device, run, line, clock } = await warmBench()
  line.setFault('jam')
  await t.rejects(run(device.seal!({ temperature: 100, duration: 1 }, calm)), { code: 'device_failed', message: /not finished 30 s/ })
  await t.rejects(run(device.open!({}, calm)), { code: 'device_failed', message: /Stage Jammed/ })
  line.clearFaults()
  const began = clock.now()
  await run(device.initialize({}, calm))
  t.ok(clock.now() - began >= 30_000)
  await run(device.open!({}, calm))
})

test('a command without an answer is not sent again', async (t) => {
  const { device, run, line, written } = await bench()
  line.setFault('half_reply')
  await t.rejects(run(device.open!({}, calm)), { code: 'no_reply' })
  t.same(written, ['SO 00\r'])
})

test('whenever a stop comes, the seal that was under way does nothing after it', async (t) => {
  // After each of the first words, and a few turns of the microtask queue later: there the seal goes from one step to the next.
  for (let words = 1; words <= 8; words++) {
    for (let turns = 0; turns < 10; turns++) t.same(await writtenAfterStop(words, turns), [], `after ${words} words and ${turns} turns`)
  }
})

/** What is written after a stop that comes so many words into a seal, save for the stop itself and questions. */
async function writtenAfterStop(words: number, turns: number): Promise<string[]> {
  const after = await sealedUntilStop(await warmBench(), words, turns)
  return after.filter((frame) => !/^(AC 00|ST 0\.020|CC 00)\r$/.test(frame))
}
