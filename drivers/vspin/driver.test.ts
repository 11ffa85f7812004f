import { test } from 'tap'
import * as v from 'valibot'
import { tampered } from '../../src/conformance/tampered.ts'
import type { Device } from '../../src/devices/device.ts'
import { LabError } from '../../src/errors.ts'
import { type Bench, calm, onSimulator } from '../../src/testing/drivers.ts'
import { driver } from './driver.ts'

const someRun = { g: 500, duration: 60 }

async function ready(settings: unknown = {}): Promise<Bench> {
  const bench = await onSimulator(driver, settings)
  await bench.run(bench.device.initialize({}, calm))
  return bench
}

/** Frames as hexadecimal text, one for several that are the same. */
function frames({ written }: Bench): string[] {
  const hex = written.map((frame) => Buffer.from(frame, 'latin1').toString('hex'))
  return hex.filter((frame, i) => frame !== hex[i - 1])
}

function world({ line }: Bench) {
  return line.simulator.world
}

/** Lets time go by until it is as wanted, for ten minutes at most; answers the seconds it took. */
async function until(bench: Bench, wanted: () => boolean, look_ms = 500): Promise<number> {
  const from = bench.clock.now()
  while (!wanted()) {
    if (bench.clock.now() - from > 600_000) throw new Error('it did not happen within ten minutes')
    await bench.clock.advance(look_ms)
  }
  return (bench.clock.now() - from) / 1000
}

function untilFast(bench: Bench, rpm: number): Promise<number> {
  return until(bench, () => (world(bench).rpm as number) >= rpm)
}

function untilAtRest(bench: Bench): Promise<number> {
  return until(bench, () => !world(bench).moving)
}

/** As a new process finds the instrument that an old one left. */
async function anotherProcess(bench: Bench, old: Promise<unknown>): Promise<Device> {
  await bench.line.close()
  await bench.run(old.catch(() => undefined))
  await bench.line.open()
  return driver.open({ line: bench.line, clock: bench.clock, settings: v.parse(driver.settings, {}) })
}

test('a cold start goes frame by frame as it is known from the wire', async (t) => {
  const bench = await ready()
  const seen = frames(bench)

  const sweep = Array.from({ length: 33 }, (_, a) => `aa${byte(a)}0e${byte(a + 14)}${'00'.repeat(8)}`)
  const addresses = ['aa002101ff21', 'aa01132034', 'aa002102ff22', 'aa02132035', 'aa002103ff23', 'aaff1a142d']
  // The line is found again after the third module's silence, before the first word at the new speed.
  const atRunningSpeed = ['aa01132034', 'aa01121f32', 'aa010e0f']
  const directions = ['aa0220ff0f30', 'aa0220df0f10', 'aa0220df0e0f', 'aa0220df0c0d', 'aa0220df0809', 'aa0226000028', 'aa02120317']
  const pulses = Array(5).fill(['aa0226200048', 'aa0226000028']).flat()
  const start = ['aa01121f32', 'aaff0f0e', '00'.repeat(20), ...sweep, 'aaff0f0e', ...addresses, ...atRunningSpeed, ...directions, ...pulses]
  t.same(seen.slice(0, start.length), start)

  const home = ['aa0117021a', 'aa01e6c800b00496000f004b00a00f050007', 'aa0117041c', 'aa01170119', 'aa010b0c']
  home.push('aa010001', 'aa01e605006400000000003200e80301006e', 'aa010e0f', 'aa0194b61283000012010000f3', 'aa01192842')
  const from = seen.indexOf('aa0117021a')
  t.same(seen.slice(from, from + home.length), home)
})

test('directions are set eight times before the outputs are', async (t) => {
  const { written } = await ready()
  t.equal(written.filter((frame) => Buffer.from(frame, 'latin1').toString('hex') === 'aa0220ff0f30').length, 8)
})

test('after initialize the rotor is at rest with bucket 1 at the closed door, and it has told what it can', async (t) => {
  const bench = await onSimulator(driver)
  t.equal(await bench.device.identify(), null)
  const { identity } = await bench.run(bench.device.initialize({}, calm))

  t.same(identity, { model: null, serial_number: null, firmware_version: 'type 0 version 10, type 2 version 1' })
  t.match(world(bench), { moving: false, door: 'closed', door_locked: true, bucket_locked: false, bucket: 1, baud: 57600 })
  t.ok(bench.clock.now() < 60_000, `${bench.clock.now()} ms`)
  await bench.run(bench.device.check())
})

