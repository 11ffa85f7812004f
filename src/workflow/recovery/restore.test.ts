// The service ends at any moment, and a run is taken up again.

import { test } from 'tap'
import { smcAssay, smcTopology } from '../../examples/smc_assay.ts'
import { byHand, oneArm, workflowOf } from '../../testing/documents.ts'
import { trials } from '../../testing/trials.ts'
import { begin, Kept, run, takeUp, testRuntime, trace, until } from '../../testing/workflow.ts'
import { PureEquipment } from '../equipment/pure_equipment.ts'
import type { Execution } from '../runs/execution.ts'
import type { RuntimeOptions } from '../runtime_options.ts'
import { type Checkpoint, checkpointOf } from '../state/run.ts'

/** Where each labware ended, by thread. */
function endState(execution: Execution): string[] {
  const { scheduler } = execution.environment
  return [...execution.threads.values()]
    .map(
      ({ name, status, labware }) =>
        `${name} ${status.current} at ${scheduler.whereIs(labware.labware_id) ?? 'the end'}, ${labware.tips_left} tips`,
    )
    .sort()
}

async function takenUp(saved: Checkpoint, documents: readonly unknown[], keys: ReadonlyMap<string, unknown> = new Map()) {
  const { runtime, told, incidents } = testRuntime(documents, { ids: 1_000_000 })
  return { runtime, told, incidents, execution: await takeUp(runtime, keys, saved) }
}

/** The same values as the version before this one wrote them: each thread is one value. */
function asBefore(keys: ReadonlyMap<string, unknown>): Map<string, unknown> {
  const whole = (key: string, value: unknown) => {
    if (!key.startsWith('thread ')) return value
    const [thread, progress] = [value, keys.get(key.replace('thread', 'progress'))] as { labware: object }[]
    return { ...thread, ...progress, labware: { ...thread!.labware, ...progress!.labware } }
  }
  return new Map([...keys].flatMap(([key, value]) => (key.startsWith('progress ') ? [] : [[key, whole(key, value)]])))
}

test('an assay that is cut at any moment stands still, and comes to the same end when it is resumed', async (t) => {
  const kept = new Kept()
  const { runtime } = testRuntime([smcTopology, smcAssay], { keep: () => kept })
  const end = endState(await run(runtime, { workflow: 'smc_assay' }))
  t.ok(kept.all.length > 200)
  // The steps of the plates do not repeat after so many.
  const every = trials(1, 7)
  for (const [i, keys] of kept.all.entries()) {
    if (i % every !== 0) continue
    const saved = checkpointOf(keys)!
    if (JSON.stringify(checkpointOf(asBefore(keys))) !== JSON.stringify(saved)) t.same(checkpointOf(asBefore(keys)), saved, `cut ${i}`)
    if (saved.execution.status === 'completed') continue
    const { runtime, execution, told, incidents } = await takenUp(saved, [smcTopology, smcAssay], keys)
    await until(() => execution.live().every(({ status, isOver }) => isOver || status.current === 'PAUSED'), `cut ${i}: all threads PAUSED`)
    const moved = told.some(({ event_name }) => /\.(PICKING|EXECUTING_ACTION)$/.test(event_name))
    if (moved) t.fail(`cut ${i}: something moved before it was resumed`)
    execution.resume()
    await runtime.over(execution)
    if (JSON.stringify(endState(execution)) !== JSON.stringify(end)) t.same(endState(execution), end, `cut ${i}`)
    if (incidents.length > 0) t.same(incidents, [], `cut ${i}`)
  }
  t.pass(`every ${every} of ${kept.all.length} cuts`)
})

const topology = oneArm({
  ...{ pads: ['pad_1'], parking: ['pad_2'], nests: { nest: 'mixer' } },
  operations: { mixer: { mix: 60, spin: 30 } },
})
const workflow = workflowOf(
  'mixed',
  { plate: { ...byHand('pad_1'), steps: [{ method: 'mix_it' }] } },
  {
    methods: {
      mix_it: [
        { do: 'mix', on: 'mixer' },
        { do: 'spin', on: 'mixer' },
      ],
    },
  },
)

