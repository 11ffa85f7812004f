// Every status there is, told by runs that are made to; and who hears of it.

import { type Test, test } from 'tap'
import { byHand, dispensed, oneArm, workflowOf } from '../testing/documents.ts'
import { begin, liveRuntime, run, testRuntime, threadIn, trace, until } from '../testing/workflow.ts'
import type { InjectedFault } from './equipment/pure_equipment.ts'
import type { Execution } from './runs/execution.ts'
import { blockers } from './runs/explanation.ts'
import type { Runtime } from './runtime.ts'
import { actionTransitions, methodTransitions, type ThreadStatus, threadTransitions, workflowTransitions } from './state/statuses.ts'

const bench = {
  ...{ pads: ['pad_1'], parking: ['pad_2'], storages: ['rack_out', 'bin'], nests: { nest: 'mixer', deck: 'robot' } },
  operations: { mixer: { mix: 60 }, robot: { pour: 60 } },
}
const topology = oneArm({ ...bench, sites: { robot: 3 } })

const plate = { labware: 'plate', ...byHand('pad_1') }
const tips = { labware: 'tips', ...dispensed('rack_out', 'bin') }
const work = (threads: Record<string, object>, methods: object = {}, more: object = {}) => ({
  ...workflowOf('work', threads, { methods }),
  labware: { plate: { type: 'any' }, ...(threads.tips && { tips: { type: 'any', kind: 'tip_rack', tips: 10 } }) },
  start: ['plate'],
  ...more,
})
const pour = { do: 'pour', on: 'robot', labware: ['plate', 'tips'] }
const go = (execution: Execution) => execution.events.emitCustom('go', { value: null, data: {} }, null)
const named = (execution: Execution, name: string) => [...execution.threads.values()].find((thread) => thread.name === name)!
const groupsOf = (...ids: string[]) => ids.map((group_id) => ({ group_id, members: {} }))

/** A plate that is mixed, with what goes wrong there, held until `go`, and mixed again. */
const mixing = (method: object[], more: object[] = []) =>
  work({ plate: { ...plate, steps: [{ method: 'mix_it' }, ...more] } }, { mix_it: method, again: [{ do: 'mix', on: 'mixer' }] })
const mix = { do: 'mix', on: 'mixer' }

/** Runs that between them come to everything. */
const scripts: ((hear: (told: { event_name: string }[]) => void) => Promise<void>)[] = [
  // All goes well, by hand at both ends.
  async (hear) => {
    const { runtime, told } = liveRuntime(topology, [mixing([mix], [{ wait_for: 'go' }])])
    hear(told)
    const execution = await begin(runtime, { workflow: 'work', run_mode: 'LIVE', groups: groupsOf('g1') })
    runtime.operator.done(await threadIn(execution, 'plate', 'AWAITING_MANUAL_PLACE'), 'place', null)
    await threadIn(execution, 'plate', 'AWAITING_EVENT')
    go(execution)
    runtime.operator.done(await threadIn(execution, 'plate', 'AWAITING_MANUAL_REMOVE'), 'remove', null)
    await runtime.over(execution)
  },
  // A device fails, and nobody is asked.
  async (hear) => {
    const { runtime, told } = testRuntime([topology, mixing([{ ...mix, on_failure: 'ABORT' }])], { faults: [failing('mix')] })
    hear(told)
    await run(runtime, { workflow: 'work' })
  },
  // It is aborted in its action.
  async (hear) => {
    const { runtime, told } = testRuntime([topology, mixing([mix])], { faults: [{ ...failing('mix'), does: 'hang' }] })
    hear(told)
    const execution = await begin(runtime, { workflow: 'work' })
    await threadIn(execution, 'plate', 'EXECUTING_ACTION')
    execution.abort('enough')
    await runtime.over(execution)
  },
  // It is paused by an error, then stopped before its method has begun.
  async (hear) => {
    const { runtime, told } = testRuntime([topology, mixing([mix], [{ method: 'again' }])], { faults: [failing('mix')] })
    hear(told)
    const execution = await begin(runtime, { workflow: 'work' })
    const thread = await threadIn(execution, 'plate', 'PAUSED')
    thread.control.recover('ABORT_METHOD')
    thread.control.stop()
    await runtime.over(execution)
  },
  // The method of one that is stopped when it is made has not begun.
  async (hear) => {
    let execution: Execution | undefined
    const onTold = ({ event_name }: { event_name: string }) => {
      if (/^METHOD.*CREATED$/.test(event_name)) named(execution!, 'plate').control.stop()
    }
    const { runtime, told } = testRuntime([topology, mixing([mix])], { onTold })
    hear(told)
    execution = await begin(runtime, { workflow: 'work' })
    await runtime.over(execution)
  },
  // What it waits in is skipped.
  async (hear) => {
    const { runtime, told } = testRuntime([topology, mixing([{ ...mix, name: 'first_mix' }])])
    hear(told)
    const execution = await begin(runtime, { workflow: 'work' })
    execution.skip('first_mix')
    await runtime.over(execution)
  },
  // Two want one device.
  async (hear) => {
    const two = {
      ...work({ plate: { ...plate, start: { at: 'rack_out', mode: 'DISPENSE' }, steps: [{ method: 'mix_it' }] } }, { mix_it: [mix] }),
    }
    const { runtime, told } = testRuntime([topology, { ...two, threads: { plate: { ...two.threads.plate, end: { at: ['bin'] } } } }])
    hear(told)
    await run(runtime, { workflow: 'work', groups: groupsOf('g1', 'g2') })
  },
]

