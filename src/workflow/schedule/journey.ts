// Finds the journey of one labware that ends first, beside journeys that are fixed already: all its windows hold, and nothing else is moved.
// A label stands for all arrivals at a place within one gap of it; the label with the earliest possible end is extended next.

import type { Model } from './model.ts'
import type { Timeline } from './timeline.ts'

/** One way to carry out a hop without a pause: which arm carries when, in seconds after the start. */
export type Carriage = {
  readonly seconds: number
  readonly legs: readonly { readonly arm: number; readonly after: number; readonly seconds: number }[]
  /** The places between two legs, each taken from the start until labware has left it. */
  readonly vias: readonly { readonly place: number; readonly seconds: number }[]
}

/** A hop of a journey; `carriage` is null if labware stays where it is. */
export type Ride = {
  readonly to: number
  readonly option: number
  readonly stop: number
  readonly start: number
  readonly carriage: Carriage | null
}

/** What is taken already. `begins` holds the start of the hop to each stop, NaN if it is not fixed. */
export type Taken = { readonly places: readonly Timeline[]; readonly arms: readonly Timeline[]; readonly begins: Float64Array }

type Label = {
  readonly place: number
  /** The stop that comes next. */
  readonly next: number
  /** The first and the last possible arrival. */
  readonly from: number
  readonly to: number
  /** Labware must have left the place by then. */
  readonly leave: number
  readonly work: number
  /** The arrival at the next stop is at most so long after the arrival here, and not after `latest`. */
  readonly limit: number
  readonly latest: number
  readonly waits: boolean
  readonly option: number
  readonly carriage: Carriage | null
  readonly before: Label | null
  readonly rating: number
}

const never = Number.POSITIVE_INFINITY

export class Journeys {
  /** The labels that were made so far. */
  effort = 0
  readonly #model: Model
  readonly #taken: Taken
  readonly #carriages: (readonly Carriage[] | undefined)[] = []
  /** For each stop the same stop of the labware that is served before and after; -1 for none. */
  readonly #before: Int32Array
  readonly #after: Int32Array
  readonly #heap: Label[] = []
  readonly #known = new Map<number, Label[]>()
  #job = 0
  #soonest = 0

