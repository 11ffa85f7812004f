import { test } from 'tap'
import { TimedStage, visitsOf } from '../../testing/scheduler.ts'
import type { AdviceEvents } from './advice.ts'

/** A bench of three devices, and the events of its plan. */
function bench() {
  const stage = new TimedStage({ arm: 'd1 d2 d3 p1 p2 p3 s1' })
  const told: string[] = []
  const events: AdviceEvents = {
    stranger: (thread_id) => told.push(`${thread_id} is a stranger`),
    ready: (late_ms) => told.push(`ready ${late_ms}`),
    granted: () => told.push('granted'),
    held: () => told.push('held'),
    dropped: () => told.push('dropped'),
  }
  stage.scheduler.advice.events = events
  return { stage, scheduler: stage.scheduler, follow: (...lines: string[]) => stage.scheduler.follow(visitsOf(...lines)), told }
}

test('labware comes to a device in the order of the plan, and a request that waits says for whom', (t) => {
  const { stage, follow } = bench()
  stage.stand(['a', 'p1'], ['b', 'p2'])
  follow('b d1 0', 'a d1 100', 'b s1 100')
  stage.wish('a', 'd1')
  t.same(stage.news, [])
  t.same(stage.reasons('a'), ['d1 planned b null'])
  stage.wish('b', 'd1')
  t.same(stage.news, ['b gets d1'])
  stage.visit('b')
  t.same(stage.reasons('a'), ['d1 occupied b b'])
  stage.wish('b', 's1')
  stage.go('b')
  t.same(stage.news, ['b gets s1', 'a gets d1'])
  t.end()
})

test('of several devices labware gets the one of the plan, although another is free', (t) => {
  const { stage, scheduler, follow } = bench()
  stage.stand(['a', 'p1'], ['b', 'p2'])
  stage.work('b', 'd2', 100)
  follow('a d2 100')
  stage.wish('a', 'd1 d2')
  t.same(stage.reasons('a'), ['d2 held b null', 'd2 occupied b b', 'd1 planned null null'].sort(), 'of the other one the plan says no')
  scheduler.remove('b')
  scheduler.forget('b')
  t.same(stage.news, ['b gets d2', 'a gets d2'])
  t.end()
})

test('a visit after which another has to begin in time does not begin earlier, and time alone lets it begin', async (t) => {
  const { stage, follow } = bench()
  stage.stand(['a', 'p1'], ['b', 'p2'])
  follow('a d1 100 timed', 'b d2 100')
  stage.wish('a', 'd1')
  stage.wish('b', 'd2')
  t.same(stage.news, ['b gets d2'], 'other visits begin earlier, if they can')
  t.same(stage.reasons('a'), ['d1 early null null'])
  await stage.clock.advance(100_000 - 1)
  t.same(stage.news, [])
  await stage.clock.advance(1)
  t.same(stage.news, ['a gets d1'])
})

test('labware that is not in the plan goes by the rule, and the planner hears of it, as of labware that asks for something else', (t) => {
  const { stage, follow, told } = bench()
  stage.stand(['a', 'p1'], ['b', 'p2'], ['c', 'p3'])
  follow('a d1 0', 'a d2 50', 'c d1 100')
  stage.wish('b', 'd1')
  t.same(stage.news, ['b gets d1'])
  t.same(told.splice(0), ['b is a stranger', 'granted'])
  stage.wish('a', 'd2')
  t.equal(told[0], 'a is a stranger', 'its step was skipped, or another was put before it')
  t.end()
})

test('the plan is told how late labware is ready, and when a visit begins', async (t) => {
  const { stage, follow, told } = bench()
  stage.stand(['a', 'p1'], ['b', 'p2'])
  follow('a d1 20', 'a d2 40', 'b d1 60')
  await stage.clock.advance(25_000)
  stage.wish('a', 'd1')
  stage.wish('b', 'd1')
  t.same(told, ['ready 5000', 'granted', 'ready -35000'])
  stage.go('a')
  stage.wish('a', 'd1')
  t.same(told.splice(0), ['ready 5000', 'granted', 'ready -35000'], 'labware that stays where it is begins no visit')
  stage.scheduler.holds.release('a', 'd1')
  stage.wish('a', '')
  t.same(told, [], 'nor does labware that only waits')
})

test('labware that is to come onto the deck does not wait for the plan, which begins when it stands there', (t) => {
  const { stage, follow, told } = bench()
  stage.stand(['b', 'p2'])
  follow('b d1 0', 'a d1 100')
  stage.wish('a', 'p1')
  t.same(stage.news, ['a gets p1'])
  t.same(told, [])
  t.end()
})

