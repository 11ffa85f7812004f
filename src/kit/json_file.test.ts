import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import fs from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { dirname, join } from 'node:path'
import { type Test, test } from 'tap'
import * as v from 'valibot'
import { VirtualClock } from './clock.ts'
import { JsonFile } from './json_file.ts'

const Content = v.strictObject({ words: v.array(v.string()), note: v.optional(v.string()) })
type Content = v.InferOutput<typeof Content>

type Call = (...words: unknown[]) => Promise<unknown>
/** What all file handles have in common. */
const handles = await fs.open('/dev/null').then(async (handle) => {
  await handle.close()
  return Object.getPrototypeOf(handle) as Record<string, Call>
})
let places = 0

test('what was changed is there after it was opened anew, and is for the owner alone', async (t) => {
  const { path, open } = place(t)
  const file = await open()
  t.same(file.content, { words: [] })
  t.same(await file.change(adding('one')), { words: ['one'] })
  await file.change(adding('two'))
  t.same((await open()).content, { words: ['one', 'two'] })
  t.match(readFileSync(path, 'utf8'), /^\{\n"format": 1,\n"sha256": "[0-9a-f]{64}",\n"words": \[\n"one",\n"two"\n\]\n\}\n$/)
  t.same(JSON.parse(readFileSync(`${path}.bak`, 'utf8')).words, ['one'], 'the generation before')
  t.same([path, `${path}.bak`, dirname(path)].map(modeOf), [0o600, 0o600, 0o700])
  t.same(namesIn(path), ['words.json', 'words.json.bak'])
})

test('content is frozen through and through', async (t) => {
  const file = await place(t).open()
  const { words } = await file.change(adding('one'))
  t.throws(() => words.push('two'))
  t.same(file.content.words, ['one'])
})

test('a file written by hand needs no sha256', async (t) => {
  const { path, open, reports } = place(t)
  write(path, '\ufeff{ "words": ["by hand"], "format": 1 }')
  t.same((await open()).content, { words: ['by hand'] })
  t.same(reports, [])
})

test('a damaged file is set aside as it was, and the generation before is used', async (t) => {
  const damages: [string, (whole: string) => string | Buffer][] = [
    ['it is empty', () => ''],
    ['it holds nothing but zeros', () => Buffer.alloc(512)],
    ['it is not JSON', (whole) => whole.slice(0, -10)],
    ['it is nested deeper than 64 levels', () => `{"a":${'['.repeat(64)}${']'.repeat(64)}}`],
    ['it is not JSON', (whole) => Buffer.from(whole.replace('two', 'tw\u00ff'), 'latin1')],
    ['it is not a JSON object', () => '[1]'],
    ['it has no format number', () => '{"words":[]}'],
    ['its sha256 does not fit', (whole) => whole.replace('two', 'twx')],
    ['its member words.0 is not as it should be', () => '{"format":1,"words":[4711]}'],
    ['its member more is not as it should be', () => '{"format":1,"words":[],"more":4711}'],
  ]
  for (const [reason, damage] of damages) {
    const { path, open, reports } = place(t)
    const before = await open()
    await before.change(adding('one'))
    await before.change(adding('two'))
    const damaged = Buffer.from(damage(readFileSync(path, 'utf8')))
    writeFileSync(path, damaged)
    const file = await open()
    t.same(file.content, { words: ['one'] }, reason)
    const aside = namesIn(path).filter((name) => /^words\.json\.corrupt-\d{4}-\d\d-\d\dT\d{6}\.\d{3}Z$/.test(name))
    t.equal(aside.length, 1, 'it is aside')
    t.same(readFileSync(join(dirname(path), aside[0]!)), damaged)
    t.equal(reports.length, 1)
    t.match(reports[0], `words.json is damaged: ${reason}`)
    t.notMatch(reports[0], /4711|twx/, 'what stands in the file is not told')
    await file.change(adding('three'))
    t.same((await open()).content, { words: ['one', 'three'] })
    t.equal(reports.length, 1, 'it is told once')
    t.same(readFileSync(join(dirname(path), aside[0]!)), damaged)
  }
})

test('where nothing is whole it begins empty, and keeps what is damaged', async (t) => {
  const { path, open, reports } = place(t)
  write(path, 'torn')
  write(`${path}.bak`, 'torn too')
  const file = await open()
  t.same(file.content, { words: [] })
  t.match(reports, [/begins empty/])
  await file.change(adding('one'))
  await file.change(adding('two'))
  const kept = namesIn(path).filter((name) => name.includes('.corrupt-'))
  t.same(kept.map((name) => readFileSync(join(dirname(path), name), 'utf8')).sort(), ['torn', 'torn too'])
})

