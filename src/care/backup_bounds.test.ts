// The bounds of a backup: long values and attached files beyond them are left out by name, and the rest is packed and restored.

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { test } from 'tap'
import { treeOf } from '../kit/tree.ts'
import { makeBackup } from './backup.ts'
import { mostFiles, mostOfRuns } from './backup_files.ts'
import { openBackup, planOf, restore } from './restore.ts'

const at = new Date('2026-11-20T17:15:30Z')
const wanted = { with_keys: false, with_events: false, with_files: true }
const runs = [1, 2, 3].map((number) => `00000000-0000-4000-8000-00000000000${number}`)
const contents = [1, 2, 3, 4].map((number) => `[${number}]`)
const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')

/** Makes runs with four long values and four files each. */
function dataFolder(folder: string): string {
  for (const id of runs) {
    mkdirSync(`${folder}/data/executions/${id}/files`, { recursive: true })
    writeFileSync(`${folder}/data/executions/${id}/record.jsonl`, `record of ${id}`)
    for (const text of contents)
      for (const below of ['', 'files/']) writeFileSync(`${folder}/data/executions/${id}/${below}${hashOf(text)}`, text)
  }
  return `${folder}/data`
}

test('beyond the bounds long values and files of runs are left out by name, and all else is restored', async (t) => {
  const folder = t.testdir({ here: {} })
  const most = { value: 10, file: 7 }
  const sources = { data_dir: dataFolder(folder), config: undefined, topologies: undefined, version: '1.2.3', system_id: 'system', most }
  const path = `${folder}/it.tar.gz`
  const { files, left_out } = await makeBackup(sources, wanted, { path, at })
  const count = (pattern: RegExp) => files.filter(({ name }) => pattern.test(name)).length
  t.same([count(/record\.jsonl$/), count(/\d\/[0-9a-f]{64}$/), count(/\/files\/[0-9a-f]{64}$/)], [3, 10, 7])
  const named = (pattern: RegExp) => left_out.filter((sentence) => pattern.test(sentence)).length
  t.equal(named(/^state\/executions\/[^/]+\/[0-9a-f]{64}: there are more than 10 long values of runs; delete runs/), 2)
  t.equal(named(/^state\/executions\/[^/]+\/files\/[0-9a-f]{64}: there are more than 7 files of runs; delete runs/), 5)
  t.equal(left_out.length, 7)

  const opened = await openBackup(path)
  t.same(opened.manifest.left_out, left_out)
  const plan = await planOf(opened, `${folder}/here`, { all: true, keys: false })
  await restore(opened, `${folder}/here`, plan, at)
  const here = (await treeOf(`${folder}/here`)).files.map(({ name }) => `state/${name}`)
  t.same(
    files.map(({ name }) => name).filter((name) => !here.includes(name)),
    [],
  )
  t.equal(readFileSync(`${folder}/here/executions/${runs[0]}/${hashOf('[1]')}`, 'utf8'), '[1]')
  // A second look finds each as it was packed.
  t.same(
    (await planOf(opened, `${folder}/here`, { all: true, keys: false })).filter(({ change }) => change !== 'the same'),
    [],
  )
  await opened.archive.close()
  t.ok(existsSync(path))
})

test('at the bounds no reason remains, and a thousand runs with a hundred long values each are within them', async (t) => {
  const folder = t.testdir({})
  const most = { value: 12, file: 12 }
  const sources = { data_dir: dataFolder(folder), config: undefined, topologies: undefined, version: '1.2.3', system_id: 'system', most }
  const { left_out } = await makeBackup(sources, wanted, { path: `${folder}/it.tar.gz`, at })
  t.same(left_out, [])
  t.ok(mostOfRuns.value >= 1000 * 100)
  t.ok(mostFiles > mostOfRuns.value + mostOfRuns.file + 2 * 1000)
})
