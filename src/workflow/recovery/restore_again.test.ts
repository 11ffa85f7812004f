// What only shows when a service is killed more than once, at the worst moment: found by killing the assay (`lab/assay_kills.long.test.ts`).

import { test } from 'tap'
import type { RuntimeEvent } from '../../events/event.ts'
import { byHand, severalArms, workflowOf } from '../../testing/documents.ts'
import { begin, Kept, KeptBeside, run, takeUp, testRuntime, threadIn, trace, until } from '../../testing/workflow.ts'
import { PureEquipment } from '../equipment/pure_equipment.ts'
import type { RuntimeOptions } from '../runtime_options.ts'
import { checkpointOf } from '../state/run.ts'

const arms = { arm_1: ['pad_1', 'pad_2', 'mixer_in', 'between'], arm_2: ['between', 'pad_3', 'reader_in'] }
const bench = { nests: { mixer_in: 'mixer', reader_in: 'reader' }, operations: { mixer: { mix: 60 }, reader: { read: 60 } } }
const topology = severalArms(arms, bench)
const read = { read: [{ do: 'read', on: 'reader' }] }
const workflow = workflowOf(
  'mixed',
  {
    plate: { ...byHand('pad_1'), steps: [{ method: 'mix_it' }, { wait_for: 'go' }] },
    other: { ...byHand('pad_3', 'pad_2'), steps: [] },
  },
  { methods: { mix_it: [{ do: 'mix', on: 'mixer' }], ...read }, start: ['plate'] },
)

type Deed = Parameters<PureEquipment['carry']> | Parameters<PureEquipment['perform']>

/** A runtime, and all that its devices were told to do. */
function watched(options: Parameters<typeof testRuntime>[1], onDeed = () => {}) {
  const deeds: Deed[] = []
  const does = (deed: Deed) => {
    deeds.push(deed)
    onDeed()
  }
  class Watched extends PureEquipment {
    override carry(...call: Parameters<PureEquipment['carry']>): Promise<void> {
      does(call)
      return super.carry(...call)
    }

    override perform(...call: Parameters<PureEquipment['perform']>): Promise<unknown> {
      does(call)
      return super.perform(...call)
    }
  }
  const simulate: RuntimeOptions['simulate'] = ({ document }, clock) => new Watched({ clock, transporters: document.transporters })
  return { deeds, ...testRuntime([topology, workflow], { simulate, ...options }) }
}

test('before a device or an arm moves, the state of that moment and all published events are on the card', async (t) => {
  const told: RuntimeEvent[] = []
  const kept = new KeptBeside(told)
  const behind: unknown[] = []
  const { runtime, deeds } = watched({ keep: () => kept, onTold: (event) => told.push(event) }, () => {
    const { at, keys } = kept.saves.at(-1)!
    const [execution] = runtime.runs.all()
    for (const [key, text] of execution!.state.present()) if (JSON.stringify(keys.get(key)) !== text) behind.push({ key, text })
    if (at < told.length) behind.push(told.slice(at).map(({ event_name }) => event_name))
  })
  const execution = await begin(runtime, { workflow: 'mixed' })
  await until(() => deeds.length >= 3)
  t.same(behind, [])
  execution.abort('that was all')
})

test('nothing moves before the card has all that happened', async (t) => {
  const releases: (() => void)[] = []
  class Slow extends Kept {
    override async persist(): Promise<void> {
      await super.persist()
      await new Promise<void>((resolve) => releases.push(resolve))
    }
  }
  const { runtime, deeds } = watched({ keep: () => new Slow() })
  const submitting = begin(runtime, { workflow: 'mixed' })
  const moved = () => deeds.length > 0
  await until(() => releases.length > 0)
  for (let turns = 0; turns < 50; turns++) await new Promise(setImmediate)
  t.notOk(moved())
  await until(() => {
    for (const release of releases.splice(0)) release()
    return moved()
  })
  const execution = await submitting
  execution.abort('that was all')
  await until(() => {
    for (const release of releases.splice(0)) release()
    return execution.isOver
  })
})

test('at no moment is what an arm has set down kept as standing where it was picked', async (t) => {
  const kept = new Kept()
  /** Somebody else asks for the card again and again in the turn in which it is set down. */
  class Watched extends PureEquipment {
    override async carry(...[arm, verb, on]: Parameters<PureEquipment['carry']>): Promise<void> {
      await super.carry(arm, verb, on)
      void (async () => {
        for (let ticks = 0; ticks < 20; ticks++, await null) void runtime.runs.all()[0]?.state.persisted()
      })()
    }
  }
  const simulate: RuntimeOptions['simulate'] = ({ document }, clock) => new Watched({ clock, transporters: document.transporters })
  const alone = { ...workflow, threads: { ...workflow.threads, plate: { ...workflow.threads.plate, steps: [{ method: 'read' }] } } }
  const { runtime } = testRuntime([topology, { ...alone, methods: read }], { keep: () => kept, simulate })
  await run(runtime, { workflow: 'mixed' })
  await kept.persist()
  const places = kept.all.flatMap((keys) =>
    (checkpointOf(keys)?.threads ?? []).map(({ seat, labware }) => `${seat}${labware.held_by === null ? '' : ` ${labware.held_by}`}`),
  )
  t.same(
    places.filter((place, i) => place !== places[i - 1]),
    [
      'null',
      'pad_1',
      'pad_1 arm_1',
      // In one turn the one arm sets it down, and the other begins to pick.
      'between arm_2',
      'reader_in',
      'reader_in arm_2',
      'between arm_1',
      // It is set down, and taken off the deck, in one turn.
      'null',
    ],
  )
})

