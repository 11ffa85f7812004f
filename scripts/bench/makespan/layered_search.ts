// A search over orders of hops, layer by layer: a layer has the states in which the plates have come equally far, in sum. A state that another one of
// the same progress dominates is dropped, and one whose bound is not below the best makespan.

import { isInside, LowerBound } from './lower_bound.ts'
import type { Shop } from './shops.ts'

/** A move of a plate. `step` is null for a move to a place where the plate waits, and the number of steps for the move to its end. */
export type Hop = { readonly plate: number; readonly step: number | null; readonly start_s: number }

/** The number of states is the effort. */
export type Found = { readonly makespan_s: number; readonly bound_s: number; readonly states: number; readonly hops: readonly Hop[] }

export type Limits = {
  /** Whether a plate may wait at its own pad once it has left that. */
  readonly ownPads: boolean
  /** The number of states of a layer that are looked at. */
  readonly width: number
  /** Only what is shorter is looked for. */
  readonly best_s: number
}

/** Later than any time. */
export const never = 2 ** 30

/** The weight of the bound beside the sum of the bounds of all devices, which tells states with the same bound apart. Larger and smaller ones find less. */
const weight = 30

/**
 * A state is a row of numbers: the progress of each plate, then times of which the smaller ones are better, then four numbers of the search. Of two states
 * with the same progress one dominates if no time of it is larger.
 */
export abstract class LayeredSearch {
  protected readonly shop: Shop
  protected readonly ownPads: boolean
  protected readonly lowerBound: LowerBound
  /** The number of plates. */
  protected readonly count: number
  /** The largest number of steps: a cell is plate * steps + step. */
  protected readonly steps: number
  /** For each cell. */
  protected readonly device: Int32Array
  protected readonly seconds: Int32Array
  /** For each device and, last, for the parks. */
  protected readonly units: readonly number[]
  /** The length of a row, and where the numbers of the search begin in it: parent, bound, start of the last hop, rank. */
  readonly #row: number
  readonly #searchAt: number
  protected rows: Int32Array
  /** The row that is being made. */
  protected readonly made: Int32Array
  readonly #width: number
  readonly #layers: Layer[]
  #used = 0
  #best: number
  #bestRow = -1
  /** The least bound of the states that were dropped for want of room. */
  #dropped = never

