import { type Test, test } from 'tap'
import { VirtualClock } from '../kit/clock.ts'
import { HandHost } from '../testing/care.ts'
import { HostWatch } from './host_watch.ts'

const minute = 60_000

async function watching(t: Test, { isBehindLog = (): boolean => false, host = new HandHost() } = {}) {
  const clock = new VirtualClock()
  const told: string[] = []
  const watch = new HostWatch({
    host,
    clock,
    tell: (category, message, { severity }) => told.push(`${category} ${severity}: ${message}`),
    isBehindLog,
  })
  t.teardown(() => watch.close())
  await watch.start()
  return { host, clock, told, watch }
}

/** That these are all, in this order. */
function only(t: Test, told: readonly string[], wanted: readonly RegExp[]): void {
  t.equal(told.length, wanted.length, told.join('; '))
  t.match(told, wanted)
}

test('a computer that is well has nothing to tell, nor one that cannot tell', async (t) => {
  const { clock, told, watch, host } = await watching(t)
  await clock.advance(10 * minute)
  t.same(watch.reasons, [])
  host.set({ clock_synced: null, under_voltage: null, temperature: null, room: null })
  await clock.advance(10 * minute)
  t.same(watch.reasons, [])
  t.same(told, [])
  watch.close()
  t.equal(clock.timers, 0)
})

test('a clock that nobody sets is told after five minutes, once, and no longer when it is set', async (t) => {
  const { clock, told, watch, host } = await watching(t)
  host.set({ clock_synced: false })
  await clock.advance(5 * minute)
  t.same(watch.reasons, [])
  await clock.advance(minute)
  t.same(watch.reasons, ['clock'])
  await clock.advance(600 * minute)
  t.equal(told.length, 1)
  t.match(told[0], /^CLOCK WARNING: the clock of this computer is not set by a time server.*timesyncd\.conf/)
  host.set({ clock_synced: true })
  await clock.advance(minute)
  t.same(watch.reasons, [])
})

test('a dip of the voltage is seen though it lasts two seconds, is kept in mind for ten minutes, and told once an hour', async (t) => {
  const { clock, told, watch, host } = await watching(t)
  const dip = async () => {
    host.set({ under_voltage: true })
    await clock.advance(2000)
    host.set({ under_voltage: false })
    await clock.advance(2000)
  }
  await clock.advance(30_000)
  await dip()
  t.same(watch.reasons, ['under_voltage'])
  await clock.advance(9 * minute)
  t.same(watch.reasons, ['under_voltage'])
  await clock.advance(2 * minute)
  t.same(watch.reasons, [])
  await dip()
  t.same(watch.reasons, ['under_voltage'])
  t.equal(told.length, 1)
  t.match(told[0], /^POWER WARNING: the voltage of this board fell too low/)
  await clock.advance(61 * minute)
  await dip()
  t.equal(told.length, 2)
})

test('a board without that sensor is looked at once a minute and no more', async (t) => {
  const host = new HandHost()
  host.set({ under_voltage: null })
  const { clock } = await watching(t, { host })
  t.equal(clock.timers, 1)
})

test('a processor that is hot for a minute, and a disk with little room, are told', async (t) => {
  const { clock, told, watch, host } = await watching(t)
  host.set({ temperature: { celsius: 80.4, hot: 80 }, room: { free: 3e9, total: 32e9 } })
  await clock.advance(minute)
  t.same(watch.reasons, ['disk'])
  await clock.advance(minute)
  t.same(watch.reasons, ['disk', 'temperature'])
  host.set({ temperature: { celsius: 79, hot: 80 }, room: { free: 5e9, total: 32e9 } })
  await clock.advance(minute)
  t.same(watch.reasons, [])
  only(t, told, [
    /^STORAGE WARNING: the disk of the data folder has 9\.4 % \(3\.0 GB of 32 GB\) left/,
    /^OTHER WARNING: the processor has 80 °C/,
  ])
})

test('a clock that is set by more than a second is told, with by how much', async (t) => {
  const { clock, told, host } = await watching(t)
  const set = async (seconds: number) => {
    host.set({ wall_ahead_ms: host.facts.wall_ahead_ms + seconds * 1000 })
    await clock.advance(minute)
  }
  await set(0.9)
  t.same(told, [])
  await set(3600)
  await set(-2)
  only(t, told, [
    /^CLOCK WARNING: the wall clock went 3600\.0 s forward at once/,
    /^CLOCK WARNING: the wall clock went 2\.0 s back at once/,
  ])
})

test('the first setting of a clock after the start is no warning', async (t) => {
  const host = new HandHost()
  host.set({ clock_synced: false })
  const { clock, told } = await watching(t, { host })
  host.set({ clock_synced: true, wall_ahead_ms: host.facts.wall_ahead_ms + 86_400_000 })
  await clock.advance(minute)
  only(t, told, [/^CLOCK INFO: the clock was set 86400\.0 s forward by the time server/])
})

test('what the event log tells by itself is not told twice', async (t) => {
  const { clock, told, host } = await watching(t, { isBehindLog: () => true })
  host.set({ wall_ahead_ms: host.facts.wall_ahead_ms - 3_600_000 })
  await clock.advance(minute)
  t.same(told, [])
})
