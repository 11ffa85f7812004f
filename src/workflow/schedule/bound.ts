// How long a schedule becomes at least after a hop: by the way of each labware, by the work of each pool with its change-overs, and by the arms.

import { Forecast } from './forecast.ts'
import { hasDelays, type Model } from './model.ts'
import { Sums } from './objective.ts'
import { type Hop, isAtStart, missed, type States } from './state.ts'

/** How much the mean of all bounds counts beside the largest. */
export type Weights = { readonly pools: number; readonly jobs: number; readonly arms: number }

/** Rates the hops from one state without making them. */
export class Rater {
  /** The least cost of a schedule after the hop that was rated last. */
  least = 0
  readonly #model: Model
  readonly #states: States
  readonly #weights: Weights
  readonly #sums: Sums
  readonly #forecast: Forecast | null
  /** When the first arm is free. */
  #soonest = 0
  #slot = 0
  /** For each place: when labware that stands there can leave, and how long it then still holds the place; or since when it is free, and -1. */
  readonly #free: Float64Array
  readonly #out: Float64Array
  /** For each pool: the earliest moment at which labware that is yet to come can be on its way, and what is left to do. */
  readonly #head: Float64Array
  readonly #work: Float64Array
  readonly #arms: Float64Array
  readonly #sorted: Float64Array
  #poolMost = 0
  #poolSum = 0

  constructor(states: States, weights: Weights, turns: readonly Int32Array[] = []) {
    const { model } = states
    this.#model = model
    this.#states = states
    this.#sums = new Sums(states)
    this.#forecast = hasDelays(model) ? new Forecast(states, turns) : null
    this.#weights = weights
    this.#free = new Float64Array(model.places)
    this.#out = new Float64Array(model.places)
    this.#head = new Float64Array(model.pools.length)
    this.#work = new Float64Array(model.pools.length)
    this.#arms = new Float64Array(model.arms)
    this.#sorted = new Float64Array(model.arms)
  }

