import { test } from 'tap'
import { TimedStage } from '../../testing/scheduler.ts'
import type { Again } from './request.ts'

/** Device d1 is at work for `first`, and two others stand at their positions. */
function bench() {
  const stage = new TimedStage({ arm: 'd1 d2 p1 p2 p3 s1' }).stand(['first', 'p1'], ['old', 'p2'], ['young', 'p3'])
  stage.work('first', 'd1')
  stage.news
  return stage
}

function leave(stage: TimedStage): string[] {
  stage.scheduler.remove('first')
  stage.scheduler.forget('first')
  return stage.news
}

test('the more urgent request goes first, unless the other one has waited four seconds for each second of urgency', async (t) => {
  for (const [waited_s, next] of [
    [0, 'young'],
    [399, 'young'],
    [400, 'old'],
    [401, 'old'],
  ] as const) {
    const stage = bench()
    stage.wish('old', 'd1', { urgency_s: -50 })
    await stage.clock.advance(waited_s * 1000)
    stage.wish('young', 'd1', { urgency_s: 50 })
    t.same(leave(stage), [`${next} gets d1`], `${waited_s} s`)
  }
})

test('nobody starves: however urgent those are that come later, labware that waits is served', async (t) => {
  const stage = new TimedStage({ arm: 'd1 p1 p2' })
  stage.stand(['old', 'p1'])
  stage.scheduler.put('t0', 'd1', 't0')
  stage.wish('old', 'd1', { urgency_s: 0 })
  let served = 0
  for (let i = 1; i <= 20 && !stage.news.includes('old gets d1'); i++) {
    stage.scheduler.put(`t${i}`, 'p2', `t${i}`)
    stage.wish(`t${i}`, 'd1', { urgency_s: 100 })
    await stage.clock.advance(60_000)
    stage.scheduler.remove(`t${i - 1}`)
    stage.scheduler.forget(`t${i - 1}`)
    if (stage.log.includes('old gets d1')) break
    stage.go(`t${i}`)
    served = i
  }
  t.ok(served >= 5 && served < 10, `${served} went before it`)
})

test('labware that was parked keeps its rank, and the time for which it has waited', async (t) => {
  const stage = bench()
  const first = stage.wish('old', 'd1', { urgency_s: 0, park: () => {} })
  await stage.clock.advance(400_000)
  first.withdraw()
  const again: Again = { sequence: 1, parked: 1, since: 0 }
  stage.wish('young', 'd1', { urgency_s: 99 })
  stage.wish('old', 'd1', { urgency_s: 0 }, again)
  t.same(leave(stage), ['old gets d1'])
  const anew = bench()
  await anew.clock.advance(400_000)
  anew.wish('young', 'd1', { urgency_s: 99 })
  anew.wish('old', 'd1', { urgency_s: 0 })
  t.same(leave(anew), ['young gets d1'])
})
