// `npm run bench`: each benchmark's short form. `npm run bench -- http-get --seconds 10`: one of them, with options.
// Prints a table and a line of JSON for each, one table of all of them at the end, and exits 1 when a target is missed that does not hang on the
// wall clock.

import { parseArgs } from 'node:util'
import { attacksBench } from './attacks.ts'
import { type Bench, meets, type Options, type Row } from './bench.ts'
import { bridges } from './bridges.ts'
import { devices } from './devices.ts'
import { estop, estopDrivers } from './estop.ts'
import { estopMoves } from './estop_moves.ts'
import { eventFull } from './event_full.ts'
import { fleet } from './fleet.ts'
import { forecast } from './forecast.ts'
import { httpGet, httpPost } from './http.ts'
import { makespan } from './makespan.ts'
import { mcp } from './mcp.ts'
import { mqttBench } from './mqtt.ts'
import { pageBench } from './page.ts'
import { plugins } from './plugins.ts'
import { queueBench } from './queue.ts'
import { runRecord } from './run_record.ts'
import { runState } from './run_state.ts'
import { runtimeThreads } from './runtime_threads.ts'
import { safety } from './safety.ts'
import { samples } from './samples.ts'
import { sdCard } from './sd_card.ts'
import { smc } from './smc.ts'
import { soak } from './soak.ts'
import { sseFanout } from './sse_fanout.ts'
import { start } from './start.ts'
import { urgent } from './urgent.ts'

const requests: readonly Bench[] = [httpGet, httpPost, eventFull, sseFanout, estop, estopDrivers, estopMoves, fleet, attacksBench]
const benches: readonly Bench[] = [
  ...requests,
  runtimeThreads,
  runState,
  runRecord,
  queueBench,
  smc,
  safety,
  makespan,
  samples,
  urgent,
  forecast,
  bridges,
  plugins,
  mcp,
  mqttBench,
  start,
  devices,
  pageBench,
  sdCard,
  soak,
]

const all: Row[] = []
const chosen = commandLine(process.argv.slice(2))
for (const [{ name, summary, limit = '', run }, options] of chosen) {
  console.log(`\n${name}: ${summary}`)
  try {
    const rows = await run(options)
    show(rows, limit)
    console.log(JSON.stringify({ bench: name, node: process.version, options, limit, rows }))
    if (rows.some((row) => meets(row) === false && !row.target?.wall)) process.exitCode = 1
    all.push(...rows.map((row) => ({ ...row, what: `${name}: ${row.what}` })))
  } catch (error) {
    console.log(`failed: ${(error as Error).message}`)
    process.exitCode = 1
  }
}
if (chosen.length > 1) {
  console.log('\nAll of them, each beside its limit:')
  show(all, 'limit')
}

function show(rows: readonly Row[], limitTitle: string): void {
  const lines = rows.map((row) => {
    const { what, unit, value, limit, ratio, target } = row
    const beside =
      limit === undefined ? {} : { [limitTitle || 'limit']: figure(limit), ...(ratio !== undefined && { ratio: figure(ratio) }) }
    return [what, { value: figure(value), unit, ...beside, ...(target && { target: aim(target), met: meets(row) }) }]
  })
  console.table(Object.fromEntries(lines))
}

function aim({ most, least, of }: NonNullable<Row['target']>): string {
  const bound = most === least ? `= ${most}` : most !== undefined ? `<= ${most}` : `>= ${least}`
  return of === 'ratio' ? `${bound} x` : bound
}

function figure(value: number): number {
  return value >= 1000 ? Math.round(value) : Number(value.toPrecision(3))
}

function commandLine(args: string[]): [Bench, Options][] {
  try {
    const known = benches.flatMap(({ options }) => Object.keys(options)).map((name) => [name, { type: 'string' as const }] as const)
    const { values, positionals } = parseArgs({ args, options: Object.fromEntries(known), allowPositionals: true })
    const chosen = positionals.length ? positionals.map(named) : benches
    for (const option of Object.keys(values)) {
      if (!chosen.some(({ options }) => option in options)) throw new Error(`--${option} is not for ${positionals.join(', ')}`)
    }
    return chosen.map((bench) => [bench, optionsOf(bench, values as Record<string, string | undefined>)])
  } catch (error) {
    const uses = benches.map(({ name, summary, options }) => {
      const its = Object.entries(options).map(([option, value]) => ` [--${option} ${value === '' ? 'TEXT' : value}]`)
      return `  ${name.padEnd(16)}${summary}\n  ${' '.repeat(15)}${its.join('')}`
    })
    console.error(`${(error as Error).message}\n\nUsage: npm run bench -- [BENCH…] [OPTIONS]\n\n${uses.join('\n')}`)
    process.exit(64)
  }
}

function named(name: string): Bench {
  const found = benches.find((bench) => bench.name === name)
  if (!found) throw new Error(`there is no bench ${name}`)
  return found
}

function optionsOf({ options }: Bench, given: Record<string, string | undefined>): Options {
  const chosen = Object.entries(options).map(([name, usual]) => {
    const text = given[name]
    if (text === undefined) return [name, usual]
    if (typeof usual === 'number' && (text.trim() === '' || !Number.isFinite(Number(text))))
      throw new Error(`--${name} ${text} is not a number`)
    return [name, typeof usual === 'number' ? Number(text) : text]
  })
  return Object.fromEntries(chosen)
}
