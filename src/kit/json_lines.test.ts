import { execFileSync } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { test } from 'tap'
import * as v from 'valibot'
import { LineFile } from './json_lines.ts'

const Entry = v.strictObject({ n: v.number(), text: v.string() })
type Entry = v.InferOutput<typeof Entry>
const entries = [1, 2, 3].map((n) => ({ n, text: `number ${n}: ü` }))

type Read = { found: Entry[]; told: string[] }

async function read(path: string, mend?: (whole: Entry[]) => Entry[]): Promise<Read> {
  const told: string[] = []
  const file = new LineFile({ path, schema: Entry, report: ({ message }) => void told.push(message), loss: 'numbers may be lost' })
  const found = await file.read(mend)
  await file.close()
  return { found, told }
}

/** Written as the service does, and left in order, or as a kill leaves it: then the last line is not acknowledged. */
async function written(path: string, end: 'killed' | 'closed' = 'closed'): Promise<Buffer> {
  const file = new LineFile({ path, schema: Entry, report: () => {}, loss: '' })
  await file.begin(entries.slice(0, 1))
  await file.add(entries.slice(1, 2), { isSynced: true })
  await file.add(entries.slice(2), { isSynced: false })
  const killed = readFileSync(path)
  await file.close()
  if (end === 'killed') writeFileSync(path, killed)
  return readFileSync(path)
}

function asides(path: string): string[] {
  return readdirSync(dirname(path)).filter((name) => name.startsWith(`${basename(path)}.corrupt-`))
}

test('a byte that is flipped anywhere is told, and the file is kept as it was found; or it costs nothing', async (t) => {
  const path = `${t.testdir()}/it.jsonl`
  const whole = await written(path)
  for (let at = 0; at < whole.length; at++) {
    const flipped = Buffer.from(whole)
    flipped[at] = flipped[at]! ^ (1 << (at % 8))
    writeFileSync(path, flipped)
    const { found, told } = await read(path).catch((error) => ({ found: [], told: [error.message] }))
    if (told.length === 0) t.same(found, entries, `byte ${at}`)
    else {
      t.match(told, [/^it\.jsonl (is damaged|has format)/], `byte ${at}`)
      for (const name of asides(path)) t.ok(readFileSync(`${dirname(path)}/${name}`).equals(flipped), `byte ${at}`)
      if (!told[0]!.includes('has format')) {
        t.equal(asides(path).length, 1)
        t.same((await read(path)).told, [], 'it is told once')
        t.same((await read(path)).found, found)
      }
    }
    for (const name of asides(path)) rmSync(`${dirname(path)}/${name}`)
  }
})

test('a line that a power cut tore costs itself alone, wherever it was torn, and is no trouble', async (t) => {
  const path = `${t.testdir()}/it.jsonl`
  const whole = await written(path, 'killed')
  const last = whole.lastIndexOf('\n', whole.length - 2) + 1
  for (let length = last; length < whole.length; length++) {
    writeFileSync(path, whole.subarray(0, length))
    const { found, told } = await read(path)
    t.same(told, [], `cut at ${length}`)
    t.same(found, entries.slice(0, 2))
  }
  t.same(asides(path), [])
})

