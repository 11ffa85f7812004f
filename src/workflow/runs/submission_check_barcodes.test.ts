// Labware with a barcode exists once: which submissions may ask for it.

import { test } from 'tap'
import * as v from 'valibot'
import { byHand, oneArm, workflowOf } from '../../testing/documents.ts'
import { liveRuntime, threadIn } from '../../testing/workflow.ts'
import { StandingLabware } from '../standing_labware.ts'
import { Labware } from '../state/labware.ts'

const topology = oneArm({
  ...{ parking: ['pad_1', 'pad_2'], nests: { mixer_in: 'mixer' } },
  ...{ sites: { mixer: 2 }, operations: { mixer: { mix: 1 } } },
})
const workflow = workflowOf(
  'mixed',
  {
    plate: { ...byHand('pad_1', 'pad_2'), steps: [{ method: 'mix_it' }] },
    rack: { ...byHand('pad_2'), steps: [{ while_more_work: [{ join: ['mix_it'] }] }] },
  },
  {
    labware: { plate: { type: '96-well' }, rack: { type: 'tips', group_sharing: 'SHARED_ACROSS_GROUPS' } },
    methods: { mix_it: [{ do: 'mix', on: 'mixer', labware: ['plate', 'rack'], with: {} }] },
    start: ['plate'],
  },
)
const asked = { workflow: 'mixed', run_mode: 'LIVE', batch_mode: 'STANDALONE', variables: {}, operator_id: null } as const
type Members = Record<string, { barcode: string } | { location: string; barcode: string }>
const groups = (...members: Members[]) => members.map((its, i) => ({ group_id: `g${i + 1}`, members: its }))

test('a barcode that an earlier version kept as a scanner sent it is taken up without what the scanner added', async (t) => {
  const its = { labware_id: 'l1', name: 'plate', template: 'plate', type: '96', kind: 'plate', tips: null, tips_left: null }
  for (const [kept, barcode] of [
    ['00123\r\n', '00123'],
    [' \r', null],
    [null, null],
  ]) {
    t.equal(v.parse(StandingLabware, { ...its, seat: 'pad_1', barcode: kept }).barcode, barcode)
    t.equal(v.parse(Labware, { ...its, state: 'PARKED', held_by: null, barcode: kept }).barcode, barcode)
  }
})

test('a barcode that an open run has, or is to get, is refused with the run and its thread; it is free once that has ended', async (t) => {
  const { runtime } = liveRuntime(topology, [workflow])
  const submit = (members: Members) => runtime.submit({ ...asked, groups: groups(members) })
  const { execution_id } = await submit({ plate: { barcode: 'P-1' }, rack: { barcode: 'R-1' } })
  const execution = runtime.runs.get(execution_id)!
  await threadIn(execution, 'plate', 'AWAITING_MANUAL_PLACE')
  for (const [barcode, thread] of [
    ['P-1', 'thread plate'],
    ['R-1', 'thread rack of group g1'],
  ] as const) {
    await t.rejects(submit({ plate: { location: 'pad_2', barcode } }), {
      code: 'conflict',
      message:
        `groups: g1.members.plate: the labware with the barcode ${barcode} is taken by ${thread} of run ${execution_id.slice(0, 8)} (mixed); ` +
        'wait until that has ended, or name another barcode',
    })
  }
  t.equal(runtime.runs.all().length, 1, 'nothing has begun')
  execution.abort('the test is over')
  await runtime.over(execution)
  const second = await submit({ plate: { barcode: 'P-1' } })
  const again = runtime.runs.get(second.execution_id)!
  again.abort('the test is over')
  await runtime.over(again)
})

test('two members of a submission may not have one barcode, but for labware that their groups share', async (t) => {
  const { runtime } = liveRuntime(topology, [workflow])
  const submit = (...members: Members[]) => runtime.submit({ ...asked, groups: groups(...members) })
  await t.rejects(submit({ plate: { barcode: 'P-1' } }, { plate: { location: 'pad_2', barcode: 'P-1' } }), {
    code: 'invalid',
    message: 'groups: g2.members.plate has the barcode P-1, as g1.members.plate has; labware with a barcode exists once',
  })
  await t.rejects(submit({ plate: { barcode: 'P-1' }, rack: { barcode: 'P-1' } }), { code: 'invalid' })
  const rack = { barcode: 'R-1' }
  const { execution_id } = await submit({ plate: { barcode: 'P-1' }, rack }, { plate: { barcode: 'P-2' }, rack })
  const execution = runtime.runs.get(execution_id)!
  execution.abort('the test is over')
  await runtime.over(execution)
})

test('labware that somebody puts down may not have a barcode that an open run has, or is to get', async (t) => {
  const unread = workflowOf('unread', { plate: { ...byHand('pad_2'), steps: [] } })
  const { runtime } = liveRuntime(topology, [workflow, unread])
  const { execution_id } = await runtime.submit({ ...asked, groups: groups({ plate: { barcode: 'P-1' }, rack: { barcode: 'R-1' } }) })
  const first = runtime.runs.get(execution_id)!
  await threadIn(first, 'plate', 'AWAITING_MANUAL_PLACE')
  const other = runtime.runs.get((await runtime.submit({ ...asked, workflow: 'unread', groups: [] })).execution_id)!
  const thread = await threadIn(other, 'plate', 'AWAITING_MANUAL_PLACE')
  for (const [barcode, holder] of [
    ['P-1', 'thread plate'],
    ['R-1', 'thread rack of group g1'],
  ] as const)
    t.throws(() => runtime.placed(thread, barcode), {
      code: 'conflict',
      message:
        `the labware with the barcode ${barcode} is taken by ${holder} of run ${execution_id.slice(0, 8)} (mixed); ` +
        'read the barcode again, or put another labware at pad_2',
    })
  runtime.placed(thread, 'P-2')
  for (const run of [first, other]) run.abort('the test is over')
  await Promise.all([runtime.over(first), runtime.over(other)])
})
