import { test } from 'tap'
import { entriesOf } from './run_log.ts'

const action = {
  ...{ kind: 'action', action_id: 'a', name: 'shake', thread_name: 'plate', barcode: 'P-17', device_id: 'shaker-1' },
  ...{
    operations: [{ operation: 'shake', params: { speed: 500, duration: 5 } }],
    created: 8,
    started: 10,
    ended: 15,
    outcome: 'COMPLETED',
    error: null,
  },
}
const move = {
  ...{ kind: 'move', action_id: 'm', thread_name: 'plate', barcode: null, from: 'pad_1', to: 'shaker_in', transporter: 'arm-1' },
  ...{ operations: [], created: 1, started: 2, ended: 9, outcome: 'COMPLETED', error: null },
}
const textsOf = (...rows: object[]) => entriesOf(rows as Record<string, unknown>[]).map(({ text }) => text)

test('steps are in the words of an operator, with the values that they gave, in the order in which they began', (t) => {
  const value = { kind: 'value', action_id: 'a', at: 15, name: 'od', value: 0.52, unit: 'AU' }
  const entries = entriesOf([action, value, move])
  t.same(
    entries.map(({ at, text }) => [at, text]),
    [
      [2, 'plate: moved from pad_1 to shaker_in by arm-1'],
      [10, 'plate P-17: shaking on shaker-1, 500 rpm, 5 s → od 0.52 AU'],
    ],
  )
  t.equal(entries[1]?.action_id, 'a')
  t.end()
})

test('a failure, an incident and a decision stand in the same list, and states of the engine do not', (t) => {
  const failed = { ...action, outcome: 'ERRORED', error: 'jammed' }
  t.same(textsOf(failed), ['plate P-17: shaking on shaker-1, 500 rpm, 5 s; failed: jammed'])
  t.same(textsOf({ ...action, device_id: null, name: 'emit', operations: [] }), [])
  t.same(textsOf({ kind: 'readings', at: 1, device_id: 'shaker-1', values: {} }, { kind: 'teachpoint', at: 1 }), [])
  const incident = { kind: 'incident', at: 12, severity: 'ERROR', message: 'shaker-1: jammed' }
  const decision = { kind: 'decision', at: 13, by: 'tablet', operator: 'Kim', decision: 'retry', text: 'Retried shake of plate' }
  const entries = entriesOf([incident, decision])
  t.same(
    entries.map(({ text, tone }) => [text, tone]),
    [
      ['shaker-1: jammed.', 'bad'],
      ['Retried shake of plate, by tablet, said to be Kim', 'decision'],
    ],
  )
  const known = { ...incident, message: 'shake of shaker-1 failed for plate: jammed' }
  t.equal(textsOf({ ...action, outcome: 'ERRORED', error: 'jammed.' }, known)[0], 'plate P-17: shaking on shaker-1, 500 rpm, 5 s; failed')
  t.same(textsOf({ ...move, outcome: 'ERRORED' }), ['plate: move from pad_1 to shaker_in by arm-1; failed'])
  t.same(textsOf({ kind: 'ended', at: 9, status: 'ABORTED', reason: 'the lid fell' }), ['The run was aborted: the lid fell'])
  t.end()
})

test('the log says when a plan was made, and why it was made anew', (t) => {
  const plan = { kind: 'plan', at: 1, reason: 'came', makespan_s: 2470, bound_s: 2345, states: 500 }
  t.same(textsOf(plan, { ...plan, at: 2, reason: 'off_time', makespan_s: 600 }, { ...plan, at: 3, reason: 'news' }), [
    'A plan was made: all labware is done in 41:10',
    'The plan was made anew, because labware was early or late: all labware is done in 10:00',
    'The plan was made anew, because news: all labware is done in 41:10',
  ])
  t.end()
})
