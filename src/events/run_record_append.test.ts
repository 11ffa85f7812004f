import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { type FileHandle, open as openOnDisk } from 'node:fs/promises'
import { test } from 'tap'
import { appendRow } from './run_record_append.ts'
import { rowsOfRecord } from './run_record_reader.ts'

async function readRows(path: string) {
  const found: { rows: Record<string, unknown>[]; damaged: number } = { rows: [], damaged: 0 }
  for await (const { rows, damaged } of rowsOfRecord(path)) {
    found.rows.push(...rows.map((row) => JSON.parse(row)))
    found.damaged += damaged
  }
  return found
}

test('rows are added one after another, and a torn last line goes', async (t) => {
  const path = `${t.testdir({ 'record.jsonl': '' })}/record.jsonl`
  await Promise.all(Array.from({ length: 20 }, (_, n) => appendRow(path, { kind: 'note', n })))
  appendFileSync(path, `{"crc":"12345678","kind":"note","text":"${'x'.repeat(100_000)}`)
  t.equal(await appendRow(path, { kind: 'note', n: 20 }), true)
  const { rows, damaged } = await readRows(path)
  t.same(
    rows.map(({ n }) => n),
    Array.from({ length: 21 }, (_, n) => n),
  )
  t.equal(damaged, 0)
  writeFileSync(path, 'torn')
  await appendRow(path, { kind: 'note', n: 1 })
  t.same((await readRows(path)).rows, [{ kind: 'note', n: 1 }])
})

test('without a file there is nothing to add to', async (t) => {
  t.equal(await appendRow(`${t.testdir({})}/none/record.jsonl`, { kind: 'note' }), false)
})

test('a row is on the disk before anybody is told, and a row that the disk refuses leaves nothing behind', async (t) => {
  const path = `${t.testdir({ 'record.jsonl': '' })}/record.jsonl`
  await appendRow(path, { kind: 'note', n: 1 })
  const before = readFileSync(path, 'utf8')
  let synced = 0
  let isFull = true
  const open = async (...args: Parameters<typeof openOnDisk>): Promise<FileHandle> =>
    new Proxy(await openOnDisk(...args), {
      get(target, key) {
        const value = Reflect.get(target, key)
        if (key !== 'datasync') return typeof value === 'function' ? value.bind(target) : value
        return async () => {
          if (isFull) throw Object.assign(new Error('full'), { code: 'ENOSPC' })
          synced++
          await target.datasync()
        }
      },
    })
  await t.rejects(appendRow(path, { kind: 'note', n: 2 }, open as typeof openOnDisk), { code: 'storage', message: /full/ })
  t.equal(readFileSync(path, 'utf8'), before)
  isFull = false
  await appendRow(path, { kind: 'note', n: 2 }, open as typeof openOnDisk)
  t.equal(synced, 1)
  t.equal((await readRows(path)).rows.length, 2)
})
