import { test } from 'tap'
import { LabError } from '../src/errors.ts'
import { VirtualClock } from '../src/kit/clock.ts'
import { calm } from '../src/testing/drivers.ts'
import { Interlocks } from './interlocks.ts'
import { Expanders } from './parts/expanders.ts'
import { board } from './transports/board.ts'
import type { Pin } from './transports/pin.ts'
import { simulatedI2c } from './transports/simulated_i2c.ts'

/** A lid, which tells its edges or keeps them to itself. */
async function lid({ edges = true } = {}) {
  const clock = new VirtualClock()
  let closed = true
  let unreadable = false
  const listeners = new Set<(active: boolean) => void>()
  const broken: { error: LabError; at: number }[] = []
  const pin: Pin = {
    async read() {
      if (unreadable) throw new LabError('no_reply', 'nothing answers')
      return closed
    },
    write: async () => {},
    writeNow: async () => {},
    onEdge(listen) {
      listeners.add(listen)
      return () => listeners.delete(listen)
    },
    close: async () => {},
  }
  const bus = (number: number) => simulatedI2c(number, clock).bus
  const plan = { pins: { lid: { bcm: 27, mode: 'in', active_low: true } }, i2c: {} } as const
  const wired = board(plan, { openPin: async () => pin, bus, expanders: new Expanders(bus) }, clock)
  await wired.open()
  const interlocks = new Interlocks(wired, { lid: 'its lid', estop: 'its stop' }, (error) => broken.push({ error, at: clock.now() }))
  return {
    clock,
    broken,
    interlocks,
    arm: () => clock.run(interlocks.arm(calm)),
    set(now: boolean) {
      closed = now
      if (edges) for (const listen of listeners) listen(now)
    },
    blind() {
      unreadable = true
    },
    listening: () => listeners.size,
  }
}

test('an opening counts at once, and once', async (t) => {
  const { arm, set, broken, clock, interlocks } = await lid()
  await arm()
  await clock.advance(33)
  for (const closed of [false, true, false, true]) set(closed)
  t.equal(broken.length, 1)
  t.match(broken[0]?.error, { code: 'device_failed', message: /its lid was opened while it ran/ })
  t.equal(interlocks.armed, false)
})

test('an edge that got lost is found within 100 ms', async (t) => {
  const { arm, set, broken, clock } = await lid({ edges: false })
  await arm()
  await clock.advance(33)
  const opened = clock.now()
  set(false)
  await clock.advance(1000)
  t.equal(broken.length, 1)
  t.ok(broken[0]!.at - opened <= 100)
})

test('a contact that is open, or that was closed less than 50 ms ago, is refused and nothing is broken', async (t) => {
  const { interlocks, set, broken, clock, listening } = await lid()
  set(false)
  await t.rejects(clock.run(interlocks.arm(calm)), { code: 'interlock', message: /its lid is open; close it first/ })
  set(true)
  const arming = interlocks.arm(calm)
  await clock.advance(20)
  set(false)
  set(true)
  await t.rejects(clock.run(arming), { code: 'interlock' })
  t.equal(broken.length, 0)
  t.equal(listening(), 0)
  t.equal(clock.timers, 0)
})

test('a contact that cannot be read any more counts as open', async (t) => {
  const { arm, blind, broken, clock } = await lid()
  await arm()
  blind()
  await clock.advance(100)
  t.match(broken[0]?.error, { code: 'device_failed', message: /cannot be seen any more \(nothing answers\)/ })
})

test('once it is disarmed nobody looks any more', async (t) => {
  const { arm, interlocks, set, broken, clock, listening } = await lid()
  await arm()
  interlocks.disarm()
  set(false)
  await clock.advance(1000)
  t.same([broken.length, listening(), clock.timers], [0, 0, 0])
})
