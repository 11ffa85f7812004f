import { test } from 'tap'
import { type Bar, faultsIn } from './chart.ts'
import type { Hop } from './layered_search.ts'
import { optimumOf } from './optimum.ts'
import { carriersOf, padsOf, parksOf, platesOf, randomShop, type Shop, type Step, unitsOf } from './shops.ts'
import { trial } from './trial.ts'

const step = (device: number, seconds: number, window_s: number | null = null): Step => ({ device, seconds, varied_s: seconds, window_s })
const shop: Shop = {
  ...{ name: 'by-hand', kind: 'job', units: [1, 1], parks: 1, carriers: 1, people: 0, hop_s: 12, alike: false },
  plates: [[step(0, 100, 100), step(1, 50)], [step(0, 60)]],
}

const move = (thread_name: string, name: string, from_s: number, more: Partial<Bar> = {}): Bar => {
  return { thread_name, kind: 'move', name, device: 'arm1', from_s, to_s: from_s + 12, ...more }
}
const work = (thread_name: string, device: string, from_s: number, to_s: number): Bar => {
  return { thread_name, kind: 'action', name: 'work', device, from_s, to_s }
}

/** A chart without faults. */
const chart: readonly Bar[] = [
  move('p1', 'in1 → d1_in', 0),
  work('p1', 'd1', 12, 112),
  move('p1', 'd1_in → park1', 112),
  move('p2', 'in2 → d1_in', 124),
  work('p2', 'd1', 136, 196),
  move('p1', 'park1 → d2_in', 136),
  work('p1', 'd2', 148, 198),
  move('p2', 'd1_in → in2', 196),
  move('p1', 'd2_in → in1', 208),
]

/** Returns the faults of the chart with one bar replaced; with none in its place if `bar` is absent. */
function broken(index: number, bar?: Partial<Bar>): string[] {
  return faultsIn(shop, [...chart.slice(0, index), ...(bar ? [{ ...chart[index]!, ...bar }] : []), ...chart.slice(index + 1)])
}

test('a chart that can be carried out has no faults', (t) => {
  t.same(faultsIn(shop, chart), [])
  t.same(faultsIn(shop, chart.toReversed()), [], 'in whatever order its bars are')
  t.end()
})

test('each fault of a chart is named', (t) => {
  const place = (faults: string[], ...expected: string[]) => t.same(faults, expected)
  place(
    broken(3, { from_s: 123, to_s: 135 }),
    'arm1 carries p1 (d1_in → park1) and p2 (in2 → d1_in) at 123 s',
    'd1_in holds p1 and p2 at 123 s',
  )
  place(broken(3, { device: 'arm2' }), 'p2 is carried by arm2, which is no carrier')
  place(broken(3, { to_s: 135 }), 'the hop in2 → d1_in of p2 takes 11 s in place of 12')
  place(broken(3, { name: 'in1 → d1_in' }), 'p2 is carried from in1 at 124 s, but it is at in2')
  place(broken(3, { thread_name: 'p3' }).slice(0, 1), 'the shop has no plate p3')
  place(
    broken(2, { name: 'd1_in → park2' }),
    'p1 is carried to park2, which is no place for it',
    'p1 is carried from park1 at 136 s, but it is at park2',
  )
  place(broken(2), 'p1 is carried from park1 at 136 s, but it is at d1_in', 'd1_in holds p1 and p2 at 124 s')
  place(broken(1, { to_s: 111 }), 'd1 works at p1 for 99 s in place of 100')
  place(
    broken(1, { to_s: 113 }),
    'd1 works at p1 for 101 s in place of 100',
    'p1 begins d1_in → park1 at 112 s, before the end of what it did until 113 s',
  )
  place(broken(1, { from_s: 11, to_s: 111 }), 'p1 begins work at 11 s, before the end of what it did until 12 s')
  place(broken(6, { device: 'd1' }), 'p1 is worked at by d1, not by d2', 'p1 is worked at by d1 at 148 s, but it is at d2_in')
  place(broken(6), 'p1 does 1 of 2 steps')
  place(broken(8, { name: 'd2_in → park1' }), 'p1 ends at park1, not at in1')
  place(broken(8), 'p1 ends at d2_in, not at in1')
  place(faultsIn(shop, [...chart, work('p2', 'd1', 230, 290)]), 'p2 is worked at by d1 at 230 s, after its last step')
  const narrow = { ...shop, plates: [[step(0, 100, 35), step(1, 50)], shop.plates[1]!] }
  place(faultsIn(narrow, chart), 'p1 waits 36 s for d2, and its window is 35 s')
  t.end()
})

