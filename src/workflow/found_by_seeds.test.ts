// What random runs found, once more by itself.

import { test } from 'tap'
import { byHand, oneArm, severalArms, workflowOf } from '../testing/documents.ts'
import { simulate } from '../testing/simulation/simulation.ts'
import { leaveAlone } from '../testing/simulation/unattended.ts'
import { begin, testRuntime, threadIn, trace, until } from '../testing/workflow.ts'

const bench = { parking: ['pad_2'], nests: { in: 'mixer' }, sites: { mixer: 2 }, operations: { mixer: { mix: 60, spin: 30 } } }
const topology = oneArm({ pads: ['pad_1', 'pad_3'], ...bench })

const join = { ...byHand('pad_3'), steps: [{ join: ['mix_it'] }] as object[] }

/** With tips where `mix` wants them. */
function workflow(steps: object[], { labware = ['plate'], tips = join } = {}) {
  const mix_it = [
    { do: 'mix', on: 'mixer', labware },
    { do: 'spin', on: 'mixer', labware: ['plate'] },
  ]
  return workflowOf(
    'mixed',
    { plate: { ...byHand('pad_1'), steps }, ...(labware.includes('tips') && { tips }) },
    {
      labware: { plate: { type: '96-well' }, tips: { type: '96-tips' } },
      methods: steps.some((step) => 'method' in step) ? { mix_it } : {},
      start: ['plate'],
    },
  )
}

test('labware that stands already where it is to be parked goes on to wait for an event', async (t) => {
  const { runtime, told, incidents } = testRuntime([topology, workflow([{ park: ['pad_1'] }, { wait_for: 'go' }])])
  const execution = await begin(runtime, { workflow: 'mixed' })
  await threadIn(execution, 'plate', 'AWAITING_EVENT')
  execution.events.emitCustom('go', { value: null, data: {} }, null)
  await runtime.over(execution)
  t.same(incidents, [])
  t.ok(trace(told).includes('THREAD plate COMPLETED'))
})

test('a thread whose action is skipped while it waits for the device can go on to wait for an event', async (t) => {
  const { runtime, incidents } = testRuntime([topology, workflow([{ action: { do: 'mix', on: 'mixer' } }, { wait_for: 'go' }])])
  const execution = await begin(runtime, { workflow: 'mixed' })
  execution.environment.scheduler.request({ thread_id: 'a stranger', priority: 1, candidates: [{ device: 'mixer' }], granted: () => {} })
  await threadIn(execution, 'plate', 'AWAITING_ACTION_RESERVATION')
  execution.skip('mix')
  await threadIn(execution, 'plate', 'AWAITING_EVENT')
  execution.events.emitCustom('go', { value: null, data: {} }, null)
  await runtime.over(execution)
  t.same(incidents, [])
})

test('nothing can be put before an action in the moment in which its thread takes it up', async (t) => {
  let insert = () => {}
  const { runtime, told } = testRuntime([topology, workflow([{ method: 'mix_it' }])], {
    onTold: ({ event_name }) => {
      if (event_name.endsWith('.RESOLVING_ACTION_LOCATION')) insert()
    },
  })
  const execution = await begin(runtime, { workflow: 'mixed' })
  let refused: unknown
  insert = () => {
    insert = () => {}
    try {
      execution.inserts.put({ before: 'plate/mix_it/mix', item: { action: { emit: 'first' } } })
    } catch (error) {
      refused = error
    }
  }
  await runtime.over(execution)
  const done = trace(told).filter((event) => /ACTION (mix|spin) COMPLETED/.test(event))
  t.same(done, ['ACTION mix COMPLETED', 'ACTION spin COMPLETED'], 'each once')
  t.equal(refused, undefined)
  t.ok(trace(told).includes('INCIDENT UNRESOLVED_ANCHOR_INSERT'), 'it is told that it came too late')
})

test('labware that begins its action in this moment is not put elsewhere', async (t) => {
  let relocate = () => {}
  const { runtime, told } = testRuntime([topology, workflow([{ method: 'mix_it' }], { labware: ['plate', 'tips'] })], {
    onTold: ({ event_name }) => {
      if (event_name.endsWith('.EXECUTING_ACTION')) relocate()
    },
  })
  const execution = await begin(runtime, { workflow: 'mixed' })
  const tips = await threadIn(execution, 'tips', 'AWAITING_CO_THREADS')
  let why: unknown
  relocate = () => {
    relocate = () => {}
    try {
      runtime.relocate(tips.labware.labware_id, { position: 'pad_2' })
    } catch (error) {
      why = error
    }
  }
  await runtime.over(execution)
  t.match(why, { code: 'conflict', message: /under way/ })
  t.ok(trace(told).includes('METHOD mix_it COMPLETED'))
})