test('a file that is missing is recovered from the generation before', async (t) => {
  const { path, open, reports } = place(t)
  const before = await open()
  await before.change(adding('one'))
  await before.change(adding('two'))
  rmSync(path)
  t.same((await open()).content, { words: ['one'] })
  t.match(reports, [/words\.json is missing.*words\.json\.bak, is in use/])
  t.same((await open()).content, { words: ['one'] })
  t.equal(reports.length, 1, 'it is there again')
})

test('a newer format is refused and left alone', async (t) => {
  const { path, open } = place(t)
  const newer = '{"format":2,"words":{"new":"shape"}}'
  write(path, newer)
  await t.rejects(open(), { code: 'config', message: /format 2.*up to 1/ })
  t.equal(readFileSync(path, 'utf8'), newer)
  t.same(namesIn(path), ['words.json'])
})

test('a newer format that takes the place of the file is refused too', async (t) => {
  const { path, open } = place(t)
  const file = await open()
  await file.change(adding('one'))
  const newer = '{"format":2,"words":{"new":"shape"}}'
  replace(path, newer)
  await t.rejects(file.change(adding('two')), { code: 'config' })
  t.equal(readFileSync(path, 'utf8'), newer)
})

test('changes at the same time lose nothing', async (t) => {
  const { open } = place(t)
  const file = await open()
  const words = Array.from({ length: 30 }, (_, i) => `word ${i}`)
  await Promise.all(words.map((word) => file.change(adding(word))))
  t.same((await open()).content, { words })
})

test('a change that throws, or that changes nothing, leaves all as it is', async (t) => {
  const { path, open } = place(t)
  const file = await open()
  await file.change(adding('one'))
  const before = statSync(path)
  await t.rejects(
    file.change(() => {
      throw new Error('no')
    }),
    { message: 'no' },
  )
  await file.change((content) => content)
  t.same(file.content, { words: ['one'] })
  t.equal(statSync(path).ino, before.ino)
})

test('no more than so many changes may wait', async (t) => {
  const file = await place(t).open()
  const outcomes = await Promise.allSettled(Array.from({ length: 70 }, () => file.change(adding('word'))))
  t.same(outcomes.filter(({ status }) => status === 'rejected').length, 6)
  t.match(outcomes[69], { reason: { code: 'overloaded' } })
})

test('what an interrupted write left is taken away, and nothing else', async (t) => {
  const { path, open } = place(t)
  write(path, '{"format":1,"words":[]}')
  write(`${path}.0f2b6a52-7a3c-4a5e-9b0e-2f1d7f3c9a11.tmp`, '{"for')
  write(`${path}.mine.tmp`, 'mine')
  await open()
  t.same(namesIn(path), ['words.json', 'words.json.mine.tmp'])
})

test('a spare that is the same file already leaves no second name behind', async (t) => {
  const { path, open } = place(t)
  const file = await open()
  await file.change(adding('one'))
  rmSync(`${path}.bak`, { force: true })
  linkSync(path, `${path}.bak`)
  await file.change(adding('two'))
  t.same(namesIn(path), ['words.json', 'words.json.bak'])
  t.same(JSON.parse(readFileSync(`${path}.bak`, 'utf8')).words, ['one'])
})

test('whichever call of a write the disk refuses, memory is as the disk is, and the next write is whole', async (t) => {
  for (const always of [false, true]) {
    let refused = 0
    for (let call = 1; ; call++) {
      const { open, reports } = place(t)
      const file = await open()
      await file.change(adding('one'))
      await file.change(adding('two'))
      const faults = refusing(t, { from: call, to: always ? Number.POSITIVE_INFINITY : call, errno: 'EIO' })
      const outcome = await file.change(adding('three')).then(
        () => 'stored',
        (error) => error,
      )
      const calls = faults.end()
      const name = `call ${call}, ${calls.at(-1)}, ${always ? 'and all after it' : 'once'}`
      if (outcome !== 'stored') {
        refused++
        t.match(outcome, { code: 'storage', message: /words\.json.*EIO.*replace it/ }, name)
      }
      t.same((await open()).content, file.content, `${name}: memory is as the disk is`)
      t.same(file.content.words.slice(0, 2), ['one', 'two'], name)
      if (outcome === 'stored') t.same(file.content.words, ['one', 'two', 'three'], name)
      await file.change(adding('four'))
      t.equal(file.content.words.at(-1), 'four', name)
      t.same((await open()).content, file.content, `${name}: the next write is stored`)
      t.same(reports, [], name)
      if (calls.length < call) break
    }
    t.ok(refused >= 10, `${refused} calls were refused`)
  }
})

