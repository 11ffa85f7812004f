import { chmodSync, chownSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { codeOwners, mustBeTrusted } from './trusted_folder.ts'

const us = process.geteuid!()

/** Makes a folder with a file in it, for this user alone. */
function codeIn(t: Test): { folder: string; file: string } {
  const folder = join(t.testdir({}), 'plugins')
  mkdirSync(folder, { mode: 0o755 })
  const file = join(folder, 'lamp.ts')
  writeFileSync(file, '', { mode: 0o644 })
  return { folder, file }
}

test('a file that only its owner can change is trusted', async (t) => {
  const { folder, file } = codeIn(t)
  await mustBeTrusted(file)
  await mustBeTrusted(folder)
})

test('a file, its folder, or a folder above it that others may write to is not', async (t) => {
  const { folder, file } = codeIn(t)
  for (const [path, mode] of [
    [file, 0o664],
    [folder, 0o775],
    [folder, 0o757],
  ] as const) {
    chmodSync(path, mode)
    await t.rejects(mustBeTrusted(file), { code: 'config', message: `no code from ${path}, because other users may write to it` }, path)
    chmodSync(path, 0o755)
  }
  await mustBeTrusted(file)
})

test('a folder with the sticky bit may lie above, and may not hold the code itself', async (t) => {
  const { folder, file } = codeIn(t)
  const below = join(folder, 'below')
  mkdirSync(below, { mode: 0o755 })
  chmodSync(folder, 0o1777)
  await mustBeTrusted(below)
  await mustBeTrusted(file)
  await t.rejects(mustBeTrusted(folder), { code: 'config' })
})

test('a path of another user is not trusted', async (t) => {
  const { file } = codeIn(t)
  await t.rejects(mustBeTrusted(file, [us + 1]), { code: 'config', message: /belongs to the user \d+/ })
})

test('the owner of one file counts', { skip: us === 0 ? false : 'wants root' }, async (t) => {
  const { folder, file } = codeIn(t)
  chownSync(file, 12345, 12345)
  await t.rejects(mustBeTrusted(file), { message: `no code from ${file}, because it belongs to the user 12345` })
  chownSync(file, 0, 0)
  chownSync(folder, 12345, 12345)
  await t.rejects(mustBeTrusted(file), { message: `no code from ${folder}` })
})

test('a link is followed, and its target must be trusted as well', async (t) => {
  const { folder, file } = codeIn(t)
  const link = join(folder, 'link.ts')
  symlinkSync('lamp.ts', link)
  await mustBeTrusted(link)
  chmodSync(file, 0o666)
  await t.rejects(mustBeTrusted(link), { code: 'config', message: file })
  const loop = join(folder, 'loop.ts')
  symlinkSync('loop.ts', loop)
  await t.rejects(mustBeTrusted(loop), { code: 'config', message: 'more than 40 links' })
})

test('a missing file is named', async (t) => {
  const { folder } = codeIn(t)
  await t.rejects(mustBeTrusted(join(folder, 'none.ts')), { code: 'not_found', message: /none\.ts cannot be read/ })
})

test('under systemd only root may own code', (t) => {
  t.same(codeOwners({ NOTIFY_SOCKET: '/run/notify' }), [0])
  t.same(codeOwners({}), [0, us])
  t.end()
})
