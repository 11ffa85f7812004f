import { test } from 'tap'
import { LabError } from '../../errors.ts'
import { dispensed, oneArm, severalArms, workflowOf } from '../../testing/documents.ts'
import { begin, instantBench, liveRuntime, testRuntime, threadIn, until } from '../../testing/workflow.ts'
import type { InjectedFault } from '../equipment/pure_equipment.ts'
import { blockers, why, worded } from './explanation.ts'

const bench = {
  ...{ storages: ['pad_1', 'pad_2'], nests: { nest: 'mixer', isle_1: 'unused' } },
  operations: { mixer: { mix: 60 }, unused: { mix: 60 } },
}
const isles = { far_arm: ['isle_1', 'isle_2'] }
const topology = severalArms({ arm: ['pad_1', 'pad_2', 'nest'], ...isles }, bench)
/** With a place to wait for those who begin in a storage. */
const roomy = severalArms({ arm: ['pad_1', 'pad_2', 'pad_3', 'nest'], ...isles }, { ...bench, parking: ['pad_3'] })
const plates = (steps: object[]) =>
  workflowOf(
    'plates',
    { first: { ...dispensed('pad_1'), steps }, second: { ...dispensed('pad_2'), steps: [{ method: 'mix_it' }] } },
    { methods: { mix_it: [{ do: 'mix', on: 'mixer' }], ask: [{ instruct: 'look at the plate' }] } },
  )

async function running(steps: object[], faults: InjectedFault[] = []) {
  let now = 1_000
  const { runtime } = testRuntime([topology, plates(steps)], { faults, now: () => now++ })
  const execution = await begin(runtime, { workflow: 'plates' })
  const end = async () => {
    execution.abort('the test is over')
    await runtime.over(execution)
  }
  return { execution, end }
}

test('who waits for a device is told who holds it, and what that one is doing', async (t) => {
  const { execution, end } = await running([{ method: 'mix_it' }], [{ operation: 'mix', call: 1, does: 'hang' }])
  await threadIn(execution, 'first', 'EXECUTING_ACTION')
  await threadIn(execution, 'second', 'AWAITING_ACTION_RESERVATION')
  const [, second] = why(execution)
  t.match(second, { thread_name: 'second', status: 'AWAITING_ACTION_RESERVATION', waits_for: 'mixer' })
  t.match(second!.because.join('; '), /mixer is held by first, which is EXECUTING_ACTION/)
  t.match(blockers(execution), [{ kind: 'waiting', thread_name: 'second', message: /waits for mixer; .*held by first/ }])
  await end()
})

test('an error is worse than a pause, and a fault of a device worse than both', async (t) => {
  const { execution, end } = await running([{ method: 'mix_it' }], [{ operation: 'mix', call: 1, does: 'fail' }])
  await threadIn(execution, 'first', 'PAUSED')
  execution.pause('manual')
  await threadIn(execution, 'second', 'PAUSED')
  const fault = { error: 'it is jammed', since: 1_000 }
  const faults = () => ['mixer', 'unused', 'far_arm', 'arm'].map((device_id) => ({ ...fault, device_id }))
  Object.assign(execution.environment.equipment, { faults })
  const found = blockers(execution)
  t.same(
    found.map(({ kind }) => kind),
    ['device_fault', 'device_fault', 'error', 'paused', 'paused'],
  )
  t.same(new Set(found.flatMap(({ device_id, kind }) => (kind === 'device_fault' ? device_id : []))), new Set(['mixer', 'arm']))
  t.match(
    found.find(({ device_id }) => device_id === 'mixer'),
    { message: /jammed/, remedy: /initialize mixer/ },
  )
  t.ok(found[0]!.since_s > 0, 'for so long')
  t.match(found[2], { thread_name: 'first', message: /[^.]; possible decisions: RETRY/, remedy: /recover/ })
  const whole = found.find(({ message }) => message.startsWith('the execution is paused'))
  t.type(whole?.since_s, 'number')
  // Its labware is somewhere, and nothing is resumed before somebody has said where.
  const second = [...execution.threads.values()].find(({ name }) => name === 'second')!
  Object.defineProperty(second.control, 'isLost', { value: true })
  t.equal(blockers(execution).find(({ kind }) => kind === 'paused')?.thread_name, 'second')
  await end()
  t.same(blockers(execution), [], 'nothing stands in the way of what has ended')
})