test('whichever call of an opening the disk refuses, nothing that was stored is overwritten', async (t) => {
  for (const always of [false, true]) {
    for (let call = 1; ; call++) {
      const { path, open, reports } = place(t)
      const before = await open()
      await before.change(adding('one'))
      await before.change(adding('two'))
      const faults = refusing(t, { from: call, to: always ? Number.POSITIVE_INFINITY : call, errno: 'EIO' })
      const file = await open().catch((error) => error)
      const calls = faults.end()
      const name = `call ${call}, ${calls.at(-1)}, ${always ? 'and all after it' : 'once'}`
      if (!(file instanceof JsonFile)) t.match(file, { code: 'storage' }, name)
      else {
        if (file.content.words.length < 2) t.not(reports.length, 0, `${name}: told`)
        await file.change((content) => ({ words: [...content.words, 'three'] }))
        t.same((await open()).content, file.content, name)
      }
      const whole = namesIn(path).some((entry) => readFileSync(join(dirname(path), entry), 'utf8').includes('"one",\n"two"'))
      t.ok(whole, `${name}: the latest is still there`)
      if (calls.length < call) break
    }
  }
})

test('a file whose fsync failed is thrown away, and the next write makes a fresh one', async (t) => {
  const { path, open } = place(t)
  const file = await open()
  await file.change(adding('one'))
  const faults = refusing(t, { only: 'sync', from: 1, to: 1, errno: 'EIO' })
  await t.rejects(file.change(adding('two')), { code: 'storage', message: /was not written, and nothing has changed \(EIO\)/ })
  t.same(namesIn(path), ['words.json'], 'no temporary file is left')
  await file.change(adding('two'))
  t.same(faults.end(), ['sync', 'sync', 'sync'], 'the refused one, then those of a new file and of the folder')
  t.same((await open()).content, { words: ['one', 'two'] })
})

test('a folder is made with its parents, and each is synced in its own', async (t) => {
  const { path } = place(t)
  const deep = join(dirname(path), 'a/b/words.json')
  const file = await JsonFile.open<Content>({ path: deep, format: 1, schema: Content, empty: { words: [] }, report: () => {} })
  const faults = refusing(t, { only: ['mkdir', 'sync'], from: 1, to: 0, errno: 'EIO' })
  await file.change(adding('one'))
  // Three folders that are missing, from the inside out; then each is made and its parent synced; then the file and its folder.
  t.same(faults.end(), ['mkdir', 'mkdir', 'mkdir', 'sync', 'mkdir', 'sync', 'mkdir', 'sync', 'sync', 'sync'])
  t.same([deep, dirname(deep), dirname(path)].map(modeOf), [0o600, 0o700, 0o700])
})

test('a new folder that could not be synced is made and synced anew', async (t) => {
  const { open } = place(t)
  const file = await open()
  const faults = refusing(t, { only: 'sync', from: 1, to: 1, errno: 'EIO' })
  await t.rejects(file.change(adding('one')), { code: 'storage' })
  await file.change(adding('one'))
  t.same(faults.end().length, 4, 'the refused one, the parent, the file, the folder')
  t.same((await open()).content, { words: ['one'] })
})

test("while the folder's fsync fails nothing is answered, not even what needs no writing", async (t) => {
  const { open } = place(t)
  const file = await open()
  await file.change(adding('one'))
  const faults = refusing(t, { only: 'sync', from: 2, to: 4, errno: 'EIO' })
  await t.rejects(file.change(adding('two')), { code: 'storage', message: /was written, but it is not known/ })
  t.same(file.content, { words: ['one', 'two'] }, 'as the disk shows')
  t.same((await open()).content, file.content)
  const refusal = () => {
    throw new Error('two is there already')
  }
  await t.rejects(file.change(refusal), { code: 'storage' })
  await t.rejects(
    file.change((content) => content),
    { code: 'storage' },
  )
  await t.rejects(file.change(refusal), { message: 'two is there already' })
  t.equal(faults.end().length, 6, 'it was written anew, file and folder, before that was said')
})

