// A person puts labware somewhere else than their task says, also where other labware was to go.

import { test } from 'tap'
import { severalArms, standing, workflowOf } from '../../../testing/documents.ts'
import { personWith, runtimeWithPeople, settled, taskFor, tasksOf } from '../../../testing/people.ts'
import { begin, threadIn, until } from '../../../testing/workflow.ts'
import type { LabwareThread } from '../thread.ts'

const bench = severalArms({ hands: ['a', 'b', 'c'], arm: ['c', 'd', 'e'] })
const carried = workflowOf('carried', { plate: { ...standing('a', 'b'), steps: [] } })
const lids = workflowOf('lids', { lid: { ...standing('d', 'c'), steps: [] } })

const at = ({ environment, labware }: LabwareThread) => environment.scheduler.whereIs(labware.labware_id)

/** The person is to carry the plate from a to b, and the arm the lid from d to c. `letGo` ends the preparation of the arm. */
async function both(carry: (verb: string) => Promise<void> = async () => {}) {
  const moved: string[] = []
  let letGo = () => {}
  const isReady = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const made = runtimeWithPeople({ hands: personWith() }, bench, [carried, lids], {
    equipment: {
      ready: async (device) => (device === 'arm' ? isReady : undefined),
      carry: (_, verb, { position }) => {
        moved.push(`${verb} ${position}`)
        return carry(verb)
      },
    },
  })
  const { runtime } = made
  const execution = await begin(runtime, { workflow: 'carried', run_mode: 'LIVE' })
  const { step_id } = await taskFor(runtime, 'plate')
  const other = await begin(runtime, { workflow: 'lids', run_mode: 'LIVE' })
  const lid = await threadIn(other, 'lid', 'MOVING')
  await until(() => lid.move?.status.current === 'PREPARING_TO_MOVE')
  const plate = [...execution.threads.values()][0]!
  const elsewhere = (position: string) => runtime.answerStep(step_id, { answer: 'elsewhere', position })
  return { ...made, moved, execution, other, lid, plate, elsewhere, letGo }
}

test('labware that was put where other labware is to go is known there, its thread is held, and nothing is put on top of it', async (t) => {
  const { runtime, incidents, moved, execution, other, lid, plate, elsewhere, letGo } = await both()
  t.equal(runtime.environments.live!.scheduler.position('c').reserved_for, lid.thread_id)
  await elsewhere('c')
  t.equal(at(plate), 'c', 'when the answer is taken, the plate is known to be there')
  await until(() => plate.control.pausedAt === 'MOVE_RESOLUTION')
  t.equal(plate.last_error, 'plate was put at c, which was reserved for thread lid; decide RETRY, and plate is carried on from there')
  t.match(incidents.at(-1), { category: 'MOVE_FAILED', message: /^thread plate cannot go on: plate was put at c/ })
  t.same(tasksOf(runtime), [], 'it does not go on by itself')
  letGo()
  await until(() => lid.control.pausedAt === 'MOVE_RESOLUTION')
  t.match(lid.last_error, 'c is no longer reserved for lid, because somebody put it elsewhere, or other labware there; try again')
  lid.control.recover('RETRY')
  await until(() => lid.control.waiting?.kind === 'reservation')
  t.same(moved, [], 'the arm has not begun')
  plate.control.recover('RETRY')
  const task = await taskFor(runtime, 'plate')
  t.match(task.move, { from: 'c', to: 'b' })
  await runtime.answerStep(task.step_id, { answer: 'done' })
  await runtime.over(execution)
  await runtime.over(other)
  t.same([at(plate), at(lid), moved], ['b', 'c', ['pick d', 'place c']])
  t.same([execution.phase.current, other.phase.current], ['completed', 'completed'])
})

test('labware is not taken to stand where other labware is put down just now, and the task stays', async (t) => {
  let goOn = () => {}
  const { runtime, execution, other, lid, plate, elsewhere, letGo } = await both(
    (verb) =>
      new Promise((resolve) => {
        if (verb === 'place') resolve()
        else goOn = resolve
      }),
  )
  letGo()
  await until(() => lid.move?.status.current === 'PICKING')
  await settled()
  await t.rejects(elsewhere('c'), {
    code: 'conflict',
    message: 'plate cannot be at c: arm brings lid there just now; stop arm, or take plate away from there',
  })
  t.same([at(plate), tasksOf(runtime).length], ['a', 1])
  goOn()
  await runtime.over(other)
  await t.rejects(elsewhere('c'), { code: 'conflict', message: /lid stands there/ })
  await elsewhere('b')
  await runtime.over(execution)
})
