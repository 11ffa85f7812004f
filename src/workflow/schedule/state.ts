// States of the bench while a schedule is made, many in one set of typed arrays, and the hop that leads from one to the next.

import type { Model } from './model.ts'

const legsAtMost = 8

/** More than any time, so that missed windows count first. */
export const missed = 1e7

/** A hop: labware goes to its next stop or to a buffer. One object serves all hops that are tried, so that none is allocated. */
export class Hop {
  job = 0
  from = 0
  to = 0
  /** The index of the option in the model, -1 for a buffer. */
  option = -1
  start = 0
  /** When the labware arrives. */
  end = 0
  legs = 0
  readonly arm = new Int16Array(legsAtMost)
  readonly legStart = new Float64Array(legsAtMost)
  readonly legEnd = new Float64Array(legsAtMost)
  readonly via = new Int16Array(legsAtMost)
}

export class States {
  readonly model: Model
  readonly capacity: number
  /** For each job: where its labware stands, its next stop, when it can leave, when its last work ended. */
  readonly at: Int16Array
  readonly stop: Int32Array
  readonly ready: Float64Array
  readonly since: Float64Array
  /** For each place: the job whose labware stands there or goes there, and since when it is free. */
  readonly holder: Int16Array
  readonly freeFrom: Float64Array
  readonly armFree: Float64Array
  /** The seconds by which windows were missed, the seconds that labware stood open, the sum of ends, the last end; the first three are weighted. */
  readonly excess: Float64Array
  readonly open: Float64Array
  readonly flow: Float64Array
  readonly end: Float64Array
  /** For each important run, the last end. */
  readonly runEnd: Float64Array
  /** Stops that are left, and a number for who stands where. */
  readonly left: Int32Array
  readonly hash: Float64Array
  /** The work that is left for each pool, for all arms together, and for each arm alone. */
  readonly poolWork: Float64Array
  readonly armWork: Float64Array
  readonly soleWork: Float64Array
  /** The hop that led here, by its number in the log of the search. */
  readonly node: Int32Array
  readonly #isExact: boolean
  readonly #widths: readonly (readonly [Int16Array | Int32Array | Float64Array, number])[]

