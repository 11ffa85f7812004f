import { type Test, test } from 'tap'
import { oneArm, severalArms, standing, workflowOf } from '../../../testing/documents.ts'
import { type People, personWith, runtimeWithPeople, settled, taskFor, tasksOf } from '../../../testing/people.ts'
import { begin, threadIn, trace, until } from '../../../testing/workflow.ts'
import type { Execution } from '../../runs/execution.ts'
import type { Runtime } from '../../runtime.ts'
import { placeOf } from '../../state/labware.ts'
import { mayBe } from '../../state/move.ts'
import type { LabwareThread } from '../thread.ts'
import type { TaskAnswer } from './carry_task.ts'

const bench = oneArm({ arm: 'hands', pads: ['a', 'b', 'c', 'taken'], nests: { nest: 'shaker' }, operations: { shaker: { shake: 1 } } })
const carried = workflowOf('carried', { plate: { ...standing('a', 'b'), steps: [] } })
const beside = workflowOf('beside', { lid: { ...standing('taken'), steps: [{ wait_for: 'never' }] } })

type Settings = Parameters<typeof personWith>[0]

/** A run with a plate that a person is to carry from a to b. */
async function shown(settings: Settings = {}, workflow: { name: string } = carried, more: Parameters<typeof runtimeWithPeople>[3] = {}) {
  const hands = personWith(settings)
  const made = runtimeWithPeople({ hands }, bench, [workflow, beside], more)
  const { runtime } = made
  const execution = await begin(runtime, { workflow: workflow.name, run_mode: 'LIVE' })
  const task = await taskFor(runtime, 'plate')
  const plate = [...execution.threads.values()].find(({ name }) => name === 'plate')!
  const answer = (given: TaskAnswer) => runtime.answerStep(task.step_id, given)
  return { ...made, hands, execution, task, plate, answer }
}

const placeIn = ({ state, environment, labware }: LabwareThread) =>
  placeOf(mayBe(state), environment.scheduler.whereIs(labware.labware_id) ?? null)

const movesOf = (told: Parameters<typeof trace>[0]) => trace(told).filter((line) => line.startsWith('ACTION move'))

const held = (plate: LabwareThread, site: string) => until(() => plate.control.pausedAt === site, `plate held at ${site}`)

async function ends(t: Test, runtime: Runtime, execution: Execution, phase = 'completed') {
  await runtime.over(execution)
  t.equal(execution.phase.current, phase)
  t.same(runtime.operator.steps(), [], 'nothing waits for anybody')
}

const position = (plate: LabwareThread) => plate.environment.scheduler.whereIs(plate.labware.labware_id)

test('a move with one confirmation is picking while the task is shown, and placing right before its end', async (t) => {
  const { told, runtime, execution, task, plate, answer } = await shown()
  t.match(task, {
    instruction: 'Take plate from a to b',
    thread_id: plate.thread_id,
    move: { transporter: 'hands', from: 'a', to: 'b', confirm: 'once', is_taken: false, is_again: false, barcode: null },
  })
  t.equal(plate.status.current, 'MOVING')
  t.equal(placeIn(plate), 'at a or held by hands or at b', 'the person may have put it down before the answer')
  const before = movesOf(told)
  t.equal(before.at(-1), 'ACTION move of plate PICKING')
  await answer({ answer: 'done' })
  t.equal(position(plate), 'b', 'the answer came when the plate was known to be there')
  t.same(movesOf(told).slice(before.length), ['ACTION move of plate PLACING', 'ACTION move of plate COMPLETED'])
  t.equal(trace(told).filter((line) => line.startsWith('OPERATOR')).length, 1, 'one instruction a task')
  await ends(t, runtime, execution)
})