test('a damaged file on a read-only disk is set aside once the disk can be written again', async (t) => {
  const { path, open, reports } = place(t)
  const before = await open()
  await before.change(adding('one'))
  await before.change(adding('two'))
  writeFileSync(path, 'torn')
  const writing = ['rename', 'link', 'rm', 'mkdir', 'writing open', 'writeFile']
  const faults = refusing(t, { only: writing, from: 1, to: Number.POSITIVE_INFINITY, errno: 'EROFS' })
  const file = await open()
  t.same(file.content, { words: ['one'] })
  t.match(reports, [/cannot be set aside yet \(EROFS\)/])
  await t.rejects(file.change(adding('three')), { code: 'storage', message: /EROFS.*read-only/ })
  t.equal(readFileSync(path, 'utf8'), 'torn')
  t.same(file.content, { words: ['one'] })
  faults.end()
  await file.change(adding('three'))
  t.same((await open()).content, { words: ['one', 'three'] })
  t.equal(reports.length, 1)
  const aside = namesIn(path).filter((name) => name.includes('.corrupt-'))
  t.same(
    aside.map((name) => readFileSync(join(dirname(path), name), 'utf8')),
    ['torn'],
  )
})

test('what somebody else has put in place is taken over, before a change too', async (t) => {
  const { path, open, reports } = place(t)
  const file = await open()
  await file.change(adding('one'))
  replace(path, '{"format":1,"words":["theirs"]}')
  await file.reload()
  t.same(file.content, { words: ['theirs'] })
  replace(path, '{"format":1,"words":["theirs", "again"]}')
  await file.change(adding('ours'))
  t.same((await open()).content, { words: ['theirs', 'again', 'ours'] })
  t.same(reports, [])
})

test('a broken file put in place leaves the last good one in force, over a restart too', async (t) => {
  const { path, open, reports } = place(t)
  const file = await open()
  await file.change(adding('one'))
  await file.change(adding('two'))
  replace(path, 'half of')
  await file.reload()
  await file.reload()
  t.same(file.content, { words: ['one', 'two'] })
  t.match(reports, [/was changed from outside and is damaged: it is not JSON/])
  t.equal(readFileSync(path, 'utf8'), 'half of', 'whoever writes it may go on')

  t.same((await open()).content, { words: ['one', 'two'] }, 'after a restart')
  t.equal(namesIn(path).filter((name) => name.includes('.corrupt-')).length, 1)

  replace(path, 'broken again')
  await file.change(adding('three'))
  t.same((await open()).content, { words: ['one', 'two', 'three'] })
  const kept = namesIn(path).filter((name) => name.includes('.corrupt-'))
  t.same(kept.map((name) => readFileSync(join(dirname(path), name), 'utf8')).sort(), ['broken again', 'half of'])
})

test('a file that is taken away leaves the last good one in force', async (t) => {
  const { path, open, reports } = place(t)
  const file = await open()
  await file.change(adding('one'))
  await file.change(adding('two'))
  rmSync(path)
  await file.reload()
  t.same(file.content, { words: ['one', 'two'] })
  t.match(reports, [/was taken away/])
  t.same((await open()).content, { words: ['one', 'two'] })
})

test('it is looked at every so often, until no longer wanted', async (t) => {
  const { path, open } = place(t)
  const file = await open()
  const planned: { ms: number; look: () => void }[] = []
  const after = (ms: number, look: () => void) => {
    planned.push({ ms, look })
    return () => planned.splice(0)
  }
  const unwatch = file.watch({ now: () => 0, after }, 2000)
  for (const word of ['one', 'two']) {
    replace(path, JSON.stringify({ format: 1, words: [word] }))
    const { ms, look } = planned.shift()!
    t.equal(ms, 2000)
    look()
    await turnsUntil(() => planned.length > 0)
    t.same(file.content.words, [word])
  }
  // One look is under way when it ends.
  planned.shift()!.look()
  unwatch()
  await file.reload()
  await turnsUntil(() => true)
  t.same(planned, [])
})

test('what stays wrong is told once, however often it is looked at', async (t) => {
  const { path, open, reports } = place(t)
  const clock = new VirtualClock()
  const file = await open()
  await file.change(adding('one'))
  t.teardown(file.watch(clock, 2000))
  replace(path, 'broken')
  const faults = refusing(t, { only: 'writing open', from: 1, to: Number.POSITIVE_INFINITY, errno: 'EROFS' })
  for (let look = 1; look <= 3; look++) {
    await clock.advance(2000)
    await turnsUntil(() => reports.length > 0)
    await file.reload().catch(() => undefined)
    await turnsUntil(() => true)
  }
  t.ok(faults.end().length >= 3)
  t.match(reports, [/is broken, and what is in force could not be kept beside it \(EROFS\)/])
  t.equal(reports.length, 1)
})

