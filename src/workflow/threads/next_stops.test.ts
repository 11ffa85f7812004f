// Labware that rests on a device of several sites between two methods, and the owner of the next.

import { test } from 'tap'
import { dispensed, oneArm, severalArms, standing, stored, workflowOf } from '../../testing/documents.ts'
import { begin, run, testRuntime, threadIn } from '../../testing/workflow.ts'

const place = stored('store')
const groups = ['g1', 'g2', 'g3'].map((group_id) => ({ group_id, members: {} }))

/** One rack for all plates, which rests where it was used last. */
function documents({ pads, when_full = 'NEW', max }: { pads: number; max?: number; when_full?: string }) {
  const parking = Array.from({ length: pads }, (_, i) => `pad_${i}`)
  const capacity = max === undefined ? {} : { capacity: { max, when_full } }
  return [
    oneArm({ storages: ['store'], parking, nests: { in: 'mixer' }, sites: { mixer: 2 }, operations: { mixer: { mix: 60 } } }),
    workflowOf(
      'mixed',
      {
        plate: { ...place, steps: [{ method: 'mix_it' }] },
        tips: { ...place, steps: [{ while_more_work: [{ join: ['mix_it'] }] }], ...capacity },
      },
      {
        labware: { plate: { type: '96-well' }, tips: { type: '96-tips', group_sharing: 'SHARED_ACROSS_GROUPS' } },
        methods: { mix_it: [{ do: 'mix', on: 'mixer', labware: ['plate', 'tips'] }] },
        start: ['plate'],
      },
    ),
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

test('a rack with too few tips for any method makes room for the next', async (t) => {
  for (const pads of [0, 2]) {
    const [topology, workflow] = documents({ pads }) as [object, { labware: object; methods: { mix_it: [object] } }]
    const racks = {
      ...workflow,
      labware: { ...workflow.labware, tips: { type: '96-tips', kind: 'tip_rack', tips: 96, group_sharing: 'SHARED_ACROSS_GROUPS' } },
      methods: { mix_it: [{ ...workflow.methods.mix_it[0], tips: { tips: 40 } }] },
    }
    const { runtime, incidents } = testRuntime([topology, racks])
    const execution = await run(runtime, { workflow: 'mixed', groups })
    t.same(incidents, [])
    t.equal(execution.phase.current, 'completed')
    t.same(
      [...execution.threads.values()].flatMap(({ plan, labware }) => (plan.name === 'tips' ? [labware.tips_left] : [])),
      [16, 56],
      `${pads} pads`,
    )
  }
})

test('labware that waits for an event, and cannot get to where it was to be parked, waits on and is parked elsewhere', async (t) => {
  const topology = severalArms(
    {
      arm: ['in', 'pad_1', 'pad_2', 'pad_3', 'near_gate', 'far_gate'],
      near_arm: ['near_gate', 'near', 'hot'],
      far_arm: ['far_gate', 'farther_gate'],
      farther_arm: ['farther_gate', 'far'],
    },
    {
      storages: ['pad_1'],
      parking: ['near', 'far'],
      nests: { in: 'mixer', hot: 'oven' },
      operations: { mixer: { mix: 60 }, oven: { bake: 60 } },
    },
  )
  const workflow = workflowOf(
    'mixed',
    {
      plate: { ...dispensed('pad_1'), steps: [{ method: 'mix_it' }, { wait_for: 'go' }] },
      other: { ...standing('pad_2'), steps: [{ wait_for: 'next' }, { method: 'mix_it' }] },
      lid: { ...standing('pad_3'), steps: [{ wait_for: 'lid' }, { method: 'bake_it' }] },
    },
    { methods: { mix_it: [{ do: 'mix', on: 'mixer' }], bake_it: [{ do: 'bake', on: 'oven' }] } },
  )
  let lidMoves = () => {}
  const { runtime, incidents } = testRuntime([topology, workflow], {
    faults: [{ operation: 'pick', device_id: 'near_arm', call: 1, does: 'fail' }],
    onTold: ({ event_name, context }) => context.thread_name === 'lid' && event_name.endsWith('.PICKING') && lidMoves(),
  })
  const execution = await begin(runtime, { workflow: 'mixed' })
  const emit = (name: string) => execution.events.emitCustom(name, { value: null, data: {} }, null)
  const plate = await threadIn(execution, 'plate', 'AWAITING_EVENT')
  lidMoves = () => {
    lidMoves = () => {}
    emit('next')
  }
  emit('lid')
  await threadIn(execution, 'lid', 'PAUSED')
  await threadIn(execution, 'other', 'COMPLETED')
  await threadIn(execution, 'plate', 'AWAITING_EVENT')
  t.equal(execution.environment.scheduler.whereIs(plate.labware.labware_id), 'far')
  t.match(incidents, [{ category: 'MOVE_FAILED' }])
  t.equal(incidents.length, 1)
  execution.abort('that was all')
  await runtime.over(execution)
})
