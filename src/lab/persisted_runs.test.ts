import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'tap'
import { begin, Kept, testRuntime, until } from '../testing/workflow.ts'
import { Records } from '../workflow/journal/records.ts'
import { takeUp } from './persisted_runs.ts'

const topology = { format: 1, name: 'bench', transporters: { arm: { positions: ['pad'] } }, positions: { pad: {} } }
const plate = { labware: 'plate', start: { at: 'pad' }, end: { at: ['pad'] }, steps: [{ wait_for: 'go' }] }
const workflow = {
  format: 1,
  name: 'waits',
  topology: 'bench',
  labware: { plate: { type: '96-well' } },
  threads: { plate },
  start: ['plate'],
}

test('a run whose end the log tells is not taken up, though its journal is still there; one that only its record calls ended is', async (t) => {
  const data_dir = t.testdir()
  const folder = join(data_dir, 'executions')
  const kept = new Kept()
  const before = testRuntime([topology, workflow], { keep: () => kept })
  const execution = await begin(before.runtime, { workflow: 'waits' })
  await until(() => kept.all.at(-1)?.has('execution') === true)
  const lines = [...kept.all.at(-1)!].map(([key, value]) => JSON.stringify({ key, value }))
  execution.abort('that was all')
  await before.runtime.over(execution)
  const { execution_id, started_at } = execution
  const end = before.told.filter(({ entity_type }) => entity_type === 'EXECUTION')
  const journal = [...lines, JSON.stringify({ together: lines.length }), ''].join('\n')
  await mkdir(folder)
  for (const isOver of [false, true]) {
    await writeFile(join(folder, `${execution_id}.jsonl`), journal)
    const records = new Records()
    const what = { execution_id, workflow_name: 'waits', workflow_hash: '', topology: 'bench', run_mode: 'PURE_SIM' as const }
    const ended = { status: 'ABORTED' as const, ended_at: 1 }
    records.take({ kind: 'execution', record: { ...what, reason: null, started_at, ...ended } })
    const { runtime } = testRuntime([topology, workflow], { records, ids: 1_000_000, log: isOver ? end : [] })
    const failed: string[] = []
    await takeUp({ runtime, strandLabware: async () => [], loadFor: () => {} }, data_dir, {
      failed: (execution_id) => failed.push(execution_id),
      lost: (_, { what }) => failed.push(what),
      damaged: (message) => failed.push(message),
    })
    t.same(failed, [])
    t.equal(runtime.executions().length, isOver ? 0 : 1)
    t.equal((await readdir(folder)).length, isOver ? 0 : 1)
    for (const open of runtime.executions()) open.abort('that was all')
  }
})

test('records that a kill has left behind are brought to what the log tells, of runs that are taken up and of those that are not', async (t) => {
  const data_dir = t.testdir()
  const kept = new Kept()
  const before = testRuntime([topology, workflow], { keep: () => kept })
  const execution = await begin(before.runtime, { workflow: 'waits', groups: [{ group_id: 'g1', members: {} }] })
  const [thread] = execution.live()
  await until(() => thread!.status.current === 'AWAITING_EVENT' && JSON.stringify([...kept.all.at(-1)!]).includes('AWAITING_EVENT'))
  const lines = [...kept.all.at(-1)!].map(([key, value]) => JSON.stringify({ key, value }))
  const log = [...before.told]
  execution.abort('that was all')
  await before.runtime.over(execution)
  const { execution_id, started_at } = execution
  const { thread_id, name: thread_name } = thread!
  const { submission_id } = execution.submissions[0]!
  const what = { execution_id, workflow_name: 'waits', workflow_hash: '', topology: 'bench', run_mode: 'PURE_SIM' as const }
  const its = { thread_id, execution_id, thread_name, template_name: 'plate', pause_reason: null, last_error: null }
  const take = async () => {
    const records = new Records()
    records.take({ kind: 'execution', record: { ...what, status: 'IN_PROGRESS', reason: null, started_at, ended_at: null } })
    records.take({ kind: 'thread', record: { ...its, submission_id: null, group_id: null, status: 'CREATED', since: 0 } })
    const { runtime } = testRuntime([topology, workflow], { records, ids: 1_000_000, log })
    const tell = {
      failed: (_: string, reason: string) => t.fail(reason),
      lost: (_: string, { what }: { what: string }) => t.fail(what),
      damaged: t.fail,
    }
    await takeUp({ runtime, strandLabware: async () => [], loadFor: () => {} }, data_dir, tell)
    for (const open of runtime.executions()) open.abort('that was all')
    return records.threads(execution_id)
  }
  const since = log.findLast(({ entity_type }) => entity_type === 'THREAD')!.timestamp
  t.match(await take(), [{ status: 'AWAITING_EVENT', since, submission_id: null }], 'there is no journal')
  await mkdir(join(data_dir, 'executions'))
  await writeFile(
    join(data_dir, 'executions', `${execution_id}.jsonl`),
    [...lines, JSON.stringify({ together: lines.length }), ''].join('\n'),
  )
  t.match(await take(), [{ status: 'AWAITING_EVENT', since, submission_id, group_id: 'g1' }])
})
