// A beam search over sequences of hops: at each level all states are extended by all hops, and the best few are kept.

import type { Weights } from './bound.ts'
import { isLocked, type Rules } from './expand.ts'
import { Extension, type Progress } from './extend.ts'
import { costOf } from './objective.ts'
import { Rows } from './rows.ts'
import type { States } from './state.ts'

/** The hops to a buffer that a schedule is expected to have, for each hop to a stop. */
const detours = 1.1

export class Beam {
  readonly #states: States
  readonly #extension: Extension
  readonly #widest: number
  /** The hops that were kept, each with the one before it. */
  readonly #log = new Rows()
  readonly #seen = new Set<number>()
  readonly #locked: Uint8Array

  /** `states` has room for twice as many as are kept at once; another beam may have used them before. */
  constructor(states: States, rules: Rules, weights: Weights) {
    this.#states = states
    this.#extension = new Extension(states, rules, weights)
    this.#widest = states.capacity / 2
    this.#locked = new Uint8Array(states.model.jobs)
  }

  /** Searches with about so many states, and writes what is better than before into `progress`. The beam is as wide as these states allow. */
  run(progress: Progress, states: number): void {
    const end = Math.min(progress.budget, progress.states + states)
    this.#log.count = 0
    this.#states.begin(0)
    let [base, count] = [0, 1]
    while (count > 0 && progress.states < progress.budget) {
      const before = progress.states
      this.#extension.rows.count = 0
      let left = this.#states.left[base]!
      for (let slot = base; slot < base + count; slot++) {
        this.#extension.of(slot, progress)
        left = Math.min(left, this.#states.left[slot]!)
      }
      const each = Math.max(1, (progress.states - before) / count)
      const width = Math.floor((end - progress.states) / (each * Math.max(1, (left - 1) * detours)))
      base = base === 0 ? this.#widest : 0
      count = this.#keep(base, Math.max(1, Math.min(width, this.#widest)), progress)
    }
  }

  /** Makes the best of the hops; of states with the same configuration only the best is kept. */
  #keep(base: number, width: number, progress: Progress): number {
    const { rows, hop } = this.#extension
    const states = this.#states
    this.#seen.clear()
    rows.order()
    let kept = 0
    for (let size = rows.count; size > 0 && kept < width; size--) {
      const row = rows.next(size)
      if (this.#seen.has(rows.hash[row]!)) continue
      this.#seen.add(rows.hash[row]!)
      const [slot, parent] = [base + kept, rows.parent[row]!]
      states.copy(parent, slot)
      this.#extension.make(row, slot)
      if (isLocked(states, slot, this.#locked)) continue
      states.node[slot] = this.#log.add(0, rows.earliest[row]!, states.node[parent]!, hop, 0)
      if (states.left[slot]! > 0) kept++
      else if (costOf(states, slot) < progress.cost) {
        progress.cost = costOf(states, slot)
        progress.steps = this.#log.stepsTo(states.node[slot]!)
      }
    }
    return kept
  }
}
