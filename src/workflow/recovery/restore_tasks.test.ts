// The service ends while a person has a task: the task is shown again, under its id, until somebody says where the labware is.

import { type Test, test } from 'tap'
import { severalArms, standing, workflowOf } from '../../testing/documents.ts'
import { personWith, runtimeWithPeople, settled, taskFor, tasksOf } from '../../testing/people.ts'
import { begin, Kept, takeUp, until } from '../../testing/workflow.ts'
import type { Execution } from '../runs/execution.ts'
import type { Runtime } from '../runtime.ts'
import { placeOf } from '../state/labware.ts'
import { mayBe } from '../state/move.ts'
import { checkpointOf } from '../state/run.ts'
import type { LabwareThread } from '../threads/thread.ts'

const bench = severalArms({ hands: ['a', 'b', 'c'], arm: ['a', 'd', 'e'] })
const carried = workflowOf('carried', { plate: { ...standing('a', 'b'), steps: [] } })
const lidToo = workflowOf('lidToo', { lid: { ...standing('d', 'e'), steps: [{ wait_for: 'go' }] } })

type Keys = ReadonlyMap<string, unknown>
type Settings = Parameters<typeof personWith>[0]

const placeIn = ({ state, environment, labware }: LabwareThread) =>
  placeOf(mayBe(state), environment.scheduler.whereIs(labware.labware_id) ?? null)

/** The states that were kept of a run, up to the moment after `act`. */
async function ran(settings: Settings, act: (runtime: Runtime, step_id: string) => Promise<unknown> = async () => {}) {
  const kept = new Kept()
  const { runtime } = runtimeWithPeople({ hands: personWith(settings) }, bench, [carried, lidToo], { keep: () => kept })
  await begin(runtime, { workflow: 'carried', run_mode: 'LIVE' })
  const { step_id } = await taskFor(runtime, 'plate')
  await act(runtime, step_id)
  await settled()
  return { step_id, all: kept.all as Keys[] }
}

let ids = 1_000_000

async function restored(keys: Keys, settings: Settings = {}, people = true) {
  ids += 1_000_000
  const kept = new Kept()
  const hands = personWith(settings)
  const moved: string[] = []
  const made = runtimeWithPeople(people ? { hands } : {}, bench, [carried, lidToo], {
    ...{ ids, keep: () => kept },
    equipment: { carry: async (arm, verb, { position }) => void moved.push(`${arm} ${verb} ${position}`) },
  })
  const execution = await takeUp(made.runtime, keys)
  await until(() => execution.isOver || execution.live().every(({ status }) => status.current === 'PAUSED'), 'all stand')
  const plate = [...execution.threads.values()][0]!
  return { ...made, hands, execution, plate, kept, moved }
}

async function ends(t: Test, runtime: Runtime, execution: Execution, at: string) {
  execution.resume()
  await until(() => execution.isOver || tasksOf(runtime).length > 0)
  for (const { step_id } of tasksOf(runtime)) await runtime.answerStep(step_id, { answer: 'done' })
  await runtime.over(execution)
  t.equal(execution.phase.current, 'completed')
  t.same(tasksOf(runtime), [])
  t.equal(
    placeOf(
      [...execution.threads.values()][0]!.labware,
      execution.environment.scheduler.whereIs([...execution.threads.values()][0]!.labware.labware_id)!,
    ),
    at,
  )
}

const cuts = [
  { what: 'shown', settings: {}, answers: [], place: 'at a or held by hands or at b' },
  { what: 'shown, to be confirmed twice', settings: { confirm: 'twice' }, answers: [], place: 'at a or held by hands or at b' },
  { what: 'taken', settings: { confirm: 'twice' }, answers: ['taken'], place: 'at a or held by hands or at b' },
] as const

const whenCut = async ({ settings, answers }: (typeof cuts)[number]) => {
  const { all, step_id } = await ran(settings, async (runtime, step_id) => {
    for (const answer of answers) await runtime.answerStep(step_id, { answer })
  })
  return { keys: all.at(-1)!, step_id }
}

