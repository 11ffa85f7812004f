// `npm run bench`: each benchmark's short form. `npm run bench -- http-get --seconds 10`: one of them, with options.
// Prints a table and a line of JSON for each, one table of all of them at the end, and exits 1 when a target is missed that does not hang on the
// wall clock. With `--against COMMIT` the benchmarks of another commit take turns with those of this one, and the two are printed side by side.

import { parseArgs } from 'node:util'
import { buildOther, compare, comparedTable } from './against.ts'
import { attacksBench } from './attacks.ts'
import { type Bench, meets, type Options, type Row } from './bench.ts'
import { estop, estopDrivers } from './estop.ts'
import { eventFull } from './event_full.ts'
import { fleet } from './fleet.ts'
import { footprint } from './footprint.ts'
import { httpGet } from './http_get.ts'
import { httpPost } from './http_post.ts'
import { page } from './page.ts'
import { runState } from './run_state.ts'
import { runtimeThreads } from './runtime_threads.ts'
import { sdCard } from './sd_card.ts'
import { smc } from './smc.ts'
import { soak } from './soak.ts'
import { sseFanout } from './sse_fanout.ts'
import { start } from './start.ts'
import { table } from './table.ts'

/** How often each of two commits is measured. */
const turns = 3

const benches: readonly Bench[] = [
  httpGet,
  httpPost,
  eventFull,
  sseFanout,
  estop,
  estopDrivers,
  fleet,
  attacksBench,
  runtimeThreads,
  runState,
  smc,
  start,
  page,
  footprint,
  sdCard,
  soak,
]

const { chosen, given, against } = commandLine(process.argv.slice(2))
if (against) await compareWith(against)
else await showAll()

async function showAll(): Promise<void> {
  const all: Row[] = []
  for (const bench of chosen) await each(bench, async () => void all.push(...(await show(bench, optionsOf(bench.options, given)))))
  if (chosen.length > 1) console.log(`\nAll of them, each beside its limit:\n${table(all, 'limit')}`)
}

async function show({ name, limit, run }: Bench, options: Options): Promise<Row[]> {
  const rows = await run(options)
  console.log(table(rows, limit))
  console.log(JSON.stringify({ bench: name, node: process.version, options, limit, rows }))
  if (rows.some((row) => meets(row) === false && !row.target?.wall)) process.exitCode = 1
  return rows.map((row) => ({ ...row, what: `${name}: ${row.what}` }))
}

/** Says what is wrong with one benchmark, and goes on with the next. */
async function each({ name, summary }: Bench, work: () => Promise<void>): Promise<void> {
  console.log(`\n${name}: ${summary}`)
  try {
    await work()
  } catch (error) {
    console.log(`failed: ${(error as Error).message}`)
    process.exitCode = 1
  }
}

async function compareWith(commit: string): Promise<void> {
  const other = buildOther(commit)
  try {
    for (const bench of chosen) {
      const words = [bench.name, ...Object.entries(given).flatMap(([option, text]) => (text === undefined ? [] : [`--${option}`, text]))]
      await each(bench, async () => console.log(comparedTable(await compare(other, words, turns))))
    }
  } finally {
    other.end()
  }
}

function commandLine(args: string[]): { chosen: readonly Bench[]; given: Record<string, string | undefined>; against: string | undefined } {
  try {
    const known = Object.fromEntries(
      benches.flatMap(({ options }) => Object.keys(options)).map((name) => [name, { type: 'string' as const }]),
    )
    const options = { ...known, against: { type: 'string' as const } }
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
    const { against, ...given } = values as Record<string, string | undefined>
    const chosen = positionals.length ? positionals.map(named) : benches
    for (const option of Object.keys(given)) {
      if (!chosen.some(({ options }) => option in options)) throw new Error(`--${option} is not for ${positionals.join(', ')}`)
    }
    return { chosen, given, against }
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage()}`)
    process.exit(64)
  }
}

function named(name: string): Bench {
  const found = benches.find((bench) => bench.name === name)
  if (!found) throw new Error(`there is no bench ${name}`)
  return found
}

function optionsOf(defaults: Options, given: Record<string, string | undefined>): Options {
  return Object.fromEntries(
    Object.entries(defaults).map(([name, value]) => {
      const text = given[name]
      if (text === undefined) return [name, value]
      return [name, typeof value === 'number' ? number(text, name) : text]
    }),
  )
}

function number(text: string, option: string): number {
  const value = Number(text)
  if (text.trim() !== '' && Number.isFinite(value)) return value
  throw new Error(`--${option} ${text} is not a number`)
}

function usage(): string {
  const lines = benches.map(({ name, summary, options }) => {
    const its = Object.entries(options).map(([option, value]) => ` [--${option} ${value === '' ? 'TEXT' : value}]`)
    return `  ${name.padEnd(16)}${summary}\n  ${' '.repeat(15)}${its.join('')}`
  })
  return ['Usage: npm run bench -- [BENCH…] [OPTIONS] [--against COMMIT]', '', ...lines].join('\n')
}
