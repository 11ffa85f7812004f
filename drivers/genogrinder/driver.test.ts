import { test } from 'tap'
import * as v from 'valibot'
import { tampered } from '../../src/conformance/tampered.ts'
import { type Bench, calm, onSimulator } from '../../src/testing/drivers.ts'
import { driver } from './driver.ts'
import { settings } from './settings.ts'

type Tampered = Bench & { hand: ReturnType<typeof tampered>['hand'] }

async function bench({ isLocked = true, chosen = {} as object } = {}): Promise<Tampered> {
  const { driver: same, hand } = tampered(driver)
  const bench = await onSimulator(same, chosen)
  await bench.run(bench.device.initialize({}, calm))
  if (isLocked && bench.device.lock_plate) await bench.run(bench.device.lock_plate({}, calm))
  bench.written.length = 0
  return { ...bench, hand }
}

function begin<T>(operation: Promise<T>): Promise<T> {
  operation.catch(() => {})
  return operation
}

test('it shakes, and locks where its clamp has a motor', async (t) => {
  t.same(driver.profile(v.parse(settings, { max_speed: 1600 })), {
    model: 'GenoGrinder',
    limits: { speed: { min: 500, max: 1600, unit: 'rpm', step: 1 }, duration: { min: 1, max: 999, unit: 's', step: 1 } },
    features: { autonomous_timer: true, locking: true },
  })
  t.throws(() => v.parse(settings, { min_speed: 1750 }), /min_speed has to be less than max_speed/)
  const { device } = await onSimulator(driver, { clamp: false })
  for (const name of ['lock_plate', 'unlock_plate', 'set_temperature'] as const) t.equal(device[name], undefined, name)
})

test('it sets speed and time, starts once, and leaves the end to the instrument', async (t) => {
  const b = await bench()
  const began = b.clock.now()
  await b.run(b.device.shake!({ speed: 1500, duration: 45 }, calm))
  t.same(b.written.slice(0, 5), ['*01*\r', '*15*\r', '*02,045,1500*\r', '*04*\r', '*01*\r'])
  t.same([...new Set(b.written.slice(4))], ['*01*\r'])
  t.ok(b.clock.now() - began > 45_000 && b.clock.now() - began < 60_000)
  t.match(b.line.simulator.world, { moving: false, state: 'Run Complete', clamp: 'Closed' })
})

test('the clamp is asked first, moved when needed, and has to be closed for a shake', async (t) => {
  const b = await bench({ isLocked: false })
  await t.rejects(b.run(b.device.shake!({ speed: 1500, duration: 5 }, calm)), {
    code: 'interlock',
    message: /its clamp is not closed; call lock_plate/,
  })
  b.written.length = 0
  await b.run(b.device.lock_plate!({}, calm))
  await b.run(b.device.lock_plate!({}, calm))
  t.same(b.written, ['*01*\r', '*15*\r', '*12*\r', '*15*\r', '*01*\r', '*15*\r'])
  await b.run(b.device.unlock_plate!({}, calm))
  t.equal(b.line.simulator.world.clamp, 'Open')
  t.equal(b.written.filter((frame) => frame === '*11*\r').length, 1)
})

test('while it moves nothing is begun', async (t) => {
  const b = await bench()
  b.line.write(Buffer.from('*02,060,1500*\r'))
  b.line.write(Buffer.from('*04*\r'))
  await b.clock.advance(10_000)
  b.written.length = 0
  const says = { code: 'interlock', message: /says "Mixing"; wait until it is at rest/ }
  await t.rejects(b.run(b.device.initialize({}, calm)), says)
  await t.rejects(b.run(b.device.lock_plate!({}, calm)), says)
  await t.rejects(b.run(b.device.shake!({ speed: 500, duration: 1 }, calm)), says)
  t.same([...new Set(b.written)], ['*01*\r'])
})

test('a run that somebody stops, or that a restart ends, has failed', async (t) => {
  for (const cut of ['stop', 'restart'] as const) {
    const b = await bench()
    const shaking = begin(b.device.shake!({ speed: 1500, duration: 60 }, calm))
    await b.clock.advance(20_000)
    if (cut === 'restart') b.hand.restart()
    else b.line.simulator.receive(Buffer.from('*06*\r'))
    await t.rejects(b.run(shaking), { code: 'device_failed', message: /^it stopped after (1|2)\d s of 60 s; see who stopped it/ })
  }
})

test('its own words of an error are told, and initialize clears it', async (t) => {
  const b = await bench()
  const shaking = begin(b.device.shake!({ speed: 1500, duration: 60 }, calm))
  await b.clock.advance(10_000)
  b.line.setFault('jam')
  await t.rejects(b.run(shaking), { code: 'device_failed', message: /^it reports "Motor Fault"; read its display/ })
  await t.rejects(b.run(b.device.check()), { code: 'device_failed' })
  await t.rejects(b.run(b.device.initialize({}, calm)), { code: 'device_failed' })
  b.line.clearFaults()
  b.written.length = 0
  await b.run(b.device.initialize({}, calm))
  t.ok(b.written.includes('*05*\r'))
  await t.resolves(b.run(b.device.check()))
})

test('a refusal is told, and one that begins after the start is a failure', async (t) => {
  const b = await bench()
  b.hand.replace(/Parameters Set/, 'Invalid Parameters')
  await t.rejects(b.run(b.device.shake!({ speed: 1500, duration: 5 }, calm)), {
    code: 'device_failed',
    message: /reports "Invalid Parameters"/,
  })
  t.notOk(b.written.includes('*04*\r'))
  b.hand.replace(/Run Complete|Unlocking/, 'Mixing')
  await t.rejects(b.run(b.device.shake!({ speed: 1500, duration: 5 }, calm)), {
    code: 'device_failed',
    message: /^it goes on after 6\d s and should have ended after 5 s/,
  })
})

test('a stop is on the wire at once, and the answer to it is no evidence', async (t) => {
  const b = await bench()
  begin(b.device.shake!({ speed: 1500, duration: 600 }, calm))
  await b.clock.advance(20_000)
  b.written.length = 0
  const halting = b.device.halt()
  t.same(b.written, ['*06*\r'])
  let isDone = false
  halting.then(() => {
    isDone = true
  })
  await b.clock.advance(1000)
  t.notOk(isDone, 'it has said Standby, and turns')
  await b.run(halting)
  await b.clock.advance(3000)
  t.match(b.line.simulator.world, { moving: false, state: 'Standby' })
})

test('a stop that is not heard is sent again, and what stays deaf is told', async (t) => {
  const b = await bench()
  let deaf = 2
  b.hand.hear((frame) => frame !== '*06*\r' || deaf-- <= 0)
  begin(b.device.shake!({ speed: 1500, duration: 600 }, calm))
  await b.clock.advance(20_000)
  await b.run(b.device.halt())
  t.equal(b.line.simulator.world.state, 'Unlocking')
  b.hand.leave()
  await b.clock.advance(5000)
  deaf = Number.POSITIVE_INFINITY
  b.hand.hear((frame) => frame !== '*06*\r')
  begin(b.device.shake!({ speed: 1500, duration: 600 }, calm))
  await b.clock.advance(20_000)
  await t.rejects(b.run(b.device.halt()), { code: 'device_failed', message: /still says "Mixing"; use its power switch/ })
})