function failing(operation: string): InjectedFault {
  return { operation, call: 1, does: 'fail' }
}

/** What `type` became in all the scripts. */
async function allTold(): Promise<(type: string) => Set<string>> {
  const heard: { event_name: string }[][] = []
  for (const script of scripts) await script((told) => heard.push(told))
  const names = heard.flat().map(({ event_name }) => event_name.split('.'))
  return (type) => new Set(names.filter(([first]) => first === type).map((parts) => parts.at(-1)!))
}

test('every status of actions, methods, threads and workflows is told by something', async (t) => {
  const told = await allTold()
  const missing = (type: string, table: object) => Object.keys(table).filter((status) => !told(type).has(status))
  t.same(missing('THREAD', threadTransitions satisfies Record<ThreadStatus, object>), [])
  t.same(missing('METHOD', methodTransitions), [])
  t.same(missing('WORKFLOW', workflowTransitions), [])
  t.same(missing('ACTION', actionTransitions), [])
})

test('executions, submissions and groups tell their ends', async (t) => {
  const told = await allTold()
  t.same([...told('EXECUTION')].sort(), ['ABORTED', 'COMPLETED', 'FAILED'])
  t.same([...told('SUBMISSION')].sort(), ['ABORTED', 'ACCEPTED', 'COMPLETED', 'FAILED'])
  t.same([...told('GROUP')], ['COMPLETED'])
})

test('a group is complete once for each submission', async (t) => {
  const document = mixing([mix], [{ wait_for: 'go' }])
  const { runtime, told } = testRuntime([
    topology,
    { ...document, threads: { plate: { ...document.threads.plate, end: { at: ['bin'] } } } },
  ])
  const asked = { workflow: 'work', batch_mode: 'JOIN_EXISTING', groups: groupsOf('g1', 'g2') } as const
  const execution = await begin(runtime, asked)
  t.equal(await begin(runtime, asked), execution)
  const waiting = () => [...execution.threads.values()].filter(({ control: { waiting } }) => waiting?.kind === 'event')
  await until(() => waiting().length > 0)
  execution.live()[0]!.control.stop()
  go(execution)
  await runtime.over(execution)
  const groups = told.filter(({ entity_type }) => entity_type === 'GROUP').map(({ context }) => JSON.stringify(context.ended))
  t.same(groups.sort(), ['{"COMPLETED":1}', '{"COMPLETED":1}', '{"COMPLETED":1}', '{"STOPPED":1}'])
  const complete = told
    .filter(({ entity_type }) => entity_type === 'GROUP')
    .map(({ entity_id, context }) => `${entity_id} of ${context.submission_id}`)
  t.equal(complete.length, 4)
  t.equal(new Set(complete).size, 4)
})

// Backlogs

