// Rows that are added to the record of a run that has ended.

import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'tap'
import { addToEnded } from './ended_record.ts'
import { rowsOfRecord } from './run_record_reader.ts'

async function rowsIn(path: string): Promise<{ rows: unknown[]; damaged: number }> {
  const found: { rows: unknown[]; damaged: number } = { rows: [], damaged: 0 }
  for await (const { rows, damaged } of rowsOfRecord(path)) {
    found.rows.push(...rows.map((row) => JSON.parse(row)))
    found.damaged += damaged
  }
  return found
}

test('each row is added after the last whole line, at whatever byte an earlier one was cut off', async (t) => {
  const path = join(mkdtempSync(join(tmpdir(), 'benchd-record-')), 'record.jsonl')
  writeFileSync(path, '')
  const rows = ['one', 'two', 'three é'].map((text) => ({ kind: 'note', text }))
  for (const row of rows) await addToEnded(path, row)
  t.same(await rowsIn(path), { rows, damaged: 0 })
  const whole = readFileSync(path)
  const second = whole.indexOf(0x0a) + 1
  for (let cut = second; cut < whole.length; cut++) {
    writeFileSync(path, whole.subarray(0, cut))
    const kept = rows.slice(0, `${whole.subarray(0, cut)}`.split('\n').length - 1)
    await addToEnded(path, { kind: 'note', text: 'next' })
    t.strictSame(await rowsIn(path), { rows: [...kept, { kind: 'note', text: 'next' }], damaged: 0 })
  }
  await t.rejects(addToEnded(`${path}.missing`, { kind: 'note' }), { code: 'storage' })
})
