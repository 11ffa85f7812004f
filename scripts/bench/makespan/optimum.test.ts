import { test } from 'tap'
import { randomFrom } from '../../../src/testing/scheduler_runs.ts'
import { trials } from '../../../src/testing/trials.ts'
import { optimumOf } from './optimum.ts'
import { randomShop, type Shop, withoutWindows } from './shops.ts'

const shopOf = (plates: readonly (readonly [device: number, seconds: number])[][], more: Partial<Shop> = {}): Shop => ({
  name: 'by-hand',
  kind: 'job',
  plates: plates.map((steps) => steps.map(([device, seconds]) => ({ device, seconds, varied_s: seconds, window_s: null }))),
  units: [1, 1],
  parks: 0,
  carriers: 1,
  people: 0,
  alike: false,
  hop_s: 12,
  ...more,
})

test('the optimum of shops that can be computed by hand', (t) => {
  const alone = shopOf([
    [
      [0, 100],
      [1, 50],
    ],
  ])
  t.match(optimumOf(alone), { makespan_s: 12 + 100 + 12 + 50 + 12, proven: true })

  const twice = [[[0, 100] as const], [[0, 60] as const]]
  // The second plate is brought after the first one has been carried away.
  t.match(optimumOf(shopOf(twice)), { makespan_s: 12 + 100 + 12 + 12 + 60 + 12, proven: true })
  // With two units the second plate is brought 12 s later, and is back before the first one.
  t.match(optimumOf(shopOf(twice, { units: [2, 1] })), { makespan_s: 12 + 100 + 12, proven: true })

  const exchange = [
    [[0, 100] as const, [1, 100] as const],
    [[1, 100] as const, [0, 100] as const],
  ]
  // p1 is brought at 0 and p2 at 12, p1 waits at its pad from 112 to 136 while p2 is carried, and goes to the second device then.
  t.match(optimumOf(shopOf(exchange)), { makespan_s: 12 + 100 + 12 + 12 + 12 + 100 + 12, proven: true })
  t.match(optimumOf(shopOf(exchange, { parks: 1 }), { ownPads: false }), { makespan_s: 260, proven: true })
  // Without a place to wait the second plate begins when the first one is back, as it must begin where the first one ends.
  t.match(optimumOf(shopOf(exchange), { ownPads: false }), { makespan_s: 2 * (12 + 100 + 12 + 100 + 12), proven: true })
  t.end()
})

test('a shop that cannot be finished has no makespan', (t) => {
  const stuck = shopOf([[[0, 10]]], { units: [0, 1] })
  t.match(optimumOf(stuck), { makespan_s: Number.POSITIVE_INFINITY, bound_s: Number.POSITIVE_INFINITY, proven: true })
  t.end()
})

/** Tries every order of hops, with nothing left out. */
function bruteForce(shop: Shop, ownPads: boolean): number {
  const units = shop.units.map((count) => Array.from({ length: count }, () => 0))
  const parks = Array.from({ length: shop.parks }, () => 0)
  const carriers = Array.from({ length: shop.carriers }, () => 0)
  /** The list that holds the place of each plate, and the index in it; null at its own pad. */
  const at: ({ list: number[]; index: number } | null)[] = shop.plates.map(() => null)
  const next = shop.plates.map(() => 0)
  const ready = shop.plates.map(() => 0)
  const isHome = shop.plates.map(() => false)
  let best = Number.POSITIVE_INFINITY
  const hop = (plate: number, last: number, to: { list: number[]; index: number } | null, then: (end: number, start: number) => void) => {
    const carrier = carriers.indexOf(Math.min(...carriers))
    const start = Math.max(last, carriers[carrier]!, ready[plate]!, to ? to.list[to.index]! : 0)
    const end = start + shop.hop_s
    if (end >= best) return
    const before = { carrier: carriers[carrier]!, at: at[plate]!, ready: ready[plate]!, to: to ? to.list[to.index]! : 0 }
    carriers[carrier] = end
    if (before.at) before.at.list[before.at.index] = end
    if (to) to.list[to.index] = Number.POSITIVE_INFINITY
    at[plate] = to
    ready[plate] = end
    then(end, start)
    if (to) to.list[to.index] = before.to
    if (before.at) before.at.list[before.at.index] = Number.POSITIVE_INFINITY
    ready[plate] = before.ready
    at[plate] = before.at
    carriers[carrier] = before.carrier
  }
  const go = (last: number, end: number): void => {
    if (isHome.every(Boolean)) {
      best = Math.min(best, end)
      return
    }
    for (const [plate, steps] of shop.plates.entries()) {
      if (isHome[plate]) continue
      const step = steps[next[plate]!]
      const place = at[plate] ?? null
      const isAtDevice = place !== null && place.list !== parks
      if (!step) {
        hop(plate, last, null, (arrival, start) => {
          isHome[plate] = true
          go(start, Math.max(end, arrival))
          isHome[plate] = false
        })
        continue
      }
      for (const [index, free] of units[step.device]!.entries()) {
        if (free === Number.POSITIVE_INFINITY) continue
        hop(plate, last, { list: units[step.device]!, index }, (arrival, start) => {
          ready[plate] = arrival + step.seconds
          next[plate]!++
          go(start, Math.max(end, arrival))
          next[plate]!--
        })
      }
      if (!isAtDevice) continue
      if (ownPads) hop(plate, last, null, (arrival, start) => go(start, Math.max(end, arrival)))
      for (const [index, free] of parks.entries()) {
        if (free < Number.POSITIVE_INFINITY) hop(plate, last, { list: parks, index }, (arrival, start) => go(start, Math.max(end, arrival)))
      }
    }
  }
  go(0, 0)
  return best
}

