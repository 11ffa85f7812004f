// The common part of the scenarios with a backup: it is put back over another state.
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { load } from './shared.mjs'

const { makeBackup } = await load('src/care/backup.js')
const { openBackup, planOf, restore } = await load('src/care/restore.js')
const { kindOf } = await load('src/care/backup_files.js')
const { finishTransaction } = await load('src/kit/file_transaction.js')
const { treeOf } = await load('src/kit/tree.js')

const names = ['teachpoints.json', 'workflows.json', 'records.jsonl', ...[1, 2, 3, 4].map((n) => `executions/${n}.jsonl`)]
const textOf = (state, name) => `${state} ${name} `.repeat(300)

function fill(folder, state, more) {
  for (const name of [...names, more]) {
    mkdirSync(dirname(`${folder}/${name}`), { recursive: true })
    writeFileSync(`${folder}/${name}`, textOf(state, name))
  }
}

async function isOf(folder, state, more) {
  const { files } = await treeOf(folder, (name) => kindOf(name) !== undefined)
  const wanted = [...names, more].sort()
  return (
    files.map(({ name }) => name).join() === wanted.join() &&
    wanted.every((name) => readFileSync(`${folder}/${name}`, 'utf8') === textOf(state, name))
  )
}

/** `spoil` is called before the backup is put back. */
export const restoring = (spoil = () => {}) => ({
  async prepare(directory) {
    fill(`${directory}/state`, 'old', 'durations.json')
    fill(`${directory}/other`, 'new', 'executions/5.jsonl')
    const sources = { data_dir: `${directory}/other`, config: undefined, topologies: undefined, version: '1', system_id: 'system' }
    await makeBackup(sources, { with_keys: true, with_events: true }, { path: `${directory}/it.tar.gz`, at: new Date() })
  },

  async write(directory, acknowledge) {
    await spoil()
    const opened = await openBackup(`${directory}/it.tar.gz`)
    const plan = await planOf(opened, `${directory}/state`, { all: true, keys: true })
    await restore(opened, `${directory}/state`, plan, new Date())
    await opened.archive.close()
    await acknowledge('restored')
  },

  async check(directory, acknowledged) {
    const state = `${directory}/state`
    await finishTransaction(state)
    const isNew = await isOf(state, 'new', 'executions/5.jsonl')
    assert.ok(isNew || (await isOf(state, 'old', 'durations.json')), 'the state is half of the one and half of the other')
    assert.ok(isNew || acknowledged.length === 0, 'a restore that was acknowledged is lost')
  },
})
