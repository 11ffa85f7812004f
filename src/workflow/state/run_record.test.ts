import { rmSync } from 'node:fs'
import { test } from 'tap'
import { type RecordRow, RunRecordFile } from '../../events/run_record_file.ts'
import { rowsOfRecord } from '../../events/run_record_reader.ts'
import { RunState } from './entry.ts'
import { mostFileBytes, mostHeld, RunRecord } from './run_record.ts'

test('rows beyond the limit of the file are left out, and one row says so; the end of the run is kept', (t) => {
  const file = new RunRecordFile({ folder: t.testdirName, execution_id: 'x' })
  const rows: RecordRow[] = []
  file.add = (row) => rows.push(row)
  const record = new RunRecord(new RunState())
  record.writeTo(file)
  record.add({ kind: 'action', at: 1 })
  Object.defineProperty(file, 'length', { value: mostFileBytes + 1 })
  for (const kind of ['action', 'move', 'incident', 'action']) record.add({ kind, at: 2 })
  t.equal(record.addValue({ name: 'n' }, 1), undefined)
  record.add({ kind: 'ended', at: 3 })
  record.add({ kind: 'move', at: 4 })
  t.same(rows, [
    { kind: 'action', at: 1 },
    ...['action', 'move', 'incident', 'value'].map((of) => ({ kind: 'rows_left_out', at: of === 'value' ? null : 2, of, why: 'size' })),
    { kind: 'ended', at: 3 },
  ])
  t.end()
})

test('rows and long values that the disk refuses fill no memory, and rows are kept again when it takes them', async (t) => {
  // Neither the folder of the run nor anything in it can be made.
  const folder = t.testdir({ x: 'a file' })
  const file = new RunRecordFile({ folder, execution_id: 'x' })
  const record = new RunRecord(new RunState())
  record.writeTo(file)
  const long = 'v'.repeat(100_000)
  for (let i = 0; i < 2000; i++) {
    record.add({ kind: 'action', at: i, text: 'x'.repeat(10_000) })
    record.addValue({ name: `n${i}` }, `${i} ${long}`)
    if (i % 500 === 0) await t.rejects(file.write()!)
  }
  t.ok(file.held <= mostHeld + 200_000, `${file.held} bytes wait`)
  rmSync(`${folder}/x`)
  await file.write()
  await file.sync()
  t.equal(file.held, 0)
  record.add({ kind: 'move', at: 2001 })
  t.ok(record.addValue({ name: 'last' }, 1))
  await file.write()
  await file.close()
  const kinds: string[] = []
  for await (const { rows, damaged } of rowsOfRecord(file.path)) {
    t.equal(damaged, 0)
    kinds.push(...rows.map((row) => JSON.parse(row).kind))
  }
  t.same(kinds.slice(-2), ['move', 'value'])
  t.equal(kinds.filter((kind) => kind === 'rows_left_out').length, 2, 'one of actions, and one of values')
})
