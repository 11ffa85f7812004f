// What schedulers like this one have got wrong: each a promise. Those about places alone are in scheduler/scheduler.test.ts.

import { type Test, test } from 'tap'
import { oneArm, workflowOf } from '../../testing/documents.ts'
import { begin, instantBench, liveRuntime, run, testRuntime, threadIn, trace, until } from '../../testing/workflow.ts'
import type { Equipment } from '../equipment/equipment.ts'
import { Records } from '../records/records.ts'
import { ExecutionTrackingSink } from '../records/tracking_sink.ts'
import type { Execution } from '../runs/execution.ts'

const bench = {
  ...{ pads: ['pad_1', 'pad_2'], parking: ['pad_3'], storages: ['rack_out', 'bin'], nests: { nest: 'mixer', deck: 'robot' } },
  operations: { mixer: { mix: 60 }, robot: { pour: 60 } },
}
const topology = oneArm({ ...bench, sites: { robot: 2 } })

const steps = (...methods: string[]) => methods.map((method) => ({ method }))
const journey = (labware: string, at: string, steps: object[], more: object = {}) => ({
  labware,
  start: { at, mode: at === 'rack_out' ? 'DISPENSE' : 'MANUAL_PLACE' },
  end: { at: at === 'rack_out' ? ['bin'] : [at], mode: 'LEAVE_IN_PLACE' },
  steps,
  ...more,
})
const workflow = (threads: Record<string, object>, more: object = {}) =>
  workflowOf('work', threads, { methods: { mix_it: [{ do: 'mix', on: 'mixer' }] }, ...more })

/** A plate and what it is poured into. */
const pouring = (cup: object[], more: object = {}) => ({
  ...workflow({ plate: journey('plate', 'pad_1', steps('pour_it')), cup: journey('cup', 'rack_out', cup) }),
  methods: { pour_it: [{ do: 'pour', on: 'robot', labware: ['plate', 'cup'] }] },
  start: ['plate'],
  ...more,
})
const joining = [{ join: ['pour_it'] }]

const aWhile = async () => {
  for (let turns = 0; turns < 50; turns++) await new Promise(setImmediate)
}

const named = (execution: Execution, name: string) => [...execution.threads.values()].find((thread) => thread.name === name)!

/** One is in its mix, or held by its failure; another waits for the mixer behind it. */
async function twoAtTheMixer(does?: 'fail' | 'break off') {
  const tested = testRuntime(
    [topology, workflow({ first: journey('first', 'pad_1', steps('mix_it')), second: journey('second', 'pad_2', steps('mix_it')) })],
    { faults: does ? [{ operation: 'mix', call: 1, does }] : [] },
  )
  const execution = await begin(tested.runtime, { workflow: 'work' })
  const first = await threadIn(execution, 'first', does === 'fail' ? 'PAUSED' : 'EXECUTING_ACTION')
  return { ...tested, execution, first, second: named(execution, 'second') }
}

test('1: what a thread waited for when it was aborted is never granted to it', async (t) => {
  const { runtime, execution, first, second, told } = await twoAtTheMixer('fail')
  second.control.stop()
  await until(() => second.isOver)
  const atItsEnd = told.length
  first.control.recover('RETRY_OP')
  await runtime.over(execution)
  t.equal(execution.environment.scheduler.holds.holder('mixer'), undefined)
  t.same(
    told.slice(atItsEnd).filter(({ context }) => context.thread_id === second.thread_id),
    [],
  )
})

test('4: one that takes part never asks for the device: it has what its owner has', async (t) => {
  const { runtime, told } = testRuntime([topology, pouring(joining)])
  const execution = await begin(runtime, { workflow: 'work' })
  const cup = await threadIn(execution, 'cup', 'EXECUTING_ACTION')
  t.equal(execution.environment.scheduler.holds.holder('robot'), named(execution, 'plate').thread_id)
  await runtime.over(execution)
  t.same(
    told.filter(
      ({ entity_id, status }) => entity_id === cup.thread_id && /RESERVATION$/.test(status) && status !== 'AWAITING_MOVE_RESERVATION',
    ),
    [],
  )
})