/** A plate whose two methods want tips that take part in one only. */
const scarce = (when_full: string, { joins = [{ while_more_work: [{ join: ['pour_1', 'pour_2'] }] }] }: { joins?: object[] } = {}) =>
  work(
    {
      plate: { ...plate, steps: [{ method: 'pour_1' }, { method: 'pour_2' }] },
      tips: { ...tips, steps: [...joins, { wait_for: 'go' }], capacity: { max: 1, when_full } },
    },
    { pour_1: [pour], pour_2: [pour] },
  )
const backlogs = (told: Parameters<typeof trace>[0]) => told.filter(({ entity_type }) => entity_type === 'SLOT').map(({ status }) => status)

test('OVERFLOW: with NEW, what is too much for one labware goes to the next', async (t) => {
  const threads = {
    plate: { ...plate, steps: [{ method: 'pour_1' }] },
    plate_2: { ...byHand('pad_2'), steps: [{ method: 'pour_2' }] },
    tips: { ...tips, steps: [{ while_more_work: [{ join: ['pour_1', 'pour_2'] }] }], capacity: { max: 1, when_full: 'NEW' } },
  }
  const labware = { plate: { type: 'any' }, plate_2: { type: 'any' }, tips: { type: 'any' } }
  const methods = { pour_1: [pour], pour_2: [{ ...mix, labware: ['plate_2', 'tips'] }] }
  const twoSites = oneArm({ ...bench, sites: { mixer: 2, robot: 3 } })
  const { runtime, told } = testRuntime([twoSites, work(threads, methods, { labware, start: ['plate', 'plate_2'] })])
  const execution = await run(runtime, { workflow: 'work' })
  t.same(backlogs(told), ['OVERFLOW'])
  t.ok(named(execution, 'tips-2'))
  t.equal(execution.phase.current, 'completed')
})

test('OVERFLOW: labware that had enough goes on, though it could take part once more', async (t) => {
  const twoJoins = { joins: [{ join: ['pour_1', 'pour_2'] }, { join: ['pour_1', 'pour_2'] }] }
  const { runtime } = testRuntime([topology, scarce('NEW', twoJoins)])
  const execution = await begin(runtime, { workflow: 'work' })
  await until(() => named(execution, 'tips')?.control.waiting?.kind === 'event')
  go(execution)
  await until(() => named(execution, 'tips-2')?.control.waiting?.kind === 'event' || execution.isOver)
  go(execution)
  await runtime.over(execution)
  t.equal(execution.phase.current, 'completed')
})

/** What becomes of labware that has had its one method, until the next wants it. */
const afterwards = {
  'leaves its loop': [{ while_more_work: [{ join: ['pour_1', 'pour_2'] }] }],
  'is busy elsewhere': [{ join: ['pour_1', 'pour_2'] }, { wait_for: 'go' }],
  'has ended': [{ join: ['pour_1', 'pour_2'] }],
}
const spent = (when_full: string, joins: object[]) =>
  work(
    {
      plate: { ...plate, steps: [{ method: 'pour_1' }, { wait_for: 'next' }, { method: 'pour_2' }] },
      tips: { ...tips, steps: joins, capacity: { max: 1, when_full } },
    },
    { pour_1: [pour], pour_2: [pour] },
  )

/** The second method wants the tips when these have come to rest after the first. */
async function full(when_full: string, after: keyof typeof afterwards) {
  const tested = testRuntime([topology, spent(when_full, afterwards[after])])
  const execution = await begin(tested.runtime, { workflow: 'work' })
  await until(() => named(execution, 'plate')?.control.waiting?.kind === 'event')
  const first = named(execution, 'tips')
  await until(() => (after === 'is busy elsewhere' ? first.control.waiting?.kind === 'event' : first.isOver))
  execution.events.emitCustom('next', { value: null, data: {} }, null)
  return { ...tested, execution }
}

