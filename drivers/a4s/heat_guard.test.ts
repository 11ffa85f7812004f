import { test } from 'tap'
import type { LabError } from '../../src/errors.ts'
import { VirtualClock } from '../../src/kit/clock.ts'
import { HeatGuard } from './heat_guard.ts'
import type { Status } from './protocol.ts'

function guarded() {
  const clock = new VirtualClock()
  const trips: LabError[] = []
  const guard = new HeatGuard({ clock, wire: clock, trip: (error) => trips.push(error) })
  /** A word each second, for so many seconds. */
  const hear = async (seconds: number, temperature: (second: number) => number, heater: Status['heater'] = 'heating') => {
    for (let second = 1; second <= seconds; second++) {
      await clock.advance(1000)
      guard.see({ temperature: temperature(second), heater, system: 'idle', error: '00', sensors })
    }
  }
  return { guard, clock, trips, hear }
}

const sensors = { open: false, closed: true, door_closed: true, roll: true }

test('a block that does not get warm trips after a minute', async (t) => {
  const { guard, hear, trips } = guarded()
  guard.begin(165, 25)
  await hear(60, () => 25.3)
  t.same(trips, [])
  await hear(1, () => 25.3)
  t.match(trips, [{ code: 'device_failed', message: /does not get warm/ }])
  t.equal(guard.target, null)
})

test('a block that gets warm slowly, and then stays, is well', async (t) => {
  const { guard, hear, trips } = guarded()
  guard.begin(60, 25)
  await hear(600, (second) => Math.min(60, 25 + second / 15))
  await hear(600, () => 60, 'ready')
  t.same(trips, [])
  t.equal(guard.target, 60)
})

test('a reading far above the target trips', async (t) => {
  const { guard, hear, trips } = guarded()
  guard.begin(100, 95)
  await hear(2, () => 115)
  t.same(trips, [])
  await hear(1, () => 115.1)
  t.match(trips, [{ code: 'device_failed', message: /115.1 °C and was set to 100/ }])
})

test('a block that cools to a lower target trips when it gets warmer again', async (t) => {
  const { guard, hear, trips } = guarded()
  guard.begin(60, 150)
  await hear(40, (second) => 150 - second, 'cooling')
  t.same(trips, [])
  await hear(1, () => 126)
  t.match(trips, [{ message: /126 °C and was set to 60/ }])
})

test('what is hotter than any target trips once, also when nothing was set', async (t) => {
  const { hear, trips } = guarded()
  await hear(5, () => 230, 'off')
  t.match(trips, [{ code: 'device_failed', message: /hotter than it may ever be/ }])
  t.equal(trips.length, 1)
})

test('silence trips only while it heats and the line is there', async (t) => {
  const { guard, clock, trips } = guarded()
  await clock.advance(10_000)
  guard.begin(100, 95)
  await clock.advance(2999)
  guard.pause()
  await clock.advance(10_000)
  t.same(trips, [])
  guard.begin(100, 95)
  await clock.advance(3000)
  t.match(trips, [{ code: 'no_reply' }])
})

test('after its end nothing trips', async (t) => {
  const { guard, hear, clock, trips } = guarded()
  guard.begin(100, 95)
  guard.end()
  await hear(3, () => 180)
  await clock.advance(10_000)
  t.same(trips, [])
})