test('a setting puts the other bucket at the door', async (t) => {
  t.equal(world(await ready({ bucket: 2 })).bucket, 2)
})

test('a cold start begins anew when the first address was answered so late that both modules took it', async (t) => {
  for (const late_ms of [250, 700]) {
    const { driver: same, hand } = tampered(driver)
    const bench = await onSimulator(same)
    hand.change((bytes, send) => (bytes.length === 2 ? bench.clock.after(late_ms, () => send(bytes)) : send(bytes)))
    await t.resolves(bench.run(bench.device.initialize({}, calm)))
    const resets = bench.written.filter((frame) => frame === '\xaa\xff\x0f\x0e').length
    t.equal(resets, late_ms > 2 * 200 ? 6 : 4, 'two resets for each start')
  }
  const { driver: same, hand } = tampered(driver)
  const bench = await onSimulator(same)
  hand.change((bytes, send) => bench.clock.after(900, () => send(bytes)))
  await t.rejects(bench.run(bench.device.initialize({}, calm)), { code: 'no_reply' })
})

test('a cold instrument is not ill because it is silent', async (t) => {
  const bench = await onSimulator(driver)
  await bench.run(bench.device.check())
  t.same(bench.written, [])
})

test('open holds the bucket and opens, close closes', async (t) => {
  const bench = await ready()
  await bench.run(bench.device.open!({}, calm))
  t.match(world(bench), { door: 'open', door_locked: false, bucket_locked: true, bucket: 1 })
  await bench.run(bench.device.open!({}, calm))

  await bench.run(bench.device.close!({}, calm))
  t.match(world(bench), { door: 'closed', bucket_locked: true })
})

test('500 ×g for 60 s take as long as the rotor needs to get there and back', async (t) => {
  const bench = await ready()
  await bench.run(bench.device.open!({}, calm))
  await bench.run(bench.device.close!({}, calm))
  const began = bench.clock.now()
  const spinning = bench.device.centrifuge!(someRun, calm)
  const isFast = () => (world(bench).rpm as number) > 2114 * 0.95
  await until(bench, isFast)
  const atSpeed_s = await until(bench, () => !isFast(), 250)
  await bench.run(spinning)

  const took_s = (bench.clock.now() - began) / 1000
  // 2115 rpm at 0.8 × 97 rpm/s: 27 s each way.
  t.ok(took_s > 60 + 2 * 27 && took_s < 60 + 2 * 27 + 40, `${took_s} s`)
  t.ok(atSpeed_s >= 60 && atSpeed_s < 65, `${atSpeed_s} s`)
  t.match(world(bench), { moving: false, door: 'closed', door_locked: true, bucket: 1 })
})

test('a spin goes frame by frame as it is known from the wire', async (t) => {
  const bench = await ready()
  bench.written.length = 0
  await bench.run(bench.device.centrifuge!({ g: 500, duration: 60 }, calm))
  const orders = frames(bench).filter((frame) => frame !== 'aa010e0f' && frame !== 'aa020e10')

  const enable = ['aa0117021a', 'aa01e6c800b00496000f004b00a00f050007', 'aa0117041c', 'aa01170119', 'aa010b0c']
  const gains = 'aa01e60500640000000000fd00803e01000c'
  t.same(orders.slice(0, 9), ['aa0226000028', 'aa0226200048', 'aa0226000028', ...enable, gains])
  // 2114.8 rpm and 0.8 of the fastest; ahead by 27.3 s of speeding up, 60 s, and 20 s to spare.
  t.match(orders[9], /^aa01d497.{8}5e5e9000dc020000..$/)
  t.ok(Math.abs(Buffer.from(orders[9]!, 'hex').readUInt32LE(4) - (281_973 * (27.3 + 60 + 20) + 10_000)) < 30_000)
  t.same(orders.slice(10, 12), [gains, 'aa0194b600000000dc02000029'])
  t.same(orders.slice(12, 19), [...enable, 'aa010001', 'aa01e605006400000000003200e80301006e'], 'home again')
})

