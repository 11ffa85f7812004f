// Whole runs of workflows whose plates have lids.

import { type Test, test } from 'tap'
import type { RuntimeEvent } from '../events/event.ts'
import { oneArm, standing, stored, workflowOf } from '../testing/documents.ts'
import { begin, KeptBeside, run, takeUp, testRuntime, until } from '../testing/workflow.ts'
import type { Execution } from './runs/execution.ts'

const topology = oneArm({
  ...{ pads: ['pad_1', 'pad_2', 'pad_3'], storages: ['store'], nests: { read_in: 'reader', shake_in: 'shaker' } },
  operations: { reader: { read: 40 }, shaker: { mix: 30 } },
})

const lid = { type: '96-well lid', kind: 'lid', on: 'plate' }
const read = { do: 'read', on: 'reader', lid: 'off' }
const mix = { do: 'mix', on: 'shaker', lid: 'on' }

/** Reads a plate with its lid off, and shakes it with the lid on. */
export const lidded = (more: object = {}, pads: string[] = ['pad_3']) =>
  workflowOf(
    'lidded',
    { plate: { ...standing('pad_1'), steps: [{ method: 'work' }], ...more } },
    {
      labware: { plate: { type: '96-well' }, lid },
      methods: { work: [mix, { remove_lid: 'lid', to: pads }, read, { put_lid: 'lid' }, { ...mix, name: 'again' }] },
    },
  )

/** The moves of a run, in the order in which they ended. */
function movesOf({ timeline }: Execution): string[] {
  return timeline.rows().flatMap(({ kind, thread_name, from, to, status }) =>
    kind === 'move' ? [`${thread_name} ${from} ${to}${status === 'COMPLETED' ? '' : ` ${status}`}`] : [],
  )
}

test('a lid is taken off its plate and put back, where the plate stands', async (t) => {
  const { runtime, incidents } = testRuntime([topology, lidded()])
  const execution = await run(runtime, { workflow: 'lidded' })
  t.same(incidents, [])
  t.equal(execution.phase.current, 'completed')
  t.same(movesOf(execution), [
    'plate pad_1 shake_in',
    'plate shake_in pad_3',
    'plate shake_in read_in',
    'plate pad_3 read_in',
    'plate read_in shake_in',
    'plate shake_in pad_1',
  ])
  const rows = execution.timeline.rows().filter(({ kind }) => kind === 'action')
  t.same(rows.map(({ name, status }) => `${name} ${status}`), [
    'mix COMPLETED',
    'remove_lid COMPLETED',
    'read COMPLETED',
    'put_lid COMPLETED',
    'again COMPLETED',
  ])
})

test('plates wait for the place of a lid, and no lid is put where another lies', async (t) => {
  const groups = ['a', 'b', 'c', 'd'].map((group_id) => ({ group_id, members: {} }))
  for (const pads of [['pad_1'], ['pad_1', 'pad_2']]) {
    const { runtime, incidents } = testRuntime([topology, lidded(stored('store'), pads)])
    const execution = await run(runtime, { workflow: 'lidded', groups })
    t.same(incidents, [])
    t.equal(execution.phase.current, 'completed')
    t.equal(movesOf(execution).length, 24)
  }
})