/** Cut while the mixer mixes. */
async function cutWhileMixing() {
  const kept = new Kept()
  const { runtime } = testRuntime([topology, workflow], { keep: () => kept })
  await run(runtime, { workflow: 'mixed' })
  const keys = kept.all.find((keys) => checkpointOf(keys)!.threads.some(({ interrupted }) => interrupted?.status === 'EXECUTING_ACTION'))!
  const taken = await takenUp(checkpointOf(keys)!, [topology, workflow])
  await until(() => taken.execution.live()[0]!.status.current === 'PAUSED')
  return { ...taken, thread: taken.execution.live()[0]! }
}

test('what was under way is closed, and the thread says why it stands', async (t) => {
  const { told, thread } = await cutWhileMixing()
  t.same(trace(told), ['ACTION mix ABORTED', 'THREAD plate PAUSED'])
  t.match(told.at(-1)!.context, { pause_reason: 'system', last_error: 'the service restarted' })
  t.equal(thread.environment.scheduler.position('nest').labware_id, thread.labware.labware_id)
})

test('resumed, it does the interrupted action again', async (t) => {
  const { runtime, execution, told } = await cutWhileMixing()
  execution.resume()
  await runtime.over(execution)
  t.same(
    trace(told).filter((event) => /ACTION (mix|spin) (CREATED|COMPLETED)/.test(event)),
    ['ACTION mix CREATED', 'ACTION mix COMPLETED', 'ACTION spin CREATED', 'ACTION spin COMPLETED'],
  )
  t.equal(execution.phase.current, 'completed')
})

test('CONTINUE takes the interrupted action for done, ABORT_METHOD leaves its method, ABORT_THREAD ends the thread; each goes on by itself', async (t) => {
  const begun = (events: string[]) => events.filter((event) => /ACTION (mix|spin) CREATED/.test(event))
  const outcomes = [
    ['CONTINUE', ['ACTION spin CREATED'], 'METHOD mix_it COMPLETED', 'THREAD plate COMPLETED'],
    ['ABORT_ACTION', ['ACTION spin CREATED'], 'METHOD mix_it PARTIAL_COMPLETE', 'THREAD plate COMPLETED'],
    ['ABORT_METHOD', [], 'METHOD mix_it PARTIAL_COMPLETE', 'THREAD plate COMPLETED'],
    ['ABORT_THREAD', [], 'METHOD mix_it PARTIAL_COMPLETE', 'THREAD plate ABORTED'],
  ] as const
  for (const [decision, actions, method, end] of outcomes) {
    const { runtime, execution, told, thread } = await cutWhileMixing()
    thread.control.recover(decision)
    await runtime.over(execution)
    const events = trace(told)
    t.same(begun(events), actions, decision)
    t.ok(events.includes(method) && events.includes(end), decision)
    t.equal(events.includes('THREAD plate RESOLVING_ACTION_LOCATION'), decision !== 'ABORT_THREAD', 'what has ended goes nowhere before')
  }
})

test('a workflow whose code was changed meanwhile is not taken up; one without code goes on as it was', async (t) => {
  const kept = new Kept()
  const coded = { ...workflow, on: { 'THREAD.COMPLETED': [() => 'one'] } }
  const { runtime } = testRuntime([topology, coded], { keep: () => kept })
  const execution = await begin(runtime, { workflow: 'mixed' })
  await until(() => kept.all.length > 0)
  const changed = { ...workflow, methods: { mix_it: [{ do: 'spin', on: 'mixer' }] } }
  await t.rejects(takenUp(checkpointOf(kept.all[0]!)!, [topology, changed]), { code: 'conflict', message: /changed/ })
  await runtime.over(execution)

  const data = new Kept()
  const before = testRuntime([topology, workflow], { keep: () => data })
  const first = await begin(before.runtime, { workflow: 'mixed' })
  await before.runtime.over(first)
  const taken = await takenUp(checkpointOf(data.all[0]!)!, [topology, changed])
  taken.execution.resume()
  await taken.runtime.over(taken.execution)
  t.ok(trace(taken.told).includes('ACTION mix COMPLETED'), 'it has both actions')
})

test('that an arm may have it is on the card before it picks', async (t) => {
  const kept = new Kept()
  const held: unknown[] = []
  class Watched extends PureEquipment {
    override async carry(...[arm, verb, on]: Parameters<PureEquipment['carry']>): Promise<void> {
      held.push([verb, checkpointOf(kept.all.at(-1)!)!.threads[0]!.labware.held_by])
      await super.carry(arm, verb, on)
    }
  }
  const simulate: RuntimeOptions['simulate'] = ({ document }, clock) => new Watched({ clock, transporters: document.transporters })
  await run(testRuntime([topology, workflow], { keep: () => kept, simulate }).runtime, { workflow: 'mixed' })
  t.same(held, [
    ['pick', 'arm'],
    ['place', 'arm'],
    ['pick', 'arm'],
    ['place', 'arm'],
  ])
})