test('a move with two confirmations is placing as soon as the labware is taken', async (t) => {
  const { told, runtime, execution, task, plate, answer } = await shown({ confirm: 'twice' })
  t.equal(placeIn(plate), 'at a or held by hands or at b', 'the person may say nothing before it is put down')
  await answer({ answer: 'taken' })
  t.match(tasksOf(runtime), [{ step_id: task.step_id, move: { is_taken: true } }], 'the same task')
  t.equal(plate.labware.held_by, 'hands')
  await settled()
  t.equal(movesOf(told).at(-1), 'ACTION move of plate PLACING')
  t.equal(placeIn(plate), 'at a or held by hands or at b')
  await t.rejects(answer({ answer: 'taken' }), { code: 'conflict', message: /plate is taken already/ })
  await answer({ answer: 'done' })
  await t.rejects(answer({ answer: 'done' }), { code: 'not_found' })
  t.equal(position(plate), 'b')
  await ends(t, runtime, execution)
})

test('who says done at once needs not say that the labware is taken', async (t) => {
  const { runtime, execution, plate, answer } = await shown({ confirm: 'twice' })
  await answer({ answer: 'done' })
  t.equal(position(plate), 'b')
  await ends(t, runtime, execution)
})

test('of two answers at once exactly one is taken', async (t) => {
  for (const [first, second] of [
    ['done', 'done'],
    ['done', 'cannot'],
    ['cannot', 'done'],
    ['taken', 'taken'],
    ['cannot', 'cannot'],
  ] as const) {
    const { plate, answer, execution, runtime } = await shown({ confirm: 'twice' })
    const outcomes = await Promise.allSettled([answer({ answer: first }), answer({ answer: second })])
    t.same(
      outcomes.map(({ status }) => status),
      ['fulfilled', 'rejected'],
      `${first}, ${second}`,
    )
    t.equal(position(plate), first === 'done' ? 'b' : 'a')
    execution.abort('the test is over')
    await runtime.over(execution)
  }
})

test('who takes it may say in the same turn what became of it', async (t) => {
  for (const [next, place] of [
    [{ answer: 'done' }, 'at b'],
    [{ answer: 'elsewhere', position: 'c' }, 'at c or held by hands or at b'],
    [{ answer: 'elsewhere', position: 'a' }, 'at a'],
    [{ answer: 'cannot' }, 'at a or held by hands'],
  ] as const) {
    const { plate, answer, execution, runtime, told } = await shown({ confirm: 'twice' })
    await Promise.all([answer({ answer: 'taken' }), answer(next)])
    await settled()
    t.equal(placeIn(plate), place, JSON.stringify(next))
    t.match(movesOf(told), /PICKING/)
    execution.abort('the test is over')
    await runtime.over(execution)
  }
})

test('labware that was put elsewhere is there, and the run goes on from there by itself', async (t) => {
  for (const where of ['c', 'nest']) {
    for (const first of [[], ['taken']] as const) {
      const { runtime, execution, plate, task, answer } = await shown({ confirm: first.length > 0 ? 'twice' : 'once' })
      for (const one of first) await answer({ answer: one })
      await until(() => first.length === 0 || plate.labware.held_by === 'hands')
      await answer({ answer: 'elsewhere', position: where })
      t.same([position(plate), plate.labware.held_by, placeIn(plate)], [where, null, `at ${where}`])
      const next = await taskFor(runtime, 'plate')
      t.not(next.step_id, task.step_id)
      t.match(next.move, { from: where, to: 'b', is_taken: false })
      await runtime.answerStep(next.step_id, { answer: 'done' })
      await ends(t, runtime, execution)
      t.equal(position(plate), 'b')
    }
  }
})

test('labware that was put elsewhere, which is its target, is done', async (t) => {
  const { runtime, execution, plate, answer } = await shown()
  await answer({ answer: 'elsewhere', position: 'b' })
  await ends(t, runtime, execution)
  t.equal(position(plate), 'b')
})

test('labware that was put back where it stood is there, and its thread is held', async (t) => {
  for (const isTaken of [false, true]) {
    const { plate, answer, execution, runtime } = await shown({ confirm: isTaken ? 'twice' : 'once' })
    if (isTaken) await answer({ answer: 'taken' })
    if (isTaken) await until(() => plate.labware.held_by === 'hands')
    await answer({ answer: 'elsewhere', position: 'a' })
    await held(plate, 'MOVE')
    t.equal(placeIn(plate), 'at a', `taken: ${isTaken}`)
    t.match(plate.last_error, /hands cannot do that: it still stands at a/)
    plate.control.recover('RETRY')
    const again = await taskFor(runtime, 'plate')
    t.match(again.move, { from: 'a', to: 'b', is_taken: false })
    await runtime.answerStep(again.step_id, { answer: 'done' })
    await ends(t, runtime, execution)
  }
})