test('the visit that begins first of those that are next is the next one', (t) => {
  const { stage, scheduler, follow } = bench()
  t.equal(scheduler.advice.nextVisit(), undefined)
  stage.stand(['a', 'p1'], ['b', 'p2'])
  follow('b d2 30', 'a d1 20', 'b d1 50')
  t.match(scheduler.advice.nextVisit(), { thread_id: 'a', place: 'd1' })
  stage.wish('a', 'd1')
  t.match(scheduler.advice.nextVisit(), { thread_id: 'b', place: 'd2' })
  t.same(
    [scheduler.advice.startOf('a'), scheduler.advice.startOf('b')],
    [20_000, undefined],
    'the move that is under way was to begin then',
  )
  t.end()
})

test('without a plan the rule decides, and a new plan takes the place of the old one', (t) => {
  const { stage, scheduler, follow } = bench()
  stage.stand(['a', 'p1'], ['b', 'p2'], ['c', 'p3'])
  follow('c d1 0', 'b d1 50', 'a d1 100')
  stage.wish('a', 'd1')
  stage.wish('b', 'd1')
  follow('b d1 0', 'c d1 50', 'a d1 100')
  t.same(stage.news, ['b gets d1'])
  stage.visit('b')
  scheduler.remove('b')
  t.same(stage.news, [])
  t.ok(scheduler.advice.isInForce)
  scheduler.follow([])
  t.notOk(scheduler.advice.isInForce)
  t.same(stage.news, ['a gets d1'])
  t.end()
})

test('labware stays in its device for several actions, and the visit of the next labware comes afterwards', (t) => {
  const { stage, scheduler, follow, told } = bench()
  stage.stand(['a', 'p1'], ['b', 'p2'])
  follow('a d1 0', 'a d2 100', 'b d1 120')
  stage.wish('a', 'd1')
  stage.visit('a')
  stage.wish('a', 'd1')
  t.same(stage.news, ['a gets d1', 'a gets d1'])
  t.same(told, ['ready 0', 'granted'], 'the further action is no visit of its own')
  scheduler.holds.release('a', 'd1')
  follow('a d1 0', 'a d2 100', 'b d1 120')
  stage.wish('b', 'd1')
  stage.wish('a', 'd1')
  scheduler.holds.release('a', 'd1')
  stage.wish('a', 'd2')
  stage.go('a')
  t.same(stage.news, ['a gets d1', 'a gets d2', 'b gets d1'], 'a plan that is made in between has one, which is over afterwards')
  t.end()
})

test('while a plan is due new requests wait, and labware on its way goes on', (t) => {
  const { stage, scheduler, follow } = bench()
  stage.stand(['a', 'p1'], ['b', 'p2'])
  stage.wish('a', 'd1')
  scheduler.setPlanDue(true)
  stage.wish('b', 'd2')
  t.same(stage.news, ['a gets d1'])
  stage.go('a')
  t.equal(scheduler.whereIs('a'), 'd1')
  scheduler.setPlanDue(false)
  t.same(stage.news, ['b gets d2'], 'the search took too long')
  scheduler.setPlanDue(true)
  scheduler.holds.release('a', 'd1')
  stage.wish('a', 'd3')
  t.same(stage.news, [])
  follow('a d3 0')
  t.same(stage.news, ['a gets d3'], 'a plan has been made')
  t.end()
})

test('a held thread is taken out of the plan, so that nobody waits for it', (t) => {
  const { stage, scheduler, follow, told } = bench()
  stage.stand(['a', 'p1'], ['b', 'p2'])
  follow('b d1 0', 'a d1 100', 'b d2 100')
  stage.wish('a', 'd1')
  t.same(stage.news, [])
  scheduler.setHeld('b', true)
  t.notOk(scheduler.advice.has('b'))
  t.same(stage.news, ['a gets d1'])
  t.ok(told.includes('held'))
  scheduler.setHeld('b', true)
  t.equal(told.filter((what) => what === 'held').length, 1)
  scheduler.setHeld('b', false)
  t.equal(told.filter((what) => what === 'held').length, 2, 'it goes on')
  t.end()
})

test('threads that wait for each other because of the plan give it up', (t) => {
  const { stage, scheduler, follow, told } = bench()
  stage.stand(['a', 'p1'])
  follow('c d1 0', 'a d1 100')
  // The plan sends b to the position where a stands.
  stage.wish('c', 'p1')
  t.notOk(told.includes('dropped'))
  stage.wish('a', 'd1')
  t.ok(told.includes('dropped'))
  t.notOk(scheduler.advice.isInForce)
  t.same(stage.news, ['a gets d1'])
  t.end()
})