const waits = {
  ...workflow,
  methods: {},
  threads: { plate: { ...workflow.threads.plate, steps: [{ wait_for: 'go' }] } },
}

/** Saved while the plate waits for a custom event, with its thread changed to this. */
async function waiting(change: Partial<Checkpoint['threads'][number]> = {}) {
  const kept = new Kept()
  const { runtime } = testRuntime([topology, waits], { keep: () => kept })
  const execution = await begin(runtime, { workflow: 'mixed' })
  const last = () => checkpointOf(kept.all.at(-1)!)!
  await until(() => last().threads[0]!.status === 'AWAITING_EVENT')
  const saved = last()
  execution.abort('that was all')
  await runtime.over(execution)
  return { ...saved, threads: saved.threads.map((thread) => ({ ...thread, ...change })) }
}

test('what stood already says anew why it stands, and what was being stopped is stopped', async (t) => {
  const paused = await takenUp(await waiting({ status: 'PAUSED', last_error: 'another' }), [topology, waits])
  await until(() => paused.told.at(-1)?.status === 'PAUSED')
  t.match(paused.told.at(-1)!.context, { pause_reason: 'system', last_error: 'the service restarted' })
  paused.execution.abort('that was all')
  const stopping = await takenUp(await waiting({ status: 'STOPPING' }), [topology, waits])
  await until(() => stopping.execution.isOver)
  t.ok(trace(stopping.told).includes('THREAD plate STOPPED'))
})

test('the error that held a thread is known over restarts, until the thread goes on', async (t) => {
  const kept = new Kept()
  const first = testRuntime([topology, waits], { ids: 1_000_000, keep: () => kept })
  const taken = await first.runtime.restore(await waiting({ status: 'PAUSED', last_error: 'the lid is open' }))
  await until(() => taken.live()[0]!.status.current === 'PAUSED' && kept.all.length > 0)
  await kept.persist()
  const again = await takenUp(checkpointOf(kept.all.at(-1)!)!, [topology, waits])
  const thread = again.execution.live()[0]!
  await until(() => thread.status.current === 'PAUSED')
  t.equal(thread.control.waiting?.what, 'paused (system): resume it; before the service ended, it had an error: the lid is open')
  again.execution.resume()
  await until(() => thread.status.current === 'AWAITING_EVENT')
  t.same([thread.state.error_before, thread.last_error], [null, null])
  taken.abort('that was all')
  again.execution.abort('that was all')
})

test('that an action was cut off is told once, however often the service ends before it goes on', async (t) => {
  const kept = new Kept()
  const { runtime } = testRuntime([topology, workflow], { keep: () => kept })
  await run(runtime, { workflow: 'mixed' })
  const isMixing = (keys: Map<string, unknown>) => checkpointOf(keys)!.threads[0]!.interrupted?.status === 'EXECUTING_ACTION'
  const first = new Kept()
  const again = testRuntime([topology, workflow], { ids: 1_000_000, keep: () => first })
  const taken = await again.runtime.restore(checkpointOf(kept.all.find(isMixing)!)!)
  await until(() => taken.live()[0]!.status.current === 'PAUSED' && first.all.length > 0)
  t.ok(trace(again.told).includes('ACTION mix ABORTED'))
  const third = await takenUp(checkpointOf(first.all.at(-1)!)!, [topology, workflow])
  await until(() => third.execution.live()[0]!.status.current === 'PAUSED')
  t.notOk(trace(third.told).includes('ACTION mix ABORTED'))
  t.equal(third.execution.live()[0]!.state.interrupted?.name, 'mix')
  taken.abort('that was all')
  third.execution.abort('that was all')
})

test('a thread that is stopped before it is back in its method ends that too', async (t) => {
  const { runtime, execution, told } = await cutWhileMixing()
  for (const thread of execution.live()) thread.control.stop()
  await runtime.over(execution)
  t.ok(trace(told).includes('METHOD mix_it PARTIAL_COMPLETE'))
})