test('a chart of plates of one kind may end at any pad, one at each', (t) => {
  const alike: Shop = { ...shop, plates: [[step(0, 60)], [step(0, 60)]], alike: true }
  const bars = (end: string) => [
    move('p', 'in1 → d1_in', 0),
    work('p', 'd1', 12, 72),
    move('p', 'd1_in → in1', 72),
    move('p-2', 'in2 → d1_in', 84),
    work('p-2', 'd1', 96, 156),
    move('p-2', `d1_in → ${end}`, 156),
  ]
  t.same(faultsIn(alike, bars('in2')), [])
  t.same(faultsIn(alike, bars('in1')), ['in1 holds p and p-2 at 156 s'])
  t.end()
})

/** Returns the chart of the hops that the solver has found. Each takes the first place that is free. */
function barsOf(its: Shop, hops: readonly Hop[], ownPads: boolean): Bar[] {
  const bars: Bar[] = []
  const at = padsOf(its)
  const freeFrom = new Map<string, number>()
  const taken = (names: readonly string[], start_s: number) => names.find((name) => (freeFrom.get(name) ?? 0) <= start_s)!
  for (const { plate, step: index, start_s } of hops) {
    const steps = its.plates[plate]!
    const end = start_s + its.hop_s
    const units = index !== null && index < steps.length ? unitsOf(its, steps[index]!.device).map((unit) => `${unit}_in`) : []
    const own = index === steps.length || ownPads ? [padsOf(its)[plate]!] : parksOf(its)
    const to = taken(units.length > 0 ? units : own, start_s)
    const carrier = taken(carriersOf(its), start_s)
    const thread_name = platesOf(its)[plate]!
    bars.push({ thread_name, kind: 'move', name: `${at[plate]} → ${to}`, device: carrier, from_s: start_s, to_s: end })
    if (units.length > 0) bars.push(work(thread_name, to.slice(0, -3), end, end + steps[index!]!.seconds))
    freeFrom.set(carrier, end).set(at[plate]!, end).set(to, Number.POSITIVE_INFINITY)
    at[plate] = to
  }
  return bars
}

test('the schedules of the solver have no faults, and last as long as it says', (t) => {
  for (let seed = 1; seed <= 40; seed++) {
    const kind = seed % 2 ? 'job' : 'flow'
    const its = randomShop(seed, {
      kind,
      plates: 6,
      devices: 4,
      parks: seed % 3,
      carriers: 1 + (seed % 4),
      people: 0,
      pool: seed % 5 === 0,
    })
    for (const ownPads of [true, false]) {
      const { hops, makespan_s } = optimumOf(its, { ownPads, widths: [100] })
      const bars = barsOf(its, hops, ownPads)
      t.same(faultsIn(its, bars), [], `${seed} ${ownPads}`)
      t.equal(Math.max(...bars.map(({ to_s }) => to_s)), makespan_s)
    }
  }
  t.end()
})

test('the schedules of the solver hold windows', (t) => {
  for (let seed = 1; seed <= 20; seed++) {
    const kind = seed % 2 ? 'job' : 'flow'
    const its = randomShop(seed, { kind, plates: 5, devices: 3, pool: seed % 3 === 0, windows: [20, 60] })
    const { hops, makespan_s } = optimumOf(its, { widths: [1000] })
    const bars = barsOf(its, hops, true)
    t.same(faultsIn(its, bars), [], `${seed}`)
    t.equal(Math.max(...bars.map(({ to_s }) => to_s)), makespan_s)
  }
  t.end()
})

test('the charts of dry runs have no faults, also where the work takes other seconds than expected', async (t) => {
  const small = randomShop(3, { kind: 'job', plates: 4, devices: 3 })
  const [expected, varied] = [await trial(small), await trial(small, { isVaried: true })]
  t.match(expected, { completes: true, faults: [] })
  t.match(varied, { completes: true, faults: [] })
  t.not(varied.makespan_s, expected.makespan_s)
})