for (const after of Object.keys(afterwards) as (keyof typeof afterwards)[]) {
  test(`OVERFLOW is told when the full labware ${after}, and another comes`, async (t) => {
    const { runtime, told, execution } = await full('NEW', after)
    await until(() => named(execution, 'plate').isOver)
    const isAsking = () => execution.live().length > 0 && execution.live().every(({ control: { waiting } }) => waiting?.kind === 'event')
    while (!execution.isOver) {
      await until(() => execution.isOver || isAsking())
      go(execution)
    }
    await runtime.over(execution)
    t.same(backlogs(told), ['OVERFLOW'])
    t.ok(named(execution, 'tips-2'))
    t.equal(execution.phase.current, 'completed')
  })

  test(`REJECTED: the run fails also when the full labware ${after}`, async (t) => {
    const { runtime, told, execution } = await full('REJECT', after)
    await until(() => named(execution, 'plate').isOver)
    go(execution)
    await runtime.over(execution)
    t.same(backlogs(told), ['REJECTED'])
    t.match(named(execution, 'plate').last_error, /slot tips:\*:.* is full: tips has taken part in 1 methods/)
    t.equal(execution.phase.current, 'failed')
  })
}

test('AWAITING_DECISION is told also when the full labware has ended, and RETRY brings another', async (t) => {
  const { runtime, told, execution } = await full('RECOVERABLE_REJECT', 'has ended')
  ;(await threadIn(execution, 'plate', 'PAUSED')).control.recover('RETRY')
  await runtime.over(execution)
  t.same(backlogs(told), ['AWAITING_DECISION'])
  t.ok(named(execution, 'tips-2'))
  t.equal(execution.phase.current, 'completed')
})

test('OVERFLOW is told once for each labware that is needed, whether the methods come at once or one after the other', async (t) => {
  const four = ['pour_1', 'pour_2', 'pour_3', 'pour_4']
  const methods = Object.fromEntries(four.map((name) => [name, [pour]]))
  const threads = {
    plate: { ...plate, steps: four.map((method) => ({ method })) },
    tips: { ...tips, steps: [{ while_more_work: [{ join: four }] }], capacity: { max: 2, when_full: 'NEW' } },
  }
  const { runtime, told } = testRuntime([topology, work(threads, methods)])
  const execution = await run(runtime, { workflow: 'work' })
  t.same(backlogs(told), ['OVERFLOW'])
  t.ok(named(execution, 'tips-2'))
  t.notOk([...execution.threads.values()].some(({ name }) => name === 'tips-3'))
})

test('REJECTED: the thread that wanted it has failed, and so has the execution', async (t) => {
  const { runtime, told } = testRuntime([topology, scarce('REJECT')])
  const execution = await begin(runtime, { workflow: 'work' })
  await until(() => backlogs(told).length > 0)
  go(execution)
  await runtime.over(execution)
  t.same(backlogs(told), ['REJECTED'])
  t.equal(named(execution, 'plate').status.current, 'FAILED')
  t.match(named(execution, 'plate').last_error, /slot tips:\*:.* is full/)
  t.equal(execution.phase.current, 'failed')
})

test('AWAITING_DECISION: RETRY goes on once the labware that had enough has ended', async (t) => {
  const { runtime, told } = testRuntime([topology, scarce('RECOVERABLE_REJECT')])
  const execution = await begin(runtime, { workflow: 'work' })
  const thread = await threadIn(execution, 'plate', 'PAUSED')
  t.equal(thread.control.pausedAt, 'SPAWN_CAPACITY')
  thread.control.recover('RETRY')
  await until(() => backlogs(told).length === 2)
  t.same(backlogs(told), ['AWAITING_DECISION', 'AWAITING_DECISION'], 'too soon')
  go(execution)
  await until(() => named(execution, 'tips').isOver && thread.status.current === 'PAUSED')
  thread.control.recover('RETRY')
  await until(() => execution.isOver || named(execution, 'tips-2')?.status.current === 'AWAITING_EVENT')
  go(execution)
  await runtime.over(execution)
  t.equal(execution.phase.current, 'completed')
})

/** The tips end with work in hand, before they have come. */
async function orphaned() {
  const document = work(
    {
      plate: { ...plate, steps: [{ method: 'pour_1' }, { method: 'mix_it' }] },
      tips: { ...tips, steps: [{ wait_for: 'go' }, { join: ['pour_1'] }] },
    },
    { pour_1: [pour], mix_it: [{ ...mix, labware: ['plate'] }] },
  )
  const tested = testRuntime([topology, document])
  const execution = await begin(tested.runtime, { workflow: 'work', batch_mode: 'JOIN_EXISTING', groups: groupsOf('g1') })
  ;(await threadIn(execution, 'tips', 'AWAITING_EVENT')).control.stop()
  await threadIn(execution, 'plate', 'PAUSED')
  return { ...tested, execution }
}