test('5: two that want a labware in the same moment are brought one', async (t) => {
  const document = pouring([{ while_more_work: joining }], {
    labware: { plate: { type: 'any' }, cup: { type: 'any', group_sharing: 'SHARED_ACROSS_GROUPS' } },
  })
  const twoRobots = oneArm({
    ...{ ...bench, pads: ['pad_1'], nests: { ...bench.nests, pad_2: 'robot-2' }, sites: { robot: 2, 'robot-2': 2 } },
    ...{ operations: { ...bench.operations, 'robot-2': { pour: 60 } }, pools: { robots: ['robot', 'robot-2'] } },
  })
  const { runtime } = testRuntime([
    twoRobots,
    {
      ...document,
      methods: { pour_it: [{ do: 'pour', on: 'robots', labware: ['plate', 'cup'] }] },
      threads: { ...document.threads, plate: journey('plate', 'rack_out', steps('pour_it')) },
    },
  ])
  const groups = ['g1', 'g2'].map((group_id) => ({ group_id, members: {} }))
  const execution = await run(runtime, { workflow: 'work', groups })
  t.same([...execution.threads.values()].map(({ name }) => name).sort(), ['cup', 'plate', 'plate-2'])
  t.equal(execution.phase.current, 'completed')
})

test('5: where one of several labware cannot be had, nobody is sent for any', async (t) => {
  const threads = {
    plate: journey('plate', 'pad_1', steps('pour_it', 'pour_all')),
    cup: journey('cup', 'rack_out', [{ while_more_work: [{ join: ['pour_it', 'pour_all'] }] }, { wait_for: 'go' }], {
      capacity: { max: 1, when_full: 'RECOVERABLE_REJECT' },
    }),
    lid: journey('lid', 'rack_out', [{ join: ['pour_all'] }]),
  }
  const three = oneArm({ ...bench, sites: { robot: 3 } })
  const methods = {
    pour_it: [{ do: 'pour', on: 'robot', labware: ['plate', 'cup'] }],
    pour_all: [{ do: 'pour', on: 'robot', labware: ['plate', 'lid', 'cup'] }],
  }
  const { runtime, told } = testRuntime([three, workflow(threads, { methods, start: ['plate'] })])
  const execution = await begin(runtime, { workflow: 'work' })
  const plate = await threadIn(execution, 'plate', 'PAUSED')
  t.equal(plate.control.pausedAt, 'SPAWN_CAPACITY')
  t.equal(named(execution, 'lid'), undefined)
  t.ok(trace(told).includes('SLOT AWAITING_DECISION'))
  execution.events.emitCustom('go', { value: null, data: {} }, null)
  await until(() => named(execution, 'cup').isOver)
  plate.control.recover('RETRY')
  await until(() => named(execution, 'cup-2')?.status.current === 'AWAITING_EVENT')
  await runtime.over(execution)
  t.equal(execution.phase.current, 'completed')
})

test('6: one that has no join left, though it has not ended, is given no more work', async (t) => {
  const document = pouring([...joining, { wait_for: 'go' }])
  const { runtime } = testRuntime([
    topology,
    { ...document, threads: { ...document.threads, plate: journey('plate', 'pad_1', steps('pour_it', 'pour_it')) } },
  ])
  const execution = await begin(runtime, { workflow: 'work' })
  await threadIn(execution, 'cup-2', 'EXECUTING_ACTION')
  t.notOk(named(execution, 'cup').isOver)
  execution.events.emitCustom('go', { value: null, data: {} }, null)
  await runtime.over(execution)
  t.equal(execution.phase.current, 'completed')
})

test('7: a resume that comes before the pause has landed undoes it, also where whoever hears of a pause resumes at once', async (t) => {
  let execution: Execution | undefined
  const { runtime } = testRuntime([topology, workflow({ plate: journey('plate', 'pad_1', steps('mix_it', 'mix_it')) })], {
    onTold: ({ status }) => {
      if (status === 'EXECUTING_ACTION') execution?.pause('manual')
      if (status === 'PAUSED') execution?.resume()
    },
  })
  execution = await begin(runtime, { workflow: 'work' })
  await runtime.over(execution)
  t.equal(execution.phase.current, 'completed')
})

