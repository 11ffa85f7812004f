// Before something moves the card has the state that says so, and no sync is asked for that tells nothing new.

import { test } from 'tap'
import { LabError } from '../../../errors.ts'
import { oneArm, standing, workflowOf } from '../../../testing/documents.ts'
import { begin, instantBench, Kept, liveRuntime, run, threadIn, until } from '../../../testing/workflow.ts'
import type { BeforeMotion, Equipment } from '../../equipment/equipment.ts'
import { mayBe } from '../../state/move.ts'
import { checkpointOf } from '../../state/run.ts'

const topology = oneArm({ pads: ['pad_1', 'pad_2', 'pad_3', 'pad_4'], nests: { nest: 'mixer' }, operations: { mixer: { mix: 60 } } })

const moved = (plan: object, more: object = {}) =>
  workflowOf('moved', { plate: { start: { at: 'pad_1', mode: 'REUSE_EXISTING' }, steps: [], ...plan } }, more)
/** The submission, and the plate on its position. */
const begun = ['sync', 'sync']
const asked = { workflow: 'moved', run_mode: 'LIVE' } as const
const toPad = moved({ end: { at: ['pad_2'], mode: 'LEAVE_IN_PLACE' } })
const toMixer = moved(
  { end: { at: ['pad_1'], mode: 'LEAVE_IN_PLACE' }, steps: [{ method: 'mix_it' }] },
  { methods: { mix_it: [{ do: 'mix', on: 'mixer' }] } },
)

/** Writes down each sync, and can refuse it. */
class Card extends Kept {
  readonly deeds: string[]
  isFull = false
  /** Is called when nothing has moved, and all that is before the first motion is on the card. */
  onBegun = () => {}
  /** Is called with the number of each sync, before it ends. */
  onSync: (n: number) => void = () => {}

  constructor(deeds: string[]) {
    super()
    this.deeds = deeds
  }

  fill(): void {
    this.isFull = true
  }

  override async persist(): Promise<void> {
    await super.persist()
    if (this.isFull) throw new LabError('storage', 'the state of the runs was not written (ENOSPC): the disk is full')
    this.deeds.push('sync')
    this.onSync(this.deeds.filter((deed) => deed === 'sync').length)
    if (this.deeds.length === begun.length) this.onBegun()
  }

  override changed(): void {
    void super.persist()
  }
}

type Bench = {
  /** Whether the mixer has a door. */
  hasDoor?: boolean
  isReady?: boolean
}

/** A run in LIVE on a bench that writes down what moves. */
function opened(document: object, { hasDoor = false, isReady = true }: Bench = {}) {
  const deeds: string[] = []
  const card = new Card(deeds)
  const onCarry: ((verb: string) => unknown)[] = []
  const onPrepared: (() => unknown)[] = []
  let isInitialized = isReady
  const live: Equipment = instantBench({
    async ready(device, _signal, beforeMotion?: BeforeMotion) {
      if (isInitialized) return
      await beforeMotion?.()
      isInitialized = true
      deeds.push(`initialize ${device}`)
      for (const hear of onPrepared) hear()
    },
    async open(device, _signal, beforeMotion?: BeforeMotion) {
      if (!hasDoor) return
      await beforeMotion?.()
      deeds.push(`open ${device}`)
      for (const hear of onPrepared) hear()
    },
    async carry(_arm, verb) {
      deeds.push(verb)
      for (const hear of onCarry) hear(verb)
    },
    async perform(_device, operation) {
      deeds.push(operation)
    },
  })
  return { deeds, card, onCarry, onPrepared, ...liveRuntime(topology, [document], { live, keep: () => card }) }
}

const runs: [what: string, bench: Bench, document: object, deeds: string[]][] = [
  ['between places without a door', {}, toPad, [...begun, 'sync', 'pick', 'sync', 'place']],
  ['with an arm that is not ready', { isReady: false }, toPad, [...begun, 'sync', 'initialize arm', 'sync', 'pick', 'sync', 'place']],
  ['to a device without a door', {}, toMixer, [...begun, 'sync', 'pick', 'sync', 'place', 'sync', 'mix', 'sync', 'pick', 'sync', 'place']],
  [
    'to a device with a door',
    { hasDoor: true },
    toMixer,
    [
      ...[...begun, 'sync', 'open mixer', 'sync', 'pick', 'sync', 'place', 'sync', 'mix'],
      ...['sync', 'open mixer', 'sync', 'pick', 'sync', 'place'],
    ],
  ],
  [
    'to a device that is not ready: it is made so before the plate moves',
    { isReady: false },
    toMixer,
    [...[...begun, 'sync', 'initialize mixer', 'sync', 'pick', 'sync', 'place', 'sync', 'mix'], ...['sync', 'pick', 'sync', 'place']],
  ],
]

for (const [what, bench, document, expected] of runs)
  test(`each motion of a move is preceded by a sync, and no sync is made that tells nothing new: ${what}`, async (t) => {
    const { deeds, runtime } = opened(document, bench)
    await run(runtime, asked)
    t.same(deeds, expected)
  })

for (const [what, bench] of [
  ['the pick', {}],
  ['a door', { hasDoor: true }],
  ['an arm that is not ready', { isReady: false }],
] as const)
  test(`where the card is full before ${what}, nothing moves, and the move is made when somebody has it tried again`, async (t) => {
    const { deeds, card, runtime, incidents } = opened(toPad, bench)
    card.onBegun = () => card.fill()
    const execution = await begin(runtime, asked)
    await until(() => incidents.length > 0)
    t.same(deeds, begun)
    t.match(incidents, [{ message: /not brought.*disk is full.*stands at pad_1/ }])
    const thread = await threadIn(execution, 'plate', 'PAUSED')
    t.equal(thread.labware.held_by, null)
    card.isFull = false
    thread.control.recover('RETRY')
    await runtime.over(execution)
    t.equal(execution.phase.current, 'completed')
    t.equal(deeds.at(-1), 'place')
  })

