import { existsSync } from 'node:fs'
import { bench, median, percentile, type Row } from './bench.ts'
import { startChild } from './child.ts'
import { unitFlags } from './events/unit.ts'
import type { Restarted } from './workflow/restart.ts'
import type { Asked, Done, Moved } from './workflow/runs.ts'

/** The number of instruments at work at once. */
const lanes = 50
/** The number of events written and shown at once. */
const burst = 500
/** The bytes of an event in the log. */
const usualEvent = 700
/** A pause takes a tenth of a second, and one turn that the computer holds up is its longest: the median of so many pauses counts. */
const pauses = 5
/** A folder of Linux that is no disk. */
const inMemory = '/dev/shm'

/**
 * Each thread does ten methods on time that jumps. The same run with its state on the card and without takes turns, each time in a process of its
 * own.
 */
export const runState = bench({
  name: 'run-state',
  summary: 'the cost of the state of runs on the card, by the number of their labware threads',
  limit: 'without it',
  // The whole aim: `--threads 100,1000,5000 --events 10000000`.
  options: { threads: '100,1000', rounds: 2, events: 200_000, profile: '' },
  async run({ threads, rounds, events, profile }) {
    // The CPU is measured, and not how long a disk takes.
    if (existsSync(inMemory)) process.env.TMPDIR = inMemory
    const rows: Row[] = []
    const costs: number[] = []
    for (const count of threads.split(',').map(Number)) {
      const [its, cost] = await rowsOfRun(count, rounds, profile)
      rows.push(...its)
      costs.push(cost)
    }
    const [least, most] = [Math.min(...costs), Math.max(...costs)]
    const flat = { what: 'most over least', unit: 'us/event', value: most, limit: least, ratio: most / least }
    rows.push({ ...flat, target: { of: 'ratio', most: 1.3 } })
    const largest = Math.max(...threads.split(',').map(Number))
    return [...rows, ...(await rowsOfPause(largest)), ...(await rowsOfMoves()), ...(await rowsOfRestart(largest, events))]
  },
})

async function rowsOfRun(threads: number, rounds: number, profile: string): Promise<[Row[], number]> {
  const done = { with: [] as Done[], without: [] as Done[] }
  for (let i = 0; i < rounds; i++) {
    done.without.push(await once('full', { do: 'run', groups: threads / lanes }, profile))
    done.with.push(await once('states', { do: 'run', groups: threads / lanes }, profile))
  }
  const perEvent = (some: readonly Done[]) => Math.min(...some.map(({ cpu_us, events }) => cpu_us / events))
  const [value, limit] = [perEvent(done.with), perEvent(done.without)]
  const row = { what: `${threads} threads: CPU`, unit: 'us/event', value, limit, ratio: value / limit }
  const lag = (name: 'p50' | 'p99' | 'max', what: string): Row => {
    const of = (some: readonly Done[]) => median(some.map(({ lag_ms }) => lag_ms[name]))
    const its = { what: `${threads} threads: ${what}`, unit: 'ms', value: of(done.with), limit: of(done.without) }
    return { ...its, ratio: its.value / its.limit, target: { of: 'ratio', most: 1.5, wall: true } }
  }
  const least = await leastOf(done.with[0]!)
  const lost = Math.max(...done.with.map(({ events, logged }) => events - logged))
  return [
    [
      { ...row, target: { of: 'ratio', most: 1.4 } },
      {
        what: 'with a program that only writes such transactions',
        unit: 'us/event',
        value: limit + least,
        limit,
        ratio: 1 + least / limit,
      },
      lag('p50', 'a stop waits, p50'),
      lag('p99', 'a stop waits, p99'),
      lag('max', 'longest turn of the event loop'),
      { what: 'events not in the log', unit: '', value: lost, target: { of: 'value', most: 0 } },
    ],
    value,
  ]
}

