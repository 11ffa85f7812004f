import { test } from 'tap'
import * as v from 'valibot'
import { tampered } from '../../src/conformance/tampered.ts'
import { scaled } from '../../src/kit/clock.ts'
import { type Bench, calm, onSimulator } from '../../src/testing/drivers.ts'
import { driver, settings } from './driver.ts'

async function bench(chosen: object = {}, instrument = driver): Promise<Bench> {
  const bench = await onSimulator(instrument, chosen)
  await bench.run(bench.device.initialize({}, calm))
  bench.written.length = 0
  return bench
}

/** What somebody does at its buttons. */
function byHand({ line }: Bench, ...words: string[]): void {
  for (const word of words) line.simulator.receive(Buffer.from(`${word}\r\n`))
}

function begin<T>(operation: Promise<T>): Promise<T> {
  operation.catch(() => {})
  return operation
}

/** Hears each thing as `hear` makes it; nothing for undefined. */
function hearing(hear: (words: string) => string | undefined): typeof driver {
  return {
    ...driver,
    simulate: (at) => {
      const simulator = driver.simulate(at)
      const receive = simulator.receive.bind(simulator)
      simulator.receive = (bytes) => {
        const heard = hear(Buffer.from(bytes).toString('latin1').trim())
        if (heard !== undefined) receive(Buffer.from(`${heard}\r\n`))
      }
      return simulator
    },
  }
}

test('it shakes and nothing else, at the speeds of the settings', async (t) => {
  t.same(driver.profile(v.parse(settings, { max_speed: 300 })), {
    model: 'Endeavor 5000',
    limits: { speed: { min: 20, max: 300, unit: 'rpm', step: 1 }, duration: { min: 1, max: 359_999, unit: 's', step: 1 } },
    features: { autonomous_timer: true },
    ends_early: ['shake'],
  })
  t.throws(() => v.parse(settings, { min_speed: 600 }), /min_speed has to be less than max_speed/)
  const { device } = await onSimulator(driver)
  for (const name of ['lock_plate', 'open', 'set_temperature', 'get_temperature']) t.notOk(name in device, name)
})

test('it sets speed and timer, looks, starts, and leaves the end to the instrument', async (t) => {
  const { device, run, written, clock, line } = await bench()
  const began = clock.now()
  await run(device.shake!({ speed: 300, duration: 90 }, calm))
  const look = 'PARAM 0\r\n'
  t.same(written.slice(0, 6), [look, 'TARGET_SPEED 300\r\n', 'TIMER 00:01:30\r\n', look, 'START_SHAKE\r\n', look])
  t.same([...new Set(written.slice(5))], [look])
  t.ok(clock.now() - began >= 90_000)
  t.match(line.simulator.world, { moving: false, mode: 'idle', buttons_locked: false })
})

test('a run of a second is a run', async (t) => {
  const { device, run } = await bench()
  await t.resolves(run(device.shake!({ speed: 20, duration: 1 }, calm)))
})

test('its clock may be a little fast or slow', async (t) => {
  for (const pace of [1.0009, 0.9991]) {
    const b = await bench({}, { ...driver, simulate: (at) => driver.simulate({ ...at, clock: scaled(at.clock, pace) }) })
    await t.resolves(b.run(b.device.shake!({ speed: 300, duration: 3600 }, calm)))
  }
})

test('the number that it was given tells it from others', async (t) => {
  const b = await onSimulator(driver)
  byHand(b, 'ID 12')
  const identity = { model: 'Endeavor 5000', serial_number: '12', firmware_version: null }
  t.same(await b.run(b.device.identify()), identity)
  t.same(await b.run(b.device.initialize({}, calm)), { identity })
})

test('while it moves it is neither started nor initialized', async (t) => {
  const b = await bench()
  byHand(b, 'TARGET_SPEED 300', 'START_SHAKE')
  await b.clock.advance(3000)
  await t.rejects(b.run(b.device.shake!({ speed: 300, duration: 5 }, calm)), { code: 'interlock', message: /shaking/ })
  await t.rejects(b.run(b.device.initialize({}, calm)), { code: 'interlock' })
  byHand(b, 'STOP_SHAKE')
  await t.rejects(b.run(b.device.initialize({}, calm)), { code: 'interlock', message: /idle/ })
  t.same([...new Set(b.written)], ['PARAM 0\r\n'])
})

test('initialize ends a pause', async (t) => {
  const b = await bench()
  byHand(b, 'START_SHAKE', 'PAUSE_SHAKE')
  await b.clock.advance(3000)
  await t.rejects(b.run(b.device.shake!({ speed: 300, duration: 5 }, calm)), { code: 'interlock', message: /paused/ })
  await b.run(b.device.initialize({}, calm))
  t.equal(b.line.simulator.world.mode, 'idle')
})

test('a run that somebody ends or pauses at its buttons fails', async (t) => {
  for (const [word, says] of [
    ['STOP_SHAKE', /stopped after 1\d s of 60 s/],
    ['PAUSE_SHAKE', /paused/],
  ] as const) {
    const b = await bench()
    const shaking = begin(b.device.shake!({ speed: 300, duration: 60 }, calm))
    await b.clock.advance(10_000)
    byHand(b, word)
    await t.rejects(b.run(shaking), { code: 'device_failed', message: says })
  }
})

test('what blocks it fails a run with its error code, and a check', async (t) => {
  const b = await bench()
  const shaking = begin(b.device.shake!({ speed: 300, duration: 60 }, calm))
  await b.clock.advance(10_000)
  b.line.setFault('jam')
  await t.rejects(b.run(shaking), {
    code: 'device_failed',
    message: /reports error 1 \(its meaning is not known to benchd\)\. Look error 1 up in the manual of the Endeavor/,
  })
  await t.rejects(b.run(b.device.check()), { code: 'device_failed' })
})

