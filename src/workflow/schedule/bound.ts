// Rates states: how long the schedule becomes at least. It is true for all schedules, so it is also the bound at the root.

import type { Model } from './model.ts'
import { type Hop, isAtStart, missed, type States } from './state.ts'

/** How much what is only likely counts beside what is certain. */
export type Weights = { readonly pools: number; readonly jobs: number; readonly arms: number }

/** Rates the hops from one state without making them. */
export class Rater {
  /** What the schedule costs at least after the hop that was rated last. */
  least = 0
  readonly #model: Model
  readonly #states: States
  readonly #weights: Weights
  #slot = 0
  /** Of each place: the earliest moment at which labware that stands there can leave or the next can come, and the seconds for which it then still holds the place. */
  readonly #free: Float64Array
  readonly #out: Float64Array
  /** Of each pool: the earliest moment at which labware that is yet to come can be on its way. */
  readonly #head: Float64Array
  readonly #work: Float64Array
  readonly #arms: Float64Array
  readonly #sorted: Float64Array
  /** The two longest rests with the time that has passed, the two longest rests, and who has the longest. */
  #most = 0
  #mostJob = -1
  #second = 0
  #tail = 0
  #tailJob = -1
  #secondTail = 0
  #jobs = 0
  readonly #hasWindows: boolean

  constructor(states: States, weights: Weights) {
    const { model } = states
    this.#model = model
    this.#states = states
    this.#weights = weights
    this.#free = new Float64Array(model.places)
    this.#out = new Float64Array(model.places)
    this.#head = new Float64Array(model.pools.length)
    this.#work = new Float64Array(model.pools.length)
    this.#arms = new Float64Array(model.arms)
    this.#sorted = new Float64Array(model.arms)
    this.#hasWindows = model.within.some((seconds) => seconds < Number.POSITIVE_INFINITY)
  }