/** The CPU of the least program that writes the transactions of a run, with as many events, in us for each event. */
async function leastOf({ events, states: { transactions, values, characters } }: Done): Promise<number> {
  const child = await startChild('./workflow/runs.js', { args: [String(lanes), 'full'], flags: unitFlags })
  const asked = (times: number): Asked => ({
    ...{ do: 'least', transactions: times, values: Math.round(values / transactions), characters: Math.round(characters / values) },
    event_bytes: Math.round(events / transactions) * usualEvent,
  })
  try {
    await child.ask<Done>(asked(500))
    return (await child.ask<Done>(asked(transactions))).cpu_us / events
  } finally {
    await child.end()
  }
}

async function rowsOfPause(threads: number): Promise<Row[]> {
  const asked: Asked = { do: 'pause', groups: threads / lanes }
  const longest = { full: [] as number[], states: [] as number[] }
  for (let i = 0; i < pauses; i++) {
    longest.full.push((await once('full', asked)).lag_ms.max)
    longest.states.push((await once('states', asked)).lag_ms.max)
  }
  const [limit, value] = [median(longest.full), median(longest.states)]
  const what = `${threads} threads are paused: longest turn of the event loop`
  return [{ what, unit: 'ms', value, limit, ratio: value / limit, target: { of: 'ratio', most: 1.5, wall: true } }]
}

/** A run in LIVE beside others in PURE_SIM, which make events as fast as they can: before each move its state and its events are synced. */
async function rowsOfMoves(): Promise<Row[]> {
  const child = await startChild('./workflow/runs.js', { args: [String(lanes), 'full'], flags: unitFlags })
  try {
    await child.ask<Done>({ do: 'run', groups: 1 })
    const alone = await child.ask<Moved>({ do: 'move', groups: 0 })
    const beside = await child.ask<Moved>({ do: 'move', groups: 20 })
    const what = 'a move in LIVE beside a flood of PURE_SIM'
    return [
      { what: `${what} waits for its transaction, p50`, unit: 'ms', value: median(beside.ms), limit: median(alone.ms) },
      { what: 'p99', unit: 'ms', value: percentile(beside.ms, 0.99), limit: percentile(alone.ms, 0.99) },
      {
        ...{ what: 'bursts of events written meanwhile, p99', unit: '', value: percentile(beside.events, 0.99) / burst },
        target: { of: 'value', most: 2.2 },
      },
    ]
  } finally {
    await child.end()
  }
}

async function rowsOfRestart(threads: number, events: number): Promise<Row[]> {
  const child = await startChild('./workflow/restart.js', { flags: unitFlags })
  try {
    const { with_ms, without_ms, parse_ms, change_us, stringify_us } = await child.ask<Restarted>({ threads, events })
    const most = without_ms + 3 * parse_ms
    const what = `start with ${threads} open threads, ${events} events in the log`
    return [
      { what, unit: 'ms', value: with_ms, limit: most, ratio: with_ms / most, target: { of: 'ratio', most: 1, wall: true } },
      { what: 'without them', unit: 'ms', value: without_ms },
      { what: 'JSON.parse of their state', unit: 'ms', value: parse_ms },
      {
        ...{ what: 'the state of one changed thread beside JSON.stringify', unit: 'us', value: change_us, limit: stringify_us },
        ...{ ratio: change_us / stringify_us, target: { of: 'ratio' as const, most: 2.5 } },
      },
    ]
  } finally {
    await child.end()
  }
}

async function once(how: 'full' | 'states', asked: Asked, profile = ''): Promise<Done> {
  const child = await startChild('./workflow/runs.js', { args: [String(lanes), how], flags: unitFlags, profile })
  try {
    // V8 compiles what both do, as far as it will: a run of 100 threads ends before that, and would be dear beside one of 5,000.
    await child.ask<Done>({ do: 'run', groups: 500 / lanes })
    return await child.ask<Done>(asked)
  } finally {
    await child.end()
  }
}
