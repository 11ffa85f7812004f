// Labware that is in the way of others goes aside, and takes up again what it wanted.

import { test } from 'tap'
import { run, testRuntime, trace } from '../../testing/workflow.ts'

const topology = {
  format: 1,
  name: 'lane',
  transporters: { arm: { positions: ['stack', 'pad', 'left', 'right'] } },
  positions: { stack: { storage: true }, pad: { parking: true }, left: { device: 'left' }, right: { device: 'right' } },
  devices: { left: { operations: { mix: { seconds: 60 } } }, right: { operations: { mix: { seconds: 60 } } } },
}

const toAndFro = {
  format: 1,
  name: 'to_and_fro',
  topology: 'lane',
  labware: { plate: { type: '96-well' } },
  methods: { on_left: [{ do: 'mix', on: 'left' }], on_right: [{ do: 'mix', on: 'right' }] },
  threads: {
    plate: {
      labware: 'plate',
      start: { at: 'stack', mode: 'DISPENSE' },
      end: { at: ['stack'], mode: 'LEAVE_IN_PLACE' },
      steps: ['on_left', 'on_right', 'on_left', 'on_right'].map((method, i) => ({ name: `step_${i}`, method })),
    },
  },
  start: ['plate'],
}

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
