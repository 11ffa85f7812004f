// A beam search over sequences of hops: at each level all states are extended by all hops, and the best few are kept.

import { Rater, type Weights } from './bound.ts'
import { Hops, isLocked, type Rules } from './expand.ts'
import type { Model } from './model.ts'
import { Hop, States } from './state.ts'

/** The best complete sequence of hops so far, and what the search may still look at. */
export type Progress = {
  states: number
  budget: number
  cost: number
  /** The steps of the best sequence. */
  steps: readonly Step[] | null
  /** A schedule of this cost cannot be improved. */
  readonly bound: number
}

export type Step = { readonly job: number; readonly to: number; readonly option: number; readonly earliest: number }

/** Rows of numbers that grow. */
class Rows {
  count = 0
  score = new Float64Array(256)
  earliest = new Float64Array(256)
  parent = new Int32Array(256)
  option = new Int32Array(256)
  hash = new Int32Array(256)
  job = new Int16Array(256)
  to = new Int16Array(256)

  add(score: number, earliest: number, parent: number, hop: Hop, hash: number): number {
    if (this.count === this.score.length) this.#grow()
    const row = this.count++
    this.score[row] = score
    this.earliest[row] = earliest
    this.parent[row] = parent
    this.option[row] = hop.option
    this.hash[row] = hash
    this.job[row] = hop.job
    this.to[row] = hop.to
    return row
  }

  #grow(): void {
    const grown = <T extends Float64Array | Int32Array | Int16Array>(old: T): T => {
      const array = new (old.constructor as new (length: number) => T)(old.length * 2)
      array.set(old)
      return array
    }
    this.score = grown(this.score)
    this.earliest = grown(this.earliest)
    this.parent = grown(this.parent)
    this.option = grown(this.option)
    this.hash = grown(this.hash)
    this.job = grown(this.job)
    this.to = grown(this.to)
  }
}

export class Beam {
  readonly #model: Model
  readonly #states: States
  readonly #hops: Hops
  readonly #rater: Rater
  readonly #width: number
  readonly #hop = new Hop()
  readonly #children = new Rows()
  /** The hops that were kept, each with the one before it. */
  readonly #log = new Rows()
  readonly #seen = new Set<number>()
  readonly #locked: Uint8Array
  readonly #delays: boolean
  #heap = new Int32Array(256)

  constructor(model: Model, rules: Rules, weights: Weights, width: number) {
    this.#model = model
    this.#states = new States(model, 2 * width)
    this.#hops = new Hops(this.#states, rules)
    this.#rater = new Rater(this.#states, weights)
    this.#width = width
    this.#locked = new Uint8Array(model.jobs)
    this.#delays = model.problem.objective === 'open_time' || model.within.some((seconds) => seconds < Number.POSITIVE_INFINITY)
  }

  /** Searches, and writes what is better than before into `progress`. */
  run(progress: Progress): void {
    this.#states.begin(0)
    let [base, count] = [0, 1]
    while (count > 0 && progress.states < progress.budget) {
      this.#children.count = 0
      for (let slot = base; slot < base + count; slot++) this.#extend(slot, progress)
      base = base === 0 ? this.#width : 0
      count = this.#keep(base, progress)
    }
  }

  #extend(slot: number, progress: Progress): void {
    const [hop, states, rater] = [this.#hop, this.#states, this.#rater]
    rater.prepare(slot)
    this.#hops.each(slot, hop, () => {
      if (!states.time(slot, hop, 0)) return false
      let earliest = 0
      if (this.#delays && hop.option >= 0) {
        const next = states.stop[slot * this.#model.jobs + hop.job]!
        earliest = rater.arrivalForWindows(hop, next, this.#model.optionSeconds[hop.option]!) - (hop.end - hop.start)
        if (earliest > hop.start) states.time(slot, hop, earliest)
      }
      progress.states++
      const score = rater.rate(hop)
      if (rater.least < progress.cost) this.#children.add(score, earliest, slot, hop, states.hashAfter(slot, hop))
      return true
    })
  }

  /** Makes the best of the hops; of states with the same configuration only the best is kept. */
  #keep(base: number, progress: Progress): number {
    const [children, states, hop] = [this.#children, this.#states, this.#hop]
    this.#seen.clear()
    this.#order()
    let kept = 0
    for (let size = children.count; size > 0 && kept < this.#width; size--) {
      const row = this.#pop(size)
      if (this.#seen.has(children.hash[row]!)) continue
      this.#seen.add(children.hash[row]!)
      const [slot, parent] = [base + kept, children.parent[row]!]
      states.copy(parent, slot)
      hop.job = children.job[row]!
      hop.from = states.at[slot * this.#model.jobs + hop.job]!
      hop.to = children.to[row]!
      hop.option = children.option[row]!
      states.time(slot, hop, children.earliest[row]!)
      states.apply(slot, hop)
      if (isLocked(states, slot, this.#locked)) continue
      states.node[slot] = this.#log.add(0, children.earliest[row]!, states.node[parent]!, hop, 0)
      if (states.left[slot]! > 0) kept++
      else this.#finish(slot, progress)
    }
    return kept
  }

  #finish(slot: number, progress: Progress): void {
    const cost = this.#states.cost(slot)
    if (cost >= progress.cost) return
    const { job, to, option, earliest, parent } = this.#log
    const steps: Step[] = []
    for (let row = this.#states.node[slot]!; row >= 0; row = parent[row]!)
      steps.push({ job: job[row]!, to: to[row]!, option: option[row]!, earliest: earliest[row]! })
    progress.cost = cost
    progress.steps = steps.reverse()
  }

  #isBefore(one: number, other: number): boolean {
    const { score } = this.#children
    return score[one]! < score[other]! || (score[one] === score[other] && one < other)
  }

  #order(): void {
    const { count } = this.#children
    if (this.#heap.length < count) this.#heap = new Int32Array(this.#children.score.length)
    for (let row = 0; row < count; row++) this.#heap[row] = row
    for (let index = (count >> 1) - 1; index >= 0; index--) this.#sink(index, count)
  }

  #pop(size: number): number {
    const top = this.#heap[0]!
    this.#heap[0] = this.#heap[size - 1]!
    this.#sink(0, size - 1)
    return top
  }

  #sink(from: number, size: number): void {
    const heap = this.#heap
    const row = heap[from]!
    let index = from
    for (let child = 2 * index + 1; child < size; child = 2 * index + 1) {
      if (child + 1 < size && this.#isBefore(heap[child + 1]!, heap[child]!)) child++
      if (!this.#isBefore(heap[child]!, row)) break
      heap[index] = heap[child]!
      index = child
    }
    heap[index] = row
  }
}
