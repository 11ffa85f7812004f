// Files that are attached to runs: in a backup only on request, and put back with their run.

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { test } from 'tap'
import { makeBackup } from './backup.ts'
import { openBackup, planOf, restore } from './restore.ts'

const content = 'well,absorbance\nA1,0.25\n'
const sha256 = createHash('sha256').update(content).digest('hex')
const id = '00000000-0000-4000-8000-000000000001'
const at = new Date('2026-11-20T17:15:30Z')

test('attached files are in a backup only on request, and a restore without them keeps those that are there', async (t) => {
  const run = { 'record.jsonl': 'r', files: { [sha256]: content, 'half-1.tmp': 'h' } }
  const folder = t.testdir({ data: { 'records.jsonl': 'then', executions: { [id]: run } }, here: {} })
  const sources = { data_dir: `${folder}/data`, config: undefined, topologies: undefined, version: '1.2.3', system_id: 'system' }
  const name = `state/executions/${id}/files/${sha256}`
  for (const with_files of [false, true]) {
    const path = `${folder}/${with_files}.tar.gz`
    const made = await makeBackup(sources, { with_keys: false, with_events: false, with_files }, { path, at })
    t.equal(
      made.files.some((file) => file.name === name),
      with_files,
    )
    t.notOk(made.files.some((file) => file.name.includes('half')))
    t.equal('with_files' in made, with_files, 'an older version reads a backup without files')
    const opened = await openBackup(path)
    const plan = await planOf(opened, `${folder}/here`, { all: true, keys: false })
    await restore(opened, `${folder}/here`, plan, at)
    await opened.archive.close()
    t.equal(existsSync(`${folder}/here/executions/${id}/files/${sha256}`), with_files)
  }
  t.equal(readFileSync(`${folder}/here/executions/${id}/files/${sha256}`, 'utf8'), content)
  const opened = await openBackup(`${folder}/false.tar.gz`)
  rmSync(`${folder}/here/executions/${id}/record.jsonl`)
  await restore(opened, `${folder}/here`, await planOf(opened, `${folder}/here`, { all: true, keys: false }), at)
  await opened.archive.close()
  t.equal(readFileSync(`${folder}/here/executions/${id}/files/${sha256}`, 'utf8'), content, 'a backup without files takes none away')
})

test('a file that is attached while a backup is made is in it with its row', async (t) => {
  const folder = t.testdir({ data: { executions: { [id]: { 'record.jsonl': 'r' } } }, here: {} })
  const run = `${folder}/data/executions/${id}`
  let listings = 0
  const sources = {
    get data_dir() {
      // The state, then the records of runs, then what lies beside them.
      if (++listings === 3) {
        mkdirSync(`${run}/files`)
        writeFileSync(`${run}/files/${sha256}`, content)
        writeFileSync(`${run}/files/by hand`, 'no file of benchd')
      }
      return `${folder}/data`
    },
    ...{ config: undefined, topologies: undefined, version: '1.2.3', system_id: 'system' },
  }
  const wanted = { with_keys: false, with_events: false, with_files: true }
  const made = await makeBackup(sources, wanted, { path: `${folder}/it.tar.gz`, at })
  const names = made.files.map(({ name }) => name.replace(`state/executions/${id}/`, ''))
  t.same(names, ['record.jsonl', `files/${sha256}`])
  t.match(made.left_out, [/by hand/])
})