test('what a person is to do, and an event that is waited for, are told with their remedies', async (t) => {
  const asked = await running([{ wait_for: 'go' }])
  await threadIn(asked.execution, 'first', 'AWAITING_EVENT')
  t.match(
    blockers(asked.execution).find(({ thread_name }) => thread_name === 'first'),
    { kind: 'event', message: /custom event go/, remedy: /emit/ },
  )
  await asked.end()
})

test('who is at work waits for nothing', async (t) => {
  const { execution, end } = await running([], [{ operation: 'mix', call: 1, does: 'hang' }])
  await threadIn(execution, 'second', 'EXECUTING_ACTION')
  await until(() => execution.live().length === 1)
  t.match(why(execution), [{ thread_name: 'second', waits_for: null, because: [] }])
  t.same(blockers(execution), [])
  await end()
})

test('a run that cannot get past what another one left says so, and what to do', async (t) => {
  const { runtime, incidents } = testRuntime([topology, plates([{ method: 'mix_it' }])], {
    faults: [{ operation: 'mix', call: 1, does: 'fail' }],
  })
  const execution = await begin(runtime, { workflow: 'plates' })
  const first = await threadIn(execution, 'first', 'PAUSED')
  await threadIn(execution, 'second', 'AWAITING_ACTION_RESERVATION')
  first.control.recover('ABORT_THREAD')
  await until(() => execution.paused !== null)
  t.match(incidents.at(-1), { category: 'SYSTEM_STALL' })
  await threadIn(execution, 'second', 'PAUSED')
  t.match(blockers(execution)[0], {
    kind: 'stall',
    message: /second waits for mixer/,
    remedy: /nest is taken: first has stood there since run .*; then resume the execution/,
  })
  execution.abort('the test is over')
  await runtime.over(execution)
})

test('a run that waits for what an ended thread of another run left says so, though that run goes on', async (t) => {
  const from = dispensed('pad_2')
  const work = (name: string, threads: object) => ({ ...plates([]), name, threads, start: Object.keys(threads) })
  const leaves = work('leaves', {
    first: { labware: 'first', ...from, steps: [{ method: 'mix_it' }] },
    second: { labware: 'second', ...from, steps: [{ wait_for: 'go' }] },
  })
  const waits = work('waits', { first: { labware: 'first', ...from, steps: [{ method: 'mix_it' }] } })
  const live = instantBench({ perform: () => Promise.reject(new LabError('device_failed', 'it is jammed')) })
  const { runtime, incidents } = liveRuntime(roomy, [leaves, waits], { live })
  const one = await begin(runtime, { workflow: 'leaves', run_mode: 'LIVE' })
  const failed = await threadIn(one, 'first', 'PAUSED')
  await threadIn(one, 'second', 'AWAITING_EVENT')
  const other = await begin(runtime, { workflow: 'waits', run_mode: 'LIVE' })
  await threadIn(other, 'first', 'AWAITING_ACTION_RESERVATION')
  failed.control.recover('ABORT_THREAD')
  await until(() => other.paused !== null)
  t.match(incidents.at(-1), { category: 'SYSTEM_STALL', message: /nest is taken: first has stood there/ })
  t.equal(one.paused, null)
  for (const execution of [one, other]) {
    execution.abort('the test is over')
    await runtime.over(execution)
  }
})

test('who stays in a storage until its device is free is told what it waits for', async (t) => {
  const short = plates([])
  const { runtime } = testRuntime([topology, { ...short, threads: { second: short.threads.second }, start: ['second'] }], {
    faults: [{ operation: 'mix', call: 1, does: 'fail' }],
  })
  const groups = ['g1', 'g2'].map((group_id) => ({ group_id, members: {} }))
  const execution = await begin(runtime, { workflow: 'plates', groups })
  const one = await threadIn(execution, 'second', 'PAUSED')
  t.match(why(execution)[1], {
    thread_name: 'second-2',
    waits_for: 'mixer',
    because: [/mixer is held by second, which is PAUSED/, /second stands at mixer/],
  })
  one.control.recover('RETRY_OP')
  await runtime.over(execution)
  t.equal(execution.phase.current, 'completed')
})