test('7: a pause during an error takes effect when the error is dealt with', async (t) => {
  const { runtime, execution, first } = await twoAtTheMixer('fail')
  execution.pause('manual')
  first.control.recover('ABORT_METHOD')
  await until(() => first.status.current === 'PAUSED' && first.control.pause_reason === 'manual')
  execution.resume()
  await runtime.over(execution)
  t.equal(execution.phase.current, 'completed')
})

test('8: a thread that is paused between actions holds no device, neither here nor against others', async (t) => {
  let holds = 0
  const hold = () => {
    holds++
    return () => holds--
  }
  const { runtime } = liveRuntime(topology, [workflow({ plate: journey('plate', 'rack_out', steps('mix_it', 'mix_it')) })], {
    live: instantBench({ hold, perform: aWhile }),
  })
  const execution = await begin(runtime, { workflow: 'work', run_mode: 'LIVE' })
  const plate = await threadIn(execution, 'plate', 'EXECUTING_ACTION')
  t.equal(holds, 1)
  plate.control.pause('manual')
  await until(() => plate.status.current === 'PAUSED')
  t.equal(holds, 0)
  t.equal(execution.environment.scheduler.holds.holder('mixer'), undefined)
  execution.resume()
  await runtime.over(execution)
  t.equal(holds, 0)
})

test('9: nothing of a thread that begins during a pause is asked for, and a pause before labware is brought by hand ends nothing', async (t) => {
  const { runtime } = liveRuntime(topology, [workflow({ plate: journey('plate', 'pad_1', steps('mix_it')) })])
  const execution = await begin(runtime, { workflow: 'work', run_mode: 'LIVE' })
  execution.pause('manual')
  const plate = await threadIn(execution, 'plate', 'PAUSED')
  t.equal(execution.environment.scheduler.position('pad_1').reserved_for, null)
  execution.resume()
  await until(() => plate.status.current === 'AWAITING_MANUAL_PLACE')
  runtime.operator.done(plate, 'place', 'AB12')
  await runtime.over(execution)
  t.equal(plate.status.current, 'COMPLETED')
  t.equal(plate.labware.barcode, 'AB12')
})

/** A plate whose first pick, or place, fails. */
async function heldMove(verb: 'pick' | 'place') {
  const tested = testRuntime([topology, workflow({ plate: journey('plate', 'pad_1', steps('mix_it')) })], {
    faults: [{ operation: verb, call: 1, does: 'fail' }],
  })
  const execution = await begin(tested.runtime, { workflow: 'work' })
  const plate = await threadIn(execution, 'plate', 'PAUSED')
  return { ...tested, execution, plate, scheduler: execution.environment.scheduler, id: plate.labware.labware_id }
}

test('10: labware that was carried to its target by hand is there: the move is complete without moving', async (t) => {
  const { runtime, execution, plate, scheduler, id, told } = await heldMove('place')
  scheduler.put(id, 'nest', plate.thread_id)
  plate.control.recover('CONTINUE')
  await runtime.over(execution)
  t.equal(execution.phase.current, 'completed')
  t.equal(trace(told).filter((event) => event === 'ACTION move of plate PICKING').length, 2, 'once before, once to the end')
  t.equal(plate.labware.held_by, null)
})

test('10: labware that was carried elsewhere by hand is fetched from there', async (t) => {
  const { runtime, execution, plate, scheduler, id } = await heldMove('pick')
  scheduler.put(id, 'pad_2', plate.thread_id)
  plate.control.recover('RETRY')
  await runtime.over(execution)
  const moves = execution.timeline.rows().filter(({ kind, status }) => kind === 'move' && status === 'COMPLETED')
  t.match(moves[0], { from: 'pad_2', to: 'nest' })
  t.equal(execution.phase.current, 'completed')
})

