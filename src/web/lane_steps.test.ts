import { test } from 'tap'
import type { TimelineRow } from '../clients/ts/benchd.ts'
import { laneSteps } from './lane_steps.ts'

const row = (action_id: string, more: Partial<TimelineRow>): TimelineRow => ({
  ...{ action_id, thread_id: 't', thread_name: 'plate', kind: 'action', name: action_id, method_id: null, method_name: null },
  ...{ device: 'shaker-1', from: null, to: null, transporter: null, status: 'COMPLETED', created: 0, started: 0, ended: 1 },
  ...more,
})

test('a lane has the newest steps that are done, the present one, and what comes next', (t) => {
  const done = ['a', 'b', 'c', 'd'].map((id, i) => row(id, { started: i * 10, ended: i * 10 + 5 }))
  const rows = [
    ...done,
    row('m1', { kind: 'move', started: 35, ended: 36, to: 'sealer_in' }),
    row('m2', { kind: 'move', started: 40, ended: null, to: 'pad_1' }),
    row('never', { started: null }),
    row('e', { started: 38, status: 'ERRORED' }),
  ]
  const next = [
    { name: 'spin_it', at: 'centrifuge-1', from: 1060, to: 1070 },
    { name: 'delay', at: null, from: null, to: null },
  ]
  t.same(
    laneSteps(rows, next, 1000).map(({ text, state, from }) => [text, state, from]),
    [
      ['c at shaker-1', 'done', 1020],
      ['d at shaker-1', 'done', 1030],
      ['e at shaker-1', 'failed', 1038],
      ['moves to pad_1', 'now', 1040],
      ['spin it at centrifuge-1', 'next', 1060],
      ['delay', 'next', null],
    ],
  )
  t.end()
})