test('a position that cannot be is refused with its reason, and the task stays', async (t) => {
  const { runtime, execution, plate, task, answer } = await shown()
  const other = await begin(runtime, { workflow: 'beside', run_mode: 'LIVE' })
  await threadIn(other, 'lid', 'AWAITING_EVENT')
  const elsewhere = (position?: string) => answer({ answer: 'elsewhere', ...(position && { position }) })
  await t.rejects(elsewhere('taken'), { code: 'conflict', message: 'plate cannot be at taken: lid stands there' })
  await t.rejects(elsewhere('nset'), { code: 'not_found', message: /the topology has no place nset.*nest/ })
  await t.rejects(elsewhere(), { code: 'invalid', message: /position is missing; say where/ })
  await t.rejects(answer({ answer: 'done', position: 'c' }), { code: 'invalid', message: /position/ })
  await t.rejects(answer({ answer: 'done', reason: 'why' }), { code: 'invalid', message: /reason/ })
  t.match(tasksOf(runtime), [{ step_id: task.step_id, move: { is_taken: false } }])
  t.equal(position(plate), 'a')
  await answer({ answer: 'done' })
  await runtime.over(execution)
  t.equal(position(plate), 'b')
})

test('labware that was put where no way leads on is known there, and its thread is held until it is carried on', async (t) => {
  const split = severalArms({ hands: ['a', 'b'], arm: ['x', 'y'] })
  const hands = personWith()
  const { runtime } = runtimeWithPeople({ hands }, split, [carried])
  const execution = await begin(runtime, { workflow: 'carried', run_mode: 'LIVE' })
  const plate = await threadIn(execution, 'plate', 'MOVING')
  const task = await taskFor(runtime, 'plate')
  await runtime.answerStep(task.step_id, { answer: 'elsewhere', position: 'x' })
  await held(plate, 'MOVE_RESOLUTION')
  t.equal(position(plate), 'x')
  t.match(plate.last_error, /there is no way from x to b; carry plate/)
  runtime.relocate(plate.labware.labware_id, { position: 'a' })
  plate.control.recover('RETRY')
  await runtime.answerStep((await taskFor(runtime, 'plate')).step_id, { answer: 'done' })
  await ends(t, runtime, execution)
})

test('who cannot carry it leaves it where it stands, and the thread is held as after a pick that failed', async (t) => {
  const { runtime, execution, plate, task, incidents, answer } = await shown()
  await answer({ answer: 'cannot', reason: 'the door is locked' })
  await held(plate, 'MOVE')
  t.equal(placeIn(plate), 'at a')
  t.match(plate.last_error, 'hands cannot do that: the door is locked; see to it, then decide')
  t.match(incidents, [{ category: 'MOVE_FAILED', message: /plate was not brought from a to b.*the door is locked/ }])
  t.same(tasksOf(runtime), [])
  t.throws(() => plate.control.recover('CONTINUE'), { code: 'conflict' })
  plate.control.recover('RETRY')
  const again = await taskFor(runtime, 'plate')
  t.not(again.step_id, task.step_id)
  t.equal(again.instruction, 'Take plate from a to b')
  await runtime.answerStep(again.step_id, { answer: 'done' })
  await ends(t, runtime, execution)
})

test('who cannot put it down has it in the hands, and RETRY asks to put it down', async (t) => {
  const { runtime, execution, plate, answer } = await shown({ confirm: 'twice' })
  await answer({ answer: 'taken' })
  await until(() => plate.labware.held_by === 'hands')
  await answer({ answer: 'cannot' })
  await held(plate, 'MOVE')
  t.equal(placeIn(plate), 'at a or held by hands')
  plate.control.recover('RETRY')
  const again = await taskFor(runtime, 'plate')
  t.match([again.instruction, again.move.is_taken], ['Put plate down at b', true])
  await runtime.answerStep(again.step_id, { answer: 'done' })
  await ends(t, runtime, execution)
})

