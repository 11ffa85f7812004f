import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'tap'
import { storageError } from '../kit/durable.ts'
import { byHand, oneArm, workflowOf } from '../testing/documents.ts'
import { begin, Kept, testRuntime, until } from '../testing/workflow.ts'
import { Records } from '../workflow/records/records.ts'
import type { LabwareThread } from '../workflow/threads/thread.ts'
import { takeUp, untilStored } from './persisted_runs.ts'

const topology = oneArm({ pads: ['pad'] })
const workflow = workflowOf('waits', { plate: { ...byHand('pad'), steps: [{ wait_for: 'go' }] } })

/** A run that waits, what was saved of it then, and the log with its end. */
async function waiting() {
  const kept = new Kept()
  const before = testRuntime([topology, workflow], { keep: () => kept })
  const execution = await begin(before.runtime, { workflow: 'waits', groups: [{ group_id: 'g1', members: {} }] })
  await until(() => JSON.stringify([...(kept.all.at(-1) ?? [])]).includes('AWAITING_EVENT'))
  const keys = kept.all.at(-1)!
  const log = [...before.told]
  execution.abort('that was all')
  await before.runtime.over(execution)
  await kept.persist()
  return { execution, keys, log, whole: before.told, last: kept.all.at(-1)! }
}

/** A card that does not take the log for some time. */
class Refusing extends Kept {
  refusals = 0
  readonly dropped: string[] = []

  override persist(): Promise<void> {
    if (this.refusals === 0) return super.persist()
    this.refusals--
    return Promise.reject(storageError('the event log was not written', new Error('ENOSPC')))
  }

  override changed(): void {
    void this.persist().catch(() => undefined)
  }

  override drop(execution_id: string): void {
    this.dropped.push(execution_id)
  }
}

type Said = { failed: string[]; damaged: string[]; stranded: string[] }

/** Takes up what was saved, as the service does when it starts. */
async function takenUp(
  folder: string,
  {
    log,
    saved,
    records,
  }: { log: Awaited<ReturnType<typeof waiting>>['log']; saved: Parameters<typeof takeUp>[1]['saved']; records: Records },
) {
  const { runtime } = testRuntime([topology, workflow], { records, ids: 1_000_000 })
  const said: Said = { failed: [], damaged: [], stranded: [] }
  const states = new Refusing()
  await takeUp(
    {
      runtime,
      strandLabware(threads) {
        said.stranded.push(...threads.map(({ labware, seat }) => `${labware.name} at ${seat}`))
        return []
      },
    },
    {
      ...{ folder, saved, states },
      async *events() {
        yield* log
      },
      failed: (_, reason) => said.failed.push(reason),
      lost: (_, { what }) => said.failed.push(what),
      damaged: (message) => said.damaged.push(message),
    },
  )
  for (const open of runtime.runs.all()) open.abort('that was all')
  return { runtime, ...said, dropped: states.dropped.filter((id) => id !== 'bench') }
}

type Run = { keys: Map<string, unknown>; damage: string | undefined }

const nothing = { through: 0, damage: undefined, newest: 0, isLeftOut: false, format: 4, synced: 0 }
const none = { ...nothing, runs: new Map() }
const bench: Run = { keys: new Map<string, unknown>([['topology', null]]), damage: undefined }

function runsOf(run: [execution_id: string, Run]): Map<string, Run> {
  return new Map([['bench', bench], run])
}

test('a run whose state says that it has ended is not taken up; one that only its record calls ended is', async (t) => {
  const { execution, keys, whole, last } = await waiting()
  const { execution_id, started_at } = execution
  const end = whole.filter(({ entity_type }) => entity_type === 'EXECUTION')
  for (const isOver of [false, true]) {
    const records = new Records()
    const what = { execution_id, workflow_name: 'waits', workflow_hash: '', topology: 'bench', run_mode: 'PURE_SIM' as const }
    records.take({ kind: 'execution', record: { ...what, reason: null, started_at, status: 'ABORTED', ended_at: 1 } })
    const saved = { ...nothing, runs: runsOf([execution_id, { keys: isOver ? last : keys, damage: undefined }]) }
    const { runtime, failed, dropped } = await takenUp(t.testdir(), { log: isOver ? end : [], saved, records })
    t.same(failed, [])
    t.equal(runtime.runs.all().length, isOver ? 0 : 1)
    t.same(dropped, isOver ? [execution_id] : [])
    t.equal(records.execution(execution_id)!.ended_at, isOver ? 1 : null)
  }
})

test('records that a kill has left behind are brought to what the log tells, of runs that are taken up and of those that are not', async (t) => {
  const { execution, keys, log } = await waiting()
  const { execution_id, started_at } = execution
  const { thread_id, name: thread_name } = [...execution.threads.values()][0]!
  const what = { execution_id, workflow_name: 'waits', workflow_hash: '', topology: 'bench', run_mode: 'PURE_SIM' as const }
  const its = { thread_id, execution_id, thread_name, template_name: 'plate', pause_reason: null, last_error: null }
  const take = async (saved: Parameters<typeof takeUp>[1]['saved']) => {
    const records = new Records()
    records.take({ kind: 'execution', record: { ...what, status: 'IN_PROGRESS', reason: null, started_at, ended_at: null } })
    records.take({ kind: 'thread', record: { ...its, submission_id: null, group_id: null, status: 'CREATED', since: 0 } })
    // The turn in which it began is not on the card.
    records.take({
      kind: 'thread',
      record: { ...its, thread_id: 'lost', submission_id: null, group_id: null, status: 'CREATED', since: 0 },
    })
    t.same((await takenUp(t.testdir(), { log, saved, records })).failed, [])
    return records.threads(execution_id)
  }
  const since = log.findLast(({ entity_type }) => entity_type === 'THREAD')!.timestamp
  t.match(await take(none), [{ status: 'AWAITING_EVENT', since }, { thread_id: 'lost' }], 'there is no state')
  const taken = await take({ ...nothing, runs: runsOf([execution_id, { keys, damage: undefined }]) })
  // A run has a clock of its own.
  const kept = [...keys.values()].find((value) => (value as { status?: string } | null)?.status === 'AWAITING_EVENT') as { since: number }
  t.match(taken, [{ status: 'AWAITING_EVENT', since: kept.since, group_id: 'g1' }])
  t.equal(taken.length, 1)
})