for (const cut of cuts)
  test(`a task that was ${cut.what} when the service ended is shown again under its id, and each answer says where the labware is`, async (t) => {
    const { keys, step_id } = await whenCut(cut)
    for (const [answer, position, at] of [
      ['done', undefined, 'at b'],
      ['cannot', undefined, 'at a'],
      ['elsewhere', 'c', 'at c'],
      ['elsewhere', 'a', 'at a'],
      ['elsewhere', 'b', 'at b'],
    ] as const) {
      const { runtime, execution, plate, told, moved, incidents } = await restored(keys, cut.settings)
      t.match(tasksOf(runtime), [
        {
          ...{ step_id, thread_id: plate.thread_id },
          instruction: /^Shown again after a restart: /,
          move: { from: 'a', to: 'b', transporter: 'hands', is_again: true },
        },
      ])
      t.equal(told.filter(({ event_name }) => event_name.startsWith('OPERATOR')).length, 1)
      t.equal(placeIn(plate), cut.place)
      t.throws(() => execution.resume(), { code: 'conflict', message: /say where it is/ }, 'nothing goes on before that')
      await t.rejects(runtime.answerStep(step_id, { answer: 'taken' }), { code: 'conflict', message: /the service restarted/ })
      await t.rejects(runtime.answerStep(step_id, { answer: 'elsewhere', position: 'nowhere' }), { code: 'not_found' })
      t.equal(tasksOf(runtime).length, 1)
      await runtime.answerStep(step_id, { answer, ...(position && { position }) })
      t.equal(placeIn(plate), at, answer)
      t.same(tasksOf(runtime), [])
      await t.rejects(runtime.answerStep(step_id, { answer: 'done' }), { code: 'not_found' })
      await ends(t, runtime, execution, 'at b')
      t.same([moved, incidents], [[], []])
    }
  })

test('a task that is shown again is reminded of, once, and counts as held, unless it is answered before', async (t) => {
  const { keys, step_id } = await whenCut(cuts[0])
  const { runtime, clock, incidents, plate } = await restored(keys, { reminder_s: 60 })
  const held: boolean[] = []
  const { scheduler } = plate.environment
  scheduler.setHeld = (thread_id, isHeld) => void (thread_id === plate.thread_id && held.push(isHeld))
  clock.ring()
  clock.ring()
  t.match(incidents, [
    { message: new RegExp(`^nobody has answered for 60 s: Shown again after a restart: take plate .*/${step_id}/confirm`) },
  ])
  t.same([incidents.length, held], [1, [true]])
  await runtime.answerStep(step_id, { answer: 'done' })
  const other = await restored(keys, { reminder_s: 60 })
  await other.runtime.answerStep(step_id, { answer: 'done' })
  other.clock.ring()
  t.same(other.incidents, [])
})

test('a task that was answered before the service ended is not shown again', async (t) => {
  for (const answer of ['done', 'elsewhere', 'cannot'] as const) {
    const { all, step_id } = await ran({}, (runtime, step_id) =>
      runtime.answerStep(step_id, { answer, ...(answer === 'elsewhere' && { position: 'c' }) }),
    )
    // The run that was put elsewhere has gone on, and asks for the next move already.
    const { runtime, plate } = await restored(all.at(-1)!)
    t.notOk(
      tasksOf(runtime).some((task) => task.step_id === step_id),
      answer,
    )
    t.match(placeIn(plate), { done: 'at b', elsewhere: /^at c/, cannot: 'at a' }[answer])
  }
})

test('after whatever transaction the service ends, the labware is where it may be, and a task that was seen keeps its id', async (t) => {
  for (const settings of [{}, { confirm: 'twice' }] as const) {
    let shownAt = Number.POSITIVE_INFINITY
    const kept = new Kept()
    const { runtime } = runtimeWithPeople({ hands: personWith(settings) }, bench, [carried, lidToo], { keep: () => kept })
    const first = await begin(runtime, { workflow: 'carried', run_mode: 'LIVE' })
    await until(() => {
      if (tasksOf(runtime).length > 0) shownAt = Math.min(shownAt, kept.all.length)
      return tasksOf(runtime).length > 0
    })
    const { step_id } = tasksOf(runtime)[0]!
    const puts = new Map<number, string>()
    if ('confirm' in settings) await runtime.answerStep(step_id, { answer: 'taken' })
    await runtime.answerStep(step_id, { answer: 'done' })
    puts.set(kept.all.length, 'b')
    await runtime.over(first)
    t.ok(shownAt > 0, 'what is shown is on the card')
    for (const [i, keys] of (kept.all as Keys[]).entries()) {
      const saved = checkpointOf(keys)
      const isOver = saved?.threads.every(({ status }) => status === 'COMPLETED')
      if (!saved || isOver || saved.threads[0]?.seat == null) continue
      const { runtime: again, plate, execution } = await restored(keys, settings)
      const shown = tasksOf(again)
      t.ok(shown.length <= 1)
      if (i >= shownAt - 1 && saved.threads[0].seat === 'a') t.match(shown, [{ step_id, move: { is_again: true } }], `transaction ${i}`)
      if (shown.length === 0 && !execution.isOver) t.notMatch(placeIn(plate), / or /, `transaction ${i}: known, or asked for`)
      for (const task of shown) {
        t.equal(task.step_id, step_id)
        await again.answerStep(step_id, { answer: 'done' })
      }
      await ends(t, again, execution, 'at b')
    }
  }
})

