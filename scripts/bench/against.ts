// Another commit beside this one in one run: `npm run bench -- http-get --against COMMIT`.

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { median, type Row } from './bench.ts'
import { type Column, figure, laidOut } from './table.ts'

const top = fileURLToPath(new URL('../../..', import.meta.url))

export type Compared = { what: string; unit: string; here: number; there: number; ratio: number }

/** The benchmarks of another commit, built in a folder of its own with the packages that are installed here. `end` removes the folder. */
export type Other = { run(words: readonly string[]): Promise<Row[]>; end(): void }

/** Throws when git does not know the commit, or it cannot be built. */
export function buildOther(commit: string): Other {
  const folder = mkdtempSync(`${tmpdir()}/benchd-against-`)
  const git = (...words: string[]) => execFileSync('git', words, { cwd: top, stdio: ['ignore', 'ignore', 'inherit'] })
  const end = () => {
    rmSync(folder, { recursive: true, force: true })
    git('worktree', 'prune')
  }
  try {
    git('worktree', 'add', '--detach', '--force', folder, commit)
    symlinkSync(`${top}/node_modules`, `${folder}/node_modules`)
    const build = existsSync(`${folder}/scripts/build.mjs`) ? [process.execPath, 'scripts/build.mjs'] : ['npm', 'run', '--silent', 'build']
    execFileSync(build[0]!, build.slice(1), { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
  } catch (error) {
    end()
    throw new Error(`the commit ${commit} cannot be built: ${(error as Error).message}`, { cause: error })
  }
  return { run: (words) => rowsOf(folder, words), end }
}

/** The rows that `npm run bench` of a checkout prints for these words. Rejects when it fails, as where the benchmark is not there yet. */
export async function rowsOf(folder: string, words: readonly string[]): Promise<Row[]> {
  const child = spawn(process.execPath, ['dist/scripts/bench/main.js', ...words], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
  const [said] = await Promise.all([text(child.stdout), once(child, 'exit')])
  const line = said.split('\n').find((one) => one.startsWith('{"bench":'))
  if (!line) throw new Error(`it printed no figures: ${said.trim().split('\n').at(-1) || 'nothing at all'}`)
  return (JSON.parse(line) as { rows: Row[] }).rows
}

/** Takes turns, `rounds` times each, so that what else the machine does meets both; each figure is the median. */
export async function compare(other: Other, words: readonly string[], rounds: number): Promise<Compared[]> {
  const here: Row[][] = []
  const there: Row[][] = []
  for (let i = 0; i < rounds; i++) {
    there.push(await other.run(words))
    here.push(await rowsOf(top, words))
  }
  return here[0]!.flatMap(({ what, unit }) => {
    const values = (runs: Row[][]) => runs.flatMap((rows) => rows.filter((row) => row.what === what).map(({ value }) => value))
    const [ours, theirs] = [median(values(here)), median(values(there))]
    return values(there).length === 0 ? [] : [{ what, unit, here: ours, there: theirs, ratio: ours / theirs }]
  })
}

const columns: readonly Column<Compared>[] = [
  { title: '', of: ({ what }) => what },
  { title: 'here', of: ({ here }) => figure(here), isFigure: true },
  { title: 'unit', of: ({ unit }) => unit },
  { title: 'there', of: ({ there }) => figure(there), isFigure: true },
  { title: 'ratio', of: ({ ratio }) => `${ratio.toFixed(2)} x`, isFigure: true },
]

export function comparedTable(rows: readonly Compared[]): string {
  return laidOut(columns, rows)
}