test('10: where a stranger stands now, nothing can be put or picked', async (t) => {
  const { runtime, execution, plate, scheduler } = await heldMove('pick')
  t.throws(() => scheduler.put('a stranger', 'pad_1', null), { code: 'exists' })
  t.throws(() => scheduler.put('a stranger', 'nest', null), { code: 'exists' }, 'nor where it goes')
  plate.control.recover('ABORT_THREAD')
  await runtime.over(execution)
})

/** What the arm was told, with what has stood where then. */
function watchedArm(look: () => string) {
  const log: string[] = []
  const carry: Equipment['carry'] = async (_, verb, { position }) => {
    log.push(`${verb} ${position}: ${look()}`)
  }
  return { log, live: instantBench({ carry }) }
}

test('11: a place is not free before what was picked there has been set down elsewhere', async (t) => {
  let execution: Execution | undefined
  const { log, live } = watchedArm(() => `${execution?.environment.scheduler.position('nest').labware_id === null}`)
  const { runtime } = liveRuntime(topology, [workflow({ plate: journey('plate', 'rack_out', steps('mix_it')) })], { live })
  execution = await begin(runtime, { workflow: 'work', run_mode: 'LIVE' })
  await runtime.over(execution)
  t.same(log, ['pick rack_out: true', 'place nest: true', 'pick nest: false', 'place bin: false'])
})

/** One whose first place fails, and another that wants the arm then. */
async function heldPlace() {
  const second = journey('second', 'pad_2', [{ wait_for: 'go' }, { park: ['pad_3'] }])
  const tested = testRuntime([topology, workflow({ first: journey('first', 'pad_1', steps('mix_it')), second })], {
    faults: [{ operation: 'place', call: 1, does: 'fail' }],
  })
  const execution = await begin(tested.runtime, { workflow: 'work' })
  const first = await threadIn(execution, 'first', 'PAUSED')
  execution.events.emitCustom('go', { value: null, data: {} }, null)
  await until(() => named(execution, 'second').control.waiting?.what === 'transporter arm')
  return { ...tested, execution, first, second: named(execution, 'second') }
}

test('12: after a failed place nobody is told that the labware is back, and nobody else uses the arm', async (t) => {
  const { runtime, execution, incidents, first, second } = await heldPlace()
  t.equal(first.labware.held_by, 'arm')
  t.match(incidents.at(-1), { category: 'MOVE_FAILED', message: /held by arm/ })
  t.match(second.control.waiting?.obstacles(), [{ wanted: 'arm', thread_id: first.thread_id }])
  first.control.recover('RETRY')
  await runtime.over(execution)
  t.equal(execution.phase.current, 'completed')
})

test('12: what a thread that has ended left in a gripper is not forgotten: nobody picks with it', async (t) => {
  const { runtime, execution, first, second } = await heldPlace()
  first.control.recover('ABORT_THREAD')
  await until(() => second.control.pausedAt === 'MOVE')
  t.match(second.last_error, /first is held by arm; take it out by hand/)
  execution.environment.labware.delete(first.labware.labware_id)
  second.control.recover('RETRY')
  await runtime.over(execution)
  t.equal(second.status.current, 'COMPLETED')
})

test('15: one that waits for work is let go when nobody can bring any, whoever ends first, and not before', async (t) => {
  for (const late of ['first', 'second']) {
    const wait = (name: string) => (name === late ? [{ wait_for: 'go' }] : [])
    const threads = {
      first: journey('first', 'pad_1', [...wait('first'), ...steps('pour_1')]),
      second: journey('second', 'pad_2', [...wait('second'), ...steps('pour_2')]),
      cup: journey('cup', 'rack_out', [{ while_more_work: [{ join: ['pour_1', 'pour_2'] }] }]),
    }
    const methods = {
      pour_1: [{ do: 'pour', on: 'robot', labware: ['first', 'cup'] }],
      pour_2: [{ do: 'pour', on: 'robot', labware: ['second', 'cup'] }],
    }
    const { runtime, told } = testRuntime([topology, workflow(threads, { methods })])
    const execution = await begin(runtime, { workflow: 'work' })
    await until(() => [...execution.threads.values()].some(({ isOver }) => isOver))
    t.notOk(named(execution, 'cup').isOver, 'there may be more')
    execution.events.emitCustom('go', { value: null, data: {} }, null)
    await runtime.over(execution)
    t.equal([...execution.threads.values()].filter(({ plan }) => plan.name === 'cup').length, 1)
    t.equal(trace(told).filter((event) => event === 'THREAD cup COMPLETED').length, 1)
  }
})

