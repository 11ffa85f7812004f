import { streamCase, type UrgentCase, urgentCase } from '../../src/testing/open_runs.ts'
import { findBeside } from '../../src/workflow/search_worker.ts'
import { bench, none, percentile, type Row, row } from './bench.ts'

const plans = { on: 'by the plan', off: 'by the rule alone' } as const

/**
 * An urgent run is submitted into open ones at random states. Its time is divided by its time alone and the time of work that was under way: see
 * `unavoidable`. Then urgent runs come over and over, and no open run starves: see `streamCase`. Nothing hangs on the wall clock.
 */
export const urgent = bench({
  name: 'urgent',
  summary: 'an urgent run among four open ones, on virtual time',
  options: { cases: 60, streams: 20, plannedStreams: 2, seed: 1 },
  async run({ cases, streams, plannedStreams, seed }) {
    const rows: Row[] = []
    for (const plan of ['on', 'off'] as const) {
      const all: UrgentCase[] = []
      for (let i = 0; i < cases; i++) all.push(await urgentCase(seed + i, { plan, search: findBeside }))
      rows.push(...rowsOf(plans[plan], all), await starved(plan === 'on' ? plannedStreams : streams, seed, plan))
    }
    return rows
  },
})

const ratioOf = ({ flow_s, alone_s, blocked_s }: UrgentCase) => flow_s / (alone_s + blocked_s)
const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)

function rowsOf(what: string, all: readonly UrgentCase[]): Row[] {
  const ratios = all.map(ratioOf)
  const worst = all.toSorted((a, b) => ratioOf(b) - ratioOf(a)).slice(0, 5)
  console.log(`${what}, the slowest: ${worst.map((one) => `seed ${one.seed} ${ratioOf(one).toFixed(2)}`).join(', ')}`)
  return [
    row(`${what}: time beside alone and what was under way, mean`, '', mean(ratios)),
    row(`${what}: the same, p99`, '', percentile(ratios, 0.99), { target: { of: 'value', most: 1.15 } }),
    row(`${what}: the same, worst`, '', Math.max(...ratios)),
    row(`${what}: the same, cases above 1.15`, '', ratios.filter((ratio) => ratio > 1.15).length),
    row(`${what}: time beside alone, mean`, '', mean(all.map(({ flow_s, alone_s }) => flow_s / alone_s))),
    row(`${what}: cases with a run that does not complete`, '', all.filter(({ isComplete }) => !isComplete).length, none),
  ]
}

async function starved(streams: number, seed: number, plan: 'on' | 'off'): Promise<Row> {
  let late = 0
  for (let i = 0; i < streams; i++) {
    const { end_s, bound_s, isComplete } = await streamCase(seed + i, 1 + (i % 2), { plan, search: findBeside })
    if (end_s > bound_s || !isComplete) late++
  }
  return row(`${plans[plan]}, urgent runs over and over: cases of ${streams} in which an open run ends late`, '', late, none)
}
