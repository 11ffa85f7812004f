// The service ends in the midst of a turn: the log knows more than was saved, and what it knows holds.

import { test } from 'tap'
import type { RuntimeEvent } from '../../events/event.ts'
import { begin, Kept, KeptBeside, liveRuntime, testRuntime, threadIn, trace, until } from '../../testing/workflow.ts'
import type { TopologyInput } from '../plans/documents.ts'
import type { checkpointOf } from './checkpoint.ts'

const topology: TopologyInput = {
  format: 1,
  name: 'bench',
  transporters: { arm: { positions: ['pad_1', 'pad_2', 'pad_3', 'in'] } },
  positions: { pad_1: {}, pad_2: { parking: true }, pad_3: {}, in: { device: 'mixer' } },
  devices: { mixer: { sites: 2, operations: { mix: { seconds: 60 }, spin: { seconds: 30 } } } },
}

const tips = { labware: 'tips', start: { at: 'pad_3' }, end: { at: ['pad_3'] }, steps: [{ join: ['mix_it'] }] }

const methods = {
  mix_it: [
    { do: 'mix', on: 'mixer', labware: ['plate', 'tips'], tips: { tips: 3 } },
    { do: 'spin', on: 'mixer', labware: ['plate'] },
  ],
}

/** With tips only where they are wanted. */
function workflow(steps: object[], more: object = {}) {
  const isAlone = !steps.some((step) => 'method' in step)
  return {
    format: 1,
    name: 'mixed',
    topology: 'bench',
    labware: { plate: { type: '96-well' }, tips: { type: '96-tips', kind: 'tip_rack', tips: 10 } },
    methods: isAlone ? {} : methods,
    threads: { plate: { labware: 'plate', start: { at: 'pad_1' }, end: { at: ['pad_1'] }, steps }, ...(!isAlone && { tips }) },
    start: ['plate'],
    ...more,
  }
}

const mixed = workflow([{ method: 'mix_it' }])

type Cut = { saved: NonNullable<ReturnType<typeof checkpointOf>>; log: readonly RuntimeEvent[] }

/** What is on the card when the service ends right after this was told: all of the log, and what was saved before. */
async function cutAfter(document: object, event: string): Promise<Cut> {
  const told: RuntimeEvent[] = []
  const kept = new KeptBeside(told)
  const { runtime } = testRuntime([topology, document], { keep: () => kept, onTold: (event) => told.push(event) })
  const execution = await begin(runtime, { workflow: 'mixed' })
  await until(() => trace(told).includes(event), event)
  if (!execution.isOver) execution.abort('that was all')
  await runtime.over(execution)
  const last = trace(told).indexOf(event)
  const { saved } = kept.saves.findLast(({ at }) => at <= last)!
  return { saved, log: told.slice(0, last + 1) }
}

async function takenUp({ saved, log }: Cut, document: object = mixed) {
  const made = testRuntime([topology, document], { ids: 1_000_000, log })
  const execution = await made.runtime.restore(saved)
  await until(() => execution.live().every(({ status }) => status.current === 'PAUSED'))
  return { ...made, execution }
}

test('an action that was told to be completed is not done again, and the tips it used are counted', async (t) => {
  const { runtime, execution, told } = await takenUp(await cutAfter(mixed, 'ACTION mix COMPLETED'))
  execution.resume()
  await runtime.over(execution)
  t.same(
    trace(told).filter((event) => /^ACTION (mix|spin)|METHOD/.test(event) && /CREATED|COMPLETED/.test(event)),
    ['ACTION spin CREATED', 'ACTION spin COMPLETED', 'METHOD mix_it COMPLETED'],
  )
  t.equal([...execution.threads.values()].find(({ name }) => name === 'tips')!.labware.tips_left, 7)
})

