import { appendFile, readFile, writeFile } from 'node:fs/promises'
import { type Test, test } from 'tap'
import * as v from 'valibot'
import { Journal } from './journal.ts'

const Entry = v.strictObject({ name: v.string(), on: v.boolean() })
type Entry = v.InferOutput<typeof Entry>

/** Newer Nodes take a file that nobody closed for a fault. */
async function opened(t: Test, path: string, told: string[] = []): Promise<Journal<Entry>> {
  const live = (entries: readonly Entry[]) => [...new Map(entries.map((entry) => [entry.name, entry])).values()].filter(({ on }) => on)
  const loss = 'something may be on'
  const journal = await Journal.open({ path, schema: Entry, loss, report: ({ message }) => told.push(message), live })
  t.teardown(() => journal.close())
  return journal
}

test('what was added is there after a restart, and only what still matters', async (t) => {
  const path = `${t.testdir()}/j.jsonl`
  const first = await opened(t, path)
  await first.append({ name: 'a', on: true })
  await first.append({ name: 'b', on: true })
  await first.append({ name: 'a', on: false })
  await first.close()
  const second = await opened(t, path)
  t.same(second.live, [{ name: 'b', on: true }])
  await second.append({ name: 'c', on: true })
  await second.close()
  t.equal((await readFile(path, 'utf8')).split('\n').length, 5, 'and the file began anew with it, behind its format and its length')
})

test('a torn last line costs nothing but itself, and is no trouble', async (t) => {
  const path = `${t.testdir()}/j.jsonl`
  const told: string[] = []
  const first = await opened(t, path)
  await first.append({ name: 'a', on: true })
  await first.close()
  await appendFile(path, '{"crc":"1c291ca3","name":"b","o')
  const second = await opened(t, path, told)
  t.same(second.live, [{ name: 'a', on: true }])
  t.same(told, [])
  await second.append({ name: 'c', on: true })
  await second.close()
  t.same((await opened(t, path)).live.length, 2)
})

test('a damaged line in the middle is left out, and told', async (t) => {
  const path = `${t.testdir()}/j.jsonl`
  const told: string[] = []
  await writeFile(path, '{"name":"a","on":true}\n\0\0\0\n{"name":"b","on":true}\n')
  t.equal((await opened(t, path, told)).live.length, 2)
  t.match(told, [
    /^j\.jsonl is damaged \(1 of 3 lines are not whole\): something may be on\. The damaged file is kept as j\.jsonl\.corrupt-/,
  ])
})

test('what cannot be written is refused as storage, and can be written later', async (t) => {
  const folder = t.testdir()
  const journal = await opened(t, `${folder}/later/j.jsonl`)
  await t.rejects(journal.append({ name: 'a', on: true }), { code: 'storage', message: /j\.jsonl was not written \(ENOENT\)/ })
  t.same(journal.live, [])
})
