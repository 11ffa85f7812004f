import { existsSync } from 'node:fs'
import { bench, median, none, percentile, type Row, row } from './bench.ts'
import { startChild } from './child.ts'
import { unitFlags } from './events/unit.ts'
import type { Restarted } from './workflow/restart.ts'
import type { Asked, Done, Moved } from './workflow/runs.ts'

/** The number of instruments at work at once. */
export const lanes = 50
/** The number of events written and shown at once. */
const burst = 500
/** A pause takes a tenth of a second, and one turn that the computer holds up is its longest: the median of so many pauses counts. */
const pauses = 5
/** A folder of Linux that is no disk. */
export const inMemory = '/dev/shm'

/**
 * Each thread does ten methods on time that jumps. The same run with its state on the card and without takes turns, each time in a process of its
 * own.
 */
export const runState = bench({
  name: 'run-state',
  summary: 'the cost of the state of runs on the card, by the number of their labware threads',
  limit: 'without it',
  // The whole aim: `--threads 100,1000,5000 --events 10000000`.
  options: { threads: '100,1000', rounds: 2, events: 200_000 },
  async run({ threads, rounds, events }) {
    // The CPU is measured, and not how long a disk takes.
    if (existsSync(inMemory)) process.env.TMPDIR = inMemory
    const counts = threads.split(',').map(Number)
    const rows: Row[][] = []
    for (const count of counts) rows.push(await rowsOfRun(count, rounds))
    const costs = rows.map(([cpu]) => cpu!.value)
    const [limit, most] = [Math.min(...costs), Math.max(...costs)]
    const flat = row('most over least', 'us/event', most, { limit, target: { of: 'ratio', most: 1.3 } })
    const largest = Math.max(...counts)
    return [...rows.flat(), flat, await rowOfPause(largest), ...(await rowsOfMoves()), ...(await rowsOfRestart(largest, events))]
  },
})

const noLater = { of: 'ratio', most: 1.5, wall: true } as const

/** The CPU is the first of them. */
async function rowsOfRun(threads: number, rounds: number): Promise<Row[]> {
  const asked: Asked = { do: 'run', groups: threads / lanes }
  const [having, lacking]: [Done[], Done[]] = [[], []]
  for (let i = 0; i < rounds; i++) {
    lacking.push(await once('full', asked))
    having.push(await once('states', asked))
  }
  const perEvent = (some: readonly Done[]) => Math.min(...some.map(({ cpu_us, events }) => cpu_us / events))
  const lag = (name: 'p50' | 'p99' | 'max', what: string) => {
    const of = (some: readonly Done[]) => median(some.map(({ lag_ms }) => lag_ms[name]))
    return row(`${threads} threads: ${what}`, 'ms', of(having), { limit: of(lacking), target: noLater })
  }
  return [
    row(`${threads} threads: CPU`, 'us/event', perEvent(having), { limit: perEvent(lacking), target: { of: 'ratio', most: 1.4 } }),
    lag('p50', 'a stop waits, p50'),
    lag('p99', 'a stop waits, p99'),
    lag('max', 'longest turn of the event loop'),
    row(`${threads} threads: events not in the log`, '', Math.max(...having.map(({ events, logged }) => events - logged)), none),
  ]
}

async function rowOfPause(threads: number): Promise<Row> {
  const asked: Asked = { do: 'pause', groups: threads / lanes }
  const longest = { full: [] as number[], states: [] as number[] }
  for (let i = 0; i < pauses; i++) for (const how of ['full', 'states'] as const) longest[how].push((await once(how, asked)).lag_ms.max)
  const what = `${threads} threads are paused: longest turn of the event loop`
  return row(what, 'ms', median(longest.states), { limit: median(longest.full), target: noLater })
}

/** A run in LIVE beside others in PURE_SIM, which make events as fast as they can: before each move its state and its events are synced. */
function rowsOfMoves(): Promise<Row[]> {
  return asking('./workflow/runs.js', 'full', async (ask) => {
    await ask({ do: 'run', groups: 1 })
    const alone = await ask<Moved>({ do: 'move', groups: 0 })
    const beside = await ask<Moved>({ do: 'move', groups: 20 })
    const what = 'a move in LIVE beside a flood of PURE_SIM'
    return [
      row(`${what} waits for its transaction, p50`, 'ms', median(beside.ms), { limit: median(alone.ms) }),
      row(`${what} waits for its transaction, p99`, 'ms', percentile(beside.ms, 0.99), { limit: percentile(alone.ms, 0.99) }),
      row('bursts of events written meanwhile, p99', '', percentile(beside.events, 0.99) / burst, { target: { of: 'value', most: 2.2 } }),
    ]
  })
}

function rowsOfRestart(threads: number, events: number): Promise<Row[]> {
  return asking('./workflow/restart.js', '', async (ask) => {
    const { with_ms, without_ms, parse_ms } = await ask<Restarted>({ threads, events })
    const what = `start with ${threads} open threads, ${events} events in the log`
    return [
      row(what, 'ms', with_ms, { limit: without_ms + 3 * parse_ms, target: { of: 'ratio', most: 1, wall: true } }),
      row('without them', 'ms', without_ms),
      row('JSON.parse of their state', 'ms', parse_ms),
    ]
  })
}

export function once(how: 'full' | 'states' | 'record', asked: Asked): Promise<Done> {
  return asking('./workflow/runs.js', how, async (ask) => {
    // V8 compiles what both do, as far as it will: a run of 100 threads ends before that, and would be dear beside one of 5,000.
    await ask({ do: 'run', groups: 500 / lanes })
    return ask<Done>(asked)
  })
}

type Ask = <Answer = unknown>(question: object) => Promise<Answer>

/** Asks a process of its own. */
async function asking<Answer>(module: string, how: string, use: (ask: Ask) => Promise<Answer>): Promise<Answer> {
  const child = await startChild(module, { args: [String(lanes), how], flags: unitFlags })
  try {
    return await use(child.ask)
  } finally {
    await child.end()
  }
}