test('a file that was broken and is whole again is not set aside', async (t) => {
  const { path, open } = place(t)
  const file = await open()
  await file.change(adding('one'))
  replace(path, 'half of')
  await file.reload()
  replace(path, '{"format":1,"words":["whole"]}')
  await file.reload()
  await file.change(adding('two'))
  t.same(file.content, { words: ['whole', 'two'] })
  t.same(namesIn(path), ['words.json', 'words.json.bak'])
})

test('a file that the disk cannot read is a damaged one', async (t) => {
  const { path, open, reports } = place(t)
  const before = await open()
  await before.change(adding('one'))
  await before.change(adding('two'))
  const faults = refusing(t, { only: 'readFile', from: 1, to: 1, errno: 'EIO' })
  const file = await open()
  faults.end()
  t.same(file.content, { words: ['one'] })
  t.match(reports, [/the disk cannot read it \(EIO\); set aside as/])
  t.equal(namesIn(path).filter((name) => name.includes('.corrupt-')).length, 1)
})

test('a file that is longer than any of the service is a damaged one', async (t) => {
  const { path, open, reports } = place(t)
  write(path, '')
  truncateSync(path, 700 * 1024 * 1024)
  t.same((await open()).content, { words: [] })
  t.match(reports, [/damaged: it is larger than any file of the service; set aside as/])
})

test('rights of others to a secret file are taken away and told', async (t) => {
  const { path, open, reports } = place(t)
  write(path, '{"format":1,"words":["secret"]}')
  chmodSync(path, 0o644)
  const file = await open({ secret: true })
  t.same(file.content, { words: ['secret'] })
  t.equal(modeOf(path), 0o600)
  t.match(reports, [/words\.json could be read or written by others \(mode 0644\).*0600 now/])
  t.notMatch(reports[0], 'secret')
})

/** A folder of its own, which is not there yet. */
function place(t: Test) {
  const path = join(t.testdirName, `${++places}`, 'words.json')
  rmSync(dirname(path), { recursive: true, force: true })
  mkdirSync(t.testdirName, { recursive: true })
  t.teardown(() => rmSync(t.testdirName, { recursive: true, force: true }))
  const reports: string[] = []
  const report = ({ message }: { message: string }) => reports.push(message)
  const open = ({ secret = false } = {}) =>
    JsonFile.open<Content>({ path, format: 1, schema: Content, empty: { words: [] }, secret, report })
  return { path, open, reports }
}

function adding(word: string): (content: Content) => Content {
  return ({ words }) => ({ words: [...words, word] })
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text, { mode: 0o600 })
}

/** As an editor or a script does it that knows its trade. */
function replace(path: string, text: string): void {
  write(`${path}.theirs`, text)
  renameSync(`${path}.theirs`, path)
}

function modeOf(path: string): number {
  return statSync(path).mode & 0o777
}

function namesIn(path: string): string[] {
  return readdirSync(dirname(path)).sort()
}

async function turnsUntil(done: () => boolean): Promise<void> {
  for (let turn = 0; turn < 100_000; turn++) {
    await new Promise(setImmediate)
    if (done()) return
  }
  throw new Error('it did not come')
}

/**
 * Node's file calls fail, those numbered `from` to `to` of the ones that are counted (all of them, or `only` these). The answer's `end`
 * makes them whole again and tells the names of the calls that were counted.
 */
function refusing(t: Test, { only, from, to, errno }: { only?: string | string[]; from: number; to: number; errno: string }) {
  const counted: string[] = []
  const undo: (() => void)[] = []
  const wrap = (owner: Record<string, Call>, method: string) => {
    const real = owner[method]!
    owner[method] = async function (this: unknown, ...words) {
      const name = method === 'open' && words[1] !== 'r' ? 'writing open' : method
      if (only === undefined || [only].flat().includes(name)) {
        counted.push(name)
        if (counted.length >= from && counted.length <= to) {
          // A file that cannot be closed is closed all the same.
          if (name === 'close') await real.apply(this, words)
          throw Object.assign(new Error(`${errno}: refused, ${name}`), { code: errno })
        }
      }
      return real.apply(this, words)
    }
    undo.push(() => {
      owner[method] = real
    })
  }
  for (const method of ['open', 'stat', 'mkdir', 'link', 'rename', 'rm', 'readdir', 'chmod'])
    wrap(fs as unknown as Record<string, Call>, method)
  for (const method of ['writeFile', 'readFile', 'sync', 'stat', 'close']) wrap(handles, method)
  syncBuiltinESMExports()
  const end = () => {
    for (const restore of undo.splice(0)) restore()
    syncBuiltinESMExports()
    return counted
  }
  t.teardown(end)
  return { end }
}
