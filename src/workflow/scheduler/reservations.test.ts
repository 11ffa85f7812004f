import { test } from 'tap'
import * as v from 'valibot'
import { VirtualClock } from '../../kit/clock.ts'
import { oneArm } from '../../testing/documents.ts'
import { Graph } from '../plans/graph.ts'
import { Hops } from '../plans/timing.ts'
import { TopologyDocument } from '../plans/topology_schema.ts'
import type { Decision } from './decision_log.ts'
import type { Keep, Request, RequestHandle, Use } from './request.ts'
import { Scheduler } from './scheduler.ts'

const lasting = (seconds: number | undefined): Use => ({ seconds: () => seconds, stays: () => seconds })
const keep = (device: string, within_s: number, seconds = 100): Keep => ({ candidates: [{ device }], within_s, use: lasting(seconds) })

/** Devices d1 to d3 and a stack, which one arm reaches, a hop takes 12 s. Each thread has the labware of its name. */
function bench(pads: string[] = []) {
  const document = v.parse(TopologyDocument, oneArm({ pads: ['stack-1', 'stack-2', 'stack-3'], parking: pads, nests: ['d1', 'd2', 'd3'] }))
  const clock = new VirtualClock()
  const decisions: Decision[] = []
  const onDecision = (decision: Decision) => void decisions.push(decision)
  const scheduler = new Scheduler(new Graph(document), { ahead: { clock, hops: new Hops(document) }, onDecision })
  const log: string[] = []
  const request = (thread_id: string, device: string, more: Partial<Request> = {}): RequestHandle =>
    scheduler.request({
      thread_id,
      priority: 1,
      candidates: [{ device }],
      use: lasting(100),
      granted: () => log.push(`${thread_id} gets ${device}`),
      stuck: () => log.push(`${thread_id} is stuck`),
      ...more,
    })
  /** It goes there at once. */
  const go = (thread: string, device: string) =>
    scheduler.requestRoute(thread, thread, scheduler.holds.reserveSite(device, thread) ?? device, (route) => {
      for (const { to } of route) scheduler.arrive(thread, to)
    })
  return { clock, scheduler, log, decisions, request, go }
}

test('others get a booked device only if they are done with it before', async (t) => {
  const { scheduler, log, request } = bench()
  scheduler.put('a', 'stack-1', 'a')
  scheduler.put('b', 'stack-2', 'b')
  scheduler.put('c', 'stack-3', 'c')
  // It comes to d1 after 12 s and is done there after 112 s.
  request('a', 'd1', { keeps: [keep('d2', 60)] })
  const long = request('b', 'd2', { use: lasting(80) })
  t.same(long.explain(), [{ wanted: 'd2', reason: 'booked', thread_id: 'a', labware_id: null }])
  request('c', 'd2', { use: lasting(60) })
  t.same(log, ['a gets d1', 'c gets d2'])
})

test('of whom nobody knows how long it will be, it gets no device that is booked', async (t) => {
  const { scheduler, log, request } = bench()
  scheduler.put('a', 'stack-1', 'a')
  scheduler.put('b', 'stack-2', 'b')
  request('a', 'd1', { keeps: [keep('d2', 60)] })
  request('b', 'd2', { use: lasting(undefined) })
  t.same(log, ['a gets d1'])
  scheduler.forget('a')
  t.same(log, ['a gets d1', 'b gets d2'])
})

test('where nobody knows how long an action takes the next device is booked from now on', async (t) => {
  const { scheduler, log, request } = bench()
  scheduler.put('a', 'stack-1', 'a')
  scheduler.put('b', 'stack-2', 'b')
  request('a', 'd1', { use: lasting(undefined), keeps: [keep('d2', 60)] })
  request('b', 'd2', { use: lasting(0) })
  t.same(log, ['a gets d1'])
  scheduler.cancelReservations('a')
  t.same(log, ['a gets d1', 'b gets d2'])
})