test('a run whose state is damaged is not taken up, and its file is kept aside', async (t) => {
  const { execution, keys, log } = await waiting()
  const folder = t.testdir({ 'state-000001.jsonl': 'something' })
  const runs = runsOf([execution.execution_id, { keys, damage: 'a part of its state is missing' }])
  const saved = { ...nothing, damage: 'state-000001.jsonl (a line is missing)', runs }
  const { runtime, failed, damaged, dropped } = await takenUp(folder, { log, saved, records: new Records() })
  t.same([runtime.runs.all().length, failed, dropped], [0, ['a part of its state is missing'], [execution.execution_id]])
  t.match(damaged, [/^executions\/state-000001\.jsonl \(a line is missing\) is damaged: it is kept as state-000001\.jsonl\.corrupt-/])
  t.equal((await readdir(folder)).length, 2)
})

test('damage that leaves half of the state of a thread raises an incident', async (t) => {
  const { execution, keys, log } = await waiting()
  const [{ thread_id, labware }] = [...execution.threads.values()] as [LabwareThread]
  const live = new Map([...keys].map(([key, value]) => [key, key === 'execution' ? { ...(value as object), run_mode: 'LIVE' } : value]))
  const without = async (key: string) => {
    const its = new Map(live)
    t.ok(its.delete(key), key)
    const runs = runsOf([execution.execution_id, { keys: its, damage: 'a part of its state is missing' }])
    const { failed, stranded } = await takenUp(t.testdir(), { log, saved: { ...nothing, runs }, records: new Records() })
    t.same(stranded, [])
    return failed.slice(1)
  }
  t.match(await without(`thread ${thread_id}`), [/^labware may stand at \w+, and nobody knows which: a part of the state is missing$/])
  t.same(await without(`progress ${thread_id}`), [
    `${labware.name} may stand on the bench, and nobody knows where: a part of the state is missing`,
  ])
})

test('a run that an older version left open is not taken up: that is said, and its labware is kept', async (t) => {
  const { execution, keys, log } = await waiting()
  const folder = t.testdir()
  // An older version knew less of a thread.
  const lines = [...keys].map(([key, value]) =>
    JSON.stringify({ key, value: { ...(value as object), since: undefined, run_mode: 'LIVE' } }),
  )
  await writeFile(join(folder, `${execution.execution_id}.jsonl`), ['', ...lines, '{"together":9}', ''].join('\n'))
  const { runtime, failed, stranded } = await takenUp(folder, { log, saved: none, records: new Records() })
  t.match(stranded, [/ at (?!null)/])
  t.same([runtime.runs.all().length, failed], [0, ['an older version of benchd left it open, and its state has another form']])
  t.match(await readdir(folder), [/\.jsonl\.corrupt-/])
})

test('a run in whose state nothing says where labware stands that no run moves is not taken up, and its labware is kept', async (t) => {
  const { execution, keys, log } = await waiting()
  const live = new Map([...keys].map(([key, value]) => [key, key === 'execution' ? { ...(value as object), run_mode: 'LIVE' } : value]))
  const runs = new Map([[execution.execution_id, { keys: live, damage: undefined }]])
  const { runtime, failed, stranded, dropped } = await takenUp(t.testdir(), { log, saved: { ...nothing, runs }, records: new Records() })
  t.match(stranded, [/ at (?!null)/])
  t.same([runtime.runs.all().length, failed], [0, ['an older version of benchd left it open, and its state has another form']])
  t.same(dropped, [execution.execution_id])
})

test('where labware stands is said to be doubtful where a part of that is missing', async (t) => {
  const { execution, keys, log } = await waiting()
  const runs = new Map([
    ['bench', { ...bench, damage: 'a part of its state is missing' }],
    [execution.execution_id, { keys, damage: undefined }],
  ])
  const { runtime, failed } = await takenUp(t.testdir(), { log, saved: { ...nothing, runs }, records: new Records() })
  t.equal(runtime.runs.all().length, 1)
  t.same(failed, ['labware that no run moves may stand elsewhere: a part of the state is missing'])
})

test('the state of a run that has ended goes once the card has taken the log, also where it refused that for some time', async (t) => {
  const kept = new Refusing()
  const clock = { now: () => 0, after: (_: number, ring: () => void) => void setImmediate(ring) as unknown as () => void }
  const closing = new AbortController().signal
  const { runtime, warnings } = testRuntime([topology, workflow], {
    keep: () => kept,
    untilStored: (work) => untilStored(work, { clock, closing }),
  })
  const execution = await begin(runtime, { workflow: 'waits' })
  kept.refusals = 5
  execution.abort('that was all')
  await runtime.over(execution)
  await until(() => kept.dropped.length > 0, 'the end of its state')
  t.same([kept.dropped[0], warnings], [execution.execution_id, []])
})