// Barcodes

test('a barcode that is asked for is wanted with each answer but cannot, and a wrong one is refused and reported', async (t) => {
  const hands = personWith({ ask_barcode: true })
  const { runtime, incidents } = runtimeWithPeople({ hands }, bench, [carried])
  const groups = [{ group_id: 'g1', members: { plate: { barcode: 'P-17' } } }]
  const execution = await begin(runtime, { workflow: 'carried', run_mode: 'LIVE', groups })
  const plate = await threadIn(execution, 'plate', 'AWAITING_MANUAL_PLACE')
  runtime.placed(plate, 'P-17')
  const task = await taskFor(runtime, 'plate')
  t.equal(task.instruction, 'Take plate (barcode P-17) from a to b')
  const answer = (given: TaskAnswer) => runtime.answerStep(task.step_id, given)
  for (const one of ['done', 'taken'] as const) {
    await t.rejects(answer({ answer: one }), { code: 'conflict', message: /read the barcode of plate/ })
    await t.rejects(answer({ answer: one, barcode: 'P-18' }), {
      code: 'conflict',
      message: /P-18 was read, and plate has the barcode P-17/,
    })
  }
  await t.rejects(answer({ answer: 'elsewhere', position: 'c' }), { code: 'conflict' })
  await t.rejects(answer({ answer: 'elsewhere', position: 'c', barcode: 'P-18' }), { code: 'conflict' })
  t.equal(incidents.filter(({ category }) => category === 'BARCODE_MISMATCH').length, 3)
  t.same([position(plate), tasksOf(runtime).length], ['a', 1], 'nothing has moved')
  await answer({ answer: 'done', barcode: 'P-17' })
  await ends(t, runtime, execution)
})

test('a barcode that is read of labware without one is kept, unless the answer is refused or other labware has it', async (t) => {
  const { runtime, execution, plate, answer } = await shown()
  const groups = [{ group_id: 'g1', members: { lid: { barcode: 'L-1' } } }]
  const other = await begin(runtime, { workflow: 'beside', run_mode: 'LIVE', groups })
  runtime.placed(await threadIn(other, 'lid', 'AWAITING_MANUAL_PLACE'), 'L-1')
  await threadIn(other, 'lid', 'AWAITING_EVENT')
  await t.rejects(answer({ answer: 'elsewhere', position: 'taken', barcode: 'P-1' }), { code: 'conflict' })
  t.equal(plate.labware.barcode, null, 'a refused answer changes nothing')
  await t.rejects(answer({ answer: 'done', barcode: 'L-1' }), { code: 'conflict', message: /L-1 is taken by thread lid/ })
  t.equal(plate.labware.barcode, null)
  await answer({ answer: 'done', barcode: 'P-1' })
  t.equal(plate.labware.barcode, 'P-1')
  await runtime.over(execution)
})

// Stops, pauses and ends

test('a stop of the person withdraws the task, and the labware is wherever it may be', async (t) => {
  const cases = [
    { settings: {}, isTaken: false, place: 'at a or held by hands or at b' },
    { settings: { confirm: 'twice' }, isTaken: false, place: 'at a or held by hands or at b' },
    { settings: { confirm: 'twice' }, isTaken: true, place: 'at a or held by hands or at b' },
  ] as const
  for (const { settings, isTaken, place } of cases) {
    for (const decision of ['RETRY', 'ABORT_THREAD'] as const) {
      const { runtime, execution, plate, hands, incidents, answer } = await shown(settings)
      if (isTaken) await answer({ answer: 'taken' })
      if (isTaken) await until(() => plate.labware.held_by === 'hands')
      await hands.halt()
      t.same(tasksOf(runtime), [], 'the task goes with the stop, not a turn later')
      await held(plate, 'MOVE')
      t.equal(placeIn(plate), place)
      t.match(plate.last_error, /hands was stopped, and the task is withdrawn; a person may still hold the labware/)
      plate.control.recover(decision)
      if (decision === 'RETRY') {
        const again = await taskFor(runtime, 'plate')
        t.match(again.move, { is_taken: isTaken })
        await runtime.answerStep(again.step_id, { answer: 'done' })
        await ends(t, runtime, execution)
        t.equal(placeIn(plate), 'at b')
        continue
      }
      await runtime.over(execution)
      const [left] = runtime.labware()
      t.equal(placeOf(left!.labware, left!.environment.scheduler.whereIs(left!.labware.labware_id)!), place, 'after its thread has ended')
      t.match(incidents.at(-1), { category: 'LEDGER_CONTRADICTED', message: new RegExp(`it is ${place}; look`) })
    }
  }
})

