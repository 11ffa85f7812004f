// Where an error holds a thread, and what each decision does there.

import { test } from 'tap'
import { byHand, oneArm, workflowOf } from '../../testing/documents.ts'
import { begin, run, testRuntime, threadIn, trace, until } from '../../testing/workflow.ts'
import type { InjectedFault } from '../equipment/pure_equipment.ts'
import { type Decision, decisions, decisionsAt, type PauseSite } from './recovery.ts'

const topology = oneArm({
  ...{ pads: ['pad_1'], parking: ['pad_2'], nests: { nest: 'mixer', nest_2: 'reader' } },
  operations: { mixer: { mix: 60, spin: 30 }, reader: { read: 10 } },
})

const workflow = (more: object = {}) => ({
  ...workflowOf('mixed', { plate: { ...byHand('pad_1'), steps: [{ method: 'mix_it' }, { method: 'read_it' }] } }),
  methods: {
    mix_it: [
      { do: 'mix', on: 'mixer' },
      { do: 'spin', on: 'mixer' },
    ],
    read_it: [{ do: 'read', on: 'reader' }],
  },
  ...more,
})

/** A run that an error holds: the mixer fails its first mix. */
async function held(faults: InjectedFault[], document: object = workflow()) {
  const { runtime, told, incidents } = testRuntime([topology, document], { faults })
  const execution = await begin(runtime, { workflow: 'mixed' })
  const thread = await threadIn(execution, 'plate', 'PAUSED')
  const decide = async (decision: Decision) => {
    thread.control.recover(decision)
    await runtime.over(execution)
    return trace(told)
  }
  return { runtime, execution, thread, told, incidents, decide }
}

const failedMix: InjectedFault[] = [{ operation: 'mix', call: 1, does: 'fail' }]

test('a failed call of a device holds the thread, says so in the event, and records an incident', async (t) => {
  const { thread, told, incidents, runtime, execution } = await held(failedMix)
  t.equal(thread.control.pausedAt, 'DEVICE_OP')
  const paused = told.find(({ status }) => status === 'PAUSED')!
  t.match(paused.context, { pause_reason: 'error', last_error: /mix/ })
  const failed = told.find(({ entity_type }) => entity_type === 'DEVICE_OP')!
  t.equal(failed.event_name, 'DEVICE_OP.mix.FAILED')
  t.match(failed.context, { thread_name: 'plate', last_error: /mix/ })
  t.same(
    incidents.map(({ category }) => category),
    ['ACTION_FAILED'],
  )
  thread.control.recover('ABORT_THREAD')
  await runtime.over(execution)
})

test('RETRY_OP makes the failed call again, in the same action', async (t) => {
  const { decide, execution, told } = await held(failedMix)
  const events = await decide('RETRY_OP')
  t.notOk(events.includes('ACTION mix ERRORED'))
  t.equal(events.filter((event) => event === 'ACTION mix CREATED').length, 1)
  t.ok(events.indexOf('THREAD plate PAUSED') < events.lastIndexOf('THREAD plate EXECUTING_ACTION'))
  t.equal(execution.phase.current, 'completed')
  t.equal(told.findLast(({ entity_type }) => entity_type === 'THREAD')!.context.last_error, null, 'the error is over')
})

test('RETRY does all of it again, as a new action', async (t) => {
  const { decide, execution } = await held(failedMix)
  const events = await decide('RETRY')
  t.equal(events.filter((event) => event === 'ACTION mix ERRORED').length, 1)
  t.equal(events.filter((event) => event === 'ACTION mix COMPLETED').length, 1)
  t.equal(execution.phase.current, 'completed')
})

test('CONTINUE takes an operator at his word', async (t) => {
  const { decide, incidents, execution } = await held(failedMix)
  const events = await decide('CONTINUE')
  t.ok(events.includes('ACTION mix COMPLETED'))
  t.ok(incidents.some(({ category }) => category === 'ACTION_CONTINUED'))
  t.equal(execution.phase.current, 'completed')
})

