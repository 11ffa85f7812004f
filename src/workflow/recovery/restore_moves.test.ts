// The service ends while labware is moved, or while its thread ends.

import { test } from 'tap'
import type { RuntimeEvent } from '../../events/event.ts'
import { oneArm, severalArms, standing, stored, workflowOf } from '../../testing/documents.ts'
import { begin, instantBench, Kept, KeptBeside, liveRuntime, takeUp, until } from '../../testing/workflow.ts'
import type { TopologyInput } from '../plans/topology_schema.ts'
import { type Checkpoint, checkpointOf } from '../state/run.ts'
import { askArm } from '../whereabouts.ts'
import { strandLabware } from './stranded_labware.ts'

const topology = oneArm({ pads: ['a', 'b', 'c', 'd'] })
const thread = (from: string, to: string, steps: object[] = []) => ({ ...standing(from, to), steps })
const workflow = workflowOf('work', { p: thread('a', 'b'), q: thread('c', 'd', [{ wait_for: 'go' }]) })

type Execution = Awaited<ReturnType<typeof begin>>

const named = (execution: Execution, name: string) => [...execution.threads.values()].find((one) => one.name === name)!

/** What was saved last when it is so. */
async function ran(options: Pick<NonNullable<Parameters<typeof liveRuntime>[2]>, 'live'>, act: (execution: Execution) => Promise<void>) {
  const told: RuntimeEvent[] = []
  const kept = new KeptBeside(told)
  const { runtime } = liveRuntime(topology, [workflow], { ...options, keep: () => kept, onTold: (event) => told.push(event) })
  const execution = await begin(runtime, { workflow: 'work', run_mode: 'LIVE' })
  await act(execution)
  await until(() => kept.saves.at(-1)!.at === told.length)
  return kept.saves.at(-1)!
}

/** The state that was saved when an arm was about to put p down. */
function killedAsItPlaces(bench: TopologyInput, document: object): Promise<Checkpoint> {
  return killedAsIt('place', bench, document)
}

/** The state that was saved when an arm was about to pick p up, or to put p down. */
async function killedAsIt(motion: 'pick' | 'place', bench: TopologyInput, document: object): Promise<Checkpoint> {
  const kept = new Kept()
  const live = instantBench({ carry: (_, verb) => (verb === motion ? new Promise(() => {}) : Promise.resolve()) })
  const { runtime } = liveRuntime(bench, [document], { keep: () => kept, live })
  const execution = await begin(runtime, { workflow: 'work', run_mode: 'LIVE' })
  await until(() => named(execution, 'p')?.move?.status.current === (motion === 'pick' ? 'PICKING' : 'PLACING'))
  const last = () => checkpointOf(kept.all.at(-1)!)!
  await until(() => last().threads.some(({ name, placing, picking }) => name === 'p' && (motion === 'pick' ? picking : placing !== null)))
  return last()
}

async function restored({ keys }: { keys: ReadonlyMap<string, unknown> }) {
  const made = liveRuntime(topology, [workflow], { ids: 1_000_000 })
  const execution = await takeUp(made.runtime, keys)
  return { ...made, execution, scheduler: execution.environment.scheduler }
}

test('labware of a thread that had completed belongs to nobody', async (t) => {
  const run = await ran({}, async (execution) => {
    await until(() => named(execution, 'p')?.isOver === true && named(execution, 'q').status.current === 'AWAITING_EVENT')
  })
  const { execution, scheduler, runtime } = await restored(run)
  const { labware, status } = named(execution, 'p')
  t.equal(status.current, 'COMPLETED')
  t.same([scheduler.whereIs(labware.labware_id), scheduler.whose(labware.labware_id)], ['b', null])
  await until(() => execution.live().every(({ status }) => status.current === 'PAUSED'))
  execution.resume()
  execution.events.emitCustom('go', { value: null, data: {} }, null)
  await runtime.over(execution)
  t.equal(scheduler.whereIs(labware.labware_id), 'b')
})

test('a thread that was aborted with a full gripper does not take the arm again', async (t) => {
  const live = instantBench({
    carry: async (_, verb) => {
      if (verb === 'place') throw new Error('it failed')
    },
  })
  const run = await ran({ live }, async (execution) => {
    await until(() => named(execution, 'p')?.control.pausedAt === 'MOVE')
    named(execution, 'p').control.recover('ABORT_THREAD')
    await until(() => named(execution, 'p').isOver)
  })
  const { execution, scheduler } = await restored(run)
  t.equal(named(execution, 'p').status.current, 'ABORTED')
  t.equal(scheduler.transporters.holder('arm'), undefined)
})

