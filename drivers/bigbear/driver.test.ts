import { test } from 'tap'
import * as v from 'valibot'
import { type Bench, calm, onSimulator } from '../../src/testing/drivers.ts'
import { driver, settings } from './driver.ts'

async function bench(chosen: object = {}): Promise<Bench> {
  const bench = await onSimulator(driver, chosen)
  await bench.run(bench.device.initialize({}, calm))
  bench.written.length = 0
  return bench
}

/** Sends the instrument a line, as another program would. */
function byHand({ line }: Bench, command: string): void {
  line.simulator.receive(Buffer.from(`${command}\r`))
}

function begin<T>(operation: Promise<T>): Promise<T> {
  operation.catch(() => {})
  return operation
}

test('it shakes and nothing else, at 60 to 3570 rpm', async (t) => {
  t.same(driver.profile(v.parse(settings, {})), {
    model: 'BigBear',
    limits: {
      speed: { min: 60, max: 3570, unit: 'rpm', step: 1 },
      duration: { min: 1, max: 86_400, unit: 's', step: 0.1 },
    },
    features: { autonomous_timer: false },
    ends_early: ['shake'],
  })
  const { device } = await onSimulator(driver)
  for (const name of ['lock_plate', 'open', 'set_temperature', 'get_temperature']) t.notOk(name in device, name)
})

test('initialize finds home, and sets the acceleration only where one is given', async (t) => {
  const plain = await onSimulator(driver)
  t.same(await plain.run(plain.device.initialize({}, calm)), {
    identity: { model: 'BigBear', serial_number: null, firmware_version: null },
  })
  t.same(plain.written.slice(0, 2), ['Q\r', 'F\r'])
  t.match(plain.line.simulator.world, { home: true, moving: false })
  const quick = await onSimulator(driver, { acceleration: 7 })
  await quick.run(quick.device.initialize({}, calm))
  t.match(quick.line.simulator.world, { acceleration: 7, home: true })
})

test('it shakes as long as asked, stops, and finds home again', async (t) => {
  const { device, run, written, clock, line } = await bench()
  const began = clock.now()
  await run(device.shake!({ speed: 700, duration: 30 }, calm))
  t.same(written.slice(0, 5), ['Q\r', 'V700\r', 'Q\r', 'G\r', 'Q\r'])
  t.ok(written.indexOf('S\r') < written.lastIndexOf('F\r'))
  t.ok(clock.now() - began >= 30_000)
  t.match(line.simulator.world, { moving: false, home: true })
})

test('while it turns it is neither started nor initialized', async (t) => {
  const b = await bench()
  byHand(b, 'G')
  await b.clock.advance(1000)
  await t.rejects(b.run(b.device.shake!({ speed: 700, duration: 5 }, calm)), { code: 'interlock', message: /RUN/ })
  await t.rejects(b.run(b.device.initialize({}, calm)), { code: 'interlock' })
  t.same([...new Set(b.written)], ['Q\r'])
})

test('a shake that somebody ends, or something blocks, fails', async (t) => {
  const stopped = await bench()
  const shaking = begin(stopped.device.shake!({ speed: 700, duration: 60 }, calm))
  await stopped.clock.advance(10_000)
  byHand(stopped, 'S')
  await t.rejects(stopped.run(shaking), { code: 'device_failed', message: /RAMP-|STOP/ })
  const blocked = await bench()
  blocked.line.setFault('jam')
  await t.rejects(blocked.run(blocked.device.shake!({ speed: 700, duration: 60 }, calm)), { code: 'device_failed', message: /says STOP/ })
})

test('what it refuses fails', async (t) => {
  const b = await bench()
  b.line.setFault('jam')
  await t.rejects(b.run(b.device.initialize({}, calm)), { code: 'device_failed', message: /refused to find home/ })
})

test('a speed that it refuses is not shaken at', async (t) => {
  const b = await onSimulator({
    ...driver,
    simulate: (at) => {
      const simulator = driver.simulate(at)
      const receive = simulator.receive.bind(simulator)
      simulator.receive = (bytes) => {
        if (Buffer.from(bytes).toString('latin1').startsWith('V')) at.send(Buffer.from('?:\r'))
        else receive(bytes)
      }
      return simulator
    },
  })
  await b.run(b.device.initialize({}, calm))
  await t.rejects(b.run(b.device.shake!({ speed: 700, duration: 5 }, calm)), { code: 'device_failed', message: /refused V700/ })
  t.notOk(b.written.includes('G\r'))
})

test('a stop that is not heard is sent again', async (t) => {
  let deaf = 0
  const b = await onSimulator({
    ...driver,
    simulate: (at) => {
      const simulator = driver.simulate(at)
      const receive = simulator.receive.bind(simulator)
      simulator.receive = (bytes) => {
        if (Buffer.from(bytes).toString('latin1') === 'S\r' && deaf-- > 0) return
        receive(bytes)
      }
      return simulator
    },
  })
  await b.run(b.device.initialize({}, calm))
  deaf = 1
  await b.run(b.device.shake!({ speed: 700, duration: 5 }, calm))
  t.notOk(b.line.simulator.world.moving)
  deaf = 2
  begin(b.device.shake!({ speed: 700, duration: 60 }, calm))
  await b.clock.advance(10_000)
  await b.run(b.device.halt())
  await b.clock.advance(10_000)
  t.notOk(b.line.simulator.world.moving)
})

test('a halt is on the wire at once, and is acknowledged before the service gives up waiting', async (t) => {
  const b = await bench()
  const shaking = begin(b.device.shake!({ speed: 3570, duration: 60 }, calm))
  await b.clock.advance(10_000)
  b.written.length = 0
  const began = b.clock.now()
  const halting = b.device.halt()
  t.same(b.written, ['S\r'])
  await b.run(halting)
  t.ok(b.clock.now() - began < 400, `${b.clock.now() - began} ms`)
  await t.rejects(shaking, { code: 'stopped' })
  await b.clock.advance(20_000)
  t.notOk(b.line.simulator.world.moving)
})