test('a task is shown again however often the service starts before somebody answers', async (t) => {
  for (const cut of cuts) {
    const { keys, step_id } = await whenCut(cut)
    let state = keys
    for (let start = 1; start <= 3; start++) {
      const { runtime, plate, kept, execution } = await restored(state, cut.settings)
      t.match(tasksOf(runtime), [{ step_id, move: { from: 'a', to: 'b', is_again: true } }], `${cut.what}, start ${start}`)
      t.equal(placeIn(plate), cut.place)
      await settled()
      state = kept.all.at(-1) as Keys
      if (start < 3) continue
      await runtime.answerStep(step_id, { answer: 'done' })
      await ends(t, runtime, execution, 'at b')
    }
  }
})

test('where the labware is may be said without the task, which then goes', async (t) => {
  const { keys, step_id } = await whenCut(cuts[0])
  const { runtime, plate, execution } = await restored(keys)
  runtime.relocate(plate.labware.labware_id, { position: 'c' })
  t.same([placeIn(plate), tasksOf(runtime)], ['at c', []])
  await t.rejects(runtime.answerStep(step_id, { answer: 'done' }), { code: 'not_found' })
  await ends(t, runtime, execution, 'at b')
})

test('a thread that is ended takes its task with it, and the labware stays wherever it may be', async (t) => {
  const { keys, step_id } = await whenCut(cuts[0])
  for (const end of ['ABORT_THREAD', 'stop', 'abort'] as const) {
    const { runtime, plate, execution } = await restored(keys)
    if (end === 'ABORT_THREAD') plate.control.stop()
    if (end === 'stop') {
      plate.control.stop()
      execution.resume()
    }
    if (end === 'abort') execution.abort('enough')
    await runtime.over(execution)
    t.same(tasksOf(runtime), [], end)
    await t.rejects(runtime.answerStep(step_id, { answer: 'done' }), { code: 'not_found' })
    const [left] = runtime.labware()
    t.equal(placeOf(left!.labware, left!.environment.scheduler.whereIs(left!.labware.labware_id) ?? null), cuts[0].place, end)
    t.equal(runtime.environments.live!.space.taskWithin('arm'), undefined, end)
  }
})

test('no arm moves within reach of a task that is shown again', async (t) => {
  const { keys, step_id } = await whenCut(cuts[0])
  const { runtime, execution, moved } = await restored(keys)
  const other = await begin(runtime, { workflow: 'lidToo', run_mode: 'LIVE' })
  await until(() => other.live()[0]?.status.current === 'AWAITING_EVENT')
  other.events.emitCustom('go', { value: null, data: {} }, null)
  await until(() => other.isOver || other.live()[0]!.control.waiting?.what === 'a person to be out of the reach of arm')
  t.same(moved, [])
  await runtime.answerStep(step_id, { answer: 'done' })
  await runtime.over(other)
  t.same(moved, ['arm pick d', 'arm place e'])
  await ends(t, runtime, execution, 'at b')
})

test('a person who is no longer configured is not asked: somebody has to say where the labware is', async (t) => {
  const { keys } = await whenCut(cuts[0])
  const { runtime, plate, incidents } = await restored(keys, {}, false)
  t.same(tasksOf(runtime), [])
  t.equal(placeIn(plate), cuts[0].place)
  t.match(incidents, [{ category: 'LEDGER_CONTRADICTED', message: new RegExp(`it is ${cuts[0].place}; look`) }])
})