test('the optimum of small random shops is that of all orders of hops', { timeout: 120_000 }, (t) => {
  const kinds = ['flow', 'job'] as const
  let impossible = 0
  for (let seed = 1; seed <= trials(150, 60); seed++) {
    const below = randomFrom(seed)
    const shape = {
      kind: kinds[below(2)]!,
      plates: 2 + below(2),
      devices: 2,
      parks: below(3),
      carriers: 1 + below(2),
      pool: below(3) === 0,
    }
    const ownPads = below(2) === 0
    const shop = randomShop(seed, shape)
    const expected = bruteForce(shop, ownPads)
    if (expected === Number.POSITIVE_INFINITY) impossible++
    t.match(
      optimumOf(shop, { ownPads }),
      { makespan_s: expected, bound_s: expected, proven: true },
      JSON.stringify({ seed, shape, ownPads }),
    )
  }
  t.comment(`${impossible} cannot be finished`)
  t.end()
})

/** Tries every order of hops of one carrier that hold windows, and lets each hop begin as late as the windows after it ask. */
function bruteForceOfWindows(shop: Shop): number {
  type Move = { plate: number; step: number | null }
  const order: Move[] = []
  const progress = shop.plates.map(() => 0)
  let best = Number.POSITIVE_INFINITY
  const lastOf = (): number => {
    const starts = order.map(() => 0)
    for (let round = 0; round <= 2 * order.length; round++) {
      const before = starts.join()
      for (const [i, { plate, step }] of order.entries()) {
        if (i > 0) starts[i] = Math.max(starts[i]!, starts[i - 1]! + shop.hop_s)
        const into = order.findLastIndex((other, j) => j < i && other.plate === plate && other.step !== null)
        if (into < 0) continue
        const { seconds, window_s } = shop.plates[plate]![order[into]!.step!]!
        // Also of a hop from a place where it waits, because the hop to that place came in between.
        starts[i] = Math.max(starts[i]!, starts[into]! + shop.hop_s + seconds)
        const isWork = step !== null && step < shop.plates[plate]!.length
        if (isWork && window_s !== null) starts[into] = Math.max(starts[into]!, starts[i]! - seconds - window_s)
      }
      if (starts.join() === before) return starts.at(-1)! + shop.hop_s
    }
    return Number.POSITIVE_INFINITY
  }
  const go = (): void => {
    if (progress.every((its, p) => its === 2 * shop.plates[p]!.length)) best = Math.min(best, lastOf())
    for (const [plate, steps] of shop.plates.entries()) {
      const from = progress[plate]!
      const step = (from + 1) >> 1
      if (from === 2 * steps.length) continue
      const tried = (to: number, move: Move) => {
        progress[plate] = to
        order.push(move)
        go()
        order.pop()
        progress[plate] = from
      }
      if (step === steps.length) {
        tried(2 * step, { plate, step })
        continue
      }
      const { device } = steps[step]!
      const inside = progress.filter((its, p) => its % 2 === 1 && shop.plates[p]![its >> 1]!.device === device).length
      if (inside < shop.units[device]!) tried(2 * step + 1, { plate, step })
      if (from % 2 === 1) tried(2 * step, { plate, step: null })
    }
  }
  go()
  return best
}

test('the optimum of small random shops with windows is that of all orders of hops', { timeout: 120_000 }, (t) => {
  let longer = 0
  for (let seed = 1; seed <= trials(40, 12); seed++) {
    const below = randomFrom(seed)
    const shape = { kind: below(2) ? ('flow' as const) : ('job' as const), plates: 2 + below(2), devices: 2, pool: below(3) === 0 }
    const shop = randomShop(seed, { ...shape, windows: [12, 12 + 10 * below(8)] })
    const expected = bruteForceOfWindows(shop)
    t.match(optimumOf(shop), { makespan_s: expected, bound_s: expected, proven: true }, JSON.stringify({ seed, shape }))
    if (optimumOf(withoutWindows(shop)).makespan_s < expected) longer++
  }
  t.comment(`${longer} last longer than without windows`)
  t.ok(longer > 0)
  t.end()
})
