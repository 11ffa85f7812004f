import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { test } from 'tap'
import { finishTransaction } from '../kit/file_transaction.ts'
import { treeOf } from '../kit/tree.ts'
import { trials } from '../testing/trials.ts'
import { makeBackup } from './backup.ts'
import { kindOf } from './backup_files.ts'

/** The restore is killed before every second call, or before each call with BENCHD_TRIALS=all. */
const step = trials(1, 2)

const program = fileURLToPath(new URL('restore.test.killed.js', import.meta.url))
const files = ['teachpoints.json', 'keys.json', 'executions/one.jsonl']

/** Every file of the folder says which state it is of. */
function write(folder: string, state: string, names: readonly string[]): void {
  for (const name of names) {
    mkdirSync(dirname(`${folder}/${name}`), { recursive: true })
    writeFileSync(`${folder}/${name}`, `${state} ${name}`)
  }
}

async function stateOf(folder: string): Promise<string> {
  const { files } = await treeOf(folder, (name) => kindOf(name) !== undefined)
  return files.map(({ name }) => readFileSync(`${folder}/${name}`, 'utf8')).join('\n')
}

/** Whether it was killed, before its nth call. */
async function killed(n: number, ...words: string[]): Promise<boolean> {
  return promisify(execFile)(process.execPath, [program, String(n), ...words]).then(
    () => false,
    (error: { signal?: string; stderr: string }) => {
      if (error.signal !== 'SIGKILL') throw new Error(error.stderr)
      return true
    },
  )
}

test('a restore that is killed at any point leaves the old state or the new one, and never half', async (t) => {
  const top = t.testdir({})
  const [old, wanted, here, archive] = [`${top}/old`, `${top}/new`, `${top}/here`, `${top}/backup.tar.gz`]
  write(wanted, 'new', [...files, 'executions/added.jsonl'])
  write(old, 'old', [...files, 'durations.json'])
  const sources = { data_dir: wanted, config: undefined, topologies: undefined, version: '1', system_id: 'system' }
  await makeBackup(sources, { with_keys: true, with_events: false }, { path: archive, at: new Date() })
  const states = { old: await stateOf(old), new: await stateOf(wanted) }
  const anew = () => {
    rmSync(here, { recursive: true, force: true })
    cpSync(old, here, { recursive: true })
  }

  const outcomes: string[] = []
  const halves: number[] = []
  for (let n = 1; ; n += step) {
    anew()
    if (!(await killed(n, here, archive))) break
    const seen = await stateOf(here)
    if (seen !== states.old && seen !== states.new) halves.push(n)
    const before = await finishTransaction(here)
    const state = await stateOf(here)
    const outcome = state === states.new ? 'new' : state === states.old ? 'old' : `killed before call ${n}: ${state}`
    outcomes.push(outcome)
    t.notOk(existsSync(`${here}/swap`), `killed before call ${n}`)
    if (outcome === 'new') t.ok(existsSync(`${here}/before-restore-20261120T171530Z`), `killed before call ${n}, then ${before}`)
  }
  t.match(outcomes.join(' '), /^(old )+(new )*new$/, 'from one call on it is decided')
  t.ok(outcomes.length > 30 / step, `${outcomes.length} calls`)
  t.ok(halves.length > 5 / step, 'half of it is on the disk at some points, and is ended')
  t.equal(await stateOf(here), states.new)
  t.equal(readFileSync(`${here}/before-restore-20261120T171530Z/teachpoints.json`, 'utf8'), 'old teachpoints.json')
  t.equal(readFileSync(`${here}/before-restore-20261120T171530Z/durations.json`, 'utf8'), 'old durations.json')

  anew()
  t.ok(await killed(outcomes.indexOf('new') * step + 1, here, archive))
  const decided = `${top}/decided`
  cpSync(here, decided, { recursive: true })
  for (let n = 1; ; n += step) {
    rmSync(here, { recursive: true, force: true })
    cpSync(decided, here, { recursive: true })
    if (!(await killed(n, here))) break
    await finishTransaction(here)
    if ((await stateOf(here)) !== states.new) t.fail(`killed before call ${n} of the end`)
    t.notOk(existsSync(`${here}/swap`))
  }
})