  /** Reads a state. The hops that are rated next begin there. */
  prepare(slot: number): void {
    this.#slot = slot
    const { pools } = this.#model
    const { poolWork, armFree } = this.#states
    for (let pool = 0; pool < pools.length; pool++) this.#work[pool] = poolWork[slot * pools.length + pool]!
    for (let arm = 0; arm < this.#arms.length; arm++) this.#arms[arm] = armFree[slot * this.#arms.length + arm]!
    this.#readJobs()
    this.#readPlaces()
  }

  #readJobs(): void {
    const { jobs, firstStop, tail, firstPool, stopPool } = this.#model
    const { stop, ready } = this.#states
    this.#most = this.#second = this.#tail = this.#secondTail = this.#jobs = 0
    this.#mostJob = this.#tailJob = -1
    this.#head.fill(Number.POSITIVE_INFINITY)
    for (let job = 0; job < jobs; job++) {
      const next = stop[this.#slot * jobs + job]!
      const done = firstStop[job + 1]! - 1
      if (next === done) continue
      const now = ready[this.#slot * jobs + job]!
      const total = now + tail[next]!
      this.#jobs += total
      if (total > this.#most) {
        this.#second = this.#most
        this.#most = total
        this.#mostJob = job
      } else if (total > this.#second) this.#second = total
      if (tail[next]! > this.#tail) {
        this.#secondTail = this.#tail
        this.#tail = tail[next]!
        this.#tailJob = job
      } else if (tail[next]! > this.#secondTail) this.#secondTail = tail[next]!
      for (let later = next; later < done; later++) {
        const leaves = total - tail[later]!
        for (let index = firstPool[later]!; index < firstPool[later + 1]!; index++)
          if (leaves < this.#head[stopPool[index]!]!) this.#head[stopPool[index]!] = leaves
      }
    }
  }

  #readPlaces(): void {
    const { jobs, places, served, hopIn, firstStop } = this.#model
    const { stop, ready, holder, freeFrom } = this.#states
    for (let index = 0; index < served.length; index++) {
      const place = served[index]!
      const job = holder[this.#slot * places + place]!
      if (job < 0) {
        this.#free[place] = freeFrom[this.#slot * places + place]!
        this.#out[place] = -1
        continue
      }
      const next = stop[this.#slot * jobs + job]!
      const isDone = next === firstStop[job + 1]! - 1
      this.#free[place] = isDone ? 0 : ready[this.#slot * jobs + job]!
      this.#out[place] = isDone ? 0 : hopIn[next]!
    }
  }

  /** A number for the state after a hop: lower is better. */
  rate(hop: Hop): number {
    const { jobs, arms, tail, firstPool, stopPool, visit, optionSeconds, hopIn, firstStop } = this.#model
    const { stop, ready } = this.#states
    const { job, from, to } = hop
    const next = stop[this.#slot * jobs + job]!
    const isStop = hop.option >= 0
    const after = isStop ? next + 1 : next
    const leaves = isStop ? hop.end + optionSeconds[hop.option]! : hop.end
    const isDone = after === firstStop[job + 1]! - 1
    const [freeFrom, outFrom, freeTo, outTo] = [this.#free[from]!, this.#out[from]!, this.#free[to]!, this.#out[to]!]
    if (from !== to) {
      this.#free[from] = hop.legs > 0 ? hop.legEnd[0]! : hop.end
      this.#out[from] = -1
    }
    this.#free[to] = leaves
    this.#out[to] = isDone ? -1 : hopIn[after]!
    for (let leg = 0; leg < hop.legs; leg++) this.#arms[hop.arm[leg]!] = hop.legEnd[leg]!
    if (isStop) for (let index = firstPool[next]!; index < firstPool[next + 1]!; index++) this.#work[stopPool[index]!]! -= visit[next]!
    const rating = this.#total(job, next, after, leaves, isDone)
    this.#free[from] = freeFrom
    this.#out[from] = outFrom
    this.#free[to] = freeTo
    this.#out[to] = outTo
    for (let leg = 0; leg < hop.legs; leg++) this.#arms[hop.arm[leg]!] = this.#states.armFree[this.#slot * arms + hop.arm[leg]!]!
    if (isStop) for (let index = firstPool[next]!; index < firstPool[next + 1]!; index++) this.#work[stopPool[index]!]! += visit[next]!
    const before = ready[this.#slot * jobs + job]! + tail[next]!
    return rating + (this.#weights.jobs * (leaves + tail[after]! - before + this.#jobs)) / jobs + this.#missed(hop)
  }

  /** The bound of the state as it is. */
  bound(): number {
    return this.#total(-1, 0, 0, 0, false, true)
  }

  #total(job: number, next: number, after: number, leaves: number, isDone: boolean, isBare = false): number {
    const { tail, arms, armTail, soleTail, pools } = this.#model
    const { armWork, soleWork, end } = this.#states
    const soonest = this.#soonest()
    let bound = Math.max(end[this.#slot]!, job === this.#mostJob ? this.#second : this.#most)
    if (job >= 0) bound = Math.max(bound, (isDone ? leaves : Math.max(leaves, soonest)) + tail[after]!)
    bound = Math.max(bound, soonest + (job === this.#tailJob ? this.#secondTail : this.#tail))
    const work = armWork[this.#slot]! - (armTail[next]! - armTail[after]!)
    const armBound = work > 0 ? this.#level(work) : 0
    bound = Math.max(bound, armBound)
    for (let arm = 0; arm < arms; arm++) {
      const sole = soleWork[this.#slot * arms + arm]! - (soleTail[next * arms + arm]! - soleTail[after * arms + arm]!)
      if (sole > 0) bound = Math.max(bound, this.#arms[arm]! + sole)
    }
    let sum = 0
    for (let pool = 0; pool < pools.length; pool++) {
      const least = this.#pool(pool, soonest)
      sum += least
      if (least > bound) bound = least
    }
    this.least = bound
    return isBare ? bound : bound + (this.#weights.pools * sum) / Math.max(1, pools.length) + this.#weights.arms * armBound
  }

  #pool(pool: number, soonest: number): number {
    const work = this.#work[pool]!
    if (work <= 1e-6) return 0
    const { members, longestOut, shortestTail } = this.#model.pools[pool]!
    const head = Math.max(soonest, this.#head[pool]!)
    let sum = work
    for (let index = 0; index < members.length; index++) {
      const place = members[index]!
      const out = this.#out[place]!
      sum += out < 0 ? Math.max(this.#free[place]!, head) : Math.max(this.#free[place]!, soonest) + out
    }
    return sum / members.length - longestOut + shortestTail
  }

  #soonest(): number {
    let soonest = this.#arms[0]!
    for (let arm = 1; arm < this.#arms.length; arm++) if (this.#arms[arm]! < soonest) soonest = this.#arms[arm]!
    return soonest
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

  /** The seconds by which windows are missed at least after a hop, times a large number. */
  #missed(hop: Hop): number {
    if (!this.#hasWindows) return 0
    const { jobs, within, weight, hopIn, optionSeconds, firstStop } = this.#model
    const { stop, ready, since, excess } = this.#states
    const soonest = hop.legs > 0 ? Math.min(this.#soonest(), hop.legEnd[hop.legs - 1]!) : this.#soonest()
    let sum = excess[this.#slot]!
    for (let job = 0; job < jobs; job++) {
      let next = stop[this.#slot * jobs + job]!
      let [from, now] = [since[this.#slot * jobs + job]!, ready[this.#slot * jobs + job]!]
      if (job === hop.job) {
        if (hop.option >= 0) {
          sum += weight[job]! * Math.max(0, hop.end - from - within[next]!)
          next++
          from = now = hop.end + optionSeconds[hop.option]!
        } else now = hop.end
      }
      if (next === firstStop[job + 1]! - 1 || within[next] === Number.POSITIVE_INFINITY) continue
      sum += weight[job]! * Math.max(0, Math.max(now, soonest, this.#comes(next)) + hopIn[next]! - from - within[next]!)
    }
    return sum * missed
  }

  /** When a place for a stop is free at the earliest. */
  #comes(stop: number): number {
    const { firstOption, optionPlace, isStorage } = this.#model
    let earliest = Number.POSITIVE_INFINITY
    for (let index = firstOption[stop]!; index < firstOption[stop + 1]!; index++) {
      const place = optionPlace[index]!
      const free = isStorage[place] ? 0 : this.#free[place]! + Math.max(0, this.#out[place]!)
      if (free < earliest) earliest = free
    }
    return earliest
  }

  /** The earliest arrival at a stop after which the windows of the stops after it can be held, as far as the devices are known to be free. */
  arrivalForWindows(hop: Hop, stop: number, seconds: number): number {
    const { within, hopIn, work, firstStop, problem } = this.#model
    const isOpen = problem.objective === 'open_time' && isAtStart(this.#model, hop.job, stop, hop.from)
    const done = firstStop[hop.job + 1]! - 1
    let [arrival, lead] = [0, seconds]
    for (let later = stop + 1; later < done; later++) {
      const limit = isOpen ? Math.min(within[later]!, hopIn[later]!) : within[later]!
      if (limit === Number.POSITIVE_INFINITY) break
      arrival = Math.max(arrival, this.#comes(later) + hopIn[later]! - lead - limit)
      lead += limit + work[later]!
    }
    return arrival
  }
}
