import { bench, none, type Row, row, type Target } from './bench.ts'
import { startChild } from './child.ts'
import { elisa } from './makespan/elisa.ts'
import { optimumOf, type Effort as SolverEffort } from './makespan/optimum.ts'
import { asVaried, randomShop, type Shape, type Shop, withoutWindows } from './makespan/shops.ts'
import { type How, type Trial, trial } from './makespan/trial.ts'

import type { Effort, Lag } from './workflow/plan_effort.ts'

/** A shop, what the service makes of it, and the shortest makespan that there is or is known. */
type Measured = Trial & { shop: Shop; optimum_s: number; isProven: boolean }

/** Leaves the plan out, so that the rule alone decides. */
const ruleAlone: How = { request: { plan: 'off' } }
/** 12 x 6 is rarely proven: these widths find a makespan that is seldom more than 1 % longer than that of wider ones. */
const large: SolverEffort = { widths: [30, 300, 3000] }

/**
 * Each row is the mean over random shops of makespan over optimum, as a ratio. Nothing hangs on the wall clock, so each target counts. The charts of all
 * runs are checked by `chart.ts`.
 */
export const makespan = bench({
  name: 'makespan',
  summary: 'random shops on virtual time, beside proven optima',
  limit: 'optimum',
  options: { shops: 20, parkless: 100, large: 4, seed: 1 },
  async run({ shops, parkless, large: larges, seed }) {
    const of = (shape: Omit<Shape, 'kind' | 'plates' | 'devices'>, how?: How) =>
      both({ plates: 6, devices: 4, ...shape }, { shops, seed }, how)
    const usual = await of({})
    const alone = await of({}, ruleAlone)
    const pooled = await of({ pool: true })
    const twoArms = await of({ carriers: 2 })
    const varied = await of({}, { isVaried: true })
    const people = await of({ carriers: 3, people: 2 })
    const big = await both({ plates: 12, devices: 6 }, { shops: larges, seed, effort: large })
    const windows = await of({ windows: [60, 120] })
    const noParks = await both({ plates: 6, devices: 4, parks: 0 }, { shops, seed })
    const all = [...usual, ...alone, ...pooled, ...twoArms, ...varied, ...people, ...big, ...windows, ...noParks]
    const assay = await assayRows()
    const empty = await parklessRows(parkless, seed)
    const effort = await effortRows()
    return [
      ...beside('6 x 4, 2 parks', usual, { all: 1.05, flow: null, job: 1.08, worst: 1.25 }),
      ...beside('6 x 4, 2 parks, rule alone', alone, { all: 1.15, flow: null, job: null, worst: null }),
      ...empty.rows,
      ...beside('6 x 4, no park', noParks, { flow: null, job: null }),
      ...beside('6 x 4, pool of two for the slowest step', pooled, { flow: 1.05, job: 1.12 }),
      ...beside('12 x 6, beside the best known', big, { flow: 1.05, job: 1.12 }),
      ...beside('6 x 4, two arms', twoArms, { all: 1.05 }),
      ...besideOneArm(twoArms, usual),
      ...beside('6 x 4, work varies by 20 %', varied, { all: 1.12 }),
      ...beside('6 x 4, windows of 60 to 120 s, beside the optimum that holds them', windows, { all: null }),
      row('6 x 4: missed windows', '', missed(windows), none),
      ...assay.rows,
      ...beside('6 x 4, two people and one arm', people, { all: 1.1 }),
      ...effort,
      row('runs with parks that do not complete', '', all.filter(({ shop, completes }) => shop.parks > 0 && !completes).length, none),
      row(
        'optima of 6 x 4 that are not proven',
        '',
        all.filter(({ shop, isProven }) => shop.plates.length === 6 && !isProven).length,
        none,
      ),
      row('charts with faults', '', faulty([...all, ...assay.trials, ...empty.trials]), none),
    ]
  },
})

type Many = { shops: number; seed: number; effort?: SolverEffort }

/** Half of the shops are flow shops. */
async function both(shape: Omit<Shape, 'kind'>, { shops, seed, effort }: Many, how: How = {}): Promise<Measured[]> {
  const measured: Measured[] = []
  for (const kind of ['flow', 'job'] as const) {
    for (let i = 0; i < Math.ceil(shops / 2); i++) {
      const shop = randomShop(seed + i, { kind, ...shape })
      const { makespan_s: optimum_s, proven: isProven } = optimumOf(how.isVaried ? asVaried(shop) : shop, effort)
      measured.push({ ...(await trial(shop, how)), shop, optimum_s, isProven })
    }
  }
  return measured
}

type Targets = { [Part in 'all' | 'flow' | 'job' | 'worst']?: number | null }

/** Returns a row for each part that is named. `null` has no target. */
function beside(what: string, measured: readonly Measured[], targets: Targets): Row[] {
  const completed = measured.filter(({ completes }) => completes)
  const worst = completed.toSorted((a, b) => ratioOf(b) - ratioOf(a)).slice(0, 1)
  const parts = { all: completed, flow: ofKind(completed, 'flow'), job: ofKind(completed, 'job'), worst }
  return Object.entries(targets).map(([part, most]) => {
    const its = parts[part as keyof Targets]
    const target = most === null ? undefined : ({ of: 'ratio', most } as const)
    return ratios(
      `${what}: ${part}`,
      its.map(({ makespan_s, optimum_s }) => ({ value: makespan_s, limit: optimum_s })),
      target,
    )
  })
}