test('what another run holds is told with that run, and with what is to be seen to there', async (t) => {
  const short = plates([])
  const { runtime } = liveRuntime(roomy, [{ ...short, threads: { second: short.threads.second }, start: ['second'] }], {
    live: instantBench({ perform: () => Promise.reject(new Error('it is jammed')) }),
  })
  const one = await begin(runtime, { workflow: 'plates', run_mode: 'LIVE' })
  await threadIn(one, 'second', 'PAUSED')
  const other = await begin(runtime, { workflow: 'plates', run_mode: 'LIVE' })
  await threadIn(other, 'second', 'AWAITING_ACTION_RESERVATION')
  const holder = `second of plates \\(run ${one.execution_id}\\)`
  t.match(why(other)[0]!.because.join('; '), new RegExp(`mixer is held by ${holder}, which is PAUSED`))
  t.match(blockers(other)[0], { kind: 'waiting', remedy: new RegExp(`see to ${holder}`) })
  for (const execution of [one, other]) execution.abort('the test is over')
  await Promise.all([one, other].map((execution) => runtime.over(execution)))
})

test('labware in the way is named with its place, and with who moves it', async (t) => {
  const { execution, end } = await running([{ wait_for: 'go' }])
  const first = await threadIn(execution, 'first', 'AWAITING_EVENT')
  const way = { wanted: 'nest', reason: 'corridor', labware_id: first.labware.labware_id } as const
  t.equal(worded({ ...way, thread_id: null }, execution), 'the way leads through nest, where first stands, and no thread moves it')
  t.match(
    worded({ ...way, thread_id: first.thread_id }, execution),
    /leads through nest, where first stands \(first, which is AWAITING_EVENT\)/,
  )
  t.match(worded({ ...way, thread_id: first.thread_id, labware_id: null }, execution), /^the way to nest leads through a place that first/)
  await end()
})

test('two that want each other’s places are told, with which of them is put out of the way', async (t) => {
  const two = oneArm({
    ...{ storages: ['stack_1', 'stack_2'], parking: ['pad_3'], nests: { nest: 'mixer', other: 'shaker', third: 'pair' } },
    sites: { pair: 2 },
    operations: { mixer: { mix: 60 }, shaker: { mix: 60 }, pair: { mix: 60 } },
  })
  const lane = (at: string, event: string, first: string, second: string) => ({
    ...dispensed(at),
    steps: [{ method: first }, { wait_for: event }, { method: second }],
  })
  const swap = workflowOf(
    'swap',
    { a: lane('stack_1', 'a', 'here', 'there'), b: lane('stack_2', 'b', 'there', 'here') },
    // Labware that waits for other labware is not parked before it is in a deadlock.
    {
      methods: {
        here: [{ do: 'mix', on: 'mixer' }],
        there: [{ do: 'mix', on: 'shaker' }],
        both: [{ do: 'mix', on: 'pair', labware: ['a', 'b'] }],
      },
    },
  )
  const notes: string[] = []
  const { runtime, incidents } = liveRuntime(two, [swap], { note: (sentence) => notes.push(sentence) })
  const execution = await begin(runtime, { workflow: 'swap', run_mode: 'LIVE' })
  for (const name of ['a', 'b']) await threadIn(execution, name, 'AWAITING_EVENT')
  for (const name of ['a', 'b']) execution.events.emitCustom(name, { value: null, data: {} }, null)
  await until(() => incidents.length > 0)
  t.match(incidents, [{ category: 'RESERVATION_DEADLOCK', message: /^(a, b|b, a) wait for each other; [ab] is put out of the way$/ }])
  t.match(
    why(execution).flatMap(({ because }) => because.filter((sentence) => /^[ab] was put out of the way/.test(sentence))),
    [/^[ab] was put out of the way, because it and [ab] waited for each other \(.* s ago\)$/],
    'the decision is among the reasons of the thread that it is about',
  )
  t.match(notes, [/^[ab] was put out of the way, because it and [ab] waited for each other$/], 'and in the log')
  await runtime.over(execution)
})

test('a thread that waits because of the plan says so, and what the plan saves where that is known', async (t) => {
  const { execution, end } = await running([])
  const first = [...execution.threads.values()].find(({ name }) => name === 'first')!
  const planned = { reason: 'planned', wanted: 'mixer', thread_id: first.thread_id, labware_id: null } as const
  t.equal(worded(planned, execution), 'it waits because the plan lets first go to mixer first')
  execution.planning.saves_s = 400
  t.equal(worded(planned, execution), 'it waits because the plan lets first go to mixer first: saves 6:40')
  t.equal(worded({ ...planned, thread_id: null }, execution), 'it waits because the plan sends it elsewhere than to mixer: saves 6:40')
  t.match(
    worded({ ...planned, reason: 'early', thread_id: null }, execution),
    /^it waits because the plan lets it go to mixer later, so that/,
  )
  execution.planning.saves_s = null
  t.equal(worded(planned, execution), 'it waits because the plan lets first go to mixer first')
  await end()
})
