import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'tap'
import { Records } from '../workflow/kept/records.ts'
import { begin, Kept, testRuntime, until } from '../workflow/testing.ts'
import { takeUp } from './kept_runs.ts'

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
    await takeUp({ runtime, keepPlaced: async () => {}, loadFor: () => {} }, data_dir, {
      failed: (execution_id) => failed.push(execution_id),
      lost: (_, what) => failed.push(what),
    })
    t.same(failed, [])
    t.equal(runtime.executions().length, isOver ? 0 : 1)
    t.equal((await readdir(folder)).length, isOver ? 0 : 1)
    for (const open of runtime.executions()) open.abort('that was all')
  }
})