test('an answer in the turn of a stop counts, or is refused: it is never lost', async (t) => {
  for (const end of ['stop', 'abort'] as const) {
    for (const answers of ['first', 'second'] as const) {
      const { runtime, execution, plate, hands, answer } = await shown()
      const stops = () => (end === 'stop' ? void hands.halt() : execution.abort('enough'))
      if (answers === 'second') stops()
      const answered = answer({ answer: 'done' })
      if (answers === 'first') stops()
      const [outcome] = await Promise.allSettled([answered])
      if (end === 'stop') await (answers === 'first' ? runtime.over(execution) : held(plate, 'MOVE'))
      else await runtime.over(execution)
      const isThere = position(plate) === 'b'
      t.same([outcome.status, isThere], answers === 'first' ? ['fulfilled', true] : ['rejected', false], `${end}, answered ${answers}`)
      if (outcome.status === 'rejected') t.match(outcome.reason, { code: 'not_found' })
      if (!execution.isOver) execution.abort('the test is over')
      await runtime.over(execution)
    }
  }
})

test('elsewhere in the turn of an abort is taken as whereabouts, or refused', async (t) => {
  for (const answers of ['first', 'second'] as const) {
    const { runtime, execution, answer } = await shown()
    if (answers === 'second') execution.abort('enough')
    const answered = answer({ answer: 'elsewhere', position: 'c' })
    if (answers === 'first') execution.abort('enough')
    const [{ status }] = await Promise.allSettled([answered])
    await runtime.over(execution)
    const [{ labware, environment }] = runtime.labware() as [ReturnType<Runtime['labware']>[number]]
    const place = placeOf(labware, environment.scheduler.whereIs(labware.labware_id) ?? null)
    t.same(
      [status, place],
      answers === 'first' ? ['fulfilled', 'at c'] : ['rejected', 'at a or held by hands or at b'],
      `answered ${answers}`,
    )
  }
})

test('a task outlasts a pause and a stop of its thread, and the thread pauses or stops after the answer', async (t) => {
  for (const verb of ['pause', 'stop'] as const) {
    const { runtime, execution, plate, task, answer } = await shown()
    if (verb === 'pause') execution.pause('manual')
    else plate.control.stop()
    await settled()
    t.match(tasksOf(runtime), [{ step_id: task.step_id }])
    await answer({ answer: 'done' })
    t.equal(position(plate), 'b')
    if (verb === 'stop') {
      await runtime.over(execution)
      t.equal(plate.status.current, 'STOPPED')
      continue
    }
    await threadIn(execution, 'plate', 'PAUSED')
    execution.resume()
    await ends(t, runtime, execution)
  }
})

test('cannot in a thread that is stopping leaves the labware where it stands', async (t) => {
  const { runtime, execution, plate, answer } = await shown()
  plate.control.stop()
  await answer({ answer: 'cannot' })
  await runtime.over(execution)
  t.equal(placeOf(plate.labware, position(plate)!), 'at a')
})

test('a run that is aborted takes its task off the list, and the labware is wherever it may be', async (t) => {
  const { runtime, execution, answer, incidents } = await shown()
  execution.abort('enough')
  t.same(tasksOf(runtime), [])
  await runtime.over(execution)
  await t.rejects(answer({ answer: 'done' }), { code: 'not_found' })
  t.match(incidents.at(-1), { category: 'LEDGER_CONTRADICTED', message: /it is at a or held by hands or at b; look/ })
})

