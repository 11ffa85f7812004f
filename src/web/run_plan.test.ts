import { test } from 'tap'
import type { TimelineRow } from '../clients/ts/benchd.ts'
import { endOf, forecastWords, lateBy, lateWords, paceOf, planOf, RunLanes } from './run_plan.ts'

const gantt = [
  { thread_name: 'plate', kind: 'move', name: 'pad_1 → nest', device: 'arm-1', from_s: 0, to_s: 20 },
  { thread_name: 'plate', kind: 'action', name: 'shake', device: 'shaker-1', from_s: 20, to_s: 80 },
  { thread_name: 'plate', kind: 'action', name: 'emit', device: null, from_s: 80, to_s: 80 },
  { thread_name: 'plate', kind: 'action', name: 'seal', device: 'sealer-1', from_s: 100, to_s: 200 },
  { thread_name: 'plate-2', kind: 'action', name: 'shake', device: 'shaker-1', from_s: 80, to_s: 140 },
] as const

const row = (id: string, its: Partial<TimelineRow>): TimelineRow => ({
  ...{ action_id: id, thread_id: 't', thread_name: 'plate', kind: 'action', name: 'shake', method_id: null, method_name: null },
  ...{ device: 'shaker-1', from: null, to: null, transporter: null, status: 'COMPLETED', created: 0, started: 0, ended: 0 },
  ...its,
})
const move = row('m', { kind: 'move', name: null, device: null, from: 'pad_1', to: 'nest', transporter: 'arm-1', started: 0, ended: 10 })
const byId = (...rows: TimelineRow[]) => Object.fromEntries(rows.map((one) => [one.action_id, one]))

test('the plan has the seconds of the run, and no step that nobody can see', (t) => {
  const plan = planOf(gantt, 2)
  t.same(
    plan.get('plate')?.map(({ label, from_s, to_s }) => [label, from_s, to_s]),
    [
      ['pad_1 → nest', 0, 10],
      ['shake on shaker-1', 10, 40],
      ['seal on sealer-1', 50, 100],
    ],
  )
  t.end()
})

test('a plate is late by what its last step was late, and by what it waits beyond the plan', (t) => {
  const plan = planOf(gantt, 2).get('plate')!
  const pace = (...rows: TimelineRow[]) => new RunLanes(new Map([['plate', plan]])).take(byId(...rows))[0]!.pace
  const begun = paceOf(plan, [])
  t.equal(lateBy(begun, 0), 0)
  t.equal(lateBy(begun, 8), 8, 'nothing has begun')
  t.equal(endOf(begun, 8), 108)
  const early = pace({ ...move, ended: 6 })
  t.equal(lateBy(early, 7), -3, 'the next step is due at 10')
  t.equal(endOf(early, 7), 97)
  const running = pace(move, row('a', { started: 12, ended: null, status: 'EXECUTING_ACTION' }))
  t.equal(lateBy(running, 20), 0)
  t.equal(lateBy(running, 55), 15, 'it should have ended at 40')
  const other = pace(move, row('a', { device: 'shaker-2', started: 10, ended: 45 }))
  t.equal(lateBy(other, 46), 5, 'another device of a pool is the same step')
  const over = pace(move, row('a', { started: 10, ended: 40 }), row('b', { name: 'seal', device: 'sealer-1', started: 50, ended: 130 }))
  t.equal(lateBy(over, 9999), 30)
  t.equal(endOf(over, 9999), 130)
  t.equal(endOf(paceOf([], []), 5), undefined)
  t.end()
})

test('small differences are no news, larger ones are words', (t) => {
  t.same(lateWords(4, 60), { word: 'on time', isLate: false })
  t.same(lateWords(-100, 3600), { word: 'on time', isLate: false })
  t.same(lateWords(40, 60), { word: '0:40 late', isLate: true })
  t.same(lateWords(-40, 60), { word: '0:40 early', isLate: false })
  t.end()
})

test('a change of a thread makes its lane anew, and no other', (t) => {
  const lanes = new RunLanes(planOf(gantt, 2))
  const second = row('s', { thread_name: 'plate-2', started: 40, ended: null, status: 'EXECUTING_ACTION' })
  const [plate, other] = lanes.take(byId(move, second))
  const [same, changed] = lanes.take(byId(move, { ...second, ended: 70, status: 'COMPLETED' }))
  t.equal(same, plate)
  t.not(changed, other)
  t.equal(changed?.bars[0]?.tone, 'done')
  t.equal(lanes.take(byId(move, row('x', { status: 'ERRORED', started: 11, ended: 12 })))[0]?.bars[1]?.tone, 'failed')
  t.end()
})

test('a plan that ends where the run waits for somebody has no end', (t) => {
  const [lane] = new RunLanes(planOf(gantt, 2), false).take(byId(move))
  t.ok(lane!.plan.length > 0)
  t.equal(lane!.pace.planned_s, undefined)
  t.equal(endOf(lane!.pace, 20), undefined)
  t.end()
})

test('a forecast says its real time where time is simulated', (t) => {
  t.equal(forecastWords(387, 1), '6:27')
  t.equal(forecastWords(387, 20), '6:27 of simulated time, about 0:19 in real time')
  t.end()
})
