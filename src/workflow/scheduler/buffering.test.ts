// Finished labware in the way, by the rule alone. A hop takes 12 s, so that three hops are 36 s; two of them are the way of the labware that leaves.

import { test } from 'tap'
import { TimedStage } from '../../testing/scheduler.ts'

const alone = { alone: true } as const

/** Labware `done` stands finished in d1 and wants d2, where `slow` is at work for so many seconds more. Labware `next` stands at p2. */
function bench(seconds: number | undefined, arms: Record<string, string> = { arm: 'd1 d2 d3 h1 p1 p2 s1' }) {
  const stage = new TimedStage(arms).stand(['slow', 's1'], ['next', 'p2'], ['done', 'd1'])
  stage.work('slow', 'd2', seconds)
  stage.news
  return stage
}

test('finished labware that would wait three hops or longer makes room for labware that wants its device', (t) => {
  for (const [seconds, isParked] of [
    [12, true],
    [11, false],
    [undefined, true],
  ] as const) {
    const stage = bench(seconds)
    stage.wish('done', 'd2', alone)
    t.same(stage.news, [], 'nobody wants d1')
    stage.wish('next', 'd1', alone)
    t.same(stage.news, isParked ? ['done is to park at p1'] : [], `${seconds} s`)
    t.same(stage.decisions, isParked ? ['buffered done p1'] : [])
    if (!isParked) continue
    stage.park('done')
    t.same(stage.news, ['next gets d1'])
    t.same(stage.reasons('done'), ['d2 held slow null', 'd2 occupied slow slow'])
  }
  t.end()
})

test('it waits at its own start, if that is free and nobody wants it, else at the nearest parking position', (t) => {
  const atHome = bench(100)
  atHome.wish('done', 'd2', { ...alone, home: 'h1' })
  atHome.wish('next', 'd1', alone)
  t.same(atHome.news, ['done is to park at h1'])
  const taken = bench(100).stand(['other', 'h1'])
  taken.wish('done', 'd2', { ...alone, home: 'h1' })
  taken.wish('next', 'd1', alone)
  t.same(taken.news, ['done is to park at p1'])
  const wanted = bench(100).stand(['other', 'h1'], ['third', 'd3'])
  wanted.wish('third', 'h1', alone)
  wanted.scheduler.remove('other')
  t.same(wanted.news, ['third gets h1'])
  wanted.wish('done', 'd2', { ...alone, home: 'h1' })
  wanted.wish('next', 'd1', alone)
  t.same(wanted.news, ['done is to park at p1'])
  t.end()
})

test('it stays where no place is free, and leaves when one becomes free', (t) => {
  const stage = bench(100).stand(['other', 'p1'])
  stage.wish('done', 'd2', alone)
  stage.wish('next', 'd1', alone)
  t.same(stage.news, [])
  stage.scheduler.remove('other')
  t.same(stage.news, ['done is to park at p1'])
  t.end()
})

const stays: Record<string, (stage: TimedStage) => void> = {
  'needs other labware later': (stage) => stage.wish('done', 'd2'),
  'must stay where it is': (stage) => stage.wish('done', 'd2', { ...alone, stays: true }),
  'has to be at the device after next in time': (stage) =>
    stage.wish('done', 'd2', {
      ...alone,
      keeps: [{ candidates: [{ device: 'd3' }], within_s: 60, use: { seconds: () => 1, stays: () => 1 } }],
    }),
  'has a deadline': (stage) => {
    stage.scheduler.hurry('done', 500_000)
    stage.wish('done', 'd2', alone)
  },
  'has been parked once': (stage) => stage.wish('done', 'd2', alone, { sequence: 50, parked: 1, since: 0 }),
  'wants the same device again': (stage) => {
    stage.wish('done', 'd1 d2', alone)
    stage.scheduler.holds.release('done', 'd1')
  },
}

for (const [what, asks] of Object.entries(stays))
  test(`labware stays where it is if it ${what}`, (t) => {
    const stage = bench(100)
    asks(stage)
    stage.news
    stage.wish('next', 'd1', alone)
    t.same(stage.news, [])
    t.same(stage.decisions, [])
    t.end()
  })

test('labware stays where it is if only held labware wants its device', (t) => {
  const stage = bench(100)
  stage.wish('done', 'd2', alone)
  stage.scheduler.setHeld('next', true)
  stage.wish('next', 'd1', alone)
  t.same(stage.news, [])
  stage.scheduler.setHeld('next', false)
  t.same(stage.news, ['done is to park at p1'])
  t.end()
})

test('labware stays where it is while its own thread is at work there', (t) => {
  const stage = new TimedStage({ arm: 'd1 d2 p1 p2 s1' }).stand(['slow', 's1'], ['next', 'p2'], ['busy', 'p1'])
  stage.work('slow', 'd2', 100)
  stage.work('busy', 'd1', 100)
  stage.news
  stage.wish('next', 'd1', alone)
  stage.wish('busy', 'd2', alone)
  t.same(stage.news, [], 'it keeps d1')
  stage.scheduler.holds.release('busy', 'd1')
  t.same(stage.news, ['busy is to park at p1'])
  t.end()
})

test('labware that waits for a device at work is parked before labware that waits for that labware to leave', (t) => {
  const stage = new TimedStage({ arm: 'd1 d2 d3 p1 p2 p3 s1' }).stand(['slow', 's1'], ['second', 'd1'], ['first', 'd2'], ['third', 'p2'])
  stage.work('slow', 'd3', 100)
  stage.scheduler.put('other', 'p3', null)
  stage.news
  stage.wish('second', 'd2', alone)
  stage.wish('third', 'd1', alone)
  t.same(stage.news, ['second is to park at p1'], 'as long as it does not know that first will leave')
  const both = new TimedStage({ arm: 'd1 d2 d3 p1 p2 p3 s1' }).stand(['slow', 's1'], ['second', 'd1'], ['first', 'd2'], ['third', 'p2'])
  both.work('slow', 'd3', 100)
  both.scheduler.put('other', 'p3', null)
  both.news
  both.scheduler.setPlanDue(true)
  both.wish('third', 'd1', alone)
  both.wish('second', 'd2', alone)
  both.wish('first', 'd3', alone)
  both.scheduler.setPlanDue(false)
  t.same(both.news, ['first is to park at p1'])
  both.park('first')
  t.same(both.news, ['second gets d2'])
  t.end()
})

test('held labware is parked only to resolve a deadlock', (t) => {
  const stage = bench(100)
  stage.scheduler.setHeld('done', true)
  stage.wish('done', 'd2', alone)
  stage.wish('next', 'd1', alone)
  t.same(stage.decisions, ['parked done'])
  t.end()
})

test('labware is not parked out of a device that another thread holds', (t) => {
  const stage = new TimedStage({ arm: 'd1*2 d2 p1 p2 s1' }).stand(['slow', 's1'], ['next', 'p2'], ['done', 'd1/site-1'])
  stage.work('slow', 'd2', 100)
  stage.wish('busy', 'd1', { inputs: ['done'] })
  stage.news
  stage.wish('next', 'd1', alone)
  stage.wish('done', 'd2', alone)
  t.same(stage.news, [])
  stage.scheduler.holds.release('busy', 'd1')
  t.same(stage.news, ['done is to park at p1'])
  t.end()
})