test('where labware stands cannot be said past its task, and the refusal names the task', async (t) => {
  const { runtime, execution, plate, task, answer } = await shown()
  t.throws(() => runtime.relocate(plate.labware.labware_id, { position: 'c' }), {
    code: 'conflict',
    message: new RegExp(
      `plate is under way: hands has the task to take it from a to b; answer it .POST /api/operator/steps/${task.step_id}/confirm`,
    ),
  })
  await answer({ answer: 'done' })
  await ends(t, runtime, execution)
})

test('a person who was stopped is asked for nothing before somebody has initialized the person', async (t) => {
  let isStopped = false
  const ready = async () => {
    if (isStopped) throw new Error('hands was stopped; initialize')
  }
  const { runtime, execution, plate, hands, answer } = await shown({ confirm: 'twice' }, carried, { equipment: { ready } })
  await answer({ answer: 'taken' })
  await until(() => plate.labware.held_by === 'hands')
  isStopped = true
  await hands.halt()
  await held(plate, 'MOVE')
  plate.control.recover('RETRY')
  await until(() => /initialize/.test(plate.last_error ?? ''), 'the refusal')
  await held(plate, 'MOVE')
  t.same(tasksOf(runtime), [])
  isStopped = false
  plate.control.recover('RETRY')
  await runtime.answerStep((await taskFor(runtime, 'plate')).step_id, { answer: 'done' })
  await ends(t, runtime, execution)
})

// The reminder

/** Returns a function that says whether the scheduler counts a thread as held. */
function heldBy({ environment: { scheduler }, thread_id }: LabwareThread): () => boolean {
  const held = new Map<string, boolean>()
  const setHeld = scheduler.setHeld.bind(scheduler)
  scheduler.setHeld = (thread_id, isHeld) => {
    held.set(thread_id, isHeld)
    setHeld(thread_id, isHeld)
  }
  return () => held.get(thread_id) ?? false
}

test('a task that nobody answers is reminded of once, and others plan without its thread until the answer', async (t) => {
  const { runtime, execution, plate, task, clock, incidents, answer } = await shown({ confirm: 'twice', reminder_s: 60 })
  const isHeld = heldBy(plate)
  clock.ring()
  clock.ring()
  t.match(incidents, [
    {
      category: 'OTHER',
      message: `nobody has answered for 60 s: Take plate from a to b; answer the task (POST /api/operator/steps/${task.step_id}/confirm)`,
    },
  ])
  t.equal(incidents.length, 1)
  t.ok(isHeld())
  await answer({ answer: 'taken' })
  await until(() => plate.labware.held_by === 'hands')
  t.notOk(isHeld(), 'the person is there again')
  await until(() => clock.timers === 1, 'the next wait')
  clock.ring()
  t.match(incidents.at(-1), { message: /nobody has answered for 60 s: Put plate down at b/ })
  t.ok(isHeld())
  await answer({ answer: 'done' })
  t.equal(clock.timers, 0)
  await ends(t, runtime, execution)
})

test('a reminder that rings in the turn of the answer reminds nobody', async (t) => {
  const { clock, plate, incidents, answer, runtime, execution } = await shown({ confirm: 'twice' })
  const isHeld = heldBy(plate)
  const taken = answer({ answer: 'taken' })
  clock.ring()
  await taken
  await until(() => plate.labware.held_by === 'hands')
  t.same([incidents.length, isHeld()], [0, false])
  await answer({ answer: 'done' })
  await ends(t, runtime, execution)
})

// Hands and motion

/** A plate that the hands are to carry, and a lid that the arm is to move, each after an event. The arm reaches where the plate stands. */
async function apart(settings: Settings, carry: (verb: string) => Promise<void> = async () => {}) {
  const hands = personWith(settings)
  const made = runtimeWithPeople({ hands } satisfies People, severalArms({ hands: ['a', 'far'], arm: ['a', 'c', 'd'] }), [lidBeside], {
    equipment: { carry: (_, verb) => carry(verb) },
  })
  const execution = await begin(made.runtime, { workflow: 'lidBeside', run_mode: 'LIVE' })
  const lid = await threadIn(execution, 'lid', 'AWAITING_EVENT')
  return { ...made, execution, lid, hands }
}
const lidBeside = workflowOf('lidBeside', {
  plate: { ...standing('a', 'far'), steps: [{ wait_for: 'plate' }] },
  lid: { ...standing('c', 'd'), steps: [{ wait_for: 'lid' }] },
})
const emits = (execution: Execution, event: string) => execution.events.emitCustom(event, { value: null, data: {} }, null)