test('what was put into a loop that does not go round again is told of', async (t) => {
  const loop = { ...join, steps: [{ while_more_work: [{ join: ['mix_it'] }] }] }
  const steps = [{ method: 'mix_it' }, { wait_for: 'go' }, { name: 'again', method: 'mix_it' }]
  const { runtime, told, incidents } = testRuntime([topology, workflow(steps, { labware: ['plate', 'tips'], tips: loop })])
  const execution = await begin(runtime, { workflow: 'mixed' })
  const carrier = await threadIn(execution, 'tips', 'EXECUTING_ACTION')
  await until(() => /^work/.test(carrier.control.waiting?.what ?? ''), 'its second round')
  execution.inserts.put({ before: 'tips/join', item: { action: { emit: 'once' } } })
  execution.skip('plate/again')
  execution.events.emitCustom('go', { value: null, data: {} }, null)
  await runtime.over(execution)
  t.notOk(trace(told).includes('CUSTOM once EMITTED'))
  t.match(incidents, [{ category: 'UNRESOLVED_ANCHOR_INSERT', message: /emit was inserted into a loop of tips, which does not run again/ }])
})

test('the stations of a shuttle are one place, for labware that is put there by hand too', async (t) => {
  const reach = { arm: ['pad_1', 'pad_2', 'pad_3', 'in', 'left'], far: ['right', 'end'] }
  const shuttle = severalArms(reach, { ...bench, translators: { shuttle: ['left', 'right'] } })
  const { runtime } = testRuntime([shuttle, workflow([{ wait_for: 'go' }])])
  const execution = await begin(runtime, { workflow: 'mixed' })
  const plate = await threadIn(execution, 'plate', 'AWAITING_EVENT')
  execution.environment.scheduler.put('a stranger', 'left', null)
  t.throws(() => runtime.relocate(plate.labware.labware_id, { position: 'right' }), { code: 'conflict', message: /stands at left/ })
  execution.abort('that was all')
  await runtime.over(execution)
})

test('who says that labware is where it was going, and then that it is elsewhere, is believed both times', async (t) => {
  for (const [steps, call] of [
    [[{ method: 'mix_it' }], 1],
    [[{ park: ['pad_2'] }], 2],
  ] as const) {
    const faults = [{ operation: 'pick', call, does: 'fail' }] as const
    const { runtime, told, incidents } = testRuntime([topology, workflow([...steps])], { faults })
    const execution = await begin(runtime, { workflow: 'mixed' })
    const plate = await threadIn(execution, 'plate', 'PAUSED')
    const { to } = plate.move?.hop ?? execution.timeline.rows().at(-1)!
    runtime.relocate(plate.labware.labware_id, { position: to })
    runtime.relocate(plate.labware.labware_id, { position: 'pad_3' })
    plate.control.recover('RETRY')
    if (call === 2) {
      await until(() => incidents.length === 2 && plate.control.pausedAt === 'MOVE_RESOLUTION')
      plate.control.recover('RETRY')
    }
    await runtime.over(execution)
    t.ok(trace(told).includes('THREAD plate COMPLETED'), `move ${call}`)
  }
})

test('labware whose way out of a device comes free at the moment in which the device begins to work there leaves first', async (t) => {
  const { faults } = await simulate(2791, 'PURE_SIM')
  t.same(faults, [])
})

test('nothing is kept for a thread that waits for the transporter of a held one', async (t) => {
  const { missed } = await leaveAlone(4266)
  t.same(missed, [])
})

test('a route that waits for a held thread holds up no other route', async (t) => {
  const { missed } = await leaveAlone(12575)
  t.same(missed, [])
})

const madeRoom = {
  6641: 'labware that stands where other labware could be parked takes a device that it can have',
  9522: 'labware that was to be parked and cannot get there is parked elsewhere',
  9561: 'so is labware whose way leads through a bridge on which a held thread stands',
  10123: 'labware that waits behind a held transporter is parked out of the way',
}

for (const [seed, what] of Object.entries(madeRoom)) {
  test(`where a held thread stands, ${what}`, async (t) => {
    const { missed } = await leaveAlone(Number(seed))
    t.same(missed, [])
  })
}