test('ABORT_ACTION goes on with the next action, and the method is not whole', async (t) => {
  const { decide, execution } = await held(failedMix)
  const events = await decide('ABORT_ACTION')
  t.ok(events.includes('ACTION mix ERRORED'))
  t.ok(events.includes('ACTION spin COMPLETED'))
  t.ok(events.includes('METHOD mix_it PARTIAL_COMPLETE'))
  t.equal(execution.phase.current, 'completed')
})

test('ABORT_METHOD goes on with the next method', async (t) => {
  const { decide, execution } = await held(failedMix)
  const events = await decide('ABORT_METHOD')
  t.notOk(events.includes('ACTION spin CREATED'))
  t.ok(events.includes('METHOD mix_it PARTIAL_COMPLETE'))
  t.ok(events.includes('METHOD read_it COMPLETED'))
  t.equal(execution.phase.current, 'completed')
})

test('ABORT_THREAD ends the thread, with its error, and leaves the labware where it is', async (t) => {
  const { decide, execution, told } = await held(failedMix)
  const events = await decide('ABORT_THREAD')
  t.ok(events.includes('METHOD mix_it PARTIAL_COMPLETE'))
  t.ok(events.includes('THREAD plate ABORTED'))
  t.match(told.findLast(({ entity_type }) => entity_type === 'THREAD')!.context.last_error, /mix/)
  t.equal(execution.phase.current, 'completed', 'aborted threads alone do not make a run fail')
  t.equal(execution.environment.scheduler.position('nest').labware_id, [...execution.threads.values()][0]!.labware.labware_id)
})

test('with on_failure ABORT nobody is asked: the thread and the execution have failed', async (t) => {
  const { runtime, told, incidents } = testRuntime(
    [topology, workflow({ methods: { mix_it: [{ do: 'mix', on: 'mixer', on_failure: 'ABORT' }], read_it: [] } })],
    {
      faults: failedMix,
    },
  )
  const execution = await run(runtime, { workflow: 'mixed' })
  t.equal(execution.phase.current, 'failed')
  t.same(trace(told).slice(-4), ['THREAD plate FAILED', 'WORKFLOW ERRORED', 'SUBMISSION FAILED', 'EXECUTION FAILED'])
  t.match(told.findLast(({ entity_type }) => entity_type === 'THREAD')!.context.last_error, /mix/)
  t.ok(incidents.some(({ category }) => category === 'THREAD_DIED'))
})

test('a failed pick holds the thread at MOVE, and RETRY is a new move', async (t) => {
  const { decide, thread, execution } = await held([{ operation: 'pick', call: 1, does: 'fail' }])
  t.equal(thread.control.pausedAt, 'MOVE')
  const events = await decide('RETRY')
  t.equal(events.filter((event) => event === 'ACTION move of plate ERRORED').length, 1)
  t.equal(execution.phase.current, 'completed')
})

test('after a failed place the labware is in the gripper, and RETRY only places', async (t) => {
  const { decide, thread, execution } = await held([{ operation: 'place', call: 1, does: 'fail' }])
  t.equal(thread.labware.held_by, 'arm')
  const events = await decide('RETRY')
  const retried = events.slice(events.indexOf('ACTION move of plate ERRORED'))
  t.same(retried.filter((event) => event.startsWith('ACTION move')).slice(1, 4), [
    'ACTION move of plate CREATED',
    'ACTION move of plate AWAITING_MOVE_RESERVATION',
    'ACTION move of plate PLACING',
  ])
  t.equal(execution.phase.current, 'completed')
})

test('CONTINUE of a move is refused while the labware is not known to be there', async (t) => {
  const { thread, runtime, execution } = await held([{ operation: 'pick', call: 1, does: 'fail' }])
  t.notOk(thread.control.decisions.includes('CONTINUE'), 'it is not offered')
  t.throws(() => thread.control.recover('CONTINUE'), { code: 'conflict', message: /edit its position/ })
  thread.control.recover('ABORT_THREAD')
  await runtime.over(execution)
})

