// Labware that is in the way of others goes aside, and takes up again what it wanted.

import { test } from 'tap'
import { oneArm, stored, workflowOf } from '../../testing/documents.ts'
import { run, testRuntime, trace } from '../../testing/workflow.ts'

const topology = oneArm({
  ...{ storages: ['stack'], parking: ['pad'], nests: ['left', 'right'] },
  operations: { left: { mix: 60 }, right: { mix: 60 } },
})

const toAndFro = workflowOf(
  'to_and_fro',
  {
    plate: {
      ...stored('stack'),
      steps: ['on_left', 'on_right', 'on_left', 'on_right'].map((method, i) => ({ name: `step_${i}`, method })),
    },
  },
  { methods: { on_left: [{ do: 'mix', on: 'left' }], on_right: [{ do: 'mix', on: 'right' }] } },
)

test('two that want each other’s places change them by way of the pad, and all come to their end', async (t) => {
  const { runtime, told, incidents } = testRuntime([topology, toAndFro])
  const groups = ['one', 'two', 'three', 'four', 'five'].map((group_id) => ({ group_id, members: {} }))
  const execution = await run(runtime, { workflow: 'to_and_fro', groups })
  t.equal(execution.phase.current, 'completed')
  t.same(incidents, [])
  t.ok(execution.timeline.rows().some(({ to }) => to === 'pad'))
  const { thread_name } = execution.timeline.rows().find(({ to }) => to === 'pad')!
  const its = trace(told.filter(({ context }) => context.thread_name === thread_name)).filter((line) => line.startsWith('THREAD'))
  const parked = its.findIndex((line, i) => line.endsWith(' MOVING') && its[i + 2]?.endsWith(' AWAITING_ACTION_RESERVATION'))
  t.match(its.slice(parked, parked + 3), [/ MOVING$/, / RESOLVING_ACTION_LOCATION$/, / AWAITING_ACTION_RESERVATION$/])
})