test('a stop that was saved is not forgotten', async (t) => {
  const live = instantBench({ carry: (_, verb) => (verb === 'place' ? new Promise(() => {}) : Promise.resolve()) })
  const run = await ran({ live }, async (execution) => {
    await until(() => named(execution, 'p')?.labware.held_by === 'arm')
    named(execution, 'p').control.stop()
  })
  t.equal(run.saved.threads.find(({ name }) => name === 'p')!.status, 'STOPPING')
  const { execution } = await restored(run)
  execution.resume()
  await until(() => named(execution, 'p').isOver)
  t.equal(named(execution, 'p').status.current, 'STOPPED')
})

test('where a plate was being put down nothing else goes before somebody has looked: it may stand there', async (t) => {
  const shared = severalArms({ arm_1: ['a', 'x', 'c'], arm_2: ['e', 'x', 'f'] })
  const crossing = workflowOf('work', { p: thread('a', 'f'), q: thread('e', 'c', [{ wait_for: 'go' }]) })
  const saved = await killedAsItPlaces(shared, crossing)

  // The arm has put it down by itself.
  const standing = new Set(['x', 'e'])
  const full = new Set<string>()
  const crashes: string[] = []
  const bench = instantBench({
    carry: async (arm, verb, { position }) => {
      if (verb === 'pick' && !standing.delete(position)) throw new Error(`nothing stands at ${position}`)
      if (verb === 'pick') return void full.add(arm)
      if (!full.delete(arm)) throw new Error('the gripper is empty')
      if (standing.has(position)) crashes.push(`${arm} at ${position}`)
      standing.add(position)
    },
  })
  const made = liveRuntime(shared, [crossing], { ids: 1_000_000, live: bench })
  const execution = await made.runtime.restore(saved)
  await until(() => execution.live().every(({ status }) => status.current === 'PAUSED'))
  t.throws(() => execution.resume(), { code: 'conflict', message: /it is at a or held by arm_1 or at x; look/ })
  named(execution, 'q').control.resume()
  execution.events.emitCustom('go', { value: null, data: {} }, null)
  const p = named(execution, 'p')
  t.match(
    made.incidents.map(({ message }) => message),
    [/the service ended while arm_1 moved p: it is at a or held by arm_1 or at x; look/],
  )
  await until(() => named(execution, 'q').control.waiting?.kind === 'reservation')
  for (let turns = 0; turns < 200; turns++) await new Promise(setImmediate)
  t.same(crashes, [])
  // Who looked says so.
  made.runtime.relocate(p.labware.labware_id, { position: 'x' })
  execution.resume()
  await made.runtime.over(execution)
  t.same([execution.phase.current, crashes], ['completed', []])
  t.same([...standing].sort(), ['c', 'f'])
})

test('an arm that a run had which cannot be taken up is free for others', async (t) => {
  const saved = await killedAsItPlaces(topology, workflow)
  const made = liveRuntime(topology, [workflow], { ids: 1_000_000, live: instantBench() })
  const environment = made.runtime.environments.live!
  environment.scheduler.put('else', 'c', 'a thread of another run')
  await t.rejects(made.runtime.restore(saved))
  t.match(strandLabware(environment, saved.threads), [{ what: /p was held by arm/ }, { what: /q stood at c, and cannot be there now/ }])
  t.equal(environment.scheduler.transporters.holder('arm'), undefined)
})

test('a real arm puts nothing back into a storage before somebody has looked', async (t) => {
  const stacked = oneArm({ pads: ['b'], storages: ['stack'] })
  const one = workflowOf('work', { p: { ...stored('stack', 'b'), steps: [] } })
  const saved = await killedAsItPlaces(stacked, one)
  const seen: string[] = []
  const bench = instantBench({
    carry: async (_, verb, { position }) => void seen.push(`${verb} ${position}`),
    isReal: () => true,
    gripper: async () => 'full',
  })
  const made = liveRuntime(stacked, [one], { ids: 1_000_000, live: bench })
  const execution = await made.runtime.restore(saved)
  await until(() => execution.live().every(({ status }) => status.current === 'PAUSED'))
  await askArm(named(execution, 'p'))
  execution.resume()
  await until(() => named(execution, 'p').control.pausedAt === 'MOVE')
  t.match(named(execution, 'p').last_error, /stack may have presented its next labware since p was taken out/)
  t.same(seen, [])
  named(execution, 'p').control.recover('RETRY')
  await made.runtime.over(execution)
  t.same(seen, ['place stack', 'pick stack', 'place b'])
})