test('an action waits no longer than until the next device will be free in time, and time alone lets it begin', async (t) => {
  const { clock, scheduler, log, request, go } = bench()
  scheduler.put('a', 'stack-1', 'a')
  scheduler.put('b', 'stack-2', 'b')
  request('b', 'd2', { use: lasting(500) })
  go('b', 'd2')
  scheduler.began('b', 'd2')
  const asked = request('a', 'd1', { keeps: [keep('d2', 60)] })
  t.same(asked.explain(), [{ wanted: 'd2', reason: 'window', thread_id: 'b', labware_id: null }])
  // d2 is left after 524 s; the way to d1 and what is done there take 112 s, and half of what the window allows beyond the ways is left.
  await clock.advance(400_000 - 1)
  t.same(log, ['b gets d2'])
  await clock.advance(1)
  t.same(log, ['b gets d2', 'a gets d1'])
  t.equal(clock.timers, 0)
})

test('nothing is looked at again when nobody waits for time to go by', async (t) => {
  const { clock, scheduler, request, go } = bench()
  scheduler.put('a', 'stack-1', 'a')
  scheduler.put('b', 'stack-2', 'b')
  request('b', 'd2', { use: lasting(500) })
  go('b', 'd2')
  scheduler.began('b', 'd2')
  const asked = request('a', 'd1', { keeps: [keep('d2', 60)] })
  t.equal(clock.timers, 1)
  asked.withdraw()
  t.equal(clock.timers, 0)
})

test('where a ring goes through a booking and there is no room, the one that wanted to be in time begins all the same', async (t) => {
  const { scheduler, log, request } = bench()
  scheduler.put('a', 'd1', 'a')
  scheduler.put('b', 'd2', 'b')
  request('b', 'd1')
  request('a', 'd1', { keeps: [keep('d2', 60)] })
  t.same(log, ['a gets d1'])
})

test('who waits for another in a place that is booked for that one gets it where neither could go on', async (t) => {
  const { scheduler, log, decisions, request } = bench()
  scheduler.put('a', 'stack-1', 'a')
  scheduler.put('b', 'stack-2', 'b')
  request('a', 'd1', { keeps: [keep('d2', 60)] })
  request('b', 'd2', { use: lasting(900) })
  t.same(log, ['a gets d1'])
  scheduler.setAwaitedThreads('a', ['b'])
  t.same(log, ['a gets d1', 'b gets d2'])
  t.match(decisions, [{ kind: 'granted_reserved', thread_id: 'b', granted: 'd2' }])
  t.same([...decisions[0]!.thread_ids].sort(), ['a', 'b'])
})

test('whoever hurries goes before those who asked first, and what waits in its way is parked', async (t) => {
  const { scheduler, log, request } = bench(['p1'])
  scheduler.put('a', 'd1', 'a')
  scheduler.put('b', 'd2', 'b')
  scheduler.put('c', 'stack-1', 'c')
  scheduler.put('d', 'd3', 'd')
  request('c', 'd2')
  request('b', 'd3', { park: (position) => log.push(`b is parked at ${position}`), keeps: [] })
  t.same(log, [])
  scheduler.hurry('a', 60_000)
  request('a', 'd2')
  t.same(log, ['b is parked at p1'])
  scheduler.requestRoute('b', 'b', 'p1', () => {})
  scheduler.arrive('b', 'p1')
  t.same(log, ['b is parked at p1', 'a gets d2'])
})

test('a wait for the order of the plan is told from a wait for its time', async (t) => {
  const visit = { isBuffer: false, ready_ms: 0, start_ms: 50_000, isTimed: false }
  const [ofA, ofB] = [
    { ...visit, thread_id: 'a', place: 'd1' },
    { ...visit, thread_id: 'b', place: 'd1' },
  ]
  for (const [visits, obstacle] of [
    [[ofB, ofA], { reason: 'planned', thread_id: 'b' }],
    [[{ ...ofA, place: 'd3' }], { reason: 'planned', thread_id: null }],
    [[{ ...ofA, isTimed: true }], { reason: 'early', thread_id: null }],
  ] as const) {
    const { clock, scheduler, log, request } = bench()
    scheduler.put('a', 'stack-1', 'a')
    scheduler.put('b', 'stack-2', 'b')
    scheduler.put('c', 'd3', 'c')
    scheduler.follow(visits)
    const asked = request('a', 'd1', { candidates: [{ device: 'd1' }, { device: 'd3' }] })
    const [ofD1] = asked.explain()
    t.same(ofD1, { wanted: 'd1', labware_id: null, ...obstacle })
    await clock.advance(50_000)
    t.same(log, obstacle.reason === 'early' ? ['a gets d1'] : [], 'time alone ends the wait for time')
  }
})
