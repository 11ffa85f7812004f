// What a client may rely on: the order of events, as golden traces.

import { test } from 'tap'
import { byHand, oneArm, stored, workflowOf } from '../testing/documents.ts'
import { run, testRuntime, trace } from '../testing/workflow.ts'

const topology = oneArm({
  ...{ pads: ['pad_1'], parking: ['pad_2'], storages: ['rack_out', 'bin'], nests: { nest: 'mixer' } },
  ...{ sites: { mixer: 2 }, operations: { mixer: { mix: 60, spin: 30 } } },
})

const mixed = (steps: object[], methods: object) => workflowOf('mixed', { plate: { ...byHand('pad_1'), steps } }, { methods })

const hop = [
  'THREAD plate AWAITING_MOVE_RESERVATION',
  'THREAD plate AWAITING_MOVE_TARGET_AVAILABILITY',
  'THREAD plate MOVING',
  'ACTION move of plate CREATED',
  'ACTION move of plate AWAITING_MOVE_RESERVATION',
  'ACTION move of plate PREPARING_TO_MOVE',
  'ACTION move of plate PICKING',
  'ACTION move of plate PLACING',
  'ACTION move of plate COMPLETED',
]
const bound = (action: string) => [
  'THREAD plate RESOLVING_ACTION_LOCATION',
  `ACTION ${action} CREATED`,
  `ACTION ${action} AWAITING_LOCATION_RESERVATION`,
  `ACTION ${action} RESOLVED`,
  'THREAD plate ACTION_LOCATION_RESOLVED',
]
const done = (action: string) => [
  'THREAD plate AWAITING_CO_THREADS',
  'THREAD plate EXECUTING_ACTION',
  `ACTION ${action} AWAITING_CO_THREADS`,
  `ACTION ${action} EXECUTING_ACTION`,
  `ACTION ${action} COMPLETED`,
]
const begun = ['SUBMISSION ACCEPTED', 'WORKFLOW CREATED', 'THREAD plate CREATED', 'WORKFLOW IN_PROGRESS']
const ended = ['WORKFLOW COMPLETED', 'SUBMISSION COMPLETED', 'EXECUTION COMPLETED']

test('one thread, one method of two actions at one device', async (t) => {
  const { runtime, told } = testRuntime([
    topology,
    mixed([{ method: 'mix_it' }], {
      mix_it: [
        { do: 'mix', on: 'mixer' },
        { do: 'spin', on: 'mixer' },
      ],
    }),
  ])
  await run(runtime, { workflow: 'mixed' })
  t.same(trace(told), [
    ...begun,
    'METHOD mix_it CREATED',
    'METHOD mix_it IN_PROGRESS',
    ...bound('mix'),
    ...hop,
    ...done('mix'),
    ...bound('spin'),
    ...done('spin'),
    'METHOD mix_it COMPLETED',
    ...hop,
    'THREAD plate COMPLETED',
    ...ended,
  ])
})

test('a method without actions goes from CREATED to COMPLETED', async (t) => {
  const { runtime, told } = testRuntime([topology, mixed([{ method: 'nothing' }], { nothing: [] })])
  await run(runtime, { workflow: 'mixed' })
  t.same(trace(told), [...begun, 'METHOD nothing CREATED', 'METHOD nothing COMPLETED', 'THREAD plate COMPLETED', ...ended])
})

test('an action without a device, a custom event with a dot, a branch on it', async (t) => {
  const { runtime, told } = testRuntime([
    topology,
    mixed([{ method: 'judge' }, { branch: 'qc.done', cases: { complete: [{ method: 'mix_it' }] }, else: [{ method: 'again' }] }], {
      judge: [{ emit: 'qc.done', value: 'failed', data: { od: 0.4 } }],
      mix_it: [{ do: 'mix', on: 'mixer' }],
      again: [],
    }),
  ])
  await run(runtime, { workflow: 'mixed' })
  t.same(trace(told), [
    ...begun,
    'METHOD judge CREATED',
    'METHOD judge IN_PROGRESS',
    'THREAD plate RESOLVING_ACTION_LOCATION',
    'ACTION emit CREATED',
    'THREAD plate EXECUTING_ACTION',
    'ACTION emit AWAITING_CO_THREADS',
    'ACTION emit EXECUTING_ACTION',
    'CUSTOM qc.done EMITTED',
    'ACTION emit COMPLETED',
    'METHOD judge COMPLETED',
    'THREAD plate AWAITING_EVENT',
    'THREAD plate RESOLVING_ACTION_LOCATION',
    'METHOD again CREATED',
    'METHOD again COMPLETED',
    'THREAD plate COMPLETED',
    ...ended,
  ])
  const custom = told.find(({ entity_type }) => entity_type === 'CUSTOM')!
  t.equal(custom.event_name, 'CUSTOM.qc_done.EMITTED')
  t.match(custom.context, { event_name: 'qc.done', value: 'failed', data: { od: 0.4 } })
})

test('an action of two labware sends for the other when it has its device', async (t) => {
  const { runtime, told } = testRuntime([
    topology,
    workflowOf(
      'mixed',
      {
        plate: { ...byHand('pad_1'), steps: [{ method: 'mix_it' }] },
        tips: { ...stored('rack_out', 'bin'), steps: [{ join: ['mix_it'] }] },
      },
      {
        labware: { plate: { type: '96-well' }, tips: { type: 'tips', kind: 'tip_rack', tips: 96 } },
        methods: { mix_it: [{ do: 'mix', on: 'mixer', labware: ['plate', 'tips'], tips: { tips: 96 } }] },
        start: ['plate'],
      },
    ),
  ])
  const execution = await run(runtime, { workflow: 'mixed' })
  const events = trace(told)
  const inOrder = [
    'ACTION mix RESOLVED',
    'THREAD tips CREATED',
    'THREAD tips AWAITING_CO_THREADS',
    'THREAD tips AWAITING_MOVE_RESERVATION',
    'ACTION mix AWAITING_CO_THREADS',
    'ACTION mix EXECUTING_ACTION',
    'THREAD tips EXECUTING_ACTION',
    'ACTION mix COMPLETED',
    'TIP_RACK EMPTY',
    'METHOD mix_it COMPLETED',
    'EXECUTION COMPLETED',
  ]
  t.same(
    inOrder.map((event) => events.indexOf(event)),
    [...inOrder.map((event) => events.indexOf(event))].sort((a, b) => a - b),
  )
  t.ok(
    inOrder.every((event) => events.includes(event)),
    String(inOrder.filter((event) => !events.includes(event))),
  )
  t.equal(execution.timeline.moves, 4)
  const executing = told.find(({ event_name, context }) => event_name.endsWith('.EXECUTING_ACTION') && context.action_name === 'mix')!
  t.equal((executing.context.participating_thread_ids as string[]).length, 2)
})