test('a device that cannot be made ready holds the thread before anything is bound', async (t) => {
  const { thread, decide, incidents, execution } = await held([{ operation: 'ready', device_id: 'mixer', call: 1, does: 'fail' }])
  t.equal(thread.control.pausedAt, 'ACTION_RESOLUTION')
  t.ok(incidents.some(({ category }) => category === 'DEVICE_INIT_FAILED'))
  t.equal(execution.environment.scheduler.holds.holder('mixer'), undefined, 'it is free for others meanwhile')
  await decide('RETRY')
  t.equal(execution.phase.current, 'completed')
})

test('a wait that takes too long holds the thread, and RETRY waits again', async (t) => {
  const document = workflowOf('mixed', { plate: { ...byHand('pad_1'), steps: [{ wait_for: 'go', timeout: 60 }] } })
  const { thread, execution, runtime } = await held([], document)
  t.equal(thread.control.pausedAt, 'WAIT_EVENT_TIMEOUT')
  thread.control.recover('RETRY')
  await threadIn(execution, 'plate', 'AWAITING_EVENT')
  execution.events.emitCustom('go', { value: null, data: {} }, null)
  await runtime.over(execution)
  t.equal(execution.phase.current, 'completed')
})

test('code that throws holds the thread at ACTION_BODY', async (t) => {
  let isBroken = true
  const body = async () => {
    if (isBroken) throw new Error('no such file')
  }
  const { thread, decide, execution } = await held(
    [],
    workflow({ methods: { mix_it: [{ name: 'look', on: 'mixer', body }], read_it: [] } }),
  )
  t.equal(thread.control.pausedAt, 'ACTION_BODY')
  t.match(thread.last_error, /no such file/)
  isBroken = false
  const events = await decide('RETRY')
  t.same(
    events.filter((event) => /ACTION look (ERRORED|COMPLETED)/.test(event)),
    ['ACTION look ERRORED', 'ACTION look COMPLETED'],
  )
  t.equal(execution.phase.current, 'completed')
})

test('code cannot get rid of a decision by catching it', async (t) => {
  let caught = 0
  const body = async (ctx: { device: { perform(name: string): Promise<unknown> } }) => {
    await ctx.device.perform('mix').catch(() => caught++)
    await ctx.device.perform('spin').catch(() => caught++)
  }
  const { decide, execution } = await held(failedMix, workflow({ methods: { mix_it: [{ name: 'look', on: 'mixer', body }], read_it: [] } }))
  const events = await decide('ABORT_METHOD')
  t.equal(caught, 2)
  t.ok(events.includes('METHOD mix_it PARTIAL_COMPLETE'))
  t.equal(execution.phase.current, 'completed')
})

test('a decision that the place does not honour is refused, says which are, and leaves the thread paused', async (t) => {
  const sites: [PauseSite, InjectedFault][] = [
    ['MOVE', { operation: 'pick', call: 1, does: 'fail' }],
    ['ACTION_RESOLUTION', { operation: 'ready', device_id: 'mixer', call: 1, does: 'fail' }],
  ]
  for (const [site, fault] of sites) {
    const { thread, runtime, execution } = await held([fault])
    for (const decision of decisions.filter((one) => !decisionsAt(site).includes(one))) {
      t.throws(
        () => thread.control.recover(decision),
        { code: 'conflict', message: new RegExp(decisionsAt(site).join(', ')) },
        `${decision} at ${site}`,
      )
    }
    t.equal(thread.status.current, 'PAUSED')
    thread.control.recover('ABORT_THREAD')
    await runtime.over(execution)
  }
})