test('a spin is loaded with a final position at which it ends if nobody slows it down', async (t) => {
  const bench = await ready()
  const spinning = bench.device.centrifuge!({ g: 500, duration: 30 }, calm)
  await untilFast(bench, 1900)
  await anotherProcess(bench, spinning)
  const rest_s = await untilAtRest(bench)
  t.ok(rest_s > 30 + 20 && rest_s < 90, `${rest_s} s`)
})

test('it does not spin with the door open, and nothing is closed unasked', async (t) => {
  const bench = await ready()
  await bench.run(bench.device.open!({}, calm))
  bench.written.length = 0
  await t.rejects(bench.run(bench.device.centrifuge!(someRun, calm)), { code: 'interlock' })

  t.match(world(bench), { door: 'open', moving: false })
  t.same([...new Set(frames(bench))], ['aa010e0f', 'aa020e10'])
  await bench.run(bench.device.close!({}, calm))
  await bench.run(bench.device.centrifuge!({ g: 1, duration: 1 }, calm))
})

test('what its count of positions or the time allowed cannot hold is invalid, and nothing moves', async (t) => {
  const bench = await ready()
  await t.rejects(bench.run(bench.device.centrifuge!({ g: 1000, duration: 10_800 }, calm)), {
    code: 'invalid',
    message: /no further than 10\d{3} s/,
  })
  await t.rejects(bench.run(bench.device.centrifuge!({ g: 1100, duration: 1 }, calm)), { code: 'invalid', message: /rpm/ })
  const lazy = await ready({ acceleration: 0.05 })
  await t.rejects(lazy.run(lazy.device.centrifuge!({ g: 1000, duration: 1 }, calm)), { code: 'invalid', message: /acceleration/ })
  t.equal(world(bench).moving, false)
  t.equal(world(lazy).moving, false)
})

test('a stop slows the rotor down by one frame and is confirmed while it still turns', async (t) => {
  const bench = await ready()
  const spinning = bench.device.centrifuge!(someRun, calm)
  const outcome = t.rejects(spinning, { code: 'stopped' })
  await untilFast(bench, 2000)
  bench.written.length = 0
  const began = bench.clock.now()
  const halting = bench.device.halt()
  t.same(frames(bench), ['aa0194b60000000093030000e1'], 'written when the call returns')
  await bench.run(halting)
  t.ok(bench.clock.now() - began < 400, `${bench.clock.now() - began} ms`)
  await outcome
  t.ok((world(bench).rpm as number) > 1900)

  const rest_s = await untilAtRest(bench)
  t.ok(rest_s > 15 && rest_s < 40, `${rest_s} s`)
  t.notOk(
    frames(bench).some((frame) => frame.startsWith('aa0117')),
    'no abrupt stop',
  )
})

test('a stop twice is confirmed twice, at rest too', async (t) => {
  const bench = await ready()
  await bench.run(Promise.all([bench.device.halt(), bench.device.halt()]))
  await t.rejects(bench.run(bench.device.centrifuge!(someRun, calm)), { code: 'not_initialized' })
})

test('a stop also stops the initialize that waits for the stop before it', async (t) => {
  for (const make of [ready, () => onSimulator(driver)]) {
    const bench = await make()
    const first = bench.device.halt()
    const outcome = t.rejects(bench.device.initialize({}, calm), { code: 'stopped' })
    await bench.clock.advance(20)
    await bench.run(Promise.all([first, bench.device.halt(), outcome]))
    bench.written.length = 0
    await bench.clock.advance(20_000)
    t.same(bench.written, [])
    t.equal(world(bench).moving, false)
  }
})

test('a stop is confirmed by an instrument that is cold, and in any moment of a cold start', async (t) => {
  const cold = await onSimulator(driver)
  await cold.run(cold.device.halt())
  t.ok(cold.clock.now() < 400, `${cold.clock.now()} ms`)

  for (let ms = 200; ms < 15_000; ms += 937) {
    const bench = await onSimulator(driver)
    const outcome = t.rejects(bench.device.initialize({}, calm), { code: 'stopped' }, `after ${ms} ms`)
    await bench.clock.advance(ms)
    await bench.run(bench.device.halt())
    await outcome
    await untilAtRest(bench)
    await bench.run(bench.device.initialize({}, calm))
    t.equal(world(bench).bucket, 1)
  }
})