test('no arm moves within reach of an open task, whether before, between or after the answers', async (t) => {
  const moved: string[] = []
  const { runtime, execution, lid } = await apart({ confirm: 'twice' }, async (verb) => void moved.push(verb))
  emits(execution, 'plate')
  const { step_id } = await taskFor(runtime, 'plate')
  emits(execution, 'lid')
  await until(() => lid.control.waiting?.what === 'a person to be out of the reach of arm')
  t.same(
    lid.control.waiting!.obstacles().map(({ reason, thread_id }) => [reason, execution.threads.get(thread_id!)?.name]),
    [['reached_into', 'plate']],
  )
  t.match(runtime.environments.live!.space.taskWithin('arm'), { transporter: 'hands', hands: ['a', 'far'] })
  await runtime.answerStep(step_id, { answer: 'taken' })
  await settled()
  t.same(moved, [])
  await runtime.answerStep(step_id, { answer: 'done' })
  await ends(t, runtime, execution)
  t.same(moved, ['pick', 'place'])
  t.equal(runtime.environments.live!.space.taskWithin('arm'), undefined)
})

test('no task is shown within reach of an arm that moves', async (t) => {
  let letGo = () => {}
  const { runtime, execution } = await apart({}, (verb) =>
    verb === 'pick'
      ? new Promise((resolve) => {
          letGo = resolve
        })
      : Promise.resolve(),
  )
  emits(execution, 'lid')
  const lid = await threadIn(execution, 'lid', 'MOVING')
  await until(() => lid.move?.picked_ms !== null && lid.move !== null)
  emits(execution, 'plate')
  const plate = await threadIn(execution, 'plate', 'MOVING')
  await until(() => plate.control.waiting?.what === 'the arms that reach a and far to stand')
  t.same(tasksOf(runtime), [])
  letGo()
  await runtime.answerStep((await taskFor(runtime, 'plate')).step_id, { answer: 'done' })
  await ends(t, runtime, execution)
})

test('a person who shares the space keeps no arm out, and waits for none', async (t) => {
  const moved: string[] = []
  const { runtime, execution, lid } = await apart({ shared_space: true }, async (verb) => void moved.push(verb))
  emits(execution, 'plate')
  const { step_id } = await taskFor(runtime, 'plate')
  emits(execution, 'lid')
  await until(() => lid.isOver)
  t.same(moved, ['pick', 'place'])
  await runtime.answerStep(step_id, { answer: 'done' })
  await ends(t, runtime, execution)
})

test('a person comes in although two threads keep an arm busy', async (t) => {
  const crowd = workflowOf('crowd', {
    plate: { ...standing('a', 'far'), steps: [{ wait_for: 'plate' }] },
    ...Object.fromEntries(
      ['one', 'two'].map((name) => [
        name,
        { ...standing(`${name}_1`), steps: Array.from({ length: 60 }, (_, i) => ({ park: [`${name}_${2 - (i % 2)}`] })) },
      ]),
    ),
  })
  const busy = severalArms({ hands: ['a', 'far'], arm: ['a', 'one_1', 'one_2', 'two_1', 'two_2'] })
  let picks = 0
  const carry = async (_: string, verb: string) => {
    if (verb === 'pick') picks++
    if (verb === 'pick' && picks === 5) emits(execution, 'plate')
    await new Promise(setImmediate)
  }
  const { runtime } = runtimeWithPeople({ hands: personWith() }, busy, [crowd], { equipment: { carry } })
  const execution = await begin(runtime, { workflow: 'crowd', run_mode: 'LIVE' })
  const { step_id } = await taskFor(runtime, 'plate')
  t.ok(picks < 15, `the arm had picked ${picks} times`)
  await runtime.answerStep(step_id, { answer: 'done' })
  await ends(t, runtime, execution)
})