  constructor(model: Model, turn: Int32Array | null, taken: Taken) {
    this.#model = model
    this.#taken = taken
    const stops = model.firstStop[model.jobs]!
    this.#before = turn ?? new Int32Array(stops).fill(-1)
    this.#after = new Int32Array(stops).fill(-1)
    for (let stop = 0; stop < stops; stop++) if (this.#before[stop]! >= 0) this.#after[this.#before[stop]!] = stop
  }

  /** Returns the journey of a job that begins no earlier than `soonest`; null if there is none. */
  find(job: number, soonest: number, effortAtMost: number): Ride[] | null {
    const { problem, firstStop, isStorage, within } = this.#model
    const { at, ready_s, since_s, stays } = problem.jobs[job]!
    const first = firstStop[job]!
    this.#job = job
    this.#soonest = soonest
    this.#heap.length = 0
    this.#known.clear()
    const leave = isStorage[at] ? never : this.#taken.places[at]!.gapTo(0)
    const start = { from: ready_s, to: ready_s, leave, work: 0, limit: never, latest: since_s + within[first]! }
    this.#push({ ...start, place: at, next: first, waits: false, option: -1, carriage: null, before: null, rating: 0 })
    const last = firstStop[job + 1]! - 1
    while (this.#heap.length > 0 && this.effort < effortAtMost) {
      const label = this.#pop()
      if (label.next === last) {
        if (!stays || label.leave === never || isStorage[label.place]) return this.#ridesTo(label)
      } else this.#extend(label)
    }
    return null
  }

  #extend(label: Label): void {
    const { firstOption, optionPlace, optionSeconds, firstBuffer, buffer, problem } = this.#model
    const { next } = label
    for (let option = firstOption[next]!; option < firstOption[next + 1]!; option++)
      this.#hop(label, optionPlace[option]!, option, optionSeconds[option]!)
    if (label.waits || problem.places[label.place]!.isStorage) return
    for (let index = firstBuffer[this.#job]!; index < firstBuffer[this.#job + 1]!; index++)
      if (buffer[index] !== label.place) this.#hop(label, buffer[index]!, -1, 0)
  }

  #hop(label: Label, place: number, option: number, work: number): void {
    const { isStorage, groupOf, groups } = this.#model
    const { next } = label
    let from = Math.max(label.from + label.work, label.before === null ? this.#soonest : 0)
    let to = Math.min(label.to + label.limit, label.latest)
    if (option >= 0) {
      from = Math.max(from, this.#beginOf(this.#before, next, Number.NEGATIVE_INFINITY))
      to = Math.min(to, this.#beginOf(this.#after, next, never) + this.#model.hopIn[next]!)
    }
    if (place === label.place) {
      if (from <= to) this.#reach(label, place, option, work, null, from, Math.min(to, label.leave - work), label.leave)
      return
    }
    for (const carriage of this.#carriagesOf(groupOf[label.place]! * groups + groupOf[place]!)) {
      const { seconds } = carriage
      if (label.work + seconds > label.limit) continue
      const last = Math.min(to - seconds, label.leave - (carriage.legs[0]?.seconds ?? 0))
      if (from > last) continue
      if (isStorage[place]) {
        this.#fit(carriage, 0, from, last, (low, high) => this.#reach(label, place, option, work, carriage, low + seconds, high + seconds, never))
        continue
      }
      const line = this.#taken.places[place]!
      for (let gap = line.gapAfter(from); gap < line.gaps && line.gapFrom(gap) <= last; gap++) {
        const leave = line.gapTo(gap)
        const high = Math.min(last, leave - seconds - work)
        this.#fit(carriage, 0, Math.max(from, line.gapFrom(gap)), high, (low, top) =>
          this.#reach(label, place, option, work, carriage, low + seconds, top + seconds, leave),
        )
      }
    }
  }

  /** Calls back with each range of starts between `low` and `high` in which the arms and the places between are free. */
  #fit(carriage: Carriage, index: number, low: number, high: number, found: (low: number, high: number) => void): void {
    if (low > high) return
    const { legs, vias } = carriage
    if (index === legs.length + vias.length) {
      found(low, high)
      return
    }
    const leg = legs[index]
    const via = vias[index - legs.length]
    const line = leg ? this.#taken.arms[leg.arm]! : this.#taken.places[via!.place]!
    const after = leg?.after ?? 0
    const seconds = leg?.seconds ?? via!.seconds
    for (let gap = line.gapAfter(low + after); gap < line.gaps && line.gapFrom(gap) <= high + after; gap++)
      this.#fit(carriage, index + 1, Math.max(low, line.gapFrom(gap) - after), Math.min(high, line.gapTo(gap) - seconds - after), found)
  }

  #reach(before: Label, place: number, option: number, work: number, carriage: Carriage | null, from: number, to: number, leave: number): void {
    if (from > to) return
    const { within, tail } = this.#model
    const waits = option < 0
    const next = waits ? before.next : before.next + 1
    const limit = waits ? before.limit - before.work - carriage!.seconds : work + within[next]!
    const latest = waits ? Math.min(before.latest, before.to + before.limit) : never
    const rating = from + work + tail[next]!
    const label = { place, next, from, to, leave, work, limit, latest, waits, option, carriage, before, rating }
    if (!this.#isKnown(label)) this.#push(label)
  }

  /** Whether the same arrivals, with the same freedom, were found before. */
  #isKnown(label: Label): boolean {
    const key = (label.next * 2 + Number(label.waits)) * this.#model.places + label.place
    const known = this.#known.get(key)
    if (!known) {
      this.#known.set(key, [label])
      return false
    }
    for (const other of known)
      if (other.from <= label.from && other.to >= label.to && other.leave === label.leave && other.limit >= label.limit && other.latest >= label.latest) return true
    known.push(label)
    return false
  }

  #beginOf(turn: Int32Array, stop: number, none: number): number {
    for (let other = turn[stop]!; other >= 0; other = turn[other]!)
      if (!Number.isNaN(this.#taken.begins[other]!)) return this.#taken.begins[other]!
    return none
  }

  #carriagesOf(way: number): readonly Carriage[] {
    const known = this.#carriages[way]
    if (known) return known
    const { firstLeg, firstCarrier, carrierArm, carrierSeconds, legVia } = this.#model
    let all: Carriage[] = firstLeg[way] === firstLeg[way + 1] ? [] : [{ seconds: 0, legs: [], vias: [] }]
    for (let leg = firstLeg[way]!; leg < firstLeg[way + 1]!; leg++) {
      const longer: Carriage[] = []
      for (const { seconds: after, legs, vias } of all)
        for (let index = firstCarrier[leg]!; index < firstCarrier[leg + 1]!; index++) {
          const seconds = carrierSeconds[index]!
          longer.push({
            seconds: after + seconds,
            legs: [...legs, { arm: carrierArm[index]!, after, seconds }],
            vias: leg === firstLeg[way] ? vias : [...vias, { place: legVia[leg - 1]!, seconds: after + seconds }],
          })
        }
      all = longer
    }
    this.#carriages[way] = all
    return all
  }

  /** The journey that ends first and begins as late as it then can: labware rather waits before its work than between. */
  #ridesTo(end: Label): Ride[] {
    const rides: Ride[] = []
    let arrival = end.from
    for (let label = end; label.before; label = label.before) {
      const start = arrival - (label.carriage?.seconds ?? 0)
      rides.push({ to: label.place, option: label.option, stop: label.option < 0 ? -1 : label.next - 1, start, carriage: label.carriage })
      arrival = Math.min(label.before.to, start - label.before.work)
    }
    return rides.reverse()
  }

  #push(label: Label): void {
    this.effort++
    const heap = this.#heap
    let index = heap.length
    heap.push(label)
    for (let up = (index - 1) >> 1; index > 0 && label.rating < heap[up]!.rating; up = (index - 1) >> 1) {
      heap[index] = heap[up]!
      index = up
    }
    heap[index] = label
  }

  #pop(): Label {
    const heap = this.#heap
    const top = heap[0]!
    const label = heap.pop()!
    const size = heap.length
    if (size === 0) return top
    let index = 0
    for (let child = 1; child < size; child = 2 * index + 1) {
      if (child + 1 < size && heap[child + 1]!.rating < heap[child]!.rating) child++
      if (heap[child]!.rating >= label.rating) break
      heap[index] = heap[child]!
      index = child
    }
    heap[index] = label
    return top
  }
}