function ofKind(measured: readonly Measured[], kind: Shop['kind']): Measured[] {
  return measured.filter(({ shop }) => shop.kind === kind)
}

function ratioOf({ makespan_s, optimum_s }: Measured): number {
  return makespan_s / optimum_s
}

/** The ratio is the mean of the ratios. */
function ratios(what: string, pairs: readonly { value: number; limit: number }[], target?: Target): Row {
  const mean = (figures: readonly number[]) => figures.reduce((sum, figure) => sum + figure, 0) / figures.length
  const of = (figure: (pair: { value: number; limit: number }) => number) => mean(pairs.map(figure))
  return {
    what,
    unit: 's',
    value: of(({ value }) => value),
    limit: of(({ limit }) => limit),
    ratio: of((one) => one.value / one.limit),
    target,
  }
}

/** The limit is the same shop with one arm, run by the service as well. */
function besideOneArm(twoArms: readonly Measured[], oneArm: readonly Measured[]): Row[] {
  const pairs = twoArms.flatMap(({ makespan_s, completes }, i) => {
    return completes && oneArm[i]!.completes ? [{ value: makespan_s, limit: oneArm[i]!.makespan_s }] : []
  })
  const worst = pairs.toSorted((a, b) => b.value / b.limit - a.value / a.limit).slice(0, 1)
  const name = '6 x 4, two arms, beside one arm'
  return [ratios(`${name}: all`, pairs), ratios(`${name}: worst`, worst, { of: 'ratio', most: 1 })]
}

/** Job shops without a park, small and usual ones. Each can be finished, if only one plate after the other. */
async function parklessRows(shops: number, seed: number): Promise<{ rows: Row[]; trials: Trial[] }> {
  const trials: Trial[] = []
  for (let i = 0; i < shops; i++) {
    const [plates, devices] = i % 2 ? [6, 4] : [4, 3]
    trials.push(await trial(randomShop(seed + i, { kind: 'job', plates, devices, parks: 0 })))
  }
  const stuck = trials.filter(({ completes }) => !completes).length
  return { rows: [row(`no park, of ${shops}: runs that do not complete`, '', stuck, none)], trials }
}

/** The limit is the assay without windows: the shorter one of what the service makes of it and the best known. */
async function assayRows(): Promise<{ rows: Row[]; trials: Trial[] }> {
  const trials: Trial[] = []
  const pairs: { value: number; limit: number }[] = []
  for (const incubators of [4, 6]) {
    const shop = elisa({ incubators, window_s: 180 })
    const within = await trial(shop)
    const without = await trial(withoutWindows(shop))
    const { makespan_s } = optimumOf(withoutWindows(shop), { widths: [30, 300] })
    pairs.push({ value: within.makespan_s, limit: Math.min(without.makespan_s, makespan_s) })
    trials.push(within)
  }
  const overtaken = trials.flatMap(({ finished, plates }) => finished.filter((plate, i) => plate !== plates[i]))
  const rows = [
    ratios('ELISA with windows, beside without', pairs, { of: 'ratio', most: 1.08 }),
    row('ELISA: missed windows', '', missed(trials), none),
    row('ELISA: plates that do not leave in order of arrival', '', overtaken.length, none),
  ]
  return { rows, trials }
}

/** The CPU and memory of the first plan of a process, and the lag of its event loop while plans are made beside it. */
async function effortRows(): Promise<Row[]> {
  const ask = async <Answer>(question: object): Promise<Answer> => {
    const child = await startChild('./workflow/plan_effort.js')
    try {
      return await child.ask<Answer>(question)
    } finally {
      await child.end()
    }
  }
  const middle = await ask<Effort>({ what: 'effort', shape: { kind: 'job', plates: 12, devices: 6 } })
  const large = await ask<Effort>({ what: 'effort', shape: { kind: 'job', plates: 100, devices: 10 } })
  const lag = await ask<Lag>({ what: 'lag', shape: { kind: 'job', plates: 12, devices: 6 } })
  return [
    row('12 x 6, CPU of a plan', 'ms', middle.later_ms, { target: { of: 'value', most: 200, wall: true } }),
    row('12 x 6, CPU of the first plan of a process', 'ms', middle.first_ms, { target: { of: 'value', most: 200, wall: true } }),
    row('100 x 10, CPU of the first plan of a process', 'ms', large.first_ms, { target: { of: 'value', most: 3000, wall: true } }),
    row('100 x 10, memory while planning', 'MiB', large.more_mib, { target: { of: 'value', most: 40 } }),
    row('event loop beside plans, lag p99', 'ms', lag.beside, { limit: lag.without, target: { of: 'ratio', most: 1.5, wall: true } }),
  ]
}

function missed(trials: readonly Trial[]): number {
  return trials.reduce((sum, { missedWindows }) => sum + missedWindows, 0)
}

function faulty(trials: readonly Trial[]): number {
  const first = trials.find(({ faults }) => faults.length > 0)
  if (first) console.log(first.faults.join('\n'))
  return trials.filter(({ faults }) => faults.length > 0).length
}