test('two runs ask one person for one thing after the other, and an abort of the one lets the other go on', async (t) => {
  const other = workflowOf('other', { box: { ...standing('c', 'taken'), steps: [] } })
  const hands = personWith()
  const { runtime } = runtimeWithPeople({ hands }, bench, [carried, other])
  const first = await begin(runtime, { workflow: 'carried', run_mode: 'LIVE' })
  await taskFor(runtime, 'plate')
  const second = await begin(runtime, { workflow: 'other', run_mode: 'LIVE' })
  const box = await threadIn(second, 'box', 'MOVING')
  await until(() => box.control.waiting?.what === 'transporter hands')
  t.equal(tasksOf(runtime).length, 1)
  first.abort('enough')
  await runtime.over(first)
  await until(() => box.control.pausedAt === 'MOVE')
  // The plate may still be in the hands of the person.
  t.match(box.last_error, /plate is held by hands; take it out by hand, and say where it is/)
  const plate = runtime.labware().find(({ labware }) => labware.name === 'plate')!
  runtime.relocate(plate.labware.labware_id, { position: 'b' })
  box.control.recover('RETRY')
  await runtime.answerStep((await taskFor(runtime, 'box')).step_id, { answer: 'done' })
  await ends(t, runtime, second)
})

test('a task that was withdrawn leaves its labware wherever it may be, also while the person carries other labware', async (t) => {
  const other = workflowOf('other', { box: { ...standing('c', 'taken'), steps: [] } })
  const hands = personWith()
  const { runtime } = runtimeWithPeople({ hands }, bench, [carried, other])
  const first = await begin(runtime, { workflow: 'carried', run_mode: 'LIVE' })
  await taskFor(runtime, 'plate')
  const second = await begin(runtime, { workflow: 'other', run_mode: 'LIVE' })
  await hands.halt()
  const plate = [...first.threads.values()][0]!
  await held(plate, 'MOVE')
  const { step_id } = await taskFor(runtime, 'box')
  const maybe = 'at a or held by hands or at b'
  t.equal(placeIn(plate), maybe, 'who carries a box may have put the plate down anywhere')
  plate.control.recover('ABORT_THREAD')
  await runtime.over(first)
  await runtime.answerStep(step_id, { answer: 'done' })
  await ends(t, runtime, second)
  const left = runtime.labware().find(({ labware }) => labware.name === 'plate')!
  t.equal(placeOf(left.labware, left.environment.scheduler.whereIs(left.labware.labware_id)!), maybe)
})

test('two hundred tasks are open at once, an arm that reaches them all waits for the last, and each is answered', async (t) => {
  const names = Array.from({ length: 200 }, (_, i) => `p${i}`)
  const people = Object.fromEntries(names.map((name) => [`hands_${name}`, personWith()]))
  const many = severalArms({
    ...Object.fromEntries(names.map((name) => [`hands_${name}`, [name, `${name}_to`]])),
    arm: [...names, 'x', 'y'],
  })
  const threads = {
    ...Object.fromEntries(names.map((name) => [name, { ...standing(name, `${name}_to`), steps: [] }])),
    lid: { ...standing('x', 'y'), steps: [{ wait_for: 'go' }] },
  }
  const { runtime } = runtimeWithPeople(people, many, [workflowOf('many', threads)])
  const execution = await begin(runtime, { workflow: 'many', run_mode: 'LIVE' })
  await until(() => tasksOf(runtime).length === 200, '200 tasks')
  const lid = await threadIn(execution, 'lid', 'AWAITING_EVENT')
  emits(execution, 'go')
  await until(() => lid.control.waiting?.kind === 'reservation')
  t.equal(new Set(tasksOf(runtime).map(({ step_id }) => step_id)).size, 200)
  const answers = tasksOf(runtime).map(({ step_id }) => runtime.answerStep(step_id, { answer: 'done' }))
  await Promise.all(answers.slice(1))
  t.notOk(lid.isOver)
  await Promise.all(answers)
  await ends(t, runtime, execution)
})