test('an action of its own that was told to be completed is not done again', async (t) => {
  const document = workflow([{ action: { do: 'mix', on: 'mixer' } }, { action: { do: 'spin', on: 'mixer' } }])
  const { runtime, execution, told } = await takenUp(await cutAfter(document, 'ACTION mix COMPLETED'), document)
  execution.resume()
  await runtime.over(execution)
  t.same(
    trace(told).filter((event) => /ACTION (mix|spin) CREATED/.test(event)),
    ['ACTION spin CREATED'],
  )
})

test('a custom event that was told is known to those who wait for it, though nobody had saved it', async (t) => {
  const steps = [{ method: 'mix_it' }, { wait_for: 'go' }]
  const document = workflow(steps, {
    labware: { plate: { type: '96-well' } },
    methods: { mix_it: [{ do: 'mix', on: 'mixer' }, { emit: 'go' }] },
    threads: { plate: { labware: 'plate', start: { at: 'pad_1' }, end: { at: ['pad_1'] }, steps } },
  })
  const { runtime, execution, told } = await takenUp(await cutAfter(document, 'ACTION emit COMPLETED'), document)
  execution.resume()
  await runtime.over(execution)
  t.notOk(trace(told).includes('CUSTOM go EMITTED'))
  t.equal(execution.phase.current, 'completed')
})

test('a method that was told to be over is not begun again', async (t) => {
  const { runtime, execution, told } = await takenUp(await cutAfter(mixed, 'METHOD mix_it COMPLETED'))
  execution.resume()
  await runtime.over(execution)
  t.notOk(trace(told).some((event) => /^METHOD|^ACTION (mix|spin)/.test(event)))
  t.equal(execution.phase.current, 'completed')
})

test('a method that was told to be left is not gone on with', async (t) => {
  const cut = await cutAfter(mixed, 'ACTION mix EXECUTING_ACTION')
  const left = (type: string, status: string) => ({ ...cut.log.findLast(({ entity_type }) => entity_type === type)!, status })
  const log = [...cut.log, left('ACTION', 'ABORTED'), left('METHOD', 'PARTIAL_COMPLETE')]
  const { runtime, execution, told } = await takenUp({ ...cut, log })
  execution.resume()
  await runtime.over(execution)
  t.notOk(trace(told).some((event) => /^METHOD|^ACTION (mix|spin)/.test(event)))
})

test('what nobody had saved ends in the log: actions, methods, threads', async (t) => {
  const cut = await cutAfter(mixed, 'THREAD tips CREATED')
  const { told } = await takenUp(cut)
  t.notOk(cut.saved.threads.some(({ name }) => name === 'tips'))
  t.ok(trace(told).includes('THREAD tips ABORTED'))
  const early = await cutAfter(mixed, 'ACTION mix CREATED')
  const closed = trace((await takenUp({ ...early, saved: { ...early.saved, methods: [] } })).told)
  t.ok(closed.includes('ACTION mix ABORTED') && closed.includes('METHOD mix_it PARTIAL_COMPLETE'))
})

test('a thread that was told to have ended badly leaves its work to an operator, as if the service had not ended', async (t) => {
  const told: RuntimeEvent[] = []
  const kept = new KeptBeside(told)
  const faults = [{ operation: 'pick', call: 2, does: 'fail' }] as const
  const { runtime } = testRuntime([topology, mixed], { faults, keep: () => kept, onTold: (event) => told.push(event) })
  const execution = await begin(runtime, { workflow: 'mixed' })
  const carrier = await threadIn(execution, 'tips', 'PAUSED')
  await until(() => kept.saves.at(-1)!.at === told.length)
  const { saved } = kept.saves.at(-1)!
  carrier.recover('ABORT_THREAD')
  await until(() => carrier.isOver)
  const log = told.slice(0, trace(told).indexOf('THREAD tips ABORTED') + 1)
  const again = await takenUp({ saved, log })
  t.ok(trace(again.told).includes('SLOT ORPHANED'))
  again.execution.resume()
  await again.runtime.over(again.execution)
  t.ok(trace(again.told).includes('METHOD mix_it PARTIAL_COMPLETE'), 'it goes on without the labware')
  execution.abort('that was all')
  await runtime.over(execution)
})