test('ORPHANED: those in scope stand until a resume accepts that the labware will not come', async (t) => {
  const { runtime, told, incidents, execution } = await orphaned()
  t.same(backlogs(told), ['ORPHANED'])
  t.match(incidents.at(-1), { category: 'ORPHANED_BACKLOG', message: /pour_1/ })
  t.equal(named(execution, 'plate').control.pause_reason, 'system')
  await t.rejects(begin(runtime, { workflow: 'work', batch_mode: 'JOIN_EXISTING', groups: groupsOf('g2') }), {
    code: 'conflict',
    message: /resume it/,
  })
  execution.resume()
  await runtime.over(execution)
  const events = trace(told)
  t.ok(events.includes('METHOD pour_1 PARTIAL_COMPLETE'))
  t.ok(events.includes('METHOD mix_it COMPLETED'))
  t.equal(execution.phase.current, 'completed')
})

test('ORPHANED: also when it ends on its way to the device', async (t) => {
  const document = work(
    { plate: { ...plate, steps: [{ method: 'pour_1' }] }, tips: { ...tips, steps: [{ join: ['pour_1'] }] } },
    { pour_1: [pour] },
  )
  const { runtime, told } = testRuntime([topology, document])
  const execution = await begin(runtime, { workflow: 'work' })
  ;(await threadIn(execution, 'tips', 'MOVING')).control.stop()
  await threadIn(execution, 'plate', 'COMPLETED')
  t.same(backlogs(told), [], 'it arrives, and takes part, and then it stops')
  const failing = testRuntime([topology, document], { faults: [{ operation: 'pick', call: 2, does: 'fail' }] })
  const other = await begin(failing.runtime, { workflow: 'work' })
  ;(await threadIn(other, 'tips', 'PAUSED')).control.recover('ABORT_THREAD')
  await threadIn(other, 'plate', 'PAUSED')
  t.same(backlogs(failing.told), ['ORPHANED'])
  other.resume()
  await failing.runtime.over(other)
  await runtime.over(execution)
})

test('ORPHANED: what was given up is left also where the labware stands that will do no more', async (t) => {
  const document = work(
    { plate: { ...plate, steps: [{ method: 'pour_1' }, { method: 'tell' }] }, tips: { ...tips, steps: [{ join: ['pour_1'] }] } },
    { pour_1: [pour, { wait_for: 'go' }, pour], tell: [{ emit: 'after' }] },
  )
  const { runtime, told } = testRuntime([topology, document])
  const execution = await begin(runtime, { workflow: 'work' })
  await until(() => named(execution, 'plate')?.control.waiting?.kind === 'event')
  named(execution, 'tips').control.stop()
  await threadIn(execution, 'plate', 'PAUSED')
  t.match(blockers(execution)[0], { kind: 'orphaned', message: /nobody brings tips any more.* pour_1/, remedy: /resume the execution/ })
  execution.resume()
  go(execution)
  await runtime.over(execution)
  t.ok(trace(told).includes('METHOD pour_1 PARTIAL_COMPLETE'))
  t.equal(execution.phase.current, 'completed')
})

test('one that is put out of the way while it waits is shown waiting', async (t) => {
  const document = work(
    {
      plate: { ...plate, steps: [{ method: 'pour_1' }, { method: 'pour_1', name: 'again' }] },
      tips: { ...tips, steps: [{ join: ['pour_1'] }, { wait_for: 'go' }] },
    },
    { pour_1: [pour] },
  )
  const { runtime, told } = testRuntime([oneArm({ ...bench, sites: { robot: 2 } }), document])
  const execution = await begin(runtime, { workflow: 'work' })
  await threadIn(execution, 'plate', 'COMPLETED')
  const rack = await threadIn(execution, 'tips', 'AWAITING_EVENT')
  const events = trace(told)
  const waits = events.indexOf('THREAD tips AWAITING_EVENT')
  t.same(
    events
      .slice(waits + 1)
      .filter((event) => event.startsWith('THREAD tips '))
      .at(-1),
    'THREAD tips AWAITING_EVENT',
  )
  t.ok(events.indexOf('THREAD tips MOVING', waits) > waits, 'it was put out of the way')
  t.equal(rack.control.waiting?.kind, 'event')
  go(execution)
  await runtime.over(execution)
})

