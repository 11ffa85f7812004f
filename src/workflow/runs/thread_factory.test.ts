// A thread that uses labware again which stands at its start: what is known of that, and what is not.

import { test } from 'tap'
import { dispensed, severalArms, standing, workflowOf } from '../../testing/documents.ts'
import { begin, instantBench, liveRuntime, threadIn, until } from '../../testing/workflow.ts'
import { why } from './explanation.ts'

const topology = severalArms(
  { 'arm-1': ['pad_1'], 'arm-2': ['pad_2', 'store', 'in'] },
  { storages: ['store'], nests: { in: 'mixer' }, sites: { mixer: 2 }, operations: { mixer: { mix: null } } },
)

function again(at: string, type = '96-well') {
  return workflowOf(`again-${at}-${type}`, { plate: { ...standing(at), steps: [{ wait_for: 'go' }] } }, { labware: { plate: { type } } })
}

/** A lid is fetched from where something else stands. */
const wants = workflowOf(
  'wants',
  {
    plate: { ...dispensed('store'), steps: [{ method: 'mix_it' }] },
    lid: { start: { at: 'pad_2', mode: 'REUSE_EXISTING' }, end: { at: ['pad_2'] }, steps: [{ join: ['mix_it'] }] },
  },
  {
    labware: { plate: { type: '96-well' }, lid: { type: 'lid' } },
    methods: { mix_it: [{ do: 'mix', on: 'mixer', labware: ['plate', 'lid'] }] },
    start: ['plate'],
  },
)

/** One arm is an instrument, the other is simulated. */
function bench() {
  const live = instantBench({ isReal: (id) => id === 'arm-1' })
  const made = liveRuntime(topology, [again('pad_1'), again('pad_2'), again('pad_1', 'lid'), wants], { live })
  const submit = (workflow: string, barcode?: string) =>
    begin(made.runtime, {
      workflow,
      run_mode: 'LIVE',
      groups: barcode === undefined ? [] : [{ group_id: 'g1', members: { plate: { barcode } } }],
    })
  const ends = async (execution: Awaited<ReturnType<typeof submit>>) => {
    execution.events.emitCustom('go', { value: null, data: {} }, null)
    await made.runtime.over(execution)
  }
  return { ...made, submit, ends }
}

test('where nothing is known to stand before an arm that is real, a person is asked; then it is known', async (t) => {
  const { runtime, submit, ends } = bench()
  const first = await submit('again-pad_1-96-well')
  const thread = await threadIn(first, 'plate', 'AWAITING_MANUAL_PLACE')
  t.same(
    runtime.labware().map(({ environment }) => environment.scheduler.whereIs(thread.labware.labware_id)),
    [undefined],
    'nothing is taken for granted',
  )
  runtime.operator.done(thread, 'place', 'P-1')
  await threadIn(first, 'plate', 'AWAITING_EVENT')
  await ends(first)
  const second = await submit('again-pad_1-96-well')
  t.equal((await threadIn(second, 'plate', 'AWAITING_EVENT')).labware.labware_id, thread.labware.labware_id)
  await ends(second)
})

test('where nothing real would reach for it nobody is asked', async (t) => {
  const { submit, ends, incidents } = bench()
  const execution = await submit('again-pad_2-96-well')
  await threadIn(execution, 'plate', 'AWAITING_EVENT')
  await ends(execution)
  t.same(incidents, [])
})

test('the barcode that is wanted is read by whoever puts it there, or is that of what stands there', async (t) => {
  const { runtime, submit, ends, incidents } = bench()
  const first = await submit('again-pad_2-96-well', 'P-1')
  const thread = await threadIn(first, 'plate', 'AWAITING_MANUAL_PLACE')
  t.throws(() => runtime.operator.done(thread, 'place', 'P-2'), { code: 'conflict' })
  t.match(incidents, [{ category: 'BARCODE_MISMATCH' }])
  runtime.operator.done(thread, 'place', 'P-1')
  await threadIn(first, 'plate', 'AWAITING_EVENT')
  await ends(first)
  await t.rejects(submit('again-pad_2-96-well', 'P-2'), {
    code: 'conflict',
    message: /plate stands since run \w+, whose barcode is P-1, and P-2 is wanted/,
  })
  const second = await submit('again-pad_2-96-well', 'P-1')
  await threadIn(second, 'plate', 'AWAITING_EVENT')
  await ends(second)
})

test('what stands there and whose barcode nobody has read is not taken for the one that is wanted', async (t) => {
  const { submit, ends } = bench()
  const first = await submit('again-pad_2-96-well')
  await threadIn(first, 'plate', 'AWAITING_EVENT')
  await ends(first)
  await t.rejects(submit('again-pad_2-96-well', 'P-1'), { code: 'conflict', message: /whose barcode nobody has read \(P-1 is wanted\)/ })
})

test('labware of another type that stands there is not used', async (t) => {
  const { runtime, submit, ends } = bench()
  const first = await submit('again-pad_1-96-well')
  runtime.operator.done(await threadIn(first, 'plate', 'AWAITING_MANUAL_PLACE'), 'place', null)
  await threadIn(first, 'plate', 'AWAITING_EVENT')
  await ends(first)
  await t.rejects(submit('again-pad_1-lid'), { code: 'conflict', message: /where plate stands since run \w+; take it away/ })
})

test('nor is it by a thread that comes when it is wanted: that says what stands there', async (t) => {
  const { runtime, submit, ends } = bench()
  const first = await submit('again-pad_2-96-well')
  await threadIn(first, 'plate', 'AWAITING_EVENT')
  await ends(first)
  const execution = await submit('wants')
  const lid = await threadIn(execution, 'lid', 'CREATED')
  await until(() => lid.control.waiting !== null, 'it waits')
  t.match(
    why(execution).find(({ thread_name }) => thread_name === 'lid'),
    { waits_for: 'pad_2', because: [/plate stands at pad_2, and no thread moves it/] },
  )
  execution.abort('that was all')
  await runtime.over(execution)
})
