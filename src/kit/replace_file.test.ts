import { chmodSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { test } from 'tap'
import { replaceFile } from './replace_file.ts'

const now = new Date('2026-11-20T09:12:45Z')

test('the new text is there with the rights of the old one, and the old one beside it', async (t) => {
  const folder = t.testdir({ 'config.json': 'old' })
  const path = `${folder}/config.json`
  chmodSync(path, 0o640)
  t.equal(await replaceFile(path, 'new', { before: 'old', now }), `${path}.2026-11-20T091245`)
  t.equal(await replaceFile(path, 'newer', { before: 'new', now }), `${path}.2026-11-20T091245-2`)
  t.same(readdirSync(folder), ['config.json', 'config.json.2026-11-20T091245', 'config.json.2026-11-20T091245-2'])
  t.same(
    readdirSync(folder).map((name) => readFileSync(`${folder}/${name}`, 'utf8')),
    ['newer', 'old', 'new'],
  )
  t.equal(statSync(path).mode & 0o777, 0o640)
})

test('what somebody has changed meanwhile is not overwritten', async (t) => {
  const folder = t.testdir({ 'config.json': 'theirs' })
  await t.rejects(replaceFile(`${folder}/config.json`, 'mine', { before: 'old' }), { code: 'conflict' })
  t.same(readdirSync(folder), ['config.json'])
  t.equal(readFileSync(`${folder}/config.json`, 'utf8'), 'theirs')
})

test('of many who change it at once one does, and the others are told', async (t) => {
  const folder = t.testdir({ 'config.json': 'old' })
  const all = await Promise.allSettled(
    Array.from({ length: 6 }, (_, i) => replaceFile(`${folder}/config.json`, `new ${i}`, { before: 'old' })),
  )
  const refused = all.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : []))
  t.same(refused, Array(5).fill('conflict'))
  t.equal(readdirSync(folder).length, 2)
})

test('bytes that are no text are kept as they are', async (t) => {
  const folder = t.testdir({ 'picture.png': Buffer.from([0xff, 0x00, 0xfe]) })
  const path = `${folder}/picture.png`
  await t.rejects(replaceFile(path, 'new', { before: Buffer.from([0xfe, 0x00, 0xfe]) }), { code: 'conflict' })
  await replaceFile(path, Buffer.from([0x80, 0xff]), { before: Buffer.from([0xff, 0x00, 0xfe]) })
  t.same(readFileSync(path), Buffer.from([0x80, 0xff]))
})

test('a link stays a link', async (t) => {
  const folder = t.testdir({ etc: {}, kept: { 'config.json': 'old' } })
  symlinkSync('../kept/config.json', `${folder}/etc/config.json`)
  await replaceFile(`${folder}/etc/config.json`, 'new', { before: 'old', now })
  t.same(readdirSync(`${folder}/etc`), ['config.json'])
  t.equal(readFileSync(`${folder}/kept/config.json`, 'utf8'), 'new')
})

test('where it cannot be written nothing has changed', async (t) => {
  await t.rejects(replaceFile('/proc/version', 'new', { before: readFileSync('/proc/version', 'utf8') }), { code: /storage|forbidden/ })
  const folder = t.testdir({ 'config.json': 'old' })
  writeFileSync(`${folder}/config.json.${process.pid}.tmp`, 'of somebody')
  await t.rejects(replaceFile(`${folder}/config.json`, 'new', { before: 'old' }), { code: 'storage', message: /nothing has changed/ })
  t.equal(readFileSync(`${folder}/config.json`, 'utf8'), 'old')
})
