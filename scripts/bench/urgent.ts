import { type Crowd, crowdOf, type Ended, type Order, ordered, unavoidable } from '../../src/testing/open_runs.ts'
import { randomFrom } from '../../src/testing/scheduler_runs.ts'
import { findBeside } from '../../src/workflow/search_worker.ts'
import { bench, none, percentile, type Row, row } from './bench.ts'

type Plan = 'on' | 'off'

/** An urgent run beside open ones. */
type Case = {
  readonly seed: number
  /** From its submission to its end, and the same on the empty bench. */
  readonly flow_s: number
  readonly alone_s: number
  /** The seconds that work which cannot be interrupted takes of it. */
  readonly blocked_s: number
  readonly isComplete: boolean
}

/**
 * An urgent run is submitted into open ones at random states. Its time is divided by its time alone, and the time of work that cannot be interrupted: see
 * `unavoidable`. Then urgent runs come over and over, and no open run starves: see `starved`. Nothing hangs on the wall clock.
 */
export const urgent = bench({
  name: 'urgent',
  summary: 'an urgent run among four open ones, on virtual time',
  limit: 'alone',
  options: { cases: 500, streams: 60, seed: 1 },
  async run({ cases, seed }) {
    const rows: Row[] = []
    for (const plan of ['on', 'off'] as const) {
      const all: Case[] = []
      for (let i = 0; i < cases; i++) all.push(await caseOf(seed + i, plan))
      rows.push(...rowsOf(plan === 'on' ? 'by the plan' : 'by the rule alone', all))
    }
    return rows
  },
})

function crowd(seed: number): Crowd {
  const below = randomFrom(seed)
  return { runs: 4, devices: 4 + below(3), parks: below(3), arms: below(2) === 0 ? 1 : 2, plates: 1 + below(3), urgentPlates: 1 + below(2) }
}

async function caseOf(seed: number, plan: Plan): Promise<Case> {
  const below = randomFrom(seed + 1_000_000)
  const { topology, workflows, routes } = crowdOf(seed, crowd(seed))
  const at_s = 600 + below(600)
  const open = [1, 2, 3, 4].map((i): Order => ({ workflow: `run-${i}`, at_s: below(600), plan }))
  const order: Order = { workflow: 'urgent', at_s, priority: 9, plan }
  const search = plan === 'on' ? { search: findBeside } : {}
  const ended = await ordered({ topology, workflows }, [...open, order], search)
  const [alone] = await ordered({ topology, workflows }, [{ ...order, at_s: 0 }], search)
  const own = ended.at(-1)!
  return {
    seed,
    flow_s: (own.end_s ?? Number.POSITIVE_INFINITY) - at_s,
    alone_s: alone!.end_s!,
    blocked_s: unavoidable(routes, own, ended.slice(0, -1)),
    isComplete: ended.every((one: Ended) => one.end_s !== null),
  }
}

const ratioOf = ({ flow_s, alone_s, blocked_s }: Case) => flow_s / (alone_s + blocked_s)

function rowsOf(what: string, all: readonly Case[]): Row[] {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)
  const ratios = all.map(ratioOf)
  const sorted = all.toSorted((a, b) => ratioOf(b) - ratioOf(a))
  console.log(
    what,
    sorted
      .slice(0, 5)
      .map((one) => `seed ${one.seed}: ${ratioOf(one).toFixed(2)}`)
      .join(', '),
  )
  return [
    row(`${what}, mean`, '', mean(ratios)),
    row(`${what}, p90`, '', percentile(ratios, 0.9)),
    row(`${what}, worst`, '', Math.max(...ratios), { target: { of: 'value', most: 1.15 } }),
    row(`${what}, later than 1.15`, '', ratios.filter((ratio) => ratio > 1.15).length),
    row(`${what}, beside alone, mean`, '', mean(all.map(({ flow_s, alone_s }) => flow_s / alone_s))),
    row(`${what}, runs that do not complete`, '', all.filter(({ isComplete }) => !isComplete).length, none),
  ]
}