test('a flood of custom events is told once, and none of them is dropped; where time jumps there is none', async (t) => {
  const document = mixing([mix], [{ wait_for: 'go' }])
  const floods: number[] = []
  for (const run_mode of ['LIVE', 'PURE_SIM'] as const) {
    let now = 0
    const { runtime, told, incidents } = liveRuntime(topology, [document], { clock: { now: () => now * 1000, after: () => () => {} } })
    const execution = await begin(runtime, { workflow: 'work', run_mode })
    for (let i = 0; i < 5000; i++) {
      now += i < 2500 ? 0.0051 : 0.0049
      execution.events.emitCustom('noise', { value: null, data: {} }, null)
    }
    t.equal(told.filter(({ entity_type }) => entity_type === 'CUSTOM').length, 5000)
    floods.push(incidents.filter(({ category }) => category === 'EVENT_FLOOD').length)
    execution.abort('enough')
    await runtime.over(execution)
  }
  t.same(floods, [1, 0])
})

test('ABANDONED: what was never delivered is told before the end', async (t) => {
  const { runtime, told, execution } = await orphaned()
  execution.abort('enough')
  await runtime.over(execution)
  t.same(trace(told).slice(-4), ['SLOT ABANDONED', 'WORKFLOW ERRORED', 'SUBMISSION ABORTED', 'EXECUTION ABORTED'])
})

test('a submission without groups begins an execution of its own', async (t) => {
  const { runtime, execution } = await orphaned()
  const other = await begin(runtime, { workflow: 'work', batch_mode: 'JOIN_EXISTING' })
  t.not(other, execution)
  for (const one of [other, execution]) one.abort('enough')
  await Promise.all([runtime.over(other), runtime.over(execution)])
})

// Tips

test('TIP_RACK: low after more than three quarters, empty at none', async (t) => {
  const use = (count: number) => ({ ...pour, tips: { tips: count } })
  const document = work(
    { plate: { ...plate, steps: [{ method: 'pour_1' }] }, tips: { ...tips, steps: [{ join: ['pour_1'] }] } },
    { pour_1: [use(7), use(1), use(1), use(1)] },
  )
  const { runtime, told } = testRuntime([topology, document])
  const execution = await run(runtime, { workflow: 'work' })
  const rack = told.filter(({ entity_type }) => entity_type === 'TIP_RACK')
  t.same(
    rack.map(({ event_name }) => event_name),
    ['TIP_RACK.LOW', 'TIP_RACK.LOW', 'TIP_RACK.EMPTY'],
  )
  t.match(rack[0]!.context, {
    thread_name: 'plate',
    labware_name: 'tips',
    labware_template_name: 'tips',
    position: 'deck/site-2',
    tips_left: 2,
  })
  t.equal(rack[0]!.context.labware_id, named(execution, 'tips').labware.labware_id)
})

// Handlers

test('handlers of a workflow hear of its executions only, functions and bound objects alike', async (t) => {
  const heard: string[] = []
  class Bound {
    system: unknown
    handle(name: string) {
      heard.push(`bound ${name} ${this.system === runtime}`)
    }
  }
  const on = {
    'THREAD.COMPLETED': [
      (name: string, { thread_name }: Readonly<Record<string, unknown>>) => void heard.push(`${name} ${thread_name}`),
      new Bound(),
    ],
  }
  const { runtime } = testRuntime([topology, { ...mixing([mix]), on }, { ...mixing([mix]), name: 'other' }])
  await run(runtime, { workflow: 'other' })
  t.same(heard, [])
  await run(runtime, { workflow: 'work' })
  await run(runtime, { workflow: 'work' })
  t.same(
    heard,
    [...Array(2)].flatMap(() => ['THREAD.COMPLETED plate', 'bound THREAD.COMPLETED true']),
  )
})

