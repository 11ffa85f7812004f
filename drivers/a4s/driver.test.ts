import { test } from 'tap'
import { tampered } from '../../src/conformance/tampered.ts'
import { sleep } from '../../src/kit/clock.ts'
import { type Bench, calm, onSimulator } from '../../src/testing/drivers.ts'
import { driver } from './driver.ts'

const reset = '*00SR=zz!'
const cool = '*00H0ZZ'

async function bench(): Promise<Bench> {
  const bench = await onSimulator(driver)
  await bench.run(bench.device.initialize({}, calm))
  bench.written.length = 0
  return bench
}

/** A block that is warm already, so that a test need not wait for minutes. */
async function warmBench(temperature = 60): Promise<Bench> {
  const warm = await bench()
  await warm.run(warm.device.set_temperature!({ temperature }, calm))
  await warm.clock.advance(120_000)
  warm.written.length = 0
  return warm
}

test('initialize resets it and waits until it is idle', async (t) => {
  const { device, run, written } = await onSimulator(driver)
  t.same(await run(device.initialize({}, calm)), { identity: { model: 'a4S', serial_number: null, firmware_version: '515A' } })
  t.same(written, [reset])
})

test('it is known by how it speaks, and nothing is written for that', async (t) => {
  const { device, run, written } = await onSimulator(driver)
  t.same(await run(device.identify()), { model: 'a4S', serial_number: null, firmware_version: null })
  await run(device.check())
  t.same(await run(device.get_temperature!()), { temperature: 25, target: null })
  t.same(written, [])
})

test('seal heats, sets the time, goes, and ends when the cycle has ended', async (t) => {
  const { device, run, written, line, clock } = await bench()
  await run(device.seal!({ temperature: 165, duration: 3.5 }, calm))
  t.same(written, ['*00DH=0165zz!', '*00DT=0035zz!', '*00GS=zz!'])
  t.match(line.simulator.world, { seals: 1, moving: false, shuttle: 'open', heating: true })
  t.ok(clock.now() > 200_000 && clock.now() < 300_000, `${clock.now()}`)
  t.same(await run(device.get_temperature!()), { temperature: 165, target: 165 })
})

test('the hottest seal can be made from cold within the time that heating may take', async (t) => {
  const { device, run, line } = await bench()
  await run(device.seal!({ temperature: 200, duration: 0.5 }, calm))
  t.equal(line.simulator.world.seals, 1)
})

test('the target is what was set, as soon as it was set', async (t) => {
  const { device, run } = await bench()
  await run(device.set_temperature!({ temperature: 80 }, calm))
  t.match(await run(device.get_temperature!()), { target: 80 })
})

test('the shuttle has arrived when open and close end', async (t) => {
  const { device, run, line, written } = await bench()
  await run(device.open!({}, calm))
  t.match(line.simulator.world, { shuttle: 'open', moving: false })
  await run(device.close!({}, calm))
  t.match(line.simulator.world, { shuttle: 'closed', moving: false })
  t.same(written, ['*00MO=zz!', '*00MC=zz!'])
})

test('nothing moves or begins anew while it is sealing', async (t) => {
  const { device, clock, run, line, written } = await warmBench()
  const sealing = device.seal!({ temperature: 60, duration: 10 }, calm)
  await clock.advance(6000)
  t.equal(line.simulator.world.moving, true)
  written.length = 0
  await t.rejects(run(device.open!({}, calm)), { code: 'interlock' })
  await t.rejects(run(device.initialize({}, calm)), { code: 'interlock' })
  t.same(written, [])
  await run(sealing)
})

test('a stop writes reset and heater off at once, and the seal that was under way does nothing more', async (t) => {
  const { device, clock, run, line, written } = await bench()
  const sealing = device.seal!({ temperature: 165, duration: 3 }, calm)
  await clock.advance(30_000)
  written.length = 0
  const halted = device.halt()
  t.same(written, [reset, cool])
  await t.rejects(run(sealing), { code: 'stopped' })
  await run(halted)
  t.match(line.simulator.world, { heating: false, moving: false })
  await clock.advance(400_000)
  t.same(written, [reset, cool])
  t.match(await run(device.get_temperature!()), { target: null })
})

test('a stop in the middle of the cycle ends when the shuttle is home', async (t) => {
  const { device, clock, run, line } = await warmBench()
  await run(device.open!({}, calm))
  const sealing = device.seal!({ temperature: 60, duration: 3 }, calm)
  await clock.advance(3000)
  t.match(line.simulator.world, { moving: true, shuttle: 'middle' })
  const halted = device.halt()
  await t.rejects(run(sealing), { code: 'stopped' })
  await run(halted)
  t.match(line.simulator.world, { moving: false, shuttle: 'closed', seals: 0, heating: false })
})

test('a stop is not confirmed by a status that may have been under way already', async (t) => {
  const { device, run, line } = await bench()
  let said = ''
  line.onWire((direction, bytes) => {
    if (direction === 'to_host') said += Buffer.from(bytes).toString('latin1')
  })
  await run(device.halt())
  t.equal(said.match(/\*T/g)?.length, 2)
})

