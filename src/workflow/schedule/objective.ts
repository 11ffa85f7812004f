// The cost of a schedule, and its least cost after a hop. Missed windows count first, then what is to be minimized.

import { type Hop, isAtStart, missed, type States } from './state.ts'

/** The cost of a complete schedule. Ties are decided by the sum of the ends. */
export function costOf(states: States, slot: number): number {
  const { runs, weightOfRun, problem } = states.model
  const { objective } = problem
  const [end, flow, open] = [states.end[slot]!, states.flow[slot]!, states.open[slot]!]
  let main = objective === 'flow_time' ? flow : objective === 'open_time' ? open : end
  if (runs > 0) main += flow
  else main += 1e-6 * (objective === 'makespan' ? flow / states.model.jobs : end)
  for (let run = 0; run < runs; run++) main += weightOfRun[run]! * states.runEnd[slot * runs + run]!
  return states.excess[slot]! * missed + main
}

/** Sums over all labware what is certain after a hop. The numbers are members, so that none is allocated. */
export class Sums {
  /** The longest journey, the weighted sum of the ends of labware and of important runs, the time that labware stands open, and the seconds by which windows are missed: at least. */
  most = 0
  flow = 0
  open = 0
  excess = 0
  readonly #states: States
  /** For each important run its end, at least. */
  readonly #runEnd: Float64Array
  #comes: (stop: number) => number = () => 0
  #slot = 0
  /** The labware that is on its journey, and of each: when it can leave for its next stop, the place where that is, and what comes after it leaves. */
  #count = 0
  readonly #job: Int16Array
  readonly #leaves: Float64Array
  readonly #place: Int16Array
  readonly #tail: Float64Array
  /** Added to the moment at which labware leaves, this gives how long it stands open, and by how much it misses its window. */
  readonly #open: Float64Array
  readonly #excess: Float64Array
  #doneMost = 0

  constructor(states: States) {
    const { jobs } = states.model
    this.#states = states
    this.#runEnd = new Float64Array(states.model.runs)
    this.#job = new Int16Array(jobs)
    this.#place = new Int16Array(jobs)
    this.#leaves = new Float64Array(jobs)
    this.#tail = new Float64Array(jobs)
    this.#open = new Float64Array(jobs)
    this.#excess = new Float64Array(jobs)
  }

  /** Reads a state; `comes` returns when a place for a stop is free at the earliest. */
  prepare(slot: number, comes: (stop: number) => number): void {
    const { model, stop, ready } = this.#states
    const { jobs, firstStop, tail, firstOption, optionPlace } = model
    this.#slot = slot
    this.#comes = comes
    this.#count = this.#doneMost = 0
    for (let job = 0; job < jobs; job++) {
      const next = stop[slot * jobs + job]!
      const now = ready[slot * jobs + job]!
      if (next === firstStop[job + 1]! - 1) {
        this.#doneMost = Math.max(this.#doneMost, now)
        continue
      }
      const index = this.#count++
      this.#job[index] = job
      this.#leaves[index] = Math.max(now, comes(next))
      this.#place[index] = firstOption[next + 1]! - firstOption[next]! === 1 ? optionPlace[firstOption[next]!]! : -1
      this.#tail[index] = tail[next]!
      this.#readLimits(index, job, next)
    }
  }

  #readLimits(index: number, job: number, next: number): void {
    const { model, at, since } = this.#states
    const lead = model.hopIn[next]! - since[this.#slot * model.jobs + job]!
    this.#open[index] = isAtStart(model, job, next, at[this.#slot * model.jobs + job]!) ? Number.NEGATIVE_INFINITY : lead
    this.#excess[index] = lead - model.within[next]!
  }

  /** `freeFrom` and `freeTo`: when the two places of the hop are free again. */
  of(hop: Hop, soonest: number, freeFrom: number, freeTo: number): void {
    const { model, flow, open, excess, runEnd, stop } = this.#states
    this.most = this.#doneMost
    this.flow = flow[this.#slot]!
    this.open = open[this.#slot]!
    this.excess = excess[this.#slot]!
    for (let run = 0; run < model.runs; run++) this.#runEnd[run] = runEnd[this.#slot * model.runs + run]!
    for (let index = 0; index < this.#count; index++) {
      const job = this.#job[index]!
      if (job === hop.job) continue
      let leaves = Math.max(this.#leaves[index]!, soonest)
      const place = this.#place[index]!
      if (place === hop.to && freeTo > leaves) leaves = freeTo
      if (place === hop.from && freeFrom > leaves) leaves = freeFrom
      const end = model.runOf[job]! < 0 ? leaves + this.#tail[index]! : this.#endOf(job, stop[this.#slot * model.jobs + job]!, leaves)
      this.#add(job, leaves, end, this.#open[index]!, this.#excess[index]!)
    }
    this.#addMoved(hop, soonest)
    for (let run = 0; run < model.runs; run++) this.flow += model.weightOfRun[run]! * this.#runEnd[run]!
  }

  /** The end of a journey that goes on to a stop at a moment, at least: labware that stands at a place for one of its stops has to leave before. */
  #endOf(job: number, stop: number, leaves: number): number {
    const { hopIn, work, firstStop } = this.#states.model
    const last = firstStop[job + 1]! - 2
    let now = leaves
    for (let next = stop; next <= last; next++) now = (next === stop ? now : Math.max(now, this.#comes(next))) + hopIn[next]! + work[next]!
    return now
  }

  #add(job: number, leaves: number, end: number, open: number, excess: number): void {
    const weight = this.#states.model.weight[job]!
    this.flow += this.#states.model.weightOfEnd[job]! * end
    if (end > this.most) this.most = end
    const run = this.#states.model.runOf[job]!
    if (run >= 0 && end > this.#runEnd[run]!) this.#runEnd[run] = end
    this.open += weight * Math.max(0, leaves + open)
    this.excess += weight * Math.max(0, leaves + excess)
  }

  #addMoved(hop: Hop, soonest: number): void {
    const { model, stop, since } = this.#states
    const { jobs, firstStop, tail, hopIn, within, optionSeconds } = model
    const { job } = hop
    const weight = model.weight[job]!
    let next = stop[this.#slot * jobs + job]!
    let [now, before] = [hop.end, since[this.#slot * jobs + job]!]
    if (hop.option >= 0) {
      if (!isAtStart(model, job, next, hop.from)) this.open += weight * (hop.end - before)
      this.excess += weight * Math.max(0, hop.end - before - within[next]!)
      now = before = hop.end + optionSeconds[hop.option]!
      next++
    }
    const isDone = next === firstStop[job + 1]! - 1
    const leaves = isDone ? now : Math.max(now, soonest)
    const lead = isDone ? Number.NEGATIVE_INFINITY : hopIn[next]! - before
    this.#add(
      job,
      leaves,
      isDone || model.runOf[job]! < 0 ? leaves + tail[next]! : this.#endOf(job, next, leaves),
      isAtStart(model, job, next, hop.to) ? Number.NEGATIVE_INFINITY : lead,
      lead - within[next]!,
    )
  }
}