test('a handler that keeps failing is an incident, once, and hinders nothing', async (t) => {
  let calls = 0
  const broken = () => {
    calls++
    throw new Error('no such file')
  }
  const { runtime, incidents, warnings } = testRuntime([
    topology,
    { ...mixing([mix]), on: { 'ACTION.COMPLETED': [broken], 'ACTION.CREATED': [broken] } },
  ])
  const execution = await run(runtime, { workflow: 'work', groups: groupsOf('g1') })
  t.equal(execution.phase.current, 'completed')
  t.equal(calls, 6)
  t.equal(warnings.length, 6)
  t.match(incidents, [
    { category: 'EVENT_HANDLER_EXCEPTION', message: /broken on ACTION.CREATED failed three times in a row: no such file/ },
    { category: 'EVENT_HANDLER_EXCEPTION', message: /broken on ACTION.COMPLETED/ },
  ])
})

test('there are no handlers of incidents, so that none can call forth the next', (t: Test) => {
  t.throws(() => testRuntime([topology, { ...mixing([mix]), on: { 'INCIDENT.OTHER': [() => {}] } }]), {
    message: /go to sinks and streams/,
  })
  t.end()
})

test('a handler reaches the layer of sinks and lists through its system, by the names of the specification too', async (t) => {
  const heard: string[] = []
  const bound = {
    system: undefined as Runtime | undefined,
    handle() {
      this.system!.register_sink({ on_event: ({ entity_type, status }) => void heard.push(`${entity_type} ${status}`) })
      heard.push(typeof this.system!.get_events_for_execution)
    },
  }
  const { runtime } = testRuntime([topology, { ...mixing([mix]), on: { 'THREAD.COMPLETED': [bound] } }])
  await run(runtime, { workflow: 'work' })
  t.ok(bound.system === runtime)
  t.equal(heard[0], 'function')
})

test('a handler may do at once what an operator may', async (t) => {
  const stop = {
    system: undefined as unknown,
    handle: (_: string, { execution_id }: Readonly<Record<string, unknown>>) => abort(String(execution_id)),
  }
  const abort = (execution_id: string) => runtime.runs.get(execution_id)!.abort('a handler wanted it so')
  for (const name of ['SUBMISSION.ACCEPTED', 'THREAD.CREATED', 'ACTION.RESOLVED', 'ACTION.PICKING', 'THREAD.EXECUTING_ACTION'] as const) {
    const built = testRuntime([topology, { ...mixing([mix]), on: { [name]: [stop] } }])
    runtime = built.runtime
    const execution = await run(runtime, { workflow: 'work' })
    t.same(trace(built.told).slice(-3), ['WORKFLOW ERRORED', 'SUBMISSION ABORTED', 'EXECUTION ABORTED'], name)
    t.equal(execution.phase.current, 'aborted')
    t.notOk(trace(built.told).includes('THREAD plate COMPLETED'), name)
  }
})
let { runtime } = testRuntime([topology])

// By hand

test('in LIVE labware is brought and taken away by hand, and both are told with what and where', async (t) => {
  const { runtime, told } = liveRuntime(topology, [mixing([mix])])
  const execution = await begin(runtime, { workflow: 'work', run_mode: 'LIVE' })
  const thread = await threadIn(execution, 'plate', 'AWAITING_MANUAL_PLACE')
  t.equal(thread.environment.scheduler.whereIs(thread.labware.labware_id), undefined)
  const { labware_id } = thread.labware
  const labware = { labware_id, labware_name: 'plate', labware_template_name: 'plate', target_location: 'pad_1' }
  t.match(told.at(-1)!.context, labware)
  t.throws(() => runtime.operator.done(thread, 'remove', null), { code: 'conflict' })
  runtime.operator.done(thread, 'place', null)
  t.throws(() => runtime.operator.done(thread, 'place', null), { code: 'conflict' })
  await threadIn(execution, 'plate', 'AWAITING_MANUAL_REMOVE')
  t.match(told.at(-1)!.context, labware)
  t.equal(execution.isOver, false)
  runtime.operator.done(thread, 'remove', null)
  await runtime.over(execution)
  t.equal(thread.environment.scheduler.position('pad_1').labware_id, null)
})