test('whenever a stop comes, the seal that was under way writes nothing after it', async (t) => {
  // At each of the first words, and a few turns of the microtask queue later: there the seal goes from one step to the next.
  for (let words = 1; words <= 3; words++) {
    for (let turns = 0; turns < 10; turns++) t.same(await writtenAfterStop(words, turns), [], `after ${words} words and ${turns} turns`)
  }
})

test('a stop that cannot be written is told as not sent', async (t) => {
  const { device, line } = await bench()
  await line.close()
  await t.rejects(device.halt(), { code: 'stop_not_sent' })
})

test('an operation ends soon when its signal is aborted', async (t) => {
  const { device, clock, run } = await bench()
  const abort = new AbortController()
  const sealing = device.seal!({ temperature: 165, duration: 3 }, abort.signal)
  await clock.advance(10_000)
  abort.abort(new Error('enough'))
  const before = clock.now()
  await t.rejects(run(sealing), { message: 'enough' })
  t.equal(clock.now(), before)
})

test('a jam ends the seal with the code that the instrument tells', async (t) => {
  const { device, run, line } = await warmBench()
  line.setFault('jam')
  await t.rejects(run(device.seal!({ temperature: 60, duration: 3 }, calm)), { code: 'device_failed', message: /error 12/ })
  await t.rejects(run(device.check()), { code: 'device_failed', message: /error 12/ })
  line.clearFaults()
  await run(device.initialize({}, calm))
  await run(device.check())
})

test('a cycle that ends sooner than its time has not sealed', async (t) => {
  const hasty: typeof driver.simulate = (at) => {
    const simulator = driver.simulate(at)
    const receive = simulator.receive.bind(simulator)
    simulator.receive = (bytes) => receive(Buffer.from(Buffer.from(bytes).toString('latin1').replace('DT=0100', 'DT=0005'), 'latin1'))
    return simulator
  }
  const { device, run, clock } = await onSimulator({ ...driver, simulate: hasty })
  await run(device.initialize({}, calm))
  await run(device.set_temperature!({ temperature: 60 }, calm))
  await clock.advance(120_000)
  await t.rejects(run(device.seal!({ temperature: 60, duration: 10 }, calm)), {
    code: 'device_failed',
    message: /should have pressed for 10 s/,
  })
})

test('an open clean door is refused before, and is an error when it is opened', async (t) => {
  const { device, run, line, clock, written } = await warmBench()
  line.setFault('interlock_open')
  await clock.advance(1000)
  await t.rejects(run(device.seal!({ temperature: 60, duration: 3 }, calm)), { code: 'interlock', message: /door/ })
  t.same(written, [])
  await t.rejects(run(device.check()), {
    code: 'device_failed',
    message: /reports error 03 \(clean door open\)\. Close the clean door, then initialize the device\./,
  })
  await t.rejects(run(device.initialize({}, calm)), { code: 'device_failed' })
})

test('a block that gets too hot is switched off, whatever else goes on', async (t) => {
  const { device, clock, run, line, written } = await bench()
  line.setFault('overtemperature')
  await t.rejects(run(device.seal!({ temperature: 100, duration: 3 }, calm)), { code: 'device_failed', message: /set to 100 °C/ })
  await clock.advance(100)
  t.same(written.slice(-2), [reset, cool])
  t.equal(line.simulator.world.heating, false)
})

test('a block that gets too hot while nothing runs is switched off, and the next check tells of it', async (t) => {
  const { device, clock, run, line, written } = await warmBench()
  line.setFault('overtemperature')
  await clock.advance(10_000)
  t.same(written, [reset, cool])
  t.match(line.simulator.world, { heating: false })
  await t.rejects(run(device.check()), { code: 'device_failed', message: /set to 60 °C/ })
  line.clearFaults()
  await run(device.initialize({}, calm))
  await run(device.check())
})

test('after it was switched off nothing begins, though no check has told of it yet', async (t) => {
  const { device, clock, run, line, written } = await warmBench()
  line.setFault('overtemperature')
  await clock.advance(10_000)
  line.clearFaults()
  written.length = 0
  await t.rejects(run(device.seal!({ temperature: 100, duration: 3 }, calm)), { code: 'device_failed', message: /set to 60 °C/ })
  t.same(written, [])
})

test('no words for three seconds while it heats switch the heater off', async (t) => {
  const { device, clock, run, line, written } = await warmBench()
  line.setFault('no_reply')
  await clock.advance(5000)
  t.same(written, [reset, cool])
  t.equal(line.simulator.world.heating, false)
  await t.rejects(run(device.check()), { code: 'no_reply' })
})