test('what stood already says anew why it stands, and what was being stopped is stopped', async (t) => {
  const paused = await cutAfter(workflow([{ wait_for: 'go' }]), 'THREAD plate AWAITING_EVENT')
  const [thread] = paused.saved.threads
  const standing = { ...paused, saved: { ...paused.saved, threads: [{ ...thread!, status: 'PAUSED', last_error: 'another' }] } }
  const { told, execution } = await takenUp(standing, workflow([{ wait_for: 'go' }]))
  t.match(told.at(-1), { status: 'PAUSED', context: { pause_reason: 'system', last_error: 'the service restarted' } })
  execution.abort('that was all')
  const stopping = { ...paused.log.at(-1)!, status: 'STOPPING' }
  const again = await takenUp({ ...paused, log: [...paused.log, stopping] }, workflow([{ wait_for: 'go' }]))
  await until(() => again.execution.isOver)
  t.ok(trace(again.told).includes('THREAD plate STOPPED'))
})

test('a thread that is stopped before it is back in its method ends that too', async (t) => {
  const { runtime, execution, told } = await takenUp(await cutAfter(mixed, 'ACTION mix EXECUTING_ACTION'))
  for (const thread of execution.live()) thread.stop()
  await runtime.over(execution)
  t.ok(trace(told).includes('METHOD mix_it PARTIAL_COMPLETE'))
})

test('labware that was last known to stand where a run has put its own is not there any more', async (t) => {
  const cut = await cutAfter(mixed, 'ACTION mix EXECUTING_ACTION')
  const made = liveRuntime(topology, [mixed], { ids: 1_000_000, log: cut.log })
  const { scheduler, labware } = made.runtime.environments.live!
  const at = cut.saved.threads[0]!.seat!
  scheduler.put('another', at, null)
  labware.set('another', { ...cut.saved.threads[0]!.labware, labware_id: 'another', state: 'ENDED' })
  const execution = await made.runtime.restore({ ...cut.saved, execution: { ...cut.saved.execution, run_mode: 'LIVE' } })
  t.equal(scheduler.position(at).labware_id, cut.saved.threads[0]!.labware.labware_id)
  t.notOk(labware.has('another'))
  execution.abort('that was all')
  await made.runtime.over(execution)
})

test('before something moves, all runs on the bench are on the card', async (t) => {
  const synced: string[] = []
  const journals = new Map<string, Kept>()
  const keep = (execution_id: string) => {
    const kept = Object.assign(new Kept(), { synced: async () => void synced.push(execution_id) })
    journals.set(execution_id, kept)
    return kept
  }
  const waits = workflow([{ wait_for: 'go' }], { name: 'waits' })
  const moves = workflow([{ method: 'mix_it' }], {
    methods: { mix_it: [{ do: 'spin', on: 'mixer' }] },
    threads: {
      plate: {
        labware: 'plate',
        start: { at: 'pad_2', mode: 'DISPENSE' },
        end: { at: ['pad_2'], mode: 'LEAVE_IN_PLACE' },
        steps: [{ method: 'mix_it' }],
      },
    },
    labware: { plate: { type: '96-well' } },
  })
  const storage: TopologyInput = { ...topology, positions: { ...topology.positions, pad_2: { storage: true } } }
  const { runtime } = liveRuntime(storage, [waits, moves], { keep })
  const first = await begin(runtime, { workflow: 'waits', run_mode: 'LIVE' })
  await threadIn(first, 'plate', 'AWAITING_MANUAL_PLACE')
  await until(() => journals.get(first.execution_id)!.all.length > 0)
  synced.length = 0
  first.pause('manual')
  first.emitCustom('something', { value: null, data: {} }, null)
  const second = await begin(runtime, { workflow: 'mixed', run_mode: 'LIVE' })
  await runtime.over(second)
  t.ok(synced.includes(first.execution_id), 'the run that does not move too')
  first.abort('that was all')
  await runtime.over(first)
})