/** The answers of the arm after a kill in its move of p from a to b. Each row has the place of p that follows from the answer, and the words that the arm gets when the run is resumed. */
const evidence = [
  { motion: 'pick', says: 'full', place: 'held by arm', told: ['place a', 'pick a', 'place b'] },
  { motion: 'pick', says: 'empty', place: 'at a', told: ['pick a', 'place b'] },
  { motion: 'place', says: 'full', place: 'held by arm', told: ['place a', 'pick a', 'place b'] },
  { motion: 'place', says: 'empty', place: 'at b', told: [] },
  { motion: 'pick', says: null, place: null, told: [] },
  { motion: 'place', says: null, place: null, told: [] },
] as const

for (const { motion, says, place, told } of evidence)
  test(`killed in a ${motion}, and the arm then says ${says ?? 'nothing that proves anything'}: p is ${place ?? 'nobody knows where'}`, async (t) => {
    const alone = workflowOf('work', { p: thread('a', 'b') })
    const saved = await killedAsIt(motion, topology, alone)
    const seen: string[] = []
    const asked: string[] = []
    const live = instantBench({
      carry: async (_, verb, { position }) => void seen.push(`${verb} ${position}`),
      gripper: async (arm) => {
        asked.push(arm)
        return says
      },
    })
    const made = liveRuntime(topology, [alone], { ids: 1_000_000, live })
    const execution = await made.runtime.restore(saved)
    const p = named(execution, 'p')
    await until(() => p.status.current === 'PAUSED')
    t.throws(() => execution.resume(), { code: 'conflict', message: /look, and say where it is/ }, 'before the arm was asked')
    await askArm(p)
    t.same(asked, ['arm'])
    t.same(seen, [], 'a question moves nothing')
    if (place === null) {
      t.throws(() => execution.resume(), { code: 'conflict', message: /look, and say where it is/ })
      return
    }
    t.match(made.incidents.at(-1), {
      category: 'MOVE_CONTINUED',
      message: `arm stands, and says that its gripper is ${says}: p is ${place}`,
    })
    execution.resume()
    await made.runtime.over(execution)
    t.same(seen, told)
    t.equal(execution.environment.scheduler.whereIs(p.labware.labware_id), 'b')
  })

test('an arm is asked only at the start after the kill: later a person may have emptied it', async (t) => {
  const first = await killedAsIt('place', topology, workflow)
  const kept = new Kept()
  const again = liveRuntime(topology, [workflow], { ids: 1_000_000, live: instantBench({}), keep: () => kept })
  await again.runtime.restore(first)
  const last = () => checkpointOf(kept.all.at(-1) ?? new Map())
  await until(() => last()?.threads.some(({ name, move, placing }) => name === 'p' && move === null && placing === 'b') === true)
  const asked: string[] = []
  const live = instantBench({
    gripper: async (arm) => {
      asked.push(arm)
      return 'empty'
    },
  })
  const made = liveRuntime(topology, [workflow], { ids: 2_000_000, live })
  const execution = await made.runtime.restore(last()!)
  await until(() => named(execution, 'p').status.current === 'PAUSED')
  await askArm(named(execution, 'p'))
  t.same(asked, [])
  t.throws(() => execution.resume(), { code: 'conflict' })
})

test('labware that was being set back when the service ended again is where it stood or in the gripper', async (t) => {
  const first = await killedAsIt('place', topology, workflow)
  const kept = new Kept()
  const hanging = instantBench({ carry: () => new Promise(() => {}), gripper: async () => 'full' })
  const again = liveRuntime(topology, [workflow], { ids: 1_000_000, live: hanging, keep: () => kept })
  const execution = await again.runtime.restore(first)
  await until(() => named(execution, 'p').status.current === 'PAUSED')
  await askArm(named(execution, 'p'))
  execution.resume()
  const last = () => checkpointOf(kept.all.at(-1) ?? new Map())
  await until(() => last()?.threads.some(({ name, picking }) => name === 'p' && picking) === true)
  const seen: string[] = []
  const live = instantBench({ carry: async (_, verb, { position }) => void seen.push(`${verb} ${position}`) })
  const made = liveRuntime(topology, [workflow], { ids: 2_000_000, live })
  const run = await made.runtime.restore(last()!)
  await until(() => named(run, 'p').status.current === 'PAUSED')
  t.throws(() => run.resume(), { code: 'conflict', message: /it is at a or held by arm; look/ })
  t.same(seen, [])
})