for (const [what, bench, document, prepared] of [
  ['an arm is ready', { isReady: false }, toPad, 'initialize arm'],
  ['a door is open', { hasDoor: true }, toMixer, 'open mixer'],
] as const)
  test(`where the card is full once ${what}, nothing is picked before the card has that it is`, async (t) => {
    const { deeds, card, runtime, incidents, onPrepared } = opened(document, bench)
    onPrepared.push(() => card.fill())
    const execution = await begin(runtime, asked)
    await until(() => incidents.length > 0)
    t.same(deeds, [...begun, 'sync', prepared])
    t.match(incidents, [{ message: /not brought.*disk is full.*stands at pad_1/ }])
    const thread = await threadIn(execution, 'plate', 'PAUSED')
    t.equal(thread.labware.held_by, null)
    onPrepared.length = 0
    card.isFull = false
    thread.control.recover('RETRY')
    await runtime.over(execution)
    t.equal(execution.phase.current, 'completed')
  })

test('labware of a run that is aborted before the arm was sent is nowhere but where it stood', async (t) => {
  const { deeds, card, runtime, incidents } = opened(toPad)
  card.onSync = (n) => n === begun.length + 1 && runtime.runs.all()[0]!.abort('it is enough')
  const execution = await begin(runtime, asked)
  await runtime.over(execution)
  t.same(deeds.includes('pick'), false)
  t.same(incidents, [])
  t.match([...execution.threads.values()][0]!.labware, { held_by: null, placing: undefined })
})

for (const refuser of ['card', 'arm'])
  test(`a pick that the ${refuser} refuses does not show that the gripper is empty: labware whose pick failed may be in it still`, async (t) => {
    const plan = (labware: string, at: string, end: string) => ({ labware, ...standing(at, end), steps: [] })
    const two = {
      labware: { plate: { type: '96-well' }, other: { type: '96-well' } },
      threads: { first: plan('plate', 'pad_1', 'pad_2'), second: plan('other', 'pad_3', 'pad_4') },
      start: ['first', 'second'],
    }
    const { deeds, card, runtime, incidents, onCarry } = opened(moved({}, two))
    onCarry.push(() => {
      const isFirst = incidents.length === 0
      if (refuser === 'card') card.fill()
      throw isFirst ? new LabError('device_failed', 'arm broke off') : new LabError('interlock', 'the cover of arm is open')
    })
    const execution = await begin(runtime, asked)
    await until(() => incidents.length === 2)
    t.equal(deeds.filter((deed) => deed === 'pick').length, refuser === 'card' ? 1 : 2)
    const [first, second] = [await threadIn(execution, 'first', 'PAUSED'), await threadIn(execution, 'second', 'PAUSED')]
    t.same(mayBe(first.state), { held_by: 'arm' })
    onCarry.length = 0
    card.isFull = false
    second.control.recover('RETRY')
    await until(() => second.isOver)
    t.same(mayBe(first.state), { held_by: null }, 'it has picked')
    execution.abort('that was all')
  })

test('labware that the card lets nobody move is nowhere but where it stood when its thread is given up', async (t) => {
  const { card, runtime, deeds } = opened(toPad)
  card.onBegun = () => card.fill()
  const execution = await begin(runtime, asked)
  const thread = await threadIn(execution, 'plate', 'PAUSED')
  thread.control.recover('ABORT_THREAD')
  await runtime.over(execution)
  t.same(deeds, begun)
  t.match(thread.labware, { held_by: null, placing: undefined })
})

test('a card that is full once the arm has picked does not keep the labware in the gripper', async (t) => {
  const { card, runtime, deeds, onCarry } = opened(toPad)
  onCarry.push((verb) => verb === 'pick' && card.fill())
  await run(runtime, asked)
  t.same(deeds, [...begun, 'sync', 'pick', 'place'])
})

test('when the service stands down, no move is begun, and the state does not say that one was', async (t) => {
  const { card, runtime, deeds } = opened(toPad)
  card.onBegun = () => void runtime.runs.all()[0]!.standDown(Promise.resolve())
  await begin(runtime, asked)
  for (let turns = 0; turns < 50; turns++) await new Promise(setImmediate)
  t.same(deeds, begun)
  t.equal(checkpointOf(card.all.at(-1)!)!.threads[0]!.move?.status, 'AWAITING_MOVE_RESERVATION')
})

test('when the patience with a move is over and the state is written no more, the arm does not go on', async (t) => {
  const { runtime, deeds, onCarry } = opened(toPad)
  onCarry.push((verb) => verb === 'pick' && runtime.runs.all()[0]!.leave())
  await begin(runtime, asked)
  for (let turns = 0; turns < 50; turns++) await new Promise(setImmediate)
  t.same(deeds, [...begun, 'sync', 'pick'])
})

test('an operation that waits for an arm to be out of the device is not begun when the service stands down meanwhile', async (t) => {
  const { deeds, runtime, onCarry } = opened(toMixer)
  onCarry.push((verb) => verb === 'place' && runtime.environments.live!.scheduler.access.reachIn('another', ['nest']))
  const execution = await begin(runtime, asked)
  const [thread] = execution.threads.values()
  await until(() => thread!.control.waiting?.what === 'all arms to be out of mixer')
  void execution.standDown(Promise.resolve())
  execution.environment.scheduler.access.reachedIn('another')
  for (let turns = 0; turns < 50; turns++) await new Promise(setImmediate)
  t.notOk(deeds.includes('mix'))
})