test('while it slows down it is neither initialized nor opened', async (t) => {
  const bench = await ready()
  const outcome = t.rejects(bench.device.centrifuge!(someRun, calm), { code: 'stopped' })
  await untilFast(bench, 2000)
  await bench.run(bench.device.halt())
  await outcome
  bench.written.length = 0
  await t.rejects(bench.run(bench.device.initialize({}, calm)), { code: 'interlock' })
  t.notOk(frames(bench).includes('aaff0f0e'), 'no reset')
  await t.rejects(bench.run(bench.device.open!({}, calm)), { code: 'not_initialized' })

  await untilAtRest(bench)
  await bench.run(bench.device.initialize({}, calm))
  t.equal(world(bench).bucket, 1)
})

test('open asks the controller whether the rotor turns', async (t) => {
  const bench = await ready()
  bench.line.write(Buffer.from('aa0194b61283000012010000f3', 'hex'))
  await bench.clock.advance(1000)
  await t.rejects(bench.run(bench.device.open!({}, calm)), { code: 'interlock', message: /turning/ })
  t.match(world(bench), { door: 'closed', door_locked: true })
})

test('an instrument that spins from an earlier session refuses initialize and takes a stop', async (t) => {
  const bench = await ready()
  const spinning = bench.device.centrifuge!(someRun, calm)
  await untilFast(bench, 2000)
  const device = await anotherProcess(bench, spinning)
  await t.rejects(bench.run(device.initialize({}, calm)), { code: 'interlock' })
  await bench.run(device.halt())

  const rest_s = await untilAtRest(bench)
  t.ok(rest_s < 40, `${rest_s} s`)
  await bench.run(device.initialize({}, calm))
  t.equal(world(bench).bucket, 1)
})

test('an instrument that an earlier session left at rest is initialized', async (t) => {
  const bench = await ready()
  t.equal(world(bench).baud, 57600)
  const device = await anotherProcess(bench, Promise.resolve())
  await bench.run(device.initialize({}, calm))
  await bench.run(device.centrifuge!({ g: 10, duration: 1 }, calm))
  t.equal(world(bench).bucket, 1)
})

test('a call that is called off slows the rotor down', async (t) => {
  const bench = await ready()
  const calling = new AbortController()
  const outcome = t.rejects(bench.device.centrifuge!(someRun, calling.signal), { message: 'enough' })
  await untilFast(bench, 2000)
  calling.abort(new LabError('stopped', 'enough'))
  await bench.clock.advance(1000)
  await outcome
  t.ok((await untilAtRest(bench)) < 40)
})

test('a door that opens while it spins slows it down and is a failure', async (t) => {
  const bench = await ready()
  const outcome = t.rejects(bench.device.centrifuge!(someRun, calm), { code: 'device_failed', message: /door/ })
  await untilFast(bench, 2000)
  bench.written.length = 0
  t.equal(bench.line.setFault('interlock_open'), true)
  const noticed_s = await until(bench, () => frames(bench).includes('aa0194b60000000093030000e1'), 10)
  t.ok(noticed_s < 0.15, `${noticed_s} s`)
  await outcome
  t.ok((await untilAtRest(bench)) < 40)
})

test('a rotor that does not turn fails the run and the health check', async (t) => {
  const bench = await ready()
  bench.line.setFault('jam')
  await t.rejects(bench.run(bench.device.centrifuge!(someRun, calm)), { code: 'device_failed', message: /position error/ })
  t.equal(world(bench).moving, false)

  bench.line.clearFaults()
  await bench.run(bench.device.initialize({}, calm))
  await bench.run(bench.device.check())
  bench.line.setFault('jam')
  bench.line.write(Buffer.from('aa0194b61283000012010000f3', 'hex'))
  await bench.clock.advance(1000)
  await t.rejects(bench.run(bench.device.check()), { code: 'device_failed' })
})

