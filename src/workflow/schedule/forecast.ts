// Foretells when labware that is served before has left a stop: labware behind it must not begin so early that it misses a window there.

import type { States } from './state.ts'

/** Rounds over all labware, as one order may look from labware to labware that is served later; and the rounds after which windows count as impossible. */
const rounds = 3
const roundsAtMost = 60

export class Forecast {
  readonly #states: States
  /** For each order and stop the stop that must be left before there is room: so many before as the stop has options. -1 without. */
  readonly #ahead: readonly Int32Array[]
  /** The jobs, those that are served first before the others. */
  readonly #jobs: Int32Array
  readonly #rounds: number
  /** For each stop that is left the earliest arrival, and when labware has made room after it. */
  readonly #arrival: Float64Array
  readonly #left: Float64Array
  #slot = 0

  /** `turns`: tables that say for a stop which other stop must have been begun before. */
  constructor(states: States, turns: readonly Int32Array[]) {
    const { model } = states
    this.#states = states
    this.#ahead = turns.map((turn) => turn.map((_, stop) => aheadOf(turn, stop, model.firstOption[stop + 1]! - model.firstOption[stop]!)))
    this.#jobs = model.inTurn
    this.#rounds = turns.length > 1 ? rounds : 1
    this.#arrival = new Float64Array(model.firstStop[model.jobs]!)
    this.#left = new Float64Array(model.firstStop[model.jobs]!)
  }

  /** Reads a state. */
  prepare(slot: number): void {
    if (this.#ahead.length === 0) return
    this.#slot = slot
    this.#left.fill(0)
    for (let round = 0; round < this.#rounds; round++) for (const job of this.#jobs) this.#follow(job)
  }

  /** Returns the earliest arrivals at all stops that hold all windows in these orders, as far as it is foretold; null if there are none. */
  arrivals(slot: number): Float64Array | null {
    this.#slot = slot
    this.#left.fill(0)
    for (let round = 0; round < roundsAtMost; round++) {
      const before = this.#arrival.slice()
      for (const job of this.#jobs) this.#follow(job)
      if (round > 0 && this.#arrival.every((seconds, stop) => seconds === before[stop])) return before
    }
    return null
  }

  /** When labware that is served before has made room for a stop, at the earliest; 0 if it has done so already. */
  freeAt(stop: number): number {
    const { model, stop: nextOf } = this.#states
    let free = 0
    for (const table of this.#ahead) {
      const ahead = table[stop]!
      if (ahead < 0 || ahead < nextOf[this.#slot * model.jobs + model.jobOf[ahead]!]!) continue
      if (this.#left[ahead]! > free) free = this.#left[ahead]!
    }
    return free
  }

  #follow(job: number): void {
    const { model, stop, ready } = this.#states
    const { jobs, firstStop, hopIn, hopOut, work, within } = model
    const next = stop[this.#slot * jobs + job]!
    const done = firstStop[job + 1]! - 1
    let now = ready[this.#slot * jobs + job]!
    for (let later = next; later < done; later++) {
      this.#arrival[later] = Math.max(now, this.freeAt(later)) + hopIn[later]!
      now = this.#arrival[later]! + work[later]!
    }
    for (let later = done - 1; later >= next; later--) {
      const latest = later + 1 < done ? this.#arrival[later + 1]! - within[later + 1]! - work[later]! : 0
      if (latest > this.#arrival[later]!) this.#arrival[later] = latest
      this.#left[later] = this.#arrival[later]! + work[later]! + hopOut[later + 1]!
    }
  }
}

function aheadOf(turn: Int32Array, stop: number, count: number): number {
  let ahead = count > 0 ? stop : -1
  for (let index = 0; index < count && ahead >= 0; index++) ahead = turn[ahead]!
  return ahead
}
