// The records of runs at a start: of a run that cannot be restored, and of runs that nobody knows.

import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { test } from 'tap'
import { beginRun, plateRun, stateFilesIn } from '../testing/http_runs.ts'

type Rows = { rows: Record<string, unknown>[]; damaged: number }
const unknown = '00000000-0000-4000-8000-000000000001'

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

test('a start removes the folder of a run that nobody knows, unless the records are damaged', async (t) => {
  const before = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }]) })
  await before.over()
  const withUnknown = (folder: string) => {
    cpSync(`${folder}/executions/${before.execution_id}`, `${folder}/executions/${unknown}`, { recursive: true })
    return ''
  }
  const run = await before.afterPowerCut(({ folder }) => withUnknown(folder))
  t.notOk(existsSync(`${run.bench.data_dir}/executions/${unknown}`))
  t.ok(existsSync(`${run.bench.data_dir}/executions/${run.execution_id}/record.jsonl`))
  const damaged = await before.afterPowerCut(({ folder }) => {
    const bytes = readFileSync(`${folder}/records.jsonl`)
    bytes.fill('x', bytes.length / 2, bytes.length / 2 + 20)
    writeFileSync(`${folder}/records.jsonl`, bytes)
    return withUnknown(folder)
  })
  t.ok(existsSync(`${damaged.bench.data_dir}/executions/${unknown}`))
  const later = await damaged.afterPowerCut()
  t.ok(existsSync(`${later.bench.data_dir}/executions/${unknown}`), 'the damaged file is kept')
})
