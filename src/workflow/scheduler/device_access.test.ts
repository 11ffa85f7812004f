// Arms and devices keep clear of each other: an arm never reaches into a device that is at work.

import { test } from 'tap'
import { graphOf, Stage } from '../../testing/scheduler.ts'

const bench = () => new Stage(graphOf({ left: 'd1*2 h1 p1', right: 'h1 s1 s2' }))

/** Calls `work`, and logs its beginning. */
function work(stage: Stage, thread: string, device = 'd1') {
  return stage.scheduler.access.work(thread, device, { yields: true, granted: () => stage.log.push(`${thread} works`) })
}

function setOut(stage: Stage, thread: string, to: string) {
  const granted = () => stage.log.push(`${thread} may go`)
  return stage.scheduler.requestRoute(thread, thread, to, granted)
}

test('labware leaves a device when the work there has ended, and keeps no way from others until then', (t) => {
  const stage = bench().stand(['a', 's1'], ['b', 'd1/site-1'], ['c', 'p1'])
  stage.wish('a', 'd1', { inputs: ['b'] })
  stage.wish('b', 's2')
  work(stage, 'a')
  const travel = setOut(stage, 'b', 's2')
  t.same(stage.news, ['a gets d1', 'b gets s2', 'a works'])
  t.same(travel.explain(), [{ wanted: 's2', reason: 'at_work', thread_id: 'a', labware_id: null }])
  stage.wish('c', 's1')
  t.same(stage.news, [], 'a stands there')
  t.equal(stage.scheduler.position('h1').reserved_for, null)
  stage.scheduler.access.endWork('d1')
  t.same(stage.news, ['b may go'])
  t.end()
})

test('labware that may leave leaves first, unless it stands all the same', (t) => {
  const stage = bench().stand(['a', 's1'], ['b', 'd1/site-1'], ['x', 'p1'])
  stage.wish('a', 'd1', { inputs: ['b'] })
  stage.wish('b', 's2')
  setOut(stage, 'b', 's2')
  t.same(stage.news, ['a gets d1', 'b gets s2', 'b may go'])
  const waits = work(stage, 'a')
  t.same(waits.explain(), [{ wanted: 'd1', reason: 'reached_into', thread_id: 'b', labware_id: null }])
  stage.scheduler.take('left', 'x', () => {})
  stage.scheduler.setHeld('x', true)
  t.same(stage.news, [], 'it may still go')
  stage.scheduler.take('left', 'b', () => stage.log.push('b has the arm'))
  t.same(stage.news, ['a works'], 'a held thread has the arm that it needs')
  t.notOk(stage.scheduler.access.reachIn('b', ['d1/site-1', 'h1']))
  stage.scheduler.access.awaitRest('b', ['d1/site-1', 'h1'], () => stage.log.push('b tries again'))
  stage.scheduler.access.endWork('d1')
  t.same(stage.news, ['b tries again'])
  t.ok(stage.scheduler.access.reachIn('b', ['d1/site-1', 'h1']))
  t.end()
})

test('a device begins no work while an arm reaches in, also where it broke off and its thread has ended', (t) => {
  const stage = bench().stand(['a', 's1'], ['b', 'd1/site-1'])
  stage.wish('a', 'd1', { inputs: ['b'] })
  t.ok(stage.scheduler.access.reachIn('b', ['d1/site-1', 'h1']))
  const waits = work(stage, 'a')
  stage.scheduler.access.transferReach('b', 'left labware')
  stage.scheduler.forget('b')
  t.same(waits.explain(), [{ wanted: 'd1', reason: 'reached_into', thread_id: 'left labware', labware_id: null }])
  t.same(stage.news, ['a gets d1'])
  stage.scheduler.forget('left labware')
  t.same(stage.news, ['a works'])
  t.ok(stage.scheduler.access.reachIn('c', ['h1']))
  t.notOk(stage.scheduler.access.reachIn('c', ['h1', 'd1/site-2']))
  t.end()
})

test('work that is called off lets labware set out again', (t) => {
  const stage = bench().stand(['a', 's1'], ['b', 'd1/site-1'], ['c', 'd1/site-2'])
  stage.wish('a', 'd1', { inputs: ['b', 'c'] })
  stage.wish('b', 's2')
  stage.wish('c', 'p1')
  t.ok(stage.scheduler.access.reachIn('b', ['d1/site-1', 'h1']))
  const waits = work(stage, 'a')
  setOut(stage, 'c', 'p1')
  t.same(stage.news, ['a gets d1', 'b gets s2', 'c gets p1'])
  waits.withdraw()
  t.same(stage.news, ['c may go'])
  t.end()
})
