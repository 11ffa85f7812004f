// The service ends after any transaction: what was saved and the log tell of the same.

import { type Test, test } from 'tap'
import type { RuntimeEvent } from '../../events/event.ts'
import { oneArm, stored, workflowOf } from '../../testing/documents.ts'
import { Watch } from '../../testing/simulation/watch.ts'
import { begin, KeptBeside, takeUp, testRuntime, until } from '../../testing/workflow.ts'
import { Records } from '../records/records.ts'
import { ExecutionTrackingSink } from '../records/tracking_sink.ts'
import type { Execution } from '../runs/execution.ts'
import { abortOrphanedRuns } from './orphaned_runs.ts'

const topology = oneArm({
  ...{ parking: ['pad_1', 'pad_2'], storages: ['store'], nests: { in: 'mixer', spin_in: 'spinner' } },
  ...{ sites: { mixer: 2 }, operations: { mixer: { mix: 60 }, spinner: { spin: 30 } } },
})
const workflow = workflowOf(
  'mixed',
  {
    plate: {
      ...stored('store'),
      steps: [
        { method: 'none' },
        { method: 'mix_it' },
        { wait_for: 'mixed' },
        ...[{ park: ['pad_1', 'pad_2'] }, { action: { do: 'spin', on: 'spinner' } }],
      ],
    },
    tips: { ...stored('store'), steps: [{ while_more_work: [{ join: ['mix_it'] }] }] },
  },
  {
    labware: { plate: { type: '96-well' }, tips: { type: '96-tips', kind: 'tip_rack', tips: 10, group_sharing: 'SHARED_ACROSS_GROUPS' } },
    methods: {
      mix_it: [
        { do: 'mix', on: 'mixer', labware: ['plate', 'tips'], tips: { tips: 3 } },
        { emit: 'mixed' },
        { do: 'spin', on: 'spinner', labware: ['plate'] },
      ],
      none: [],
    },
    start: ['plate'],
  },
)

/** All that was told of one run, and what was saved when so much had been told. */
async function recorded(groups: readonly string[] = ['g1', 'g2']) {
  const told: RuntimeEvent[] = []
  const kept = new KeptBeside(told)
  const { runtime } = testRuntime([topology, workflow], { keep: () => kept, onTold: (event) => told.push(event) })
  const execution = await begin(runtime, { workflow: 'mixed', groups: groups.map((group_id) => ({ group_id, members: {} })) })
  await runtime.over(execution)
  return { told, saves: kept.saves, execution }
}

/** Takes it up with this much of the log, lets it go on to its end, and answers what must not be. */
async function faultsAfter(log: readonly RuntimeEvent[], keys: ReadonlyMap<string, unknown>, groups: readonly string[]): Promise<string[]> {
  const watch = new Watch((execution_id) => made.runtime.runs.get(execution_id))
  watch.restarts = 1
  let time = log.length
  const made = testRuntime([topology, workflow], {
    ids: 1_000_000,
    onTold: (event) => watch.see({ ...event, timestamp: ++time }),
  })
  log.forEach((event, i) => {
    watch.see({ ...event, timestamp: i + 1 })
  })
  const execution = await takeUp(made.runtime, keys)
  await until(() => execution.isOver || execution.live().every(({ status }) => status.current === 'PAUSED'), 'all PAUSED')
  execution.resume()
  await until(() => execution.isOver || made.incidents.length > 0, 'the end of the run')
  if (!execution.isOver) return made.incidents.map(({ message }) => message)
  const end = watch.statusOf(`WORKFLOW.${execution.execution_id}`)
  const submission_id = execution.submissions[0]!.submission_id
  const silent = groups.filter((group_id) => !watch.isComplete(submission_id, group_id))
  return [
    ...watch.faults,
    ...(end === 'COMPLETED' ? [] : [`the workflow is ${end}`]),
    ...silent.map((group_id) => `${group_id} is not complete`),
  ]
}

// With three plates an order in which a plate gets the mixer that has not sent for the rack would end in a deadlock.
for (const groups of [
  ['g1', 'g2'],
  ['g1', 'g2', 'g3'],
])
  test(`after whatever transaction the service ends, the events are legal, each operation that began ends once, and the run comes to its end (${groups.length} groups)`, async (t) => {
    const { told, saves } = await recorded(groups)
    for (const { at, keys } of saves) {
      // Where its end is known it is not taken up.
      if (told[at - 1]!.entity_type === 'EXECUTION') continue
      const faults = await faultsAfter(told.slice(0, at), keys, groups)
      if (faults.length > 0) return t.same(faults, [], `cut after ${told[at - 1]!.event_name}`)
    }
    t.ok(saves.length > 40, `${saves.length} transactions`)
  })

test('where a restart leaves a bench that is too small for its plates in a deadlock, the run says so, and who waits for whom', async (t) => {
  const groups = ['g1', 'g2', 'g3', 'g4']
  const { told, saves } = await recorded(groups)
  const deadlock = /^[a-z]+(-\d)?: .+ cannot be had: \S+ (stands there|has it), they wait for each other, and no parking place is free/
  let deadlocks = 0
  for (const { at, keys } of saves) {
    if (told[at - 1]!.entity_type === 'EXECUTION') continue
    const faults = await faultsAfter(told.slice(0, at), keys, groups)
    if (faults.some((fault) => deadlock.test(fault))) deadlocks++
    else if (faults.length > 0) return t.same(faults, [], `cut after ${told[at - 1]!.event_name}`)
  }
  t.ok(deadlocks > 0, `${deadlocks} of ${saves.length} cuts`)
})

test('a run that is not kept is ended, whatever of it is in the log and in its record', async (t) => {
  const { told, execution } = await recorded()
  for (let cut = 1; cut < told.length; cut++) await endsOnce(t, told, { cut, execution })
  t.pass()
})

async function endsOnce(t: Test, told: readonly RuntimeEvent[], { cut, execution }: { cut: number; execution: Execution }): Promise<void> {
  const { execution_id } = execution
  // Its record is behind the log by up to five events, or before it.
  for (const recorded of [cut, Math.max(1, cut - 5), Math.min(told.length, cut + 5)]) {
    const watch = new Watch(() => undefined)
    const records = new Records()
    const log = told.slice(0, cut)
    const sink = new ExecutionTrackingSink({ stores: [records], find: () => execution })
    for (const event of told.slice(0, recorded)) sink.onEvent(event)
    let time = 0
    const see = (event: RuntimeEvent) => watch.see({ ...event, timestamp: ++time })
    for (const event of log) see(event)
    const emit = (event_name: string, context: RuntimeEvent['context'], id: string) => {
      const [entity_type = '', entity_id = '', status = ''] = event_name.split('.')
      const event = { event_name, execution_id: id, timestamp: 0, entity_type, entity_id, status, context }
      sink.onEvent(event)
      see(event)
    }
    const events = async function* () {
      yield* log
    }
    await abortOrphanedRuns(records, { isTakenUp: () => false, events, oldest: async () => 0, emit })
    const name = `cut after ${told[cut - 1]!.event_name}`
    if (watch.faults.length > 0) t.same(watch.faults, [], name)
    if (records.execution(execution_id)?.ended_at === null) t.fail(`${name}: its record is open`)
  }
}