test('15: one that waits for work whose owner ended before it came is let go', async (t) => {
  const { runtime } = testRuntime([topology, pouring([{ wait_for: 'go' }, ...joining])])
  const execution = await begin(runtime, { workflow: 'work' })
  await threadIn(execution, 'cup', 'AWAITING_EVENT')
  named(execution, 'plate').control.stop()
  await until(() => named(execution, 'plate').isOver)
  execution.events.emitCustom('go', { value: null, data: {} }, null)
  await runtime.over(execution)
  t.equal(named(execution, 'cup').status.current, 'COMPLETED')
})

test('16: a thread that dies says with what labware and where, and the others go on', async (t) => {
  const methods = { mix_it: [{ do: 'mix', on: 'mixer', on_failure: 'ABORT' }], pour_it: [{ do: 'pour', on: 'robot' }] }
  const threads = { first: journey('first', 'pad_1', steps('mix_it')), second: journey('second', 'pad_2', steps('pour_it')) }
  const { runtime, incidents } = testRuntime([topology, workflow(threads, { methods })], {
    faults: [{ operation: 'mix', call: 1, does: 'fail' }],
  })
  const execution = await run(runtime, { workflow: 'work' })
  t.match(incidents.find(({ category }) => category === 'THREAD_DIED')?.message, /^thread first died: .*mix.*; first is at nest$/)
  t.equal(named(execution, 'second').status.current, 'COMPLETED')
  t.equal(execution.phase.current, 'failed', 'when all have ended')
})

test('17: the last event of a thread says why it ended, and so its record keeps it', async (t) => {
  for (const decision of ['ABORT_THREAD', 'RETRY_OP'] as const) {
    const records = new Records()
    let sink: ExecutionTrackingSink | undefined
    const { runtime, told } = testRuntime([topology, workflow({ plate: journey('plate', 'pad_1', steps('mix_it')) })], {
      faults: [{ operation: 'mix', call: 1, does: 'fail' }],
      onTold: (event) => sink?.onEvent(event),
    })
    sink = new ExecutionTrackingSink({ stores: [records], find: (execution_id) => runtime.runs.get(execution_id) })
    const execution = await begin(runtime, { workflow: 'work' })
    const plate = await threadIn(execution, 'plate', 'PAUSED')
    plate.control.recover(decision)
    await runtime.over(execution)
    const cause = decision === 'ABORT_THREAD' ? /mix failed/ : null
    t.match(told.findLast(({ entity_type }) => entity_type === 'THREAD')?.context, { last_error: cause })
    t.match(records.threads(execution.execution_id), [{ status: plate.status.current, last_error: cause }])
  }
})

test('18: what a device does for a thread that is cut off is called off there', async (t) => {
  let reason: unknown
  const perform: Equipment['perform'] = (_, _operation, _params, { signal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        reason = signal.reason
        reject(signal.reason)
      })
    })
  const { runtime } = liveRuntime(topology, [workflow({ plate: journey('plate', 'rack_out', steps('mix_it')) })], {
    live: instantBench({ perform }),
  })
  const execution = await begin(runtime, { workflow: 'work', run_mode: 'LIVE' })
  await threadIn(execution, 'plate', 'EXECUTING_ACTION')
  execution.stop(false)
  execution.stop(true)
  await runtime.over(execution)
  t.match(reason, { code: 'stopped', message: 'an operator stopped it' })
})

