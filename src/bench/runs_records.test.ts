// The records of runs at a start: of a run that cannot be restored, and of runs that nobody knows.

import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { test } from 'tap'
import { beginRun, plateRun, stateFilesIn } from '../testing/http_runs.ts'

type Rows = { rows: Record<string, unknown>[]; damaged: number }
const [unknown, bare] = ['00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002'] as const

test('the record of a run that cannot be restored says so, and how it ended', async (t) => {
  const before = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }]) })
  await before.does('shaker-1', 'shake')
  const run = await before.afterPowerCut(({ folder }) => {
    for (const name of stateFilesIn(folder)) {
      const path = `${folder}/executions/${name}`
      rmSync(path)
      writeFileSync(path, '{"format":2}\n{"crc":"00000000","from":1,"through":1,"synced":0,"runs":{}}\n')
    }
    return ''
  })
  const { rows, damaged } = await run.get<Rows>(`/api/executions/${run.execution_id}/record`)
  t.equal(damaged, 0)
  t.match(rows.at(-1), { kind: 'ended', status: 'ABORTED', at: Number, reason: /restarted/, threads: { ABORTED: 1 } })
  const again = await run.afterPowerCut()
  const { rows: later } = await again.get<Rows>(`/api/executions/${run.execution_id}/record`)
  t.same(later, rows, 'once')
})

test('a damaged state is the incident in the record', async (t) => {
  const before = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }]) })
  await before.does('shaker-1', 'shake')
  before.rewrites('island.json', '{')
  const run = await before.afterPowerCut()
  const { rows } = await run.get<Rows>(`/api/executions/${run.execution_id}/record`)
  t.match(rows.slice(-2), [
    { kind: 'incident', category: 'OTHER', message: /cannot be restored and is aborted/, at: Number },
    { kind: 'ended', status: 'ABORTED' },
  ])
})

test('a start keeps the record of a run that the list of runs lacks, and removes a folder without a row', async (t) => {
  const before = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }]) })
  await before.over()
  const run = await before.afterPowerCut(({ folder }) => {
    cpSync(`${folder}/executions/${before.execution_id}`, `${folder}/executions/${unknown}`, { recursive: true })
    mkdirSync(`${folder}/executions/${bare}`)
    writeFileSync(`${folder}/executions/${bare}/record.jsonl`, '')
    return ''
  })
  const isThere = (id: string) => existsSync(`${run.bench.data_dir}/executions/${id}/record.jsonl`)
  t.same([isThere(unknown), isThere(bare), isThere(run.execution_id)], [true, false, true])
})
