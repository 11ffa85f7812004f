import { test } from 'tap'
import { HandClock } from '../../src/testing/hand_clock.ts'
import { HeatGuard } from './heat_guard.ts'
import type { Status } from './protocol.ts'
import { StatusFeed, silence_ms } from './status.ts'

const sensors = { open: false, closed: true, door_closed: true, roll: true }
const before: Status = { temperature: 60, heater: 'ready', system: 'idle', error: '00', sensors }
const after: Status = { ...before, temperature: 61 }
const turns = 11

test('a status that came while the computer was busy is read before an older one counts as silence', async (t) => {
  const clock = new HandClock()
  const feed = new StatusFeed({ clock, state: 'open', onLost() {} })
  feed.take(before)
  clock.stall(2 * silence_ms)
  const current = feed.current()
  feed.take(after)
  for (let turn = 1; turn <= turns; turn++) clock.ring()
  t.same(await current, after)
  clock.stall(2 * silence_ms)
  const silent = t.rejects(feed.current(), { code: 'no_reply' }, 'real silence is one all the same')
  for (let turn = 1; turn <= turns; turn++) clock.ring()
  await silent
})

test('a heater is not switched off because the computer was busy while a status came', async (t) => {
  const clock = new HandClock()
  const trips: string[] = []
  const guard = new HeatGuard({ clock, wire: clock, trip: ({ message }) => void trips.push(message) })
  guard.begin(60, 60)
  clock.stall(2 * silence_ms)
  clock.ring()
  guard.see(after)
  t.same([trips, clock.timers], [[], 1], 'it waits for the next word')
  clock.stall(2 * silence_ms)
  for (let turn = 1; turn <= turns; turn++) clock.ring()
  t.match(trips, [/has not spoken/])
})
