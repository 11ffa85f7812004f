// The ends of runs that are foretold, beside how long the runs then take.

import { bench, median, percentile, type Row, row } from './bench.ts'
import { heldRun } from './forecast/held_run.ts'
import { type Made, type Shipped, shipped, trial } from './forecast/trial.ts'
import { usage } from './process.ts'

/** The share by which the duration of each operation and each move varies. */
const varies = 0.2
/** The groups of a run: as many as its bench has room for. */
const groupsOf: Readonly<Record<string, readonly number[]>> = {
  'seal-and-spin': [1, 4],
  smc_assay: [1, 4, 10],
  'shake-by-hand': [1, 2],
  'two-day-assay': [1, 4, 8],
  'short-rests': [1, 4, 8],
}
/** The time between two forecasts of a bench, in ms. */
const between_ms = 10_000

/** Nothing but the share of a core hangs on the wall clock: it is a share of the time between two forecasts. */
export const forecast = bench({
  name: 'forecast',
  summary: 'the foretold end of the shipped workflows, whose durations vary by 20 %',
  limit: 'of the time that the run takes',
  options: { seeds: 20 },
  async run({ seeds }) {
    const errors = { start: [] as number[], half: [] as number[] }
    let unknown = 0
    const rows: Row[] = []
    for (const one of shipped) {
      const own = { start: [] as number[], half: [] as number[] }
      for (const groups of groupsOf[one.workflow.name] ?? [1]) {
        const made = await errorsOf(one, groups, seeds)
        own.start.push(...made.start)
        own.half.push(...made.half)
        unknown += made.unknown
      }
      rows.push(row(`${one.workflow.name}: median error at the start`, '', median(own.start)))
      rows.push(row(`${one.workflow.name}: median error at half-time`, '', median(own.half)))
      errors.start.push(...own.start)
      errors.half.push(...own.half)
    }
    const most = { target: { of: 'value', most: 0.1 } } as const
    return [
      ...rows,
      row('median error at the start', '', median(errors.start), most),
      row('the same, p90', '', percentile(errors.start, 0.9)),
      row('median error at half-time', '', median(errors.half), most),
      row('the same, p90', '', percentile(errors.half, 0.9)),
      row('ends that were not foretold', '', unknown, { target: { of: 'value', most: 0 } }),
      ...(await costRows()),
    ]
  },
})

type Errors = { start: number[]; half: number[]; unknown: number }

async function errorsOf(one: Shipped, groups: number, seeds: number): Promise<Errors> {
  const { took_s: usual_s } = await trial(one, { groups, seed: 1, varies: 0, at_s: [] })
  const errors: Errors = { start: [], half: [], unknown: 0 }
  for (let seed = 1; seed <= seeds; seed++) {
    const { took_s, made } = await trial(one, { groups, seed, varies, at_s: [1, usual_s / 2] })
    const [start, half] = made.map(({ end_s }: Made) => (end_s === null ? undefined : Math.abs(end_s - took_s) / took_s))
    if (start !== undefined) errors.start.push(start)
    if (half !== undefined) errors.half.push(half)
    errors.unknown += 2 - [start, half].filter((error) => error !== undefined).length
  }
  return errors
}

/** The processor time of a forecast of the whole process, with the thread, as a share of the time between two of them. */
async function costRows(): Promise<Row[]> {
  const rows: Row[] = []
  for (const groups of [1, 10, 50]) {
    const make = await heldRun(groups)
    for (let i = 0; i < 5; i++) await make()
    const before = usage().cpu_us
    const times = 20
    for (let i = 0; i < times; i++) await make()
    const cpu_ms = (usage().cpu_us - before) / 1000 / times
    rows.push(
      row(`bead assay with ${groups} groups: a forecast each 10 s, share of a core`, '', cpu_ms / between_ms, {
        target: { of: 'value', most: 0.01, wall: true },
      }),
    )
  }
  return rows
}
