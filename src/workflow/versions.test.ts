import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import type { Document, VersionInfo } from './version.ts'
import { Versions } from './versions.ts'

const ann = { by: 'tablet', operator: 'Ann' }

function workflow(speed: number, more: Partial<Document> = {}): Document {
  const document = { name: 'mix', speed }
  return { of: 'workflow', name: 'mix', form: 'json', hash: `hash ${speed}`, source: 'api', document, ...more }
}

async function put(versions: Versions, document: Document, author: Parameters<Versions['prepare']>[1] = ann): Promise<void> {
  const { keep } = await versions.prepare(document, author)
  await keep()
}

const numbers = (list: readonly VersionInfo[]) => list.map(({ version }) => version)
const documentsIn = (folder: string) => readdirSync(`${folder}/versions`)
const failing =
  (t: Test) =>
  ({ message }: { message: string }) =>
    t.fail(message)

test('keeps who put which document when, over a restart; the same content is no new version', async (t) => {
  const folder = t.testdir({})
  const versions = await Versions.open({ folder, report: failing(t), now: () => 1000 })
  await put(versions, workflow(400), { ...ann, note: 'as agreed' })
  await put(versions, workflow(400), { by: 'another' })
  await put(versions, workflow(401, { hash: 'hash 400' }))
  await put(versions, workflow(600))
  await put(versions, workflow(400))
  await versions.close()
  const again = await Versions.open({ folder, report: failing(t) })
  const list = again.list('workflow', 'mix')
  t.same(numbers(list), [3, 2, 1], 'neither the same text nor the same meaning is a version')
  t.match(list[2], { at: 1000, by: 'tablet', operator: 'Ann', note: 'as agreed', source: 'api', form: 'json', hash: 'hash 400' })
  t.match((await again.read('workflow', 'mix', 2)).kept, { document: { speed: 600 } })
  t.equal(documentsIn(folder).length, 2, 'equal documents lie there once')
  t.equal(again.find('workflow', 'mix', 'hash 400'), 3)
  await t.rejects(again.read('workflow', 'mix', 7), { code: 'not_found', message: /has no version 7/ })
  await again.close()
})

test('a deletion ends no history: the numbers go on', async (t) => {
  const folder = t.testdir({})
  const versions = await Versions.open({ folder, report: failing(t) })
  await put(versions, workflow(400))
  await versions.deleted('workflow', 'mix', ann)
  t.match(versions.list('workflow', 'mix')[0], { version: 1, deleted: { by: 'tablet', operator: 'Ann' } })
  await put(versions, workflow(400))
  await versions.close()
  const again = await Versions.open({ folder, report: failing(t) })
  t.same(numbers(again.list('workflow', 'mix')), [2, 1])
  t.match(again.list('workflow', 'mix')[1], { deleted: { by: 'tablet' } })
  await again.close()
})

test('versions are bounded, and those that are named stay, also when all are too large', async (t) => {
  const folder = t.testdir({})
  const named: { of: 'workflow'; name: string; version: number }[] = []
  const options = { folder, report: failing(t), named: () => named }
  const versions = await Versions.open({ ...options, most: { ofName: 10 } })
  for (let speed = 1; speed <= 400; speed++) {
    await put(versions, workflow(speed))
    if ([1, 2, 200].includes(speed)) named.push({ of: 'workflow', name: 'mix', version: speed })
  }
  t.same(numbers(versions.list('workflow', 'mix')), [400, 399, 398, 397, 396, 395, 394, 393, 392, 391, 200, 2, 1])
  t.equal(documentsIn(folder).length, 13)
  await versions.close()
  const small = await Versions.open({ ...options, most: { bytes: 1 } })
  await put(small, workflow(2000, { name: 'other' }))
  t.same(numbers(small.list('workflow', 'mix')), [400, 200, 2, 1], 'the newest of each name stays')
  for (const { version } of [...small.list('workflow', 'mix'), { version: 400 }]) await small.read('workflow', 'mix', version)
  await small.close()
  const again = await Versions.open({ folder, report: failing(t) })
  t.same(numbers(again.list('workflow', 'mix')), [400, 200, 2, 1])
  t.equal(documentsIn(folder).length, 5)
  await again.close()
})

test('a document that is put again while its last version is pruned stays', async (t) => {
  const folder = t.testdir({})
  const versions = await Versions.open({ folder, report: failing(t), most: { ofName: 1 } })
  await put(versions, workflow(1))
  const coming = await versions.prepare(workflow(1, { name: 'other' }), ann)
  await put(versions, workflow(2))
  await coming.keep()
  t.match((await versions.read('workflow', 'other', 1)).kept, { document: { speed: 1 } })
  await versions.close()
})