  /** Reads a state. The hops that are rated next begin there. */
  prepare(slot: number): void {
    this.#slot = slot
    const { pools } = this.#model
    const { poolWork, armFree } = this.#states
    for (let pool = 0; pool < pools.length; pool++) this.#work[pool] = poolWork[slot * pools.length + pool]!
    for (let arm = 0; arm < this.#arms.length; arm++) this.#arms[arm] = armFree[slot * this.#arms.length + arm]!
    this.#readHeads()
    this.#readPlaces()
    this.#sums.prepare(slot, this.#comes)
    this.#forecast?.prepare(slot)
  }

  #readHeads(): void {
    const { jobs, firstStop, tail, firstPool, stopPool } = this.#model
    const { stop, ready } = this.#states
    this.#head.fill(Number.POSITIVE_INFINITY)
    for (let job = 0; job < jobs; job++) {
      const next = stop[this.#slot * jobs + job]!
      const end = ready[this.#slot * jobs + job]! + tail[next]!
      for (let later = next; later < firstStop[job + 1]! - 1; later++) {
        const leaves = end - tail[later]!
        for (let index = firstPool[later]!; index < firstPool[later + 1]!; index++)
          if (leaves < this.#head[stopPool[index]!]!) this.#head[stopPool[index]!] = leaves
      }
    }
  }

  #readPlaces(): void {
    const { jobs, places, hopOut, firstStop, isStorage } = this.#model
    const { stop, ready, holder, freeFrom } = this.#states
    for (let place = 0; place < places; place++) {
      const job = isStorage[place] ? -1 : holder[this.#slot * places + place]!
      const next = job < 0 ? -1 : stop[this.#slot * jobs + job]!
      if (job < 0) this.#set(place, freeFrom[this.#slot * places + place]!, -1)
      else if (next === firstStop[job + 1]! - 1) this.#set(place, 0, 0)
      else this.#set(place, ready[this.#slot * jobs + job]!, hopOut[next]!)
    }
  }

  #set(place: number, free: number, out: number): void {
    this.#free[place] = free
    this.#out[place] = out
  }

  /** Returns a number for the state after a hop: lower is better. `least` is then what is certain. */
  rate(hop: Hop): number {
    const { jobs, arms, firstPool, stopPool, visit, optionSeconds, hopOut, firstStop, isStorage } = this.#model
    const { from, to, job, option } = hop
    const next = this.#states.stop[this.#slot * jobs + job]!
    const after = option < 0 ? next : next + 1
    const [freeFrom, outFrom, freeTo, outTo] = [this.#free[from]!, this.#out[from]!, this.#free[to]!, this.#out[to]!]
    if (from !== to) this.#set(from, hop.legs > 0 ? hop.legEnd[0]! : hop.end, -1)
    if (!isStorage[to]) {
      const leaves = option < 0 ? hop.end : hop.end + optionSeconds[option]!
      this.#set(to, leaves, after === firstStop[job + 1]! - 1 ? -1 : hopOut[after]!)
    }
    for (let leg = 0; leg < hop.legs; leg++) this.#arms[hop.arm[leg]!] = hop.legEnd[leg]!
    const last = option < 0 ? firstPool[next]! : firstPool[next + 1]!
    for (let index = firstPool[next]!; index < last; index++) this.#work[stopPool[index]!]! -= visit[next]!
    const rating = this.#rateAll(hop, next, after)
    for (let index = firstPool[next]!; index < last; index++) this.#work[stopPool[index]!]! += visit[next]!
    for (let leg = 0; leg < hop.legs; leg++) this.#arms[hop.arm[leg]!] = this.#states.armFree[this.#slot * arms + hop.arm[leg]!]!
    this.#set(from, freeFrom, outFrom)
    this.#set(to, freeTo, outTo)
    return rating
  }

  #rateAll(hop: Hop, next: number, after: number): number {
    const { pools, problem, weightOfEnds, runs } = this.#model
    const { pools: ofPools, jobs: ofJobs, arms: ofArms } = this.#weights
    this.#readSoonest()
    const arms = this.#armBound(next, after)
    this.#readPools()
    this.#sums.of(hop, this.#soonest, this.#free[hop.from]!, this.#free[hop.to]! + Math.max(0, this.#out[hop.to]!))
    const { most, flow, open, excess } = this.#sums
    const bound = Math.max(this.#states.end[this.#slot]!, arms, this.#poolMost, most)
    const likely = (ofPools * this.#poolSum) / Math.max(1, pools.length) + (ofJobs * flow) / weightOfEnds + ofArms * arms
    const { objective } = problem
    const main = objective === 'makespan' ? (runs > 0 ? bound + flow : bound) : objective === 'flow_time' ? flow : open
    this.least = excess * missed + main
    return objective === 'makespan' ? this.least + likely : this.least + likely * (objective === 'flow_time' ? weightOfEnds : 0.1)
  }

  /** The bound of the makespan from the state as it is. */
  bound(): number {
    const { jobs, tail, firstStop } = this.#model
    this.#readSoonest()
    this.#readPools()
    let bound = Math.max(this.#states.end[this.#slot]!, this.#armBound(0, 0), this.#poolMost)
    for (let job = 0; job < jobs; job++) {
      const next = this.#states.stop[this.#slot * jobs + job]!
      if (next < firstStop[job + 1]! - 1) bound = Math.max(bound, this.#states.ready[this.#slot * jobs + job]! + tail[next]!)
    }
    return bound
  }

  #readSoonest(): void {
    this.#soonest = this.#arms[0] ?? 0
    for (let arm = 1; arm < this.#arms.length; arm++) if (this.#arms[arm]! < this.#soonest) this.#soonest = this.#arms[arm]!
  }

  #armBound(next: number, after: number): number {
    const { arms, armTail, soleTail } = this.#model
    const work = this.#states.armWork[this.#slot]! - (armTail[next]! - armTail[after]!)
    let bound = work > 1e-6 ? this.#level(work) : 0
    for (let arm = 0; arm < arms; arm++) {
      const sole = this.#states.soleWork[this.#slot * arms + arm]! - (soleTail[next * arms + arm]! - soleTail[after * arms + arm]!)
      if (sole > 1e-6) bound = Math.max(bound, this.#arms[arm]! + sole)
    }
    return bound
  }

  #readPools(): void {
    const { pools } = this.#model
    this.#poolMost = this.#poolSum = 0
    for (let pool = 0; pool < pools.length; pool++) {
      const bound = this.#work[pool]! > 1e-6 ? this.#pool(pool) : 0
      this.#poolSum += bound
      if (bound > this.#poolMost) this.#poolMost = bound
    }
  }

  #pool(pool: number): number {
    const { members, longestOut, shortestTail } = this.#model.pools[pool]!
    const head = Math.max(this.#soonest, this.#head[pool]!)
    let sum = this.#work[pool]!
    for (let index = 0; index < members.length; index++) {
      const [free, out] = [this.#free[members[index]!]!, this.#out[members[index]!]!]
      sum += out < 0 ? Math.max(free, head) : Math.max(free, this.#soonest) + out
    }
    return sum / members.length - longestOut + shortestTail
  }

  /** When all arms are free at the earliest, if they share so much work as they like. */
  #level(work: number): number {
    if (this.#arms.length === 1) return this.#arms[0]! + work
    this.#sorted.set(this.#arms)
    this.#sorted.sort()
    let level = Number.POSITIVE_INFINITY
    let sum = work
    for (let count = 1; count <= this.#sorted.length; count++) {
      sum += this.#sorted[count - 1]!
      level = Math.min(level, sum / count)
    }
    return level
  }

  /** When a place for a stop is free at the earliest. */
  readonly #comes = (stop: number): number => {
    const { firstOption, optionPlace, isStorage } = this.#model
    let earliest = Number.POSITIVE_INFINITY
    for (let index = firstOption[stop]!; index < firstOption[stop + 1]!; index++) {
      const place = optionPlace[index]!
      const free = isStorage[place] ? 0 : this.#free[place]! + Math.max(0, this.#out[place]!)
      if (free < earliest) earliest = free
    }
    return earliest
  }

  /** The earliest arrival at a stop after which the windows of the stops after it can be held, as far as it is known when devices are free. */
  arrivalForWindows(hop: Hop, stop: number): number {
    const { within, hopIn, work, firstStop, problem, optionSeconds } = this.#model
    const isOpen = problem.objective === 'open_time' && isAtStart(this.#model, hop.job, stop, hop.from)
    const done = firstStop[hop.job + 1]! - 1
    let [arrival, lead] = [0, optionSeconds[hop.option]!]
    for (let later = stop + 1; later < done; later++) {
      const limit = isOpen ? Math.min(within[later]!, hopIn[later]!) : within[later]!
      if (limit === Number.POSITIVE_INFINITY) break
      const free = Math.max(this.#comes(later), this.#forecast!.freeAt(later))
      arrival = Math.max(arrival, free + hopIn[later]! - lead - limit)
      lead += limit + work[later]!
    }
    return arrival
  }
}
