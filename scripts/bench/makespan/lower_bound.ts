// A lower bound for what is left of a shop: no order of hops is shorter. The way of each plate, each device with its change-overs, and the carriers.

import type { Shop } from './shops.ts'

/** The progress of a plate is a number: 2k is outside of devices before step k (at first at its own pad), 2k + 1 is at the device of step k. */
export const isInside = (progress: number) => (progress & 1) === 1

/** A lower bound of the makespan that goes on from a state. The state is told as offsets in one array, because there are millions of them. */
export class LowerBound {
  readonly #shop: Shop
  readonly #steps: number
  readonly #device: Int32Array
  readonly #seconds: Int32Array
  /** From the end of the work at a step to the arrival at the end. */
  readonly #tail: Int32Array
  /** For each device the steps that are done there, as plate * steps + step, the longest tail first. */
  readonly #visits: Int32Array[]
  readonly #head: Int32Array
  readonly #free: Int32Array
  readonly #left: Int32Array
  readonly #units: Int32Array
  /** The sum of the bounds of all devices, of the state that was looked at last. */
  sum = 0

  constructor(shop: Shop, steps: number) {
    const { plates, units, hop_s } = shop
    this.#shop = shop
    this.#steps = steps
    const cells = plates.length * steps
    this.#device = new Int32Array(cells).fill(-1)
    this.#seconds = new Int32Array(cells)
    this.#tail = new Int32Array(cells)
    for (const [p, its] of plates.entries()) {
      let tail = hop_s
      for (let k = its.length - 1; k >= 0; k--) {
        this.#device[p * steps + k] = its[k]!.device
        this.#seconds[p * steps + k] = its[k]!.seconds
        this.#tail[p * steps + k] = tail
        tail += its[k]!.seconds + hop_s
      }
    }
    const visits = Array.from(this.#device.keys())
    this.#visits = units.map((_, device) =>
      Int32Array.from(visits.filter((cell) => this.#device[cell] === device).sort((a, b) => this.#tail[b]! - this.#tail[a]!)),
    )
    this.#head = new Int32Array(cells)
    this.#free = new Int32Array(units.length)
    this.#left = new Int32Array(cells)
    this.#units = Int32Array.from(units)
  }

  /** `at`: the offset of the progress of each plate; `ready`: that of the time from which it can leave; `now`: no hop begins before. */
  of(state: Int32Array, at: number, ready: number, now: number): number {
    const { plates, hop_s } = this.#shop
    const steps = this.#steps
    const count = plates.length
    const free = this.#free.fill(now + hop_s)
    for (let p = 0; p < count; p++) {
      const progress = state[at + p]!
      if (!isInside(progress)) continue
      const device = this.#device[p * steps + (progress >> 1)]!
      if (this.#units[device] === 1) free[device] = Math.max(now, state[ready + p]!) + 2 * hop_s
    }
    let bound = 0
    let hops = 0
    for (let p = 0; p < count; p++) {
      const progress = state[at + p]!
      const own = plates[p]!.length
      if (progress === 2 * own) continue
      let head = Math.max(now, state[ready + p]!) + hop_s
      hops += own + 1 - ((progress + 1) >> 1)
      for (let k = (progress + 1) >> 1; k < own; k++) {
        const cell = p * steps + k
        head = Math.max(head, free[this.#device[cell]!]!)
        this.#head[cell] = head
        head += this.#seconds[cell]! + hop_s
      }
      if (head > bound) bound = head
    }
    bound = Math.max(bound, now + Math.ceil(hops / this.#shop.carriers) * hop_s)
    this.sum = 0
    for (let device = 0; device < free.length; device++) {
      const its = this.#units[device] === 1 ? this.#alone(state, at, device) : this.#pooled(state, at, ready, now, device)
      if (its > bound) bound = its
      this.sum += its
    }
    return bound
  }

  /** Lists the visits that have not begun. */
  #remaining(state: Int32Array, at: number, device: number): number {
    const visits = this.#visits[device]!
    let count = 0
    for (let i = 0; i < visits.length; i++) {
      const cell = visits[i]!
      const p = (cell / this.#steps) | 0
      if (state[at + p]! <= 2 * (cell - p * this.#steps)) this.#left[count++] = cell
    }
    return count
  }

  /** The bound of one machine with heads and tails: the best over all sets of visits that come late and have long tails. */
  #alone(state: Int32Array, at: number, device: number): number {
    const change = 2 * this.#shop.hop_s
    const count = this.#remaining(state, at, device)
    let bound = 0
    for (let i = 0; i < count; i++) {
      const first = this.#head[this.#left[i]!]!
      let sum = first - change
      for (let j = 0; j < count; j++) {
        const cell = this.#left[j]!
        if (this.#head[cell]! < first) continue
        sum += this.#seconds[cell]! + change
        if (sum + this.#tail[cell]! > bound) bound = sum + this.#tail[cell]!
      }
    }
    return bound
  }

  /** The same for several units: the smallest heads and tails count once for each unit. A plate that is there already counts with the rest of its work. */
  #pooled(state: Int32Array, at: number, ready: number, now: number, device: number): number {
    const { hop_s, units, plates } = this.#shop
    const change = 2 * hop_s
    const machines = units[device]!
    const visits: { head: number; work: number; tail: number }[] = []
    const count = this.#remaining(state, at, device)
    for (let i = 0; i < count; i++) {
      const cell = this.#left[i]!
      visits.push({ head: this.#head[cell]!, work: this.#seconds[cell]! + change, tail: this.#tail[cell]! })
    }
    for (let p = 0; p < plates.length; p++) {
      const progress = state[at + p]!
      if (!isInside(progress)) continue
      const cell = p * this.#steps + (progress >> 1)
      if (this.#device[cell] !== device) continue
      // The next plate's work begins two hops after the end of this one, and its head has one hop in it.
      visits.push({ head: now, work: Math.max(0, state[ready + p]! - now) + change, tail: this.#tail[cell]! })
    }
    visits.sort((a, b) => b.tail - a.tail)
    let bound = 0
    for (const { head: first } of visits) {
      const heads: number[] = []
      const tails: number[] = []
      let work = 0
      for (const visit of visits) {
        if (visit.head < first) continue
        work += visit.work
        tails.push(visit.tail)
        heads.push(visit.head)
        if (heads.length < machines) continue
        heads.sort((a, b) => a - b)
        const ends = tails.slice(-machines).reduce((sum, tail) => sum + tail, 0)
        const begins = heads.slice(0, machines).reduce((sum, head) => sum + head, 0)
        bound = Math.max(bound, Math.ceil((begins + work + ends) / machines) - change)
      }
    }
    return bound
  }
}