  /** `isExact`: the hash tells places apart that are alike. */
  constructor(model: Model, capacity: number, isExact = false) {
    this.#isExact = isExact
    const { jobs, places, arms, pools } = model
    this.model = model
    this.capacity = capacity
    this.at = new Int16Array(capacity * jobs)
    this.stop = new Int32Array(capacity * jobs)
    this.ready = new Float64Array(capacity * jobs)
    this.since = new Float64Array(capacity * jobs)
    this.holder = new Int16Array(capacity * places)
    this.freeFrom = new Float64Array(capacity * places)
    this.armFree = new Float64Array(capacity * arms)
    this.excess = new Float64Array(capacity)
    this.open = new Float64Array(capacity)
    this.flow = new Float64Array(capacity)
    this.end = new Float64Array(capacity)
    this.runEnd = new Float64Array(capacity * model.runs)
    this.left = new Int32Array(capacity)
    this.hash = new Float64Array(capacity)
    this.poolWork = new Float64Array(capacity * pools.length)
    this.armWork = new Float64Array(capacity)
    this.soleWork = new Float64Array(capacity * arms)
    this.node = new Int32Array(capacity)
    const { at, stop, ready, since, holder, freeFrom, armFree, soleWork, poolWork } = this
    const single = [this.excess, this.open, this.flow, this.end, this.left, this.hash, this.armWork, this.node]
    this.#widths = [
      ...[at, stop, ready, since].map((array) => [array, jobs] as const),
      ...[holder, freeFrom].map((array) => [array, places] as const),
      ...[armFree, soleWork].map((array) => [array, arms] as const),
      [poolWork, pools.length],
      [this.runEnd, model.runs],
      ...single.map((array) => [array, 1] as const),
    ]
  }

  copy(from: number, to: number): void {
    for (const [array, width] of this.#widths) array.copyWithin(to * width, from * width, (from + 1) * width)
  }

  /** Writes the state of now. */
  begin(slot: number): void {
    const { model } = this
    const { problem, jobs, places, arms } = model
    for (const [array, width] of this.#widths) array.fill(0, slot * width, (slot + 1) * width)
    this.holder.fill(-1, slot * places, (slot + 1) * places)
    problem.arm_free_s.forEach((seconds, arm) => {
      this.armFree[slot * arms + arm] = seconds
    })
    this.node[slot] = -1
    for (let job = 0; job < jobs; job++) {
      const { at, ready_s, since_s, stays } = problem.jobs[job]!
      const first = model.firstStop[job]!
      this.at[slot * jobs + job] = at
      this.stop[slot * jobs + job] = first
      this.ready[slot * jobs + job] = ready_s
      this.since[slot * jobs + job] = since_s
      if (this.#isDone(job, first)) this.#ends(slot, job, ready_s)
      if (!model.isStorage[at] && (stays || !this.#isDone(job, first))) this.holder[slot * places + at] = job
      for (let stop = first; !this.#isDone(job, stop); stop++) this.#count(slot, stop, 1)
      this.hash[slot]! += this.#mixed(job, at, 0)
    }
  }

  #isDone(job: number, stop: number): boolean {
    return stop === this.model.firstStop[job + 1]! - 1
  }

  #count(slot: number, stop: number, sign: number): void {
    const { firstPool, stopPool, visit, pools, armTail, soleTail, arms } = this.model
    for (let index = firstPool[stop]!; index < firstPool[stop + 1]!; index++)
      this.poolWork[slot * pools.length + stopPool[index]!]! += sign * visit[stop]!
    this.armWork[slot]! += sign * (armTail[stop]! - armTail[stop + 1]!)
    for (let arm = 0; arm < arms; arm++)
      this.soleWork[slot * arms + arm]! += sign * (soleTail[stop * arms + arm]! - soleTail[(stop + 1) * arms + arm]!)
    this.left[slot]! += sign
  }

  /** Computes when a hop begins and ends, not before `earliest`; false if it is impossible now. Of several arms that is taken with which a leg ends first. */
  time(slot: number, hop: Hop, earliest: number): boolean {
    const { model } = this
    const { places, arms, groupOf, groups, firstLeg, firstCarrier, carrierArm, carrierSeconds, legVia, isStorage } = model
    const { from, to, job } = hop
    let start = Math.max(this.ready[slot * model.jobs + job]!, earliest)
    hop.legs = 0
    hop.start = hop.end = start
    if (from === to) return true
    const way = groupOf[from]! * groups + groupOf[to]!
    const [first, last] = [firstLeg[way]!, firstLeg[way + 1]!]
    if (first === last) return false
    if (!isStorage[to]) {
      if (this.holder[slot * places + to]! >= 0) return false
      start = Math.max(start, this.freeFrom[slot * places + to]!)
    }
    for (let leg = first; leg < last - 1; leg++) {
      const via = legVia[leg]!
      if (this.holder[slot * places + via]! >= 0) return false
      start = Math.max(start, this.freeFrom[slot * places + via]!)
    }
    let now = start
    for (let leg = first; leg < last; leg++) {
      let [bestStart, bestEnd, best, bestFree] = [0, Number.POSITIVE_INFINITY, -1, 0]
      for (let index = firstCarrier[leg]!; index < firstCarrier[leg + 1]!; index++) {
        const arm = carrierArm[index]!
        let free = this.armFree[slot * arms + arm]!
        for (let done = 0; done < hop.legs; done++) if (hop.arm[done] === arm) free = hop.legEnd[done]!
        const begins = Math.max(now, free)
        const ends = begins + carrierSeconds[index]!
        if (ends > bestEnd || (ends === bestEnd && free <= bestFree)) continue
        bestStart = begins
        bestEnd = ends
        best = arm
        bestFree = free
      }
      if (best < 0) return false
      hop.arm[hop.legs] = best
      hop.legStart[hop.legs] = bestStart
      hop.legEnd[hop.legs] = bestEnd
      hop.via[hop.legs] = legVia[leg]!
      hop.legs++
      now = bestEnd
    }
    hop.start = hop.legStart[0]!
    hop.end = now
    return true
  }

  /** Makes a hop whose times are computed. */
  apply(slot: number, hop: Hop): void {
    const { model, at, stop, ready, since, holder, freeFrom } = this
    const { jobs, places, arms, isStorage, firstStop, weight } = model
    const { job, from, to, end } = hop
    const mine = slot * jobs + job
    const next = stop[mine]!
    this.hash[slot]! -= this.#mixed(job, from, next - firstStop[job]!)
    if (from !== to && holder[slot * places + from] === job) {
      holder[slot * places + from] = -1
      freeFrom[slot * places + from] = hop.legEnd[0]!
    }
    for (let leg = 0; leg < hop.legs; leg++) {
      this.armFree[slot * arms + hop.arm[leg]!] = hop.legEnd[leg]!
      if (leg + 1 < hop.legs) freeFrom[slot * places + hop.via[leg]!] = hop.legEnd[leg + 1]!
    }
    at[mine] = to
    ready[mine] = end
    if (!isStorage[to]) holder[slot * places + to] = job
    if (hop.option >= 0) {
      this.excess[slot]! += weight[job]! * Math.max(0, end - since[mine]! - model.within[next]!)
      if (!isAtStart(model, job, next, from)) this.open[slot]! += weight[job]! * (end - since[mine]!)
      stop[mine] = next + 1
      ready[mine] = since[mine] = end + model.optionSeconds[hop.option]!
      this.#count(slot, next, -1)
      if (this.#isDone(job, next + 1)) this.#finish(slot, job)
    }
    this.hash[slot]! += this.#mixed(job, to, stop[mine]! - firstStop[job]!)
  }

  /** The hash of the state after a hop. */
  hashAfter(slot: number, hop: Hop): number {
    const { firstStop, jobs } = this.model
    const { job, from, to } = hop
    const index = this.stop[slot * jobs + job]! - firstStop[job]!
    const after = hop.option >= 0 ? index + 1 : index
    return this.hash[slot]! - this.#mixed(job, from, index) + this.#mixed(job, to, after)
  }

  #mixed(job: number, at: number, stop: number): number {
    const { alike, places, classOf } = this.model
    return mixed(classOf[job]!, this.#isExact ? at : alike[job * places + at]!, stop)
  }

  #finish(slot: number, job: number): void {
    const { jobs, places, problem } = this.model
    const end = this.ready[slot * jobs + job]!
    this.#ends(slot, job, end)
    const place = slot * places + this.at[slot * jobs + job]!
    if (problem.jobs[job]!.stays || this.holder[place] !== job) return
    this.holder[place] = -1
    this.freeFrom[place] = end
  }

  #ends(slot: number, job: number, end: number): void {
    const { weightOfEnd, runOf, runs } = this.model
    this.flow[slot]! += weightOfEnd[job]! * end
    this.end[slot] = Math.max(this.end[slot]!, end)
    const run = runOf[job]!
    if (run >= 0) this.runEnd[slot * runs + run] = Math.max(this.runEnd[slot * runs + run]!, end)
  }
}

/** Whether labware has not begun its journey: the time that it waits then is not counted as open. */
export const isAtStart = (model: Model, job: number, stop: number, at: number): boolean =>
  stop === model.firstStop[job]! && (model.isStorage[at] === 1 || model.isBuffer[job * model.places + at] === 1)

/** A whole number for a labware of a class at a place before a stop. The sum over all labware stands for a configuration, and is exact for 256 labware. */
function mixed(kind: number, at: number, stop: number): number {
  const seed = Math.imul(kind + 1, 0x9e3779b1) ^ Math.imul(at + 1, 0x85ebca6b) ^ Math.imul(stop + 1, 0xc2b2ae35)
  return scrambled(seed) * 0x2000 + (scrambled(seed + 0x6d2b79f5) >>> 19)
}

function scrambled(seed: number): number {
  let hash = Math.imul(seed ^ (seed >>> 15), 0x2c1b3c6d)
  hash = Math.imul(hash ^ (hash >>> 12), 0x297a2d39)
  return (hash ^ (hash >>> 15)) >>> 0
}
