// A person makes the move of an arm that is stopped or has a fault.

import { test } from 'tap'
import { LabError } from '../../../errors.ts'
import { severalArms, standing, workflowOf } from '../../../testing/documents.ts'
import { personWith, runtimeWithPeople, settled, taskFor, tasksOf } from '../../../testing/people.ts'
import { begin, Kept, takeUp, threadIn, until } from '../../../testing/workflow.ts'
import type { Execution } from '../../runs/execution.ts'
import { blockers, why } from '../../runs/explanation.ts'
import { restlessArm, retriesBy } from '../../runs/held_action.ts'
import { recover } from '../../runs/retry.ts'
import { placeOf } from '../../state/labware.ts'
import { mayBe } from '../../state/move.ts'
import type { LabwareThread } from '../thread.ts'

const reach = { arm: ['a', 'b', 'c', 'd'], other: ['a', 'x', 'y'], hands: ['a', 'b', 'c', 'f'] }
const bench = severalArms(reach)
const withScanner = severalArms(reach, { scanners: { arm: 'scan_1' }, operations: { scan_1: { scan: 2 } } })
const workflow = workflowOf('two', {
  plate: { ...standing('a', 'b'), steps: [] },
  lid: { ...standing('x', 'y'), steps: [{ wait_for: 'lid' }] },
})
const boxed = workflowOf('boxed', { box: { ...standing('f', 'c'), steps: [] } })

const placeIn = ({ state, environment, labware }: LabwareThread) =>
  placeOf(mayBe(state), environment.scheduler.whereIs(labware.labware_id) ?? null)

type Settings = Parameters<typeof personWith>[0]

/** A run whose plate the arm failed to pick, and of which a person is to make the move then. */
async function jammed(settings: Settings = {}, mayMove = false, topology = bench) {
  const hands = personWith(settings)
  const kept = new Kept()
  const arm = { isFaulty: false, fails: true, mayMove }
  const moved: string[] = []
  const made = runtimeWithPeople({ hands }, topology, [workflow, boxed], {
    keep: () => kept,
    equipment: {
      faults: () => (arm.isFaulty ? [{ device_id: 'arm', error: 'it is jammed', since: 0 }] : []),
      mayMove: (transporter) => transporter === 'arm' && arm.isFaulty && arm.mayMove,
      carry: async (transporter, verb, { position }) => {
        moved.push(`${transporter} ${verb} ${position}`)
        if (transporter !== 'arm' || !arm.fails) return
        arm.isFaulty = true
        throw new LabError('device_failed', 'it is jammed')
      },
    },
  })
  const execution = await begin(made.runtime, { workflow: 'two', run_mode: 'LIVE' })
  const plate = [...execution.threads.values()].find(({ name }) => name === 'plate')!
  await until(() => plate.control.pausedAt === 'MOVE' || tasksOf(made.runtime).length > 0)
  return { ...made, hands, kept, arm, moved, execution, plate }
}

const emits = (execution: Execution, event: string) => execution.events.emitCustom(event, { value: null, data: {} }, null)

/** The topology finds the shortest way, and both make it in one hop: the arm stands first. */
test('where labware may be after a withdrawn takeover names the person, also when its thread has ended and after a restart', async (t) => {
  const { runtime, plate, hands, execution, kept, incidents } = await jammed()
  t.equal(placeIn(plate), 'at a or held by arm')
  recover(plate, 'RETRY', { by: 'hands' })
  const task = await taskFor(runtime, 'plate')
  t.match(task.instruction, /^Take plate out of the gripper of arm/)
  const place = 'at a or held by arm or held by hands or at b'
  t.equal(placeIn(plate), place, 'while the task is open')
  await settled()
  const keys = kept.all.at(-1)!
  await hands.halt()
  await until(() => plate.control.pausedAt === 'MOVE' && tasksOf(runtime).length === 0)
  t.equal(placeIn(plate), place, 'after the stop')
  t.match(incidents.at(-1)!.message, `it is ${place}`)
  plate.control.recover('ABORT_THREAD')
  await until(() => plate.isOver)
  const [left] = runtime.labware().filter(({ labware }) => labware.name === 'plate')
  t.equal(placeOf(left!.labware, left!.environment.scheduler.whereIs(left!.labware.labware_id)!), place, 'after its end')
  runtime.relocate(plate.labware.labware_id, { position: 'c' })
  const [found] = runtime.labware().filter(({ labware }) => labware.name === 'plate')
  t.equal(placeOf(found!.labware, 'c'), 'at c')
  execution.abort('the test is over')
  await runtime.over(execution)

  const again = runtimeWithPeople({ hands: personWith() }, bench, [workflow], { ids: 1_000_000 })
  const restored = await takeUp(again.runtime, keys)
  const its = [...restored.threads.values()].find(({ name }) => name === 'plate')!
  t.equal(placeIn(its), place, 'after a restart')
  await again.runtime.answerStep(task.step_id, { answer: 'elsewhere', position: 'c' })
  t.equal(placeIn(its), 'at c')
})

