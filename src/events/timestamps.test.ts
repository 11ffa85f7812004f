import { test } from 'tap'
import { emitMany, HandWall, onBench, someDay } from '../testing/events.ts'
import { Timestamps } from './timestamps.ts'

test('timestamps are the wall clock, and rise by a microsecond where that does not', async (t) => {
  const wall = new HandWall()
  const timestamps = new Timestamps(wall, 0)
  t.same([timestamps.next(0), timestamps.next(0)], [someDay, someDay + 1])
  wall.us -= 3_000_000
  t.equal(timestamps.next(0), someDay + 2)
  wall.us = someDay + 10
  t.equal(timestamps.next(0), someDay + 10)
})

test('within a millisecond the monotonic clock says how far the wall clock went', async (t) => {
  const wall = new HandWall()
  const timestamps = new Timestamps(wall, 0)
  const at = (now_ms: number) => timestamps.next(now_ms) - someDay
  t.same([at(7), at(7.25), at(7.25001)], [0, 250, 251])
  wall.us -= 3_600_000_000
  t.equal(at(7.9), 900)
  t.equal(at(8), 901)
  t.ok(timestamps.isBehind)
})

test('a microsecond survives the way through seconds, JSON and back', async (t) => {
  for (let us = someDay; us < someDay + 3000; us++) {
    if (Math.round(JSON.parse(JSON.stringify(us / 1e6)) * 1e6) !== us) return t.fail(`${us}`)
  }
  t.pass()
})

test('a wall clock that stands more than five seconds behind is told once, until it has caught up', async (t) => {
  const wall = new HandWall()
  const timestamps = new Timestamps(wall, someDay + 5_000_000)
  timestamps.next(0)
  t.equal(timestamps.complaint(0), undefined)
  wall.us -= 1_000_000
  timestamps.next(0)
  t.match(timestamps.complaint(0), /6 s behind/)
  timestamps.next(0)
  t.equal(timestamps.complaint(1e9), undefined)
  wall.us = someDay + 9_000_000
  timestamps.next(0)
  t.equal(timestamps.complaint(0), undefined)
  wall.us = someDay
  timestamps.next(0)
  t.match(timestamps.complaint(0), /behind/)
})

test('a log from the future is told every hour, while the clock is in step', async (t) => {
  const wall = new HandWall()
  wall.isInStep = true
  const timestamps = new Timestamps(wall, someDay + 100_000_000_000)
  const told = [0, 1000, 3_600_000, 3_700_000, 7_200_000].map((now_ms) => {
    timestamps.next(0)
    return timestamps.complaint(now_ms) !== undefined
  })
  t.same(told, [true, false, true, false, true])
})

test('time never goes back over a restart on a board that wakes in 1970, and an incident says so', async (t) => {
  const folder = t.testdir()
  const before = await onBench(folder)
  const last = emitMany(before.hub, 3)
  await before.hub.close()
  const wall = new HandWall()
  wall.us = 60_000_000
  const { hub } = await onBench(folder, { wall })
  const event = hub.emit('A.B', {})
  t.equal(Math.round(event.timestamp * 1e6), Math.round(last.timestamp * 1e6) + 1)
  hub.emit('A.B', {})
  const incidents = (await hub.getEventsSince()).filter(({ entity_type }) => entity_type === 'INCIDENT')
  t.same(
    incidents.map(({ status }) => status),
    ['CLOCK'],
  )
  await hub.close()
})