test('silence is told by check, and nothing heats or moves on an old reading', async (t) => {
  const { device, clock, run, line, written } = await bench()
  line.setFault('no_reply')
  await clock.advance(4000)
  await t.rejects(run(device.check()), { code: 'no_reply' })
  await t.rejects(run(device.get_temperature!()), { code: 'no_reply' })
  await t.rejects(run(device.seal!({ temperature: 165, duration: 3 }, calm)), { code: 'no_reply' })
  await t.rejects(run(device.set_temperature!({ temperature: 165 }, calm)), { code: 'no_reply' })
  await t.rejects(run(device.open!({}, calm)), { code: 'no_reply' })
  t.same(written, [])
})

test('garbage is no word: it counts as silence', async (t) => {
  const { device, clock, run, line } = await bench()
  line.setFault('garbage')
  await clock.advance(4000)
  await t.rejects(run(device.check()), { code: 'no_reply' })
  line.clearFaults()
  await run(device.initialize({}, calm))
  await run(device.check())
})

test('a command without an answer is not sent again', async (t) => {
  const { device, clock, run, line, written } = await bench()
  await clock.advance(500)
  line.setFault('half_reply')
  await t.rejects(run(device.open!({}, calm)), { code: 'no_reply' })
  t.same(written, ['*00MO=zz!'])
})

test('after answers that came too late it is found again, and does what it is told', async (t) => {
  const { device, clock, run, line } = await bench()
  line.setFault('late_reply')
  await t.rejects(run(device.open!({}, calm)), { code: 'no_reply' })
  line.clearFaults()
  await clock.advance(7000)
  await run(device.initialize({}, calm))
  await run(device.open!({}, calm))
  t.match(line.simulator.world, { shuttle: 'open', moving: false })
  await t.rejects(run(device.set_temperature!({ temperature: 250 }, calm)), { code: 'device_failed', message: /N01/ })
})

test('a line that was lost ends the seal, and nothing goes on after it is back', async (t) => {
  const { device, clock, run, line, written } = await bench()
  const sealing = device.seal!({ temperature: 165, duration: 3 }, calm)
  await clock.advance(20_000)
  line.setFault('unplug')
  await t.rejects(run(sealing), { code: 'disconnected' })
  await clock.advance(10_000)
  line.clearFaults()
  await line.open()
  written.length = 0
  await clock.advance(400_000)
  t.same(written, [])
  t.match(await run(device.identify()), { firmware_version: '515A' })
  await run(device.check())
})

test('a heater that was switched off at the instrument ends the seal', async (t) => {
  const { device, clock, run, line } = await bench()
  const sealing = device.seal!({ temperature: 165, duration: 3 }, calm)
  await clock.advance(20_000)
  line.simulator.receive(Buffer.from(cool))
  await t.rejects(run(sealing), { code: 'device_failed', message: /heater is off: it restarted, or was switched off by hand/ })
  t.match(await run(device.get_temperature!()), { target: null })
})

test('a restart while it is hot and nothing runs is noticed by the heater, and said once', async (t) => {
  const { driver: same, hand } = tampered(driver)
  const { device, clock, run } = await onSimulator(same)
  await run(device.initialize({}, calm))
  await run(device.set_temperature!({ temperature: 60 }, calm))
  await clock.advance(120_000)
  await run(device.check())
  hand.restart()
  await clock.advance(2000)
  const noticed = { code: 'device_failed', message: /set to 60 °C and its heater is off: it restarted.*then initialize$/ }
  await t.rejects(run(device.check()), noticed)
  await run(device.check())
})

test('a block that cools to a lower target is not too hot', async (t) => {
  const { device, clock, run } = await warmBench(100)
  await run(device.set_temperature!({ temperature: 50 }, calm))
  await run(sleep(clock, 900_000))
  await run(device.check())
  t.same(await run(device.get_temperature!()), { temperature: 50, target: 50 })
})

/** What is written after a stop that comes so many words into a seal, save for the stop itself. */
async function writtenAfterStop(words: number, turns: number): Promise<string[]> {
  const { device, clock, line } = await warmBench()
  const after: string[] = []
  let heard = 0
  const halt = async () => {
    for (let turn = 0; turn < turns; turn++) await Promise.resolve()
    await device.halt()
  }
  let halted: Promise<void> | undefined
  line.onWire((direction, bytes) => {
    if (direction === 'to_host' && ++heard === words) halted = halt()
    if (direction === 'to_device' && halted) after.push(Buffer.from(bytes).toString('latin1'))
  })
  const sealing = device.seal!({ temperature: 60, duration: 3 }, calm).catch(() => {})
  await clock.advance(20_000)
  await Promise.all([sealing, halted])
  return after.slice(after.indexOf(reset)).filter((frame) => frame !== reset && frame !== cool)
}

test('what it said before its line was lost is not how it is now', async (t) => {
  const { device, run, line } = await onSimulator(driver)
  await run(device.initialize({}, calm))
  const waiting = t.rejects(device.identify(), { code: 'disconnected' })
  line.setFault('unplug')
  await waiting
  const asks: (() => Promise<unknown>)[] = [() => device.check(), () => device.get_temperature!(), () => device.identify()]
  for (const ask of asks) await t.rejects(ask(), { code: 'disconnected' })
  line.clearFaults()
  await line.open()
  await run(device.check())
})