test('resume does not end an error pause', async (t) => {
  const { thread, runtime, execution } = await held(failedMix)
  t.throws(() => thread.control.resume(), { code: 'conflict', message: /recover it with/ })
  execution.resume()
  await new Promise(setImmediate)
  t.equal(thread.status.current, 'PAUSED')
  thread.control.recover('ABORT_THREAD')
  await runtime.over(execution)
})

test('a pause takes effect at the next safe point, never in a device call, and resume goes on', async (t) => {
  const { runtime, told } = testRuntime([topology, workflow()])
  const execution = await begin(runtime, { workflow: 'mixed' })
  const thread = await threadIn(execution, 'plate', 'EXECUTING_ACTION')
  t.equal(thread.control.pause('manual'), true)
  t.equal(thread.status.current, 'EXECUTING_ACTION')
  await threadIn(execution, 'plate', 'PAUSED')
  t.ok(trace(told).includes('ACTION mix COMPLETED'))
  t.equal(told.findLast(({ status }) => status === 'PAUSED')!.context.pause_reason, 'manual')
  t.equal(thread.control.resume(), true)
  await runtime.over(execution)
  t.equal(execution.phase.current, 'completed')
})

test('a pause that is resumed before the safe point never happened', async (t) => {
  const { runtime, told } = testRuntime([topology, workflow()])
  const execution = await begin(runtime, { workflow: 'mixed' })
  const thread = await threadIn(execution, 'plate', 'EXECUTING_ACTION')
  thread.control.pause('manual')
  thread.control.resume()
  await runtime.over(execution)
  t.notOk(trace(told).some((event) => event.endsWith('PAUSED')))
})

test('a stop ends the thread without the move to its end, and does not wait for a resume', async (t) => {
  for (const isPaused of [false, true]) {
    const { runtime, told } = testRuntime([topology, workflow()])
    const execution = await begin(runtime, { workflow: 'mixed' })
    const thread = await threadIn(execution, 'plate', 'EXECUTING_ACTION')
    if (isPaused) {
      thread.control.pause('manual')
      await until(() => thread.status.current === 'PAUSED')
    }
    thread.control.stop()
    t.equal(thread.status.current, 'STOPPING')
    await runtime.over(execution)
    t.equal(thread.status.current, 'STOPPED')
    t.equal(execution.environment.scheduler.position('nest').labware_id, thread.labware.labware_id)
    t.ok(trace(told).includes('METHOD mix_it PARTIAL_COMPLETE'))
  }
})

test('a stop of a thread that an error holds aborts it', async (t) => {
  const { thread, runtime, execution } = await held(failedMix)
  thread.control.stop()
  await runtime.over(execution)
  t.equal(thread.status.current, 'ABORTED')
  t.match(thread.last_error, /mix/)
})

test('an aborted execution cuts off what is at a device and ends ABORTED', async (t) => {
  const { runtime, told } = testRuntime([topology, workflow()], { faults: [{ operation: 'mix', call: 1, does: 'hang' }] })
  const execution = await begin(runtime, { workflow: 'mixed' })
  await threadIn(execution, 'plate', 'EXECUTING_ACTION')
  execution.abort('the operator has had enough')
  await runtime.over(execution)
  t.ok(trace(told).includes('ACTION mix ABORTED'))
  t.same(trace(told).slice(-4), ['THREAD plate ABORTED', 'WORKFLOW ERRORED', 'SUBMISSION ABORTED', 'EXECUTION ABORTED'])
  t.match(told.at(-1)!.context, { reason: 'the operator has had enough' })
})

test('a thread that begins during a pause is held before its labware comes onto the deck', async (t) => {
  const { runtime } = testRuntime([topology, workflow()])
  const execution = await begin(runtime, { workflow: 'mixed' })
  execution.pause('manual')
  const thread = await threadIn(execution, 'plate', 'PAUSED')
  t.equal(execution.environment.scheduler.whereIs(thread.labware.labware_id), undefined)
  execution.resume()
  await runtime.over(execution)
  t.equal(execution.phase.current, 'completed')
})