async function instructed(t: Test) {
  const methods = { mix_it: [{ instruct: 'Look at it' }, { do: 'mix', on: 'mixer' }] }
  const { runtime, told } = liveRuntime(topology, [workflow({ plate: journey('plate', 'rack_out', steps('mix_it')) }, { methods })])
  const execution = await begin(runtime, { workflow: 'work', run_mode: 'LIVE' })
  await until(() => runtime.operator.steps().length > 0)
  const [step] = runtime.operator.steps()
  t.match(step!.step_id, /^manual_step-[0-9a-f]{4}$/)
  t.match(told.at(-1), { event_name: 'OPERATOR.INSTRUCTION', context: { instruction: 'Look at it', step_id: step!.step_id } })
  return { runtime, execution, step_id: step!.step_id, plate: named(execution, 'plate') }
}

test('19: of two confirmations of a step exactly one is taken', async (t) => {
  const { runtime, execution, step_id } = await instructed(t)
  runtime.operator.confirm(step_id)
  t.throws(() => runtime.operator.confirm(step_id), { code: 'not_found' })
  t.same(runtime.operator.steps(), [])
  await runtime.over(execution)
  t.equal(execution.phase.current, 'completed')
})

test('19: a step that is confirmed during a pause counts when the pause is over', async (t) => {
  const { runtime, execution, step_id, plate } = await instructed(t)
  plate.control.pause('manual')
  await until(() => plate.status.current === 'PAUSED')
  runtime.operator.confirm(step_id)
  t.equal(plate.status.current, 'PAUSED')
  plate.control.resume()
  await runtime.over(execution)
  t.equal(execution.phase.current, 'completed')
})

test('20: a thread that is stopped in its last action stays where it is', async (t) => {
  const { runtime, execution, first } = await twoAtTheMixer()
  first.control.stop()
  await until(() => first.isOver)
  t.equal(first.status.current, 'STOPPED')
  t.equal(execution.environment.scheduler.whereIs(first.labware.labware_id), 'nest')
  execution.abort('enough')
  await runtime.over(execution)
})

test('21: an action may take as long as it was asked to', async (t) => {
  const twoHours = oneArm({ ...bench, sites: { robot: 2 }, operations: { mixer: { shake: null }, robot: { pour: 60 } } })
  const methods = { mix_it: [{ do: 'shake', on: 'mixer', with: { speed: 800, duration: 7200 } }] }
  const { runtime, incidents } = testRuntime([twoHours, workflow({ plate: journey('plate', 'pad_1', steps('mix_it')) }, { methods })])
  const execution = await run(runtime, { workflow: 'work' })
  t.equal(execution.phase.current, 'completed')
  t.same(incidents, [])
})

test('a thread that is told to stop ends at the next error without asking', async (t) => {
  const { runtime, execution, first } = await twoAtTheMixer('break off')
  first.control.stop()
  await until(() => first.isOver)
  t.equal(first.status.current, 'ABORTED')
  t.match(first.last_error, /mix failed/)
  execution.abort('enough')
  await runtime.over(execution)
})

test('who takes part keeps an arm out of a device that is at work', async (t) => {
  const methods = {
    pour_it: [
      { do: 'pour', on: 'robot', labware: ['plate', 'cup'] },
      { do: 'pour', on: 'robot', labware: ['plate'] },
    ],
  }
  const reaches: string[] = []
  const working = new Set<string>()
  const perform: Equipment['perform'] = async (device) => {
    working.add(device)
    await aWhile()
    working.delete(device)
    return {}
  }
  const carry: Equipment['carry'] = async (_, _verb, { position }) => {
    if (position.startsWith('deck') && working.has('robot')) reaches.push(position)
  }
  const document = pouring(joining, { methods })
  const threads = { ...document.threads, plate: journey('plate', 'rack_out', steps('pour_it')) }
  const { runtime } = liveRuntime(topology, [{ ...document, threads }], { live: instantBench({ perform, carry }) })
  const both = [await begin(runtime, { workflow: 'work', run_mode: 'LIVE' }), await begin(runtime, { workflow: 'work', run_mode: 'LIVE' })]
  await Promise.all(both.map((execution) => runtime.over(execution)))
  t.same(reaches, [])
})

