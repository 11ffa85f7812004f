// `npm run bench`: each benchmark's short form. `npm run bench -- http-get --seconds 10`: one of them, with options.
// Prints a table and a line of JSON for each, and exits 1 when a target is missed that does not hang on the wall clock.

import { parseArgs } from 'node:util'
import { attacksBench } from './attacks.ts'
import { type Bench, meets, type Options } from './bench.ts'
import { commands } from './commands.ts'
import { estop, estopDrivers } from './estop.ts'
import { eventCost } from './event_cost.ts'
import { eventFull } from './event_full.ts'
import { footprint } from './footprint.ts'
import { httpGet } from './http_get.ts'
import { httpPost } from './http_post.ts'
import { journal } from './journal.ts'
import { logAppend } from './log_append.ts'
import { logSince } from './log_since.ts'
import { logStart } from './log_start.ts'
import { runtimeThreads } from './runtime_threads.ts'
import { sdCard } from './sd_card.ts'
import { serial } from './serial.ts'
import { smc } from './smc.ts'
import { soak } from './soak.ts'
import { sseFanout } from './sse_fanout.ts'
import { sseIdle } from './sse_idle.ts'
import { sseSlow } from './sse_slow.ts'
import { start } from './start.ts'
import { table } from './table.ts'

const benches: readonly Bench[] = [
  httpGet,
  httpPost,
  eventCost,
  eventFull,
  sseFanout,
  sseSlow,
  sseIdle,
  logAppend,
  logSince,
  logStart,
  estop,
  estopDrivers,
  attacksBench,
  serial,
  runtimeThreads,
  journal,
  smc,
  start,
  commands,
  footprint,
  sdCard,
  soak,
]

const { chosen, given } = commandLine(process.argv.slice(2))
for (const bench of chosen) {
  console.log(`\n${bench.name}: ${bench.summary}`)
  try {
    await show(bench, optionsOf(bench.options, given))
  } catch (error) {
    console.log(`failed: ${(error as Error).message}`)
    process.exitCode = 1
  }
}

async function show({ name, limit, run }: Bench, options: Options): Promise<void> {
  const rows = await run(options)
  console.log(table(rows, limit))
  console.log(JSON.stringify({ bench: name, node: process.version, options, limit, rows }))
  if (rows.some((row) => meets(row) === false && !row.target?.wall)) process.exitCode = 1
}

function commandLine(args: string[]): { chosen: readonly Bench[]; given: Record<string, string | undefined> } {
  try {
    const known = Object.fromEntries(
      benches.flatMap(({ options }) => Object.keys(options)).map((name) => [name, { type: 'string' as const }]),
    )
    const { values, positionals } = parseArgs({ args, options: known, allowPositionals: true })
    const chosen = positionals.length ? positionals.map(named) : benches
    for (const option of Object.keys(values)) {
      if (!chosen.some(({ options }) => option in options)) throw new Error(`--${option} is not for ${positionals.join(', ')}`)
    }
    return { chosen, given: values as Record<string, string | undefined> }
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
  return ['Usage: npm run bench -- [BENCH…] [OPTIONS]', '', ...lines].join('\n')
}
