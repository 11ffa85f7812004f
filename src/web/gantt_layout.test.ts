import { test } from 'tap'
import { type Bar, barAt, happenedAs, type Lane, rowsInView, scaleEnd, stepsIn, ticksOf } from './gantt_layout.ts'

const bar = (id: string, from_s: number, to_s: number | null, label = id): Bar => ({
  ...{ id, kind: 'action', label, from_s, to_s },
  tone: to_s === null ? 'running' : 'done',
})

test('of a thousand rows those in view are drawn, and a few beside them', (t) => {
  t.same(rowsInView({ top_px: 0, height_px: 480, rows: 1000 }), { first: 0, end: 22 })
  for (const top_px of [0, 1, 47, 48, 500, 12_345, 47_520]) {
    const { first, end } = rowsInView({ top_px, height_px: 480, rows: 1000 })
    t.ok(first * 48 <= top_px && (end === 1000 || end * 48 >= top_px + 480), `${top_px}: ${first} to ${end}`)
    t.ok(end - first <= 30, 'few')
  }
  t.same(rowsInView({ top_px: 0, height_px: 480, rows: 2 }), { first: 0, end: 2 })
  t.same(rowsInView({ top_px: 9000, height_px: 480, rows: 0 }), { first: 0, end: 0 })
  t.end()
})

test('the scale of a run that goes on changes seldom, and its ticks are round times of day', (t) => {
  t.equal(new Set(Array.from({ length: 60 }, (_, n) => scaleEnd(600 + n))).size, 2)
  t.ok(scaleEnd(0) > 0)
  t.same(ticksOf(10, 5), [0, 2, 4, 6, 8, 10])
  t.same(ticksOf(60, 4, 1_000_007), [13, 28, 43, 58])
  t.ok(ticksOf(60, 4, 1_000_007).every((tick) => (1_000_007 + tick) % 15 === 0))
  t.end()
})

test('a tap means the step that is there, or the nearest; a planned step that has happened is told as it happened', (t) => {
  const planned = [bar('plan 0', 0, 10, 'shake'), bar('plan 1', 10, 50, 'seal'), bar('plan 2', 60, 80, 'shake')]
  const lane: Lane = { thread: 'plate', plan: planned, bars: [bar('a', 0, 12, 'shake'), bar('b', 14, null, 'seal')] }
  t.equal(barAt(lane, 5, 20)?.id, 'a')
  t.equal(barAt(lane, 18, 20)?.id, 'b')
  t.equal(barAt(lane, 45, 20)?.id, 'b', 'the rest of the plan of a running step')
  t.equal(barAt(lane, 70, 20)?.id, 'plan 2')
  t.equal(barAt({ thread: 'none', plan: [], bars: [] }, 5, 20), undefined)
  t.equal(happenedAs(lane, planned[0]!)?.id, 'a')
  t.equal(happenedAs(lane, planned[2]!), undefined, 'the second shake has not happened')
  t.same(
    stepsIn(lane).map(({ id }) => id),
    ['a', 'b', 'plan 2'],
  )
  t.end()
})

test('a lane of many steps is compared with its plan in one pass', (t) => {
  let read = 0
  const counted = (id: string, at: number): Bar => ({
    ...bar(id, at, at + 1),
    get label() {
      read++
      return 'shake'
    },
  })
  const lane = (name: string) => Array.from({ length: 500 }, (_, n) => counted(`${name} ${n}`, n))
  const its: Lane = { thread: 'plate', plan: lane('planned'), bars: lane('done').slice(0, 400) }
  t.equal(stepsIn(its).length, 500)
  t.equal(happenedAs(its, its.plan[7]!)?.id, 'done 7')
  t.equal(happenedAs(its, its.plan[400]!), undefined)
  t.ok(read <= 2000, `${read} labels were read`)
  t.end()
})