test('one that does not shake as fast as asked fails, whether it cannot or somebody has set it otherwise', async (t) => {
  const slow = await bench(
    {},
    {
      ...driver,
      simulate: (at) => driver.simulate({ ...at, send: (bytes) => at.send(Buffer.from(slower(bytes), 'latin1')) }),
    },
  )
  await t.rejects(slow.run(slow.device.shake!({ speed: 300, duration: 60 }, calm)), { code: 'device_failed', message: /turns at 200 rpm/ })
  const b = await bench()
  const shaking = begin(b.device.shake!({ speed: 300, duration: 60 }, calm))
  await b.clock.advance(10_000)
  byHand(b, 'TARGET_SPEED 500')
  await t.rejects(b.run(shaking), { code: 'device_failed', message: /turns at 500 rpm/ })
})

function slower(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1').replace(', 300, 300,', ', 300, 200,')
}

test('it is not started unless it shows speed and timer as told', async (t) => {
  for (const deafTo of ['TARGET_SPEED', 'TIMER']) {
    const b = await bench(
      {},
      hearing((words) => (words.startsWith(deafTo) ? undefined : words)),
    )
    await t.rejects(b.run(b.device.shake!({ speed: 300, duration: 60 }, calm)), {
      code: 'device_failed',
      message: /did not take 300 rpm and 00:01:00/,
    })
    t.notOk(b.written.includes('START_SHAKE\r\n'), deafTo)
  }
})

test('one that does not start fails', async (t) => {
  const b = await bench(
    {},
    hearing((words) => (words === 'START_SHAKE' ? undefined : words)),
  )
  await t.rejects(b.run(b.device.shake!({ speed: 300, duration: 60 }, calm)), { code: 'device_failed', message: /did not start/ })
})

test('one that its timer does not end fails', async (t) => {
  let b = await bench()
  const shaking = begin(b.device.shake!({ speed: 300, duration: 60 }, calm))
  await b.clock.advance(50_000)
  byHand(b, 'TIMER 00:05:00')
  await t.rejects(b.run(shaking), { code: 'device_failed', message: /timer does not count down/ })
  b = await bench()
  const longer = begin(b.device.shake!({ speed: 300, duration: 60 }, calm))
  await b.clock.advance(50_000)
  byHand(b, 'TIMER 00:00:55')
  await t.rejects(b.run(longer), { code: 'device_failed', message: /should have stopped after 60 s/ })
})

test('a run that it will end by itself is told, one that it will not is not', async (t) => {
  const b = await bench()
  t.equal(await b.run(b.device.underWay!()), null)
  byHand(b, 'TIMER 00:01:00', 'START_SHAKE')
  await b.clock.advance(10_000)
  const going = await b.run(b.device.underWay!())
  t.match(going, { operation: 'shake' })
  t.ok(going!.seconds_left > 45 && going!.seconds_left < 50, `${going!.seconds_left} s`)
  byHand(b, 'TIMER 0')
  await b.clock.advance(10_000)
  t.equal(await b.run(b.device.underWay!()), null)
  t.same([...new Set(b.written)], ['PARAM 0\r\n'])
})

test('whatever it answers to what it is told is passed over', async (t) => {
  const b = await bench(
    {},
    {
      ...driver,
      simulate: (at) => {
        const simulator = driver.simulate(at)
        const receive = simulator.receive.bind(simulator)
        simulator.receive = (bytes) => {
          at.send(bytes)
          receive(bytes)
          at.send(Buffer.from('OK\r\n'))
        }
        return simulator
      },
    },
  )
  await t.resolves(b.run(b.device.shake!({ speed: 300, duration: 30 }, calm)))
})

test('a halt is on the wire at once, and is acknowledged before the service gives up waiting', async (t) => {
  const b = await bench()
  const shaking = begin(b.device.shake!({ speed: 500, duration: 60 }, calm))
  await b.clock.advance(10_000)
  b.written.length = 0
  const began = b.clock.now()
  const halting = b.device.halt()
  t.same(b.written, ['STOP_SHAKE\r\n'])
  await b.run(halting)
  t.ok(b.clock.now() - began < 400, `${b.clock.now() - began} ms`)
  await t.rejects(shaking, { code: 'stopped' })
})

test('a stop that is not heard is sent again, and what stays deaf is told', async (t) => {
  let deaf = 2
  const b = await bench(
    {},
    hearing((words) => (words === 'STOP_SHAKE' && deaf-- > 0 ? undefined : words)),
  )
  begin(b.device.shake!({ speed: 500, duration: 600 }, calm))
  await b.clock.advance(10_000)
  await b.run(b.device.halt())
  await b.clock.advance(10_000)
  t.notOk(b.line.simulator.world.moving)
  await b.run(b.device.initialize({}, calm))
  deaf = 100
  begin(b.device.shake!({ speed: 500, duration: 600 }, calm))
  await b.clock.advance(10_000)
  await t.rejects(b.run(b.device.halt()), { code: 'device_failed', message: /power switch/ })
})

test('an error whose code is no number is reported as it came', async (t) => {
  const { driver: same, hand } = tampered(driver)
  const { device, run } = await onSimulator(same)
  await run(device.initialize({}, calm))
  hand.change((_, send) => send(Buffer.from('00:00:00,1,99,100,0,E-5\r\n')))
  await t.rejects(run(device.check()), { code: 'device_failed', message: /reports error E-5/ })
})