test('a plan stays in force where threads want each other’s places: one of them is parked, as without a plan', (t) => {
  const { stage, scheduler, follow, told } = bench()
  stage.stand(['a', 'd1'], ['b', 'd2'])
  follow('a d2 0', 'b d1 10')
  stage.wish('a', 'd2')
  stage.wish('b', 'd1')
  t.notOk(told.includes('dropped'))
  t.ok(scheduler.advice.isInForce)
  t.same(stage.news, ['deadlock of a b: b', 'b is to park at p1'])
  t.end()
})

test('planned labware waits where the plan says, once that is free; a next device that is free is better', (t) => {
  const { stage, scheduler, follow } = bench()
  stage.stand(['a', 'd1'], ['b', 'd2'], ['c', 'p2'])
  follow('c d3 0', 'a p2 20 waits', 'a d2 100', 'b s1 80')
  stage.wish('a', 'd2')
  t.same(stage.news, [], 'c stands there')
  stage.wish('c', 'd3')
  stage.go('c')
  t.same(stage.news, ['c gets d3', 'a is to park at p2'])
  t.same(stage.decisions, ['buffered a p2'])
  stage.park('a')
  t.equal(scheduler.whereIs('a'), 'p2')
  stage.wish('b', 's1')
  stage.go('b')
  t.same(stage.news, ['b gets s1', 'a gets d2'])
  follow('c p1 200 waits', 'c d1 300')
  scheduler.holds.release('c', 'd3')
  stage.wish('c', 'd1')
  t.same(stage.news, ['c gets d1'])
  t.end()
})

test('a visit that is ready too early waits for one that is due and has not set out, but not longer than until its own time', async (t) => {
  const { stage, follow } = bench()
  stage.stand(['a', 'd1'], ['b', 'p1'], ['c', 'd2'])
  follow('b d1 90', 'a s1 80', 'c p2 100')
  await stage.clock.advance(95_000)
  stage.wish('c', 'p2')
  t.same(stage.reasons('c'), ['p2 early null null'], 'a was to leave for b, which is late')
  stage.wish('a', 's1')
  stage.go('a')
  t.same(stage.news, ['a gets s1'])
  stage.wish('b', 'd1')
  t.same(stage.news, ['b gets d1'])
  t.same(stage.reasons('c'), ['p2 early null null'], 'b has not set out')
  stage.go('b')
  t.same(stage.news, ['c gets p2'])
  follow('b s1 90', 'c d2 200')
  stage.wish('c', 'd2')
  t.same(stage.news, [])
  await stage.clock.advance(105_000)
  t.same(stage.news, ['c gets d2'], 'b is still where it is')
})

test('labware waits in a storage until the plan says, and comes near its device then', async (t) => {
  const { stage, follow } = bench()
  stage.stand(['a', 'd1'], ['b', 'd2'])
  follow('a p1 50 waits timed', 'a d2 100', 'b s1 90')
  stage.wish('a', 'd2')
  await stage.clock.advance(50_000 - 1)
  t.same(stage.news, [])
  await stage.clock.advance(1)
  t.same(stage.news, ['a is to park at p1'])
})

test('labware is parked where the plan says before others that come to the same place later', (t) => {
  const { stage, follow } = bench()
  stage.stand(['a', 'd1'], ['b', 'd2'], ['c', 'd3'])
  follow('a p1 0 waits', 'b p1 50 waits', 'c s1 90', 'a d3 100', 'b d3 200')
  stage.wish('b', 'd3')
  t.same(stage.news, [])
  stage.wish('a', 'd3')
  t.same(stage.news, ['a is to park at p1'])
  t.end()
})

test('a plan knows what was granted while it was made', (t) => {
  const { stage, scheduler, follow } = bench()
  stage.stand(['a', 'p1'])
  scheduler.advice.remember()
  stage.wish('a', 'd1')
  follow('a d1 0', 'a d2 100')
  stage.visit('a')
  stage.wish('a', 'd2')
  t.same(stage.news, ['a gets d1', 'a gets d2'])
  t.end()
})

test('labware in a delay does not make others give up a plan that has them wait for it', (t) => {
  const { stage, scheduler, follow, told } = bench()
  stage.stand(['a', 'p1'], ['b', 'p2'])
  follow('a d1 0', 'b d1 100')
  const idle = { thread_id: 'a', priority: 1, candidates: [], granted: () => {} } as const
  const delay = scheduler.request({ ...idle, endsByItself: true })
  stage.wish('b', 'd1')
  t.same([told.includes('dropped'), stage.news], [false, []])
  delay.withdraw()
  scheduler.request(idle)
  t.same([told.includes('dropped'), stage.news], [true, ['b gets d1']], 'labware that waits for others does')
  t.end()
})
