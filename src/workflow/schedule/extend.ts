// Extends a state by all hops that are possible, each with its times and its rating.

import { Rater, type Weights } from './bound.ts'
import { Hops, type Rules } from './expand.ts'
import { hasDelays } from './model.ts'
import { Rows, type Step } from './rows.ts'
import { Hop, type States } from './state.ts'

/** The best complete sequence of hops so far, and what the search may still look at. */
export type Progress = {
  states: number
  readonly budget: number
  cost: number
  steps: readonly Step[] | null
}

export class Extension {
  /** The hops that were found. */
  readonly rows = new Rows()
  readonly hop = new Hop()
  readonly #states: States
  readonly #hops: Hops
  readonly #rater: Rater
  readonly #hasDelays: boolean
  readonly #soonest: Float64Array | null

  constructor(states: States, rules: Rules, weights: Weights) {
    this.#states = states
    this.#soonest = rules.soonest ?? null
    this.#hops = new Hops(states, rules)
    this.#rater = new Rater(states, weights, rules.turns)
    this.#hasDelays = hasDelays(states.model)
  }

  /** Adds the hops from a state that can lead to something better than is known. */
  of(slot: number, progress: Progress): void {
    const [hop, states, rater, rows] = [this.hop, this.#states, this.#rater, this.rows]
    rater.prepare(slot)
    this.#hops.each(slot, hop, () => {
      if (!states.time(slot, hop, 0)) return false
      const earliest = this.#hasDelays ? this.#delay(slot) : 0
      progress.states++
      const score = rater.rate(hop)
      if (rater.least < progress.cost) rows.add(score, earliest, slot, hop, states.hashAfter(slot, hop))
      return true
    })
  }

  /** Begins a hop later, if labware would else wait longer than a window at one of its next stops. */
  #delay(slot: number): number {
    const [hop, states] = [this.hop, this.#states]
    if (hop.option < 0) return 0
    const next = states.stop[slot * states.model.jobs + hop.job]!
    const arrival = this.#rater.arrivalForWindows(hop, next)
    const earliest = Math.max(arrival, this.#soonest ? this.#soonest[next]! : 0) - (hop.end - hop.start)
    if (earliest <= hop.start) return 0
    states.time(slot, hop, earliest)
    return earliest
  }

  /** Makes the hop of a row. */
  make(row: number, slot: number): void {
    const { rows, hop } = this
    hop.job = rows.job[row]!
    hop.from = this.#states.at[slot * this.#states.model.jobs + hop.job]!
    hop.to = rows.to[row]!
    hop.option = rows.option[row]!
    this.#states.time(slot, hop, rows.earliest[row]!)
    this.#states.apply(slot, hop)
  }
}