test('a takeover that the person cannot make leaves the labware in the gripper, and one that was withdrawn is the task of the person again', async (t) => {
  const { runtime, plate, hands, execution } = await jammed()
  recover(plate, 'RETRY', { by: 'hands' })
  await hands.halt()
  await taskFor(runtime, 'plate')
  await hands.halt()
  await until(() => plate.control.pausedAt === 'MOVE')
  // An arm that took its turn would put down what the person may hold.
  plate.control.recover('RETRY')
  await runtime.answerStep((await taskFor(runtime, 'plate')).step_id, { answer: 'cannot' })
  await until(() => plate.control.pausedAt === 'MOVE')
  t.equal(placeIn(plate), 'at a or held by arm or at b')
  recover(plate, 'RETRY', { by: 'hands' })
  await runtime.answerStep((await taskFor(runtime, 'plate')).step_id, { answer: 'done' })
  await until(() => plate.isOver)
  t.equal(placeIn(plate), 'at b')
  execution.abort('the test is over')
  await runtime.over(execution)
})

test('a person who shares the space keeps the arm still whose move the person makes, and no other', async (t) => {
  const { runtime, plate, execution, moved, kept } = await jammed({ shared_space: true })
  recover(plate, 'RETRY', { by: 'hands' })
  const { step_id } = await taskFor(runtime, 'plate')
  t.throws(() => runtime.environments.beginMotion('arm'), { code: 'interlock' })
  runtime.environments.beginMotion('other')()
  const lid = await threadIn(execution, 'lid', 'AWAITING_EVENT')
  emits(execution, 'lid')
  await until(() => lid.isOver)
  t.same(moved.slice(-2), ['other pick x', 'other place y'])
  await settled()
  const keys = kept.all.at(-1)!
  await runtime.answerStep(step_id, { answer: 'done' })
  runtime.environments.beginMotion('arm')()
  await runtime.over(execution)

  const again = runtimeWithPeople({ hands: personWith({ shared_space: true }) }, bench, [workflow], { ids: 1_000_000 })
  await takeUp(again.runtime, keys)
  t.throws(() => again.runtime.environments.beginMotion('arm'), { code: 'interlock' }, 'after a restart, too')
  again.runtime.environments.beginMotion('other')()
  await again.runtime.answerStep(step_id, { answer: 'done' })
  again.runtime.environments.beginMotion('arm')()
})

test('a takeover is offered once the arm is known to stand, or by a word that its power is off, and until then why says what to do', async (t) => {
  for (const isOff of [false, true]) {
    const { runtime, plate, execution, arm } = await jammed({}, true)
    const retries = () => [retriesBy(plate), restlessArm(plate)]
    t.same(retries(), [[], 'arm'])
    t.throws(() => recover(plate, 'RETRY', { by: 'hands' }), {
      code: 'conflict',
      message:
        'hands cannot make the move yet: arm may still move, because it has not confirmed its stop; wait until it does, or switch its power off and say so (RETRY with "by" and "arm_is_off")',
    })
    t.match(
      blockers(execution).find(({ kind }) => kind === 'error'),
      { remedy: /; for a person to make the move: arm may still move, because it has not confirmed its stop/ },
    )
    t.throws(() => recover(plate, 'RETRY', { arm_is_off: true }), { code: 'invalid' })
    if (isOff) recover(plate, 'RETRY', { by: 'hands', arm_is_off: true })
    else {
      arm.mayMove = false
      t.same(retries(), [['hands'], undefined])
      recover(plate, 'RETRY', { by: 'hands' })
    }
    await runtime.answerStep((await taskFor(runtime, 'plate')).step_id, { answer: 'done' })
    await until(() => plate.isOver)
    execution.abort('the test is over')
    await runtime.over(execution)
  }
})

test('no task is shown near an arm that may still move, the run does not stall, and the task comes when the arm stands', async (t) => {
  const { runtime, plate, execution, arm, incidents } = await jammed({}, true)
  plate.control.recover('ABORT_THREAD')
  runtime.relocate(plate.labware.labware_id, { position: 'a' })
  const second = await begin(runtime, { workflow: 'boxed', run_mode: 'LIVE' })
  const its = await threadIn(second, 'box', 'MOVING')
  await until(() => its.control.waiting?.what === 'the arms that reach f and c to stand')
  await settled()
  t.same(tasksOf(runtime), [])
  t.match(why(second), [{ because: ['arm may still move: it has not confirmed its stop; see that it stands, then initialize it'] }])
  t.notOk(incidents.some(({ category }) => category === 'SYSTEM_STALL'))
  arm.mayMove = false
  runtime.environments.stood()
  await runtime.answerStep((await taskFor(runtime, 'box')).step_id, { answer: 'done' })
  await runtime.over(second)
  execution.abort('the test is over')
  await runtime.over(execution)
})

test('a person who makes the move of an arm with a scanner has to read the barcode', async (t) => {
  const { runtime, plate, execution } = await jammed({ ask_barcode: false }, false, withScanner)
  recover(plate, 'RETRY', { by: 'hands' })
  const { move, step_id } = await taskFor(runtime, 'plate')
  t.equal(move!.ask_barcode, true)
  await t.rejects(runtime.answerStep(step_id, { answer: 'done' }), { code: 'conflict', message: /read the barcode of plate/ })
  await runtime.answerStep(step_id, { answer: 'done', barcode: 'P1' })
  await until(() => plate.isOver)
  t.equal(plate.labware.barcode, 'P1')
  execution.abort('the test is over')
  await runtime.over(execution)
})
