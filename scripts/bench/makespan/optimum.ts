// The shortest makespan of a shop, found without the service. A pass of the search looks at so many states of a layer, and later passes at more. A pass
// that never had to drop a state for want of room has proven its result.

import { EarliestSearch } from './earliest_search.ts'
import type { Found } from './layered_search.ts'
import type { Shop } from './shops.ts'
import { WindowSearch } from './window_search.ts'

export type Optimum = Found & {
  /** Whether no schedule is shorter than `makespan_s`. */
  readonly proven: boolean
}

export type Effort = {
  /** Whether a plate may wait at its own pad once it has left that. */
  ownPads?: boolean
  /** The states of a layer that each pass looks at. */
  widths?: readonly number[]
}

/** Returns the optimum, or the best that the effort allows; an infinite makespan without any. */
export function optimumOf(shop: Shop, { ownPads = true, widths = [30, 300, 3000, 30_000] }: Effort = {}): Optimum {
  const hasWindows = shop.plates.flat().some(({ window_s }) => window_s !== null)
  const Search = hasWindows ? WindowSearch : EarliestSearch
  let best: Optimum = { makespan_s: Number.POSITIVE_INFINITY, bound_s: 0, proven: false, states: 0, hops: [] }
  for (const width of widths) {
    const found = new Search(shop, { ownPads, width, best_s: best.makespan_s }).run()
    const { makespan_s, hops } = found.makespan_s < best.makespan_s ? found : best
    const bound_s = Math.max(best.bound_s, Math.min(found.bound_s, makespan_s))
    best = { makespan_s, hops, bound_s, proven: bound_s === makespan_s, states: best.states + found.states }
    if (best.proven) break
  }
  return best
}