test('of a TypeScript file a version is its text and what it imports; another program version that compiles it otherwise makes none', async (t) => {
  const folder = t.testdir({})
  const versions = await Versions.open({ folder, report: failing(t) })
  const file = (text: string, helpers: Record<string, string>, hash: string) =>
    workflow(1, { form: 'typescript', source: 'file', file: 'mix.ts', text, helpers, hash })
  await versions.takeAll([file('a', {}, 'h1')])
  await versions.takeAll([file('a', {}, 'h2')])
  t.same(numbers(versions.list('workflow', 'mix')), [1])
  t.equal(versions.find('workflow', 'mix', 'h2'), 1)
  await versions.takeAll([file('a', { 'lib/x.ts': '00' }, 'h2')])
  await versions.takeAll([file('b', { 'lib/x.ts': '00' }, 'h2')])
  t.match(versions.list('workflow', 'mix'), [{ version: 3, file: 'mix.ts', source: 'file', by: null }, { version: 2 }, { version: 1 }])
  t.match((await versions.read('workflow', 'mix', 3)).kept, { text: 'b', helpers: { 'lib/x.ts': '00' } })
  await versions.close()
})

test('a kill between document and list leaves no version without a document, and no document for ever', async (t) => {
  const folder = t.testdir({})
  const versions = await Versions.open({ folder, report: failing(t) })
  await put(versions, workflow(1))
  await versions.prepare(workflow(2), ann)
  writeFileSync(`${folder}/versions/${'a'.repeat(64)}.1.tmp`, 'half')
  t.equal(documentsIn(folder).length, 3)
  await versions.close()
  const again = await Versions.open({ folder, report: failing(t) })
  t.same(numbers(again.list('workflow', 'mix')), [1])
  t.equal(documentsIn(folder).length, 1)
  await again.close()
})

test('a damaged list is reported, removes no document, and the numbers go on behind those that records name', async (t) => {
  const folder = t.testdir({})
  const versions = await Versions.open({ folder, report: failing(t) })
  for (const speed of [1, 2, 3]) await put(versions, workflow(speed))
  await versions.close()
  writeFileSync(`${folder}/versions.jsonl`, 'not it')
  const reports: string[] = []
  const named = () => [{ of: 'workflow' as const, name: 'mix', version: 3 }]
  const again = await Versions.open({ folder, report: ({ message }) => reports.push(message), named })
  t.match(reports, [/versions.jsonl is damaged/])
  t.equal(documentsIn(folder).length, 3)
  await again.takeAll([workflow(3)])
  t.same(numbers(again.list('workflow', 'mix')), [4])
  await again.close()
})

test('a document that is lost or damaged is said to be, and putting it again mends it', async (t) => {
  const folder = t.testdir({})
  const versions = await Versions.open({ folder, report: failing(t) })
  await put(versions, workflow(1))
  await put(versions, workflow(2))
  const [one = '', other = ''] = documentsIn(folder)
  rmSync(`${folder}/versions/${one}`)
  writeFileSync(`${folder}/versions/${other}`, '{}')
  for (const version of [1, 2]) await t.rejects(versions.read('workflow', 'mix', version), { code: 'not_found', message: /lost.*backup/ })
  await put(versions, workflow(1))
  t.match((await versions.read('workflow', 'mix', 1)).kept, { document: { speed: 1 } })
  await versions.close()
})

test('a disk that refuses a document refuses the change; one that refuses the list is reported, and the next change writes both', async (t) => {
  const folder = t.testdir({ versions: 'a file where the folder should be' })
  const reports: string[] = []
  const versions = await Versions.open({ folder, report: ({ message }) => reports.push(message) })
  await t.rejects(versions.prepare(workflow(1), ann), { code: 'storage' })
  rmSync(`${folder}/versions`)
  reports.length = 0
  const { keep } = await versions.prepare(workflow(1), ann)
  await keep()
  rmSync(`${folder}/versions.jsonl`)
  await put(versions, workflow(2))
  t.ok(reports.length <= 1)
  await put(versions, workflow(3))
  t.ok(existsSync(`${folder}/versions.jsonl`))
  await versions.close()
  const again = await Versions.open({ folder, report: failing(t) })
  t.same(numbers(again.list('workflow', 'mix')), [3, 2, 1])
  await again.close()
})