test('two executions that share an arm wait for each other without a stall', async (t) => {
  const { runtime, incidents } = liveRuntime(
    topology,
    [
      workflow(
        { plate: journey('plate', 'rack_out', steps('pour_it')) },
        {
          methods: { pour_it: [{ do: 'pour', on: 'robot' }] },
        },
      ),
    ],
    { live: instantBench({ carry: aWhile }) },
  )
  const both = [await begin(runtime, { workflow: 'work', run_mode: 'LIVE' }), await begin(runtime, { workflow: 'work', run_mode: 'LIVE' })]
  await Promise.all(both.map((execution) => runtime.over(execution)))
  t.same(incidents, [])
})

test('a thread for which nothing is left but to wait is told of, also when it is the last', async (t) => {
  const { runtime, execution, first, second, incidents } = await twoAtTheMixer('fail')
  first.control.recover('ABORT_THREAD')
  await until(() => second.status.current === 'PAUSED')
  t.match(incidents.at(-1), { category: 'SYSTEM_STALL', message: /second waits for mixer/ })
  execution.abort('enough')
  await runtime.over(execution)
})

test('a run whose threads wait already when it is resumed reports its stall again', async (t) => {
  const threads = Object.fromEntries(['first', 'second', 'third'].map((name, n) => [name, journey(name, `pad_${n + 1}`, steps('mix_it'))]))
  const { runtime, incidents } = testRuntime([topology, workflow(threads)], { faults: [{ operation: 'mix', call: 1, does: 'fail' }] })
  const execution = await begin(runtime, { workflow: 'work' })
  const stalls = () => incidents.filter(({ category }) => category === 'SYSTEM_STALL').length
  const [first, second, third] = ['first', 'second', 'third'].map((name) => named(execution, name))
  await until(
    () => first!.status.current === 'PAUSED' && [second, third].every((one) => one!.status.current === 'AWAITING_ACTION_RESERVATION'),
  )
  first!.control.recover('ABORT_THREAD')
  await until(() => [second, third].every((one) => one!.status.current === 'PAUSED'))
  t.equal(stalls(), 1)
  second!.control.resume()
  await threadIn(execution, 'second', 'AWAITING_ACTION_RESERVATION')
  third!.control.stop()
  await until(() => third!.isOver)
  await aWhile()
  execution.resume()
  await until(() => stalls() === 2)
  execution.abort('enough')
  await runtime.over(execution)
})

test('labware that a thread leaves in a storage is out of the way of others', async (t) => {
  const threads = { plate: journey('plate', 'rack_out', [{ wait_for: 'go' }], { immovable: true }) }
  const { runtime } = testRuntime([topology, workflow(threads)])
  const groups = ['g1', 'g2'].map((group_id) => ({ group_id, members: {} }))
  const execution = await begin(runtime, { workflow: 'work', groups })
  const first = await threadIn(execution, 'plate', 'AWAITING_EVENT')
  const second = await threadIn(execution, 'plate-2', 'PAUSED')
  t.equal(second.control.pausedAt, 'DEADLOCK')
  first.control.stop()
  second.control.recover('RETRY')
  await threadIn(execution, 'plate-2', 'AWAITING_EVENT')
  execution.events.emitCustom('go', { value: null, data: {} }, null)
  await runtime.over(execution)
  t.equal(named(execution, 'plate-2').status.current, 'COMPLETED')
})

test('what an earlier run left in its place is used again', async (t) => {
  const plate = { ...journey('plate', 'pad_1', steps('mix_it')), start: { at: 'pad_1', mode: 'REUSE_EXISTING' } }
  const { runtime } = liveRuntime(topology, [workflow({ plate })])
  for (let i = 0; i < 2; i++) {
    const execution = await begin(runtime, { workflow: 'work', run_mode: 'LIVE' })
    await runtime.over(execution)
    t.equal(execution.phase.current, 'completed')
    t.equal(execution.environment.labware.size, 1)
  }
})