test('a motor without power is not ill because its rotor was moved', async (t) => {
  const bench = await ready()
  for (const frame of ['aa022600042c', 'aa0194b61283000012010000f3', 'aa0117021a']) {
    bench.line.write(Buffer.from(frame, 'hex'))
    await bench.clock.advance(1000)
  }
  const seen: string[] = []
  bench.line.onWire((_direction, bytes) => seen.push(Buffer.from(bytes).toString('hex')))
  await bench.run(bench.device.check())
  t.match(seen.at(-1), /^11/)
})

test('a rotor that does not turn fails initialize', async (t) => {
  const bench = await onSimulator(driver)
  bench.line.setFault('jam')
  await t.rejects(bench.run(bench.device.initialize({}, calm)), { code: 'device_failed' })
  t.equal(bench.line.setFault('overtemperature'), false)
})

for (const fault of ['no_reply', 'garbage', 'half_reply', 'late_reply'] as const) {
  test(`with ${fault} on the line every operation ends in a rejection, and the rotor at rest`, async (t) => {
    const cold = await onSimulator(driver)
    cold.line.setFault(fault)
    await t.rejects(cold.run(cold.device.initialize({}, calm)), { code: 'no_reply' })

    for (const name of ['open', 'close', 'centrifuge'] as const) {
      const bench = await ready()
      bench.line.setFault(fault)
      const params = name === 'centrifuge' ? someRun : {}
      await t.rejects(bench.run((bench.device[name] as (params: object, signal: AbortSignal) => Promise<void>)(params, calm)), {
        code: 'no_reply',
      })
      await t.rejects(bench.run(bench.device.check()), { code: 'no_reply' })
    }

    const bench = await ready()
    const outcome = t.rejects(bench.device.centrifuge!(someRun, calm), { code: 'no_reply' })
    await untilFast(bench, 1000)
    bench.line.setFault(fault)
    await bench.clock.advance(10_000)
    await outcome
    t.ok((await untilAtRest(bench)) < 30)

    bench.line.clearFaults()
    await bench.clock.advance(10_000)
    await bench.run(bench.device.initialize({}, calm))
    t.equal(world(bench).bucket, 1)
  })
}

test('a lost cable ends what is under way, and the rotor stands at its final position', async (t) => {
  const bench = await ready()
  const outcome = t.rejects(bench.device.centrifuge!(someRun, calm), { code: 'disconnected' })
  await untilFast(bench, 2000)
  bench.line.setFault('unplug')
  await outcome
  await t.rejects(bench.device.halt(), { code: 'stop_not_sent' })
  t.ok((await untilAtRest(bench)) < 150)

  bench.line.clearFaults()
  await bench.line.open()
  await bench.run(bench.device.initialize({}, calm))
})

test('after its line was lost it may have been switched off, and is not ill if it is silent', async (t) => {
  const bench = await ready()
  bench.line.setFault('unplug')
  await t.rejects(bench.device.check(), { code: 'disconnected' })
  bench.line.clearFaults()
  await bench.line.open()
  bench.line.write(Buffer.from('aaff0f0e', 'hex'))
  await bench.clock.advance(1000)
  await bench.run(bench.device.check())
  await t.rejects(bench.run(bench.device.open!({}, calm)), { code: 'not_initialized' })
})

test('a motor that lost its power is noticed before the run ends', async (t) => {
  const bench = await ready()
  const outcome = t.rejects(bench.device.centrifuge!(someRun, calm), { code: 'device_failed', message: /slowed down/ })
  await untilFast(bench, 2100)
  await bench.clock.advance(5000)
  bench.line.write(Buffer.from('aa0117021a', 'hex'))
  await bench.clock.advance(20_000)
  await outcome
})

function byte(value: number): string {
  return value.toString(16).padStart(2, '0')
}

test('garbage on its line is told as such, and not as silence', async (t) => {
  const { device, run, line } = await onSimulator(driver)
  line.setFault('garbage')
  await t.rejects(run(device.initialize({}, calm)), { code: 'no_reply', message: /it speaks, but not as this driver expects/ })
  line.clearFaults()
  line.setFault('no_reply')
  await t.rejects(run(device.initialize({}, calm)), { code: 'no_reply', message: /switched on and connected/ })
})