  /** `times`: how many times a row has. */
  constructor(shop: Shop, times: number, { ownPads, width, best_s }: Limits) {
    const { plates, units, parks } = shop
    this.shop = shop
    this.ownPads = ownPads
    this.#width = width
    this.#best = Math.min(best_s, never)
    this.count = plates.length
    this.steps = Math.max(...plates.map(({ length }) => length))
    this.lowerBound = new LowerBound(shop, this.steps)
    this.units = [...units, ownPads ? 0 : parks]
    this.device = new Int32Array(this.count * this.steps)
    this.seconds = new Int32Array(this.count * this.steps)
    for (const [p, its] of plates.entries()) {
      for (const [k, { device, seconds }] of its.entries()) {
        this.device[p * this.steps + k] = device
        this.seconds[p * this.steps + k] = seconds
      }
    }
    this.#searchAt = this.count + times
    this.#row = this.#searchAt + 4
    this.rows = new Int32Array(this.#row * 4096)
    this.made = new Int32Array(this.#row)
    this.#layers = Array.from({ length: 2 * plates.flat().length + 1 }, () => new Layer())
  }

  /** Writes the times at the beginning to `made`. */
  protected abstract begin(): void
  /** Makes the state after the hop of a plate, at `made` from the one at `offset`, and adds it unless that cannot be. */
  protected abstract hop(offset: number, p: number, progress: number, resource: number): void
  /** Is called before the hops from a state. */
  protected look(_offset: number): void {}

  run(): Found {
    this.made[this.#searchAt] = -1
    this.begin()
    this.add(0, 0)
    for (const layer of this.#layers.slice(0, -1)) {
      for (const row of this.#kept(layer)) this.#expand(row)
      layer.clear()
    }
    const bound_s = Math.min(this.#dropped, this.#best)
    const infinite = (seconds: number) => (seconds === never ? Number.POSITIVE_INFINITY : seconds)
    const makespan_s = this.#bestRow < 0 ? Number.POSITIVE_INFINITY : this.#best
    return { makespan_s, bound_s: infinite(bound_s), states: this.#used, hops: this.#hops() }
  }

  /** Returns the rows of a layer that are looked at: those with the least rank. */
  #kept(layer: Layer): number[] {
    const boundOf = (row: number) => this.rows[row * this.#row + this.#searchAt + 1]!
    const all = layer.rows.filter((row) => boundOf(row) < this.#best)
    if (all.length <= this.#width) return all
    const rankOf = (row: number) => this.rows[row * this.#row + this.#searchAt + 3]!
    all.sort((a, b) => rankOf(a) - rankOf(b) || a - b)
    for (const row of all.slice(this.#width)) this.#dropped = Math.min(this.#dropped, boundOf(row))
    return all.slice(0, this.#width)
  }

  #expand(row: number): void {
    const offset = row * this.#row
    this.look(offset)
    for (let p = 0; p < this.count; p++) {
      const progress = this.rows[offset + p]!
      const own = this.shop.plates[p]!.length
      if (progress === 2 * own) continue
      const next = (progress + 1) >> 1
      if (next === own) this.#try(row, p, 2 * own, -1)
      else {
        this.#try(row, p, 2 * next + 1, this.device[p * this.steps + next]!)
        if (isInside(progress)) this.#try(row, p, 2 * next, this.ownPads ? -1 : this.units.length - 1)
      }
    }
  }

  /** `resource` is -1 for a place of the plate's own. */
  #try(row: number, p: number, progress: number, resource: number): void {
    const offset = row * this.#row
    if (resource >= 0 && this.#occupied(offset, resource) >= this.units[resource]!) return
    const { made, rows } = this
    for (let i = 0; i < this.#searchAt; i++) made[i] = rows[offset + i]!
    made[p] = progress
    made[this.#searchAt] = row
    this.hop(offset, p, progress, resource)
  }

  #occupied(offset: number, resource: number): number {
    let count = 0
    for (let p = 0; p < this.count; p++) if (this.resourceOf(p, this.rows[offset + p]!) === resource) count++
    return count
  }

  /** Returns the resource that a plate occupies: a device, or the parks; -1 for a place of its own. */
  protected resourceOf(p: number, progress: number): number {
    if (isInside(progress)) return this.device[p * this.steps + (progress >> 1)]!
    return this.ownPads || progress === 0 || this.isHome(p, progress) ? -1 : this.units.length - 1
  }

  protected isHome(p: number, progress: number): boolean {
    return progress === 2 * this.shop.plates[p]!.length
  }

  /** Adds the state at `made`, unless one of the same progress dominates it, or its bound is too large. At the end the bound is the makespan. */
  protected add(bound: number, start_s: number): void {
    if (bound >= this.#best) return
    const { made, count } = this
    made[this.#searchAt + 1] = bound
    made[this.#searchAt + 2] = start_s
    made[this.#searchAt + 3] = weight * bound + this.lowerBound.sum
    let sum = 0
    let key = 0
    for (let p = 0; p < count; p++) {
      sum += made[p]!
      key = key * (2 * this.steps + 1) + made[p]!
    }
    if (sum < this.#layers.length - 1) this.#addTo(this.#layers[sum]!, key)
    else {
      this.#best = bound
      this.#bestRow = this.#push()
    }
  }

  #addTo(layer: Layer, key: number): void {
    const alike = layer.alike.get(key)
    if (alike?.some((row) => this.#dominates(row))) return
    const row = this.#push()
    layer.rows.push(row)
    if (!alike) {
      layer.alike.set(key, [row])
      return
    }
    let kept = 0
    for (const other of alike) {
      if (this.#isDominated(other)) this.rows[other * this.#row + this.#searchAt + 1] = never
      else alike[kept++] = other
    }
    alike.length = kept
    alike.push(row)
  }

  #push(): number {
    const offset = this.#used * this.#row
    if (offset + this.#row > this.rows.length) {
      const more = new Int32Array(this.rows.length * 2)
      more.set(this.rows)
      this.rows = more
    }
    this.rows.set(this.made, offset)
    return this.#used++
  }

  #dominates(row: number): boolean {
    const { rows, made } = this
    const offset = row * this.#row
    for (let i = this.count; i < this.#searchAt; i++) if (rows[offset + i]! > made[i]!) return false
    return true
  }

  #isDominated(row: number): boolean {
    const { rows, made } = this
    const offset = row * this.#row
    for (let i = this.count; i < this.#searchAt; i++) if (rows[offset + i]! < made[i]!) return false
    return true
  }

  #hops(): Hop[] {
    const hops: Hop[] = []
    for (let row = this.#bestRow; row > 0; ) {
      const parent = this.rows[row * this.#row + this.#searchAt]!
      for (let p = 0; p < this.count; p++) {
        const progress = this.rows[row * this.#row + p]!
        if (progress === this.rows[parent * this.#row + p]) continue
        const isWait = !isInside(progress) && !this.isHome(p, progress)
        hops.push({ plate: p, step: isWait ? null : progress >> 1, start_s: this.rows[row * this.#row + this.#searchAt + 2]! })
      }
      row = parent
    }
    return hops.reverse()
  }
}

class Layer {
  rows: number[] = []
  alike = new Map<number, number[]>()

  clear(): void {
    this.rows = []
    this.alike = new Map()
  }
}
