// Labware that rests on a device of several sites between two methods, and the owner of the next.

import { test } from 'tap'
import { run, testRuntime } from '../testing/workflow.ts'

const place = { start: { at: 'store', mode: 'DISPENSE' }, end: { at: ['store'], mode: 'LEAVE_IN_PLACE' } }
const groups = ['g1', 'g2', 'g3'].map((group_id) => ({ group_id, members: {} }))

/** One rack for all plates, which rests where it was used last. */
function documents({ pads, when_full = 'NEW', max }: { pads: number; max?: number; when_full?: string }) {
  const parking = Array.from({ length: pads }, (_, i) => `pad_${i}`)
  const capacity = max === undefined ? {} : { capacity: { max, when_full } }
  return [
    {
      format: 1,
      name: 'bench',
      transporters: { arm: { positions: ['store', 'in', ...parking] } },
      positions: {
        store: { storage: true },
        in: { device: 'mixer' },
        ...Object.fromEntries(parking.map((pad) => [pad, { parking: true }])),
      },
      devices: { mixer: { sites: 2, operations: { mix: { seconds: 60 } } } },
    },
    {
      format: 1,
      name: 'mixed',
      topology: 'bench',
      labware: { plate: { type: '96-well' }, tips: { type: '96-tips', group_sharing: 'SHARED_ACROSS_GROUPS' } },
      methods: { mix_it: [{ do: 'mix', on: 'mixer', labware: ['plate', 'tips'] }] },
      threads: {
        plate: { labware: 'plate', ...place, steps: [{ method: 'mix_it' }] },
        tips: { labware: 'tips', ...place, steps: [{ while_more_work: [{ join: ['mix_it'] }] }], ...capacity },
      },
      start: ['plate'],
    },
  ]
}

test('labware that is wanted next, and rests at the device already, does not keep the next owner out', async (t) => {
  for (const pads of [0, 1]) {
    const { runtime, incidents } = testRuntime(documents({ pads }))
    const execution = await run(runtime, { workflow: 'mixed', groups })
    t.equal(execution.phase.current, 'completed')
    t.same(incidents, [])
    const moves = execution.timeline.rows().filter(({ kind, thread_name }) => kind === 'move' && thread_name === 'tips')
    t.same(
      moves.map(({ from, to }) => `${from} → ${to}`),
      ['store → in/site-2', 'in/site-2 → store'],
    )
  }
})

test('labware that takes part in no more makes room for the next', async (t) => {
  const { runtime, incidents } = testRuntime(documents({ pads: 1, max: 1 }))
  const execution = await run(runtime, { workflow: 'mixed', groups })
  t.equal(execution.phase.current, 'completed')
  t.same(incidents, [])
  t.equal([...execution.threads.values()].filter(({ plan }) => plan.name === 'tips').length, 3)
})
