import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import { test } from 'tap'
import { LabError } from '../errors.ts'
import { longestFile, RunFiles } from './run_files.ts'

const mib = 1024 * 1024
async function* of(...pieces: (string | Uint8Array)[]) {
  for (const piece of pieces) yield Buffer.from(piece)
}

function opened(folder: string, { most = 1024 * mib, mustHaveRoom = async (_bytes: number) => {} } = {}) {
  return new RunFiles({ folder, most_bytes: () => most, refused: () => {}, mustHaveRoom })
}

test('a file is kept once under its hash, and read as it was', async (t) => {
  const folder = t.testdir({ x: { 'record.jsonl': '' } })
  const files = opened(folder)
  const sha256 = createHash('sha256').update('one two').digest('hex')
  t.same(await files.take('x', of('one ', 'two')), { sha256, bytes: 7, isNew: true })
  t.same(await files.take('x', of('one two'), { sha256, bytes: 7 }), { sha256, bytes: 7, isNew: false })
  t.same(readdirSync(`${folder}/x/files`), [sha256])
  t.equal(`${await buffer(files.read('x', sha256))}`, 'one two')
  t.equal(await files.sizeOf('x', sha256), 7)
  t.equal(await files.sizeOf('y', sha256), undefined)
})

test('a file that is refused leaves nothing behind', async (t) => {
  const folder = t.testdir({ x: { 'record.jsonl': '' } })
  const full = async (bytes: number) => {
    if (bytes > 100) throw new LabError('storage', 'the disk is nearly full')
  }
  const files = opened(folder, { most: 2 * mib, mustHaveRoom: full })
  const large = new Uint8Array(1.5 * mib)
  async function* broken() {
    yield large
    throw new LabError('invalid', 'the body did not arrive whole')
  }
  async function* endless() {
    for (;;) yield large
  }
  await t.rejects(files.take('x', of('a'), { sha256: '0'.repeat(64) }), { code: 'invalid', message: /SHA-256/ })
  await t.rejects(files.take('x', of()), { code: 'invalid', message: /empty/ })
  await t.rejects(files.take('x', broken()), { code: 'invalid' })
  await t.rejects(files.take('x', endless()), { code: 'too_large', message: /may take 2 MiB/ })
  await t.rejects(opened(folder).take('x', endless()), { code: 'too_large', message: /larger than 64 MiB/ })
  await t.rejects(files.take('x', endless(), { bytes: longestFile + 1 }), { code: 'too_large' })
  await t.rejects(files.take('x', of('a'), { bytes: 1000 }), { code: 'storage' })
  t.same(readdirSync(`${folder}/x/files`), [])
})

test('the files of all runs count together, also those that still arrive, and only a few arrive at a time', async (t) => {
  const folder = t.testdir({ x: { 'record.jsonl': '' }, y: { 'record.jsonl': '' } })
  const files = opened(folder, { most: 3 * mib })
  await files.take('x', of(new Uint8Array(mib)))
  let go = () => {}
  const gone = new Promise<void>((resolve) => {
    go = resolve
  })
  let begun = () => {}
  const hasBegun = new Promise<void>((resolve) => {
    begun = resolve
  })
  async function* slow() {
    yield new Uint8Array(1.5 * mib)
    begun()
    await gone
  }
  const first = files.take('y', slow())
  await hasBegun
  await t.rejects(files.take('x', of(new Uint8Array(mib).fill(1))), { code: 'too_large' })
  const others = [2, 3, 4].map((n) =>
    files.take(
      'y',
      (async function* () {
        await gone
        yield Buffer.from([n])
      })(),
    ),
  )
  await t.rejects(files.take('x', of('a')), { code: 'overloaded', retry_after_s: 1 })
  const waiting = [5, 6].map((n) => files.take('y', of(Buffer.from([n])), { waits: true }))
  await t.rejects(files.take('x', of('a')), { code: 'overloaded' })
  go()
  await Promise.all([first, ...others, ...waiting])
  t.ok(await files.take('x', of('a')))
})

test('what a kill left incomplete goes with the next file', async (t) => {
  const folder = t.testdir({ x: { 'record.jsonl': '', files: { 'b-1.tmp': 'half' } }, 'state-000001.jsonl': '' })
  writeFileSync(`${folder}/other`, '')
  await opened(folder).take('x', of('a'))
  t.notOk(existsSync(`${folder}/x/files/b-1.tmp`))
})

test('a run that is deleted while its file arrives does not come back', async (t) => {
  const folder = t.testdir({ x: { 'record.jsonl': '' } })
  const files = opened(folder)
  async function* deleted() {
    yield Buffer.from('a')
    rmSync(`${folder}/x`, { recursive: true })
  }
  await t.rejects(files.take('x', deleted()), { code: 'conflict', message: /was deleted/ })
  await t.rejects(files.take('x', of('a')), { code: 'conflict', message: /was deleted/ })
  t.notOk(existsSync(`${folder}/x`))
})

test('the files are counted once, again before one is refused, and only those of runs with a record', async (t) => {
  const content = Buffer.alloc(1.5 * mib)
  const folder = t.testdir({ x: { 'record.jsonl': '' }, y: { 'record.jsonl': '' }, z: { files: { ['0'.repeat(64)]: content } } })
  const files = opened(folder, { most: 2 * mib })
  await files.take('x', of(content))
  const late = `${folder}/y/files`
  mkdirSync(late)
  writeFileSync(`${late}/${'1'.repeat(64)}`, content)
  await files.take('x', of('a'))
  await t.rejects(files.take('x', of(content.fill(1))), { code: 'too_large', message: /4 MiB are taken/ })
  rmSync(`${folder}/x`, { recursive: true })
  await files.take('y', of('b'))
  rmSync(late, { recursive: true })
  const { sha256 } = await files.take('y', of(content.fill(2)))
  await files.remove('y', sha256)
  t.ok(await files.take('y', of(content.fill(3))))
})
