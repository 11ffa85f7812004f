// Makes a schedule whose windows hold: labware is inserted one after the other, each with its whole journey, beside what is there already.
// Then some labware is taken out and inserted again, as long as that makes the schedule better.

import type { Progress } from './extend.ts'
import { Journeys, type Ride } from './journey.ts'
import type { Model } from './model.ts'
import { costOf } from './objective.ts'
import type { Step } from './rows.ts'
import { Hop, States } from './state.ts'
import { Timeline } from './timeline.ts'

export class Insertion {
  readonly #model: Model
  readonly #states: States
  readonly #hop = new Hop()
  readonly #places: Timeline[]
  readonly #arms: Timeline[]
  readonly #begins: Float64Array
  readonly #journeys: Journeys
  readonly #rides: (Ride[] | null)[]
  #random = 1

  constructor(model: Model, turn: Int32Array | null) {
    const { problem, jobs, isStorage } = model
    this.#model = model
    this.#states = new States(model, 1)
    this.#places = problem.places.map(() => new Timeline())
    this.#arms = problem.arm_free_s.map((free) => {
      const line = new Timeline()
      line.add(Number.NEGATIVE_INFINITY, free, -1)
      return line
    })
    this.#begins = new Float64Array(model.firstStop[jobs]!).fill(Number.NaN)
    this.#journeys = new Journeys(model, turn, { places: this.#places, arms: this.#arms, begins: this.#begins })
    this.#rides = problem.jobs.map(() => null)
    problem.jobs.forEach(({ at, stops, stays, ready_s }, job) => {
      if (stops.length > 0) this.#stand(job)
      else if (!isStorage[at] && stays) this.#places[at]!.add(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, job)
      else if (!isStorage[at]) this.#places[at]!.add(Number.NEGATIVE_INFINITY, ready_s, job)
    })
  }

  run(progress: Progress, states: number): void {
    const { problem } = this.#model
    const end = Math.min(progress.budget, progress.states + states)
    const before = progress.states
    const effort = () => before + this.#journeys.effort
    const left = () => end - before
    const jobs = problem.jobs.map((_, job) => job).filter((job) => problem.jobs[job]!.stops.length > 0)
    const order = [...jobs].sort((a, b) => problem.jobs[a]!.stops.length - problem.jobs[b]!.stops.length || a - b)
    const made = order.every((job) => this.#insert(job, 0, left()))
    if (!made) {
      progress.states = effort()
      return
    }
    let cost = this.#cost()
    this.#report(progress, cost)
    while (effort() < end) {
      const most = Number(process.env.MOST ?? 3)
      const count = 1 + this.#below(Math.min(most, jobs.length))
      const out = this.#some(jobs, count)
      if (process.env.SORT) out.sort((a, b) => a - b)
      const dice = Number(process.env.DICE ?? 3)
      const part = Number(process.env.PART ?? 1)
      const old = out.map((job) => this.#rides[job]!)
      for (const job of out) this.#remove(job)
      const done = out.every((job) => this.#insert(job, this.#below(dice) === 0 ? this.#below(Math.ceil(cost % 1e7)*part) : 0, left()))
      const now = done ? this.#cost() : Number.POSITIVE_INFINITY
      if (now <= cost) {
        cost = now
        this.#report(progress, cost)
        continue
      }
      for (const job of out) if (this.#rides[job]) this.#remove(job)
      out.forEach((job, index) => {
        this.#fix(job, old[index]!)
      })
    }
    progress.states = effort()
  }

  #report(progress: Progress, cost: number): void {
    if (cost >= progress.cost) return
    progress.cost = cost
    progress.steps = this.#steps()
  }

  /** Returns a whole number below `most`, always the same ones in the same order. */
  #below(most: number): number {
    this.#random = (Math.imul(this.#random, 1664525) + 1013904223) >>> 0
    return Math.floor((this.#random / 2 ** 32) * most)
  }

  #some(jobs: readonly number[], count: number): number[] {
    const rest = [...jobs]
    return Array.from({ length: count }, () => rest.splice(this.#below(rest.length), 1)[0]!)
  }

  #insert(job: number, soonest: number, effort: number): boolean {
    const { problem, isStorage } = this.#model
    const { at } = problem.jobs[job]!
    if (!isStorage[at]) this.#places[at]!.remove(job)
    const rides = this.#journeys.find(job, soonest, effort)
    if (rides === null) {
      this.#stand(job)
      return false
    }
    this.#fix(job, rides)
    return true
  }

  /** Labware without a journey holds the place where it stands until it could have left. */
  #stand(job: number): void {
    const { problem, isStorage, firstStop, hopOut } = this.#model
    const { at, ready_s } = problem.jobs[job]!
    if (!isStorage[at]) this.#places[at]!.add(Number.NEGATIVE_INFINITY, ready_s + hopOut[firstStop[job]!]!, job)
  }

  #fix(job: number, rides: Ride[]): void {
    const { problem, isStorage, optionSeconds } = this.#model
    const { at, stays } = problem.jobs[job]!
    this.#rides[job] = rides
    if (!isStorage[at]) this.#places[at]!.remove(job)
    let [place, since] = [at, Number.NEGATIVE_INFINITY]
    for (const { to, start, stop, carriage } of rides) {
      if (stop >= 0) this.#begins[stop] = start
      if (!carriage) continue
      for (const leg of carriage.legs) this.#arms[leg.arm]!.add(start + leg.after, start + leg.after + leg.seconds, job)
      for (const via of carriage.vias) this.#places[via.place]!.add(start, start + via.seconds, job)
      if (!isStorage[place]) this.#places[place]!.add(since, start + carriage.legs[0]!.seconds, job)
      place = to
      since = start
    }
    const last = rides.at(-1)!
    const end = last.start + (last.carriage?.seconds ?? 0) + optionSeconds[last.option]!
    if (!isStorage[place]) this.#places[place]!.add(since, stays ? Number.POSITIVE_INFINITY : end, job)
  }

  #remove(job: number): void {
    for (const line of this.#places) line.remove(job)
    for (const line of this.#arms) line.remove(job)
    this.#begins.fill(Number.NaN, this.#model.firstStop[job]!, this.#model.firstStop[job + 1]!)
    this.#rides[job] = null
    this.#stand(job)
  }

  #steps(): Step[] {
    return this.#rides
      .flatMap((rides, job) => (rides ?? []).map(({ to, option, start }) => ({ job, to, option, earliest: start })))
      .sort((a, b) => a.earliest - b.earliest)
  }

  /** Makes all hops one after the other; infinite if one is impossible. */
  #cost(): number {
    const states = this.#states
    const hop = this.#hop
    states.begin(0)
    for (const { job, to, option, earliest } of this.#steps()) {
      hop.job = job
      hop.from = states.at[job]!
      hop.to = to
      hop.option = option
      if (!states.time(0, hop, earliest)) return Number.POSITIVE_INFINITY
      states.apply(0, hop)
    }
    return costOf(states, 0)
  }
}