test('a file that is shorter than it was when its lines were acknowledged has lost some, wherever it was cut', async (t) => {
  const path = `${t.testdir()}/it.jsonl`
  for (const end of ['closed', 'killed'] as const) {
    const whole = await written(path, end)
    const acknowledged = end === 'closed' ? whole.length : whole.lastIndexOf('\n', whole.length - 2) + 1
    for (let length = 0; length < acknowledged; length++) {
      writeFileSync(path, whole.subarray(0, length))
      const { found, told } = await read(path)
      t.match(told, [/^it\.jsonl is damaged \(/], `cut at ${length}`)
      t.same(found, entries.slice(0, found.length))
      for (const name of asides(path)) rmSync(`${dirname(path)}/${name}`)
      t.same(await read(path), { found, told: [] }, 'it is told once')
    }
  }
})

test('a file with thousands of lines that count no more begins anew with those that do', async (t) => {
  const path = `${t.testdir()}/it.jsonl`
  const file = new LineFile<Entry>({ path, schema: Entry, report: () => {}, loss: '' })
  const lines = () => readFileSync(path, 'utf8').trimEnd().split('\n').length - 2
  const all = () => entries
  await file.write(entries, { isSynced: false, all })
  t.equal(lines(), 3, 'as it does where nothing was begun')
  for (let times = 0; times < 40; times++) await file.write(Array(100).fill(entries[0]), { isSynced: false, all })
  t.equal(lines(), 4003)
  await file.write(entries, { isSynced: false, all })
  t.equal(lines(), 3)
  await file.close()
  t.same(await read(path), { found: entries, told: [] })
})

test('a file that is missing where it is expected is told, and there is one then', async (t) => {
  const path = `${t.testdir()}/it.jsonl`
  const told: string[] = []
  const options = {
    path,
    schema: Entry,
    report: ({ message }: { message: string }) => void told.push(message),
    loss: 'numbers may be lost',
  }
  const file = new LineFile<Entry>({ ...options, isExpected: true })
  t.same(await file.read(() => entries), entries)
  await file.close()
  t.same(told, ['it.jsonl is damaged (it is missing): numbers may be lost. A new file takes its place.'])
  t.same(await read(path), { found: entries, told: [] })
})

test('what a power cut leaves behind the lines that were on the card costs nothing: zeros, a torn line, anything without a line end', async (t) => {
  const path = `${t.testdir()}/it.jsonl`
  for (const end of [Buffer.alloc(4096), Buffer.from('{"crc":"12\0'), 'x'.repeat(10_000)]) {
    await written(path)
    appendFileSync(path, end)
    t.same(await read(path), { found: entries, told: [] })
  }
  await written(path)
  appendFileSync(path, 'x\n')
  t.match((await read(path)).told, [/1 of 4 lines are not whole/])
})

test('zeros, an empty file, or what is none of ours in its place is told and kept', async (t) => {
  const folder = t.testdir()
  const damages: Record<string, [(path: string) => void, RegExp]> = {
    'as many zeros': [(path) => writeFileSync(path, Buffer.alloc(readFileSync(path).length)), /none of its lines is whole/],
    'nothing in it': [(path) => writeFileSync(path, ''), /it is empty/],
    'a large file of something else': [(path) => writeFileSync(path, 'x'.repeat(10_000)), /none of its lines is whole/],
    'a length that no file of ours has': [(path) => truncateSync(path, 700 * 1024 * 1024), /larger than any file of the service/],
    'a folder': [
      (path) => {
        rmSync(path)
        mkdirSync(path)
        writeFileSync(`${path}/in it`, 'x')
      },
      /it is a folder/,
    ],
    'a pipe': [
      (path) => {
        rmSync(path)
        execFileSync('mkfifo', [path])
      },
      /it is a pipe/,
    ],
    'a device': [
      (path) => {
        rmSync(path)
        symlinkSync('/dev/zero', path)
      },
      /it is a device/,
    ],
    'a circle of links': [
      (path) => {
        rmSync(path)
        symlinkSync(path, path)
      },
      /it is a link that leads to itself/,
    ],
  }
  for (const [what, [damage, why]] of Object.entries(damages)) {
    const path = `${folder}/${what}/it.jsonl`
    mkdirSync(dirname(path))
    await written(path)
    damage(path)
    const { told } = await read(path, (found) => [...found, { n: 4, text: 'mended' }])
    t.match(told, [why], what)
    t.match(told[0], /: numbers may be lost\. The damaged file is kept as it\.jsonl\.corrupt-\S+\.$/, what)
    t.equal(asides(path).length, 1, what)
    if (what === 'a folder') t.ok(existsSync(`${dirname(path)}/${asides(path)[0]}/in it`))
    const { found, told: again } = await read(path)
    t.same([found.at(-1), again], [{ n: 4, text: 'mended' }, []], what)
  }
})

test('a file of a version before, without checksums, is read, torn or not, and written with them', async (t) => {
  const path = `${t.testdir()}/it.jsonl`
  const text = entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')
  for (const end of ['', '{"n":4,"te']) {
    writeFileSync(path, text + end)
    t.same(await read(path), { found: entries, told: [] })
  }
  writeFileSync(path, '{"n":1,"te')
  t.same(await read(path), { found: [], told: [] }, 'the first line, torn as it was written')
  writeFileSync(path, text.replace('"n":2', '"m":2'))
  t.match((await read(path)).told, [/1 of 3 lines/])
  const file = new LineFile({ path, schema: Entry, report: () => {}, loss: '' })
  t.match(await file.read(), entries.toSpliced(1, 1))
  await file.close()
  t.match(
    readFileSync(path, 'utf8'),
    /^\{"format":3\}\n\{"crc":"[0-9a-f]{8}","format":3,"bytes":"0{9}\d{3}"\}\n(\{"crc":"[0-9a-f]{8}","n":\d,.*\}\n){2}$/,
  )
})

test('a file of the version before, which does not say how long it was, is read, and is written with that', async (t) => {
  const path = `${t.testdir()}/it.jsonl`
  const [, , ...lines] = (await written(path)).toString().split('\n')
  writeFileSync(path, `{"format":2}\n${lines.join('\n')}`)
  t.same(await read(path), { found: entries, told: [] })
  writeFileSync(path, `{"format":2}\n${lines[1]}\nx\n`)
  t.match((await read(path)).told, [/1 of 2 lines/])
  t.match(readFileSync(path, 'utf8'), /^\{"format":3\}\n.*"bytes"/)
})

test('a damaged file stays as it is while it cannot be kept under another name, and is before anything is written in its place', async (t) => {
  const folder = `${t.testdir()}/data`
  const path = `${folder}/it.jsonl`
  mkdirSync(folder)
  await written(path)
  const zeros = Buffer.alloc(500)
  writeFileSync(path, zeros)
  // A draft cannot be made where its name is too long.
  const told: string[] = []
  const file = new LineFile<Entry>({ path, schema: Entry, report: ({ message }) => void told.push(message), loss: 'numbers may be lost' })
  mkdirSync(`${path}.tmp/x`, { recursive: true })
  t.same(await file.read(), [])
  t.match(told, [/kept as it\.jsonl\.corrupt-/], 'a folder in the place of its draft is set aside too')
  t.ok(readdirSync(folder).some((name) => name.startsWith('it.jsonl.tmp.corrupt-')))
  t.equal(asides(path).length, 1)
  await file.close()
})

test('a file that has grown long is begun anew, so that the next start can read it', async (t) => {
  const path = `${t.testdir()}/it.jsonl`
  const file = new LineFile<Entry>({ path, schema: Entry, report: () => {}, loss: '' })
  const long = { n: 1, text: 'x'.repeat(4 * 1024 * 1024) }
  await file.begin([])
  let added = 0
  for (; file.isOpen && added < 10; added++) await file.add([long], { isSynced: false })
  t.equal(added, 4)
  await file.begin(Array(5).fill(long))
  t.ok(file.isOpen, 'also with more than that it can be added to')
  await file.close()
  t.equal((await read(path)).found.length, 5)
})

test('a folder that takes its place meanwhile is set aside, and told', async (t) => {
  const path = `${t.testdir()}/it.jsonl`
  const told: string[] = []
  const file = new LineFile<Entry>({ path, schema: Entry, report: ({ message }) => void told.push(message), loss: '' })
  await file.begin(entries)
  await file.close()
  rmSync(path)
  mkdirSync(`${path}/in it`, { recursive: true })
  await file.begin(entries)
  await file.close()
  t.match(told, [/^it\.jsonl had become a folder, which is set aside as it\.jsonl\.corrupt-/])
  t.same((await read(path)).found, entries)
})

test('a file that is deleted while it is open takes no more lines, and begins anew with all of them', async (t) => {
  const path = `${t.testdir()}/it.jsonl`
  const file = new LineFile({ path, schema: Entry, report: () => {}, loss: '' })
  const write = (n: number) => file.write(entries.slice(n - 1, n), { isSynced: true, all: () => entries.slice(0, n) })
  await write(1)
  rmSync(path)
  await t.rejects(write(2), { code: 'storage', message: /it\.jsonl was not written.*deleted while the service ran/ })
  await write(3)
  await file.close()
  t.same((await read(path)).found, entries)
})