test('an action that was taken for done is not asked about again once its method is told to be done', async (t) => {
  const first = new Kept()
  const before = testRuntime([topology, workflow], { keep: () => first })
  const begun = await begin(before.runtime, { workflow: 'mixed' })
  await until(() => trace(before.told).includes('METHOD mix_it COMPLETED'))
  begun.abort('that was all')
  const isMixing = (keys: Map<string, unknown>) => checkpointOf(keys)!.threads[0]!.interrupted?.status === 'EXECUTING_ACTION'
  const second = new Kept()
  const { runtime, told } = testRuntime([topology, workflow], { ids: 1_000_000, keep: () => second })
  const taken = await takeUp(runtime, first.all.find(isMixing)!)
  ;(await threadIn(taken, 'plate', 'PAUSED')).control.recover('CONTINUE')
  await until(() => trace(told).includes('METHOD mix_it COMPLETED'))
  await second.persist()

  const third = testRuntime([topology, workflow], { ids: 2_000_000 })
  const again = await takeUp(third.runtime, second.all.at(-1)!)
  taken.abort('that was all')
  const thread = await threadIn(again, 'plate', 'PAUSED')
  t.same([thread.state.interrupted, thread.control.decisions, thread.control.waiting?.what], [null, [], 'paused (system): resume it'])
  again.resume()
  await threadIn(again, 'plate', 'AWAITING_EVENT')
  t.notOk(trace(third.told).includes('ACTION mix CREATED'))
  again.abort('that was all')
})

test('what is in a gripper is set back before anything else, and hinders nobody who stands in its way', async (t) => {
  const both = {
    ...workflow,
    methods: read,
    threads: {
      plate: { ...workflow.threads.plate, steps: [{ method: 'read' }] },
      other: workflow.threads.other,
    },
    start: ['other', 'plate'],
  }
  const kept = new Kept()
  await run(testRuntime([topology, both], { keep: () => kept }).runtime, { workflow: 'mixed' })
  const isBetween = (keys: Map<string, unknown>) =>
    threadsIn(keys).some(({ name, progress }) => name === 'other' && progress.seat === 'between' && progress.labware.held_by === null)
  const keys = structuredClone(kept.all.find(isBetween)!)
  // The other arm has the plate from the reader, whose way back leads through there.
  const { thread, progress } = threadsIn(keys).find(({ name }) => name === 'plate')!
  Object.assign(thread, { frames: [] })
  Object.assign(progress, { seat: 'reader_in', labware: { ...progress.labware, held_by: 'arm_2' } })
  const deeds: string[] = []
  class Watched extends PureEquipment {
    override open(...[device, signal]: Parameters<PureEquipment['open']>): Promise<void> {
      deeds.push(`open ${device}`)
      return super.open(device, signal)
    }

    override carry(...[arm, verb, on]: Parameters<PureEquipment['carry']>): Promise<void> {
      deeds.push(`${arm} ${verb} ${on.position}`)
      return super.carry(arm, verb, on)
    }
  }
  const simulate: RuntimeOptions['simulate'] = ({ document }, clock) => new Watched({ clock, transporters: document.transporters })
  const { runtime, incidents } = testRuntime([topology, both], { ids: 1_000_000, simulate })
  const execution = await takeUp(runtime, keys)
  await until(() => execution.live().every(({ status }) => status.current === 'PAUSED'))
  execution.resume()
  await runtime.over(execution)
  t.same(incidents, [])
  t.equal(execution.phase.current, 'completed')
  const its = deeds.filter((deed) => /^open|^arm_2/.test(deed))
  t.same(its.slice(0, 4), ['open reader', 'arm_2 place reader_in', 'open reader', 'arm_2 pick reader_in'])
})

test('what rests on the way of another, and wants to go where that is, is parked', async (t) => {
  const withRoom = severalArms({ ...arms, arm_2: [...arms.arm_2, 'pad_4'] }, { ...bench, parking: ['pad_4'] })
  const labware = (start: string) => ({
    ...workflow.threads.plate,
    start: { at: start },
    end: { at: [start] },
    steps: [{ method: 'read' }, { method: 'mix_it' }],
  })
  const two = {
    ...workflow,
    threads: { plate: labware('pad_1'), other: { ...labware('pad_2'), labware: 'other' } },
    start: ['plate', 'other'],
  }
  const kept = new Kept()
  await run(testRuntime([withRoom, two], { keep: () => kept }).runtime, { workflow: 'mixed' })
  const keys = structuredClone(kept.all.find((keys) => threadsIn(keys).filter(({ progress }) => progress.seat !== null).length === 2)!)
  for (const { name, progress } of threadsIn(keys)) progress.seat = name === 'plate' ? 'pad_3' : 'between'
  const { runtime, incidents } = testRuntime([withRoom, two], { ids: 1_000_000 })
  const execution = await takeUp(runtime, keys)
  await until(() => execution.live().every(({ status }) => status.current === 'PAUSED'))
  execution.resume()
  await until(() => execution.isOver || incidents.length > 0)
  t.same(incidents, [])
  t.equal(execution.phase.current, 'completed')
  if (!execution.isOver) execution.abort('that was all')
})

type Progress = { seat: string | null; labware: { held_by: string | null } }

/** The two parts of each thread that is saved. */
function threadsIn(keys: ReadonlyMap<string, unknown>): { name: string; thread: object; progress: Progress }[] {
  return [...keys].flatMap(([key, value]) => {
    if (!key.startsWith('thread ')) return []
    const thread = value as { name: string }
    return [{ name: thread.name, thread, progress: keys.get(key.replace('thread', 'progress')) as Progress }]
  })
}
