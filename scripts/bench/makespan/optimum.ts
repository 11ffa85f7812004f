// The shortest makespan of a shop, found without the service: a search over orders of hops, layer by layer, that remembers each state and drops those
// that another one dominates. A pass keeps so many states of a layer, and later passes keep more. A pass that never had to drop a state for want of
// room has proven its result.

import { isInside, LowerBound } from './lower_bound.ts'
import type { Shop } from './shops.ts'

export type Hop = {
  readonly plate: number /** The index of the step; null: to a place where the plate waits. The number of steps: to the end. */
  readonly step: number | null
  readonly start_s: number
}

export type Optimum = {
  /** The best that was found; infinite without any. */
  readonly makespan_s: number
  /** No schedule is shorter. */
  readonly bound_s: number
  readonly proven: boolean
  readonly states: number
  /** In the order of their start. */
  readonly hops: readonly Hop[]
}

export type Effort = {
  /** Whether a plate may wait at its own pad once it has left that. */
  ownPads?: boolean
  /** The states of a layer that each pass keeps. */
  widths?: readonly number[]
}

const usualWidths = [30, 300, 3000, 30_000]

export function optimumOf(shop: Shop, { ownPads = true, widths = usualWidths }: Effort = {}): Optimum {
  let best: Optimum = { makespan_s: Number.POSITIVE_INFINITY, bound_s: 0, proven: false, states: 0, hops: [] }
  for (const width of widths) {
    const found = new Pass(shop, ownPads, width, best.makespan_s).run()
    const { makespan_s, hops } = found.makespan_s < best.makespan_s ? found : best
    const bound_s = Math.max(best.bound_s, Math.min(found.bound_s, makespan_s))
    best = { makespan_s, hops, bound_s, proven: bound_s === makespan_s, states: best.states + found.states }
    if (best.proven) break
  }
  return best
}

/** Later than any time. */
const never = 2 ** 30

/**
 * One pass. A state is a row of numbers: the progress of each plate, the carriers' times in order, the time from which each plate can leave, and the
 * time from which each free unit can be used. All times are no earlier than the next hop can begin, so that states can be compared.
 */
class Pass {
  readonly #shop: Shop
  readonly #bound: LowerBound
  readonly #count: number
  readonly #steps: number
  readonly #width: number
  readonly #ownPads: boolean
  /** The last resource are the parks. */
  readonly #units: Int32Array
  readonly #hop: number
  readonly #carriersAt: number
  readonly #readyAt: number
  readonly #freeAt: Int32Array
  readonly #parentAt: number
  readonly #row: number
  readonly #device: Int32Array
  readonly #seconds: Int32Array
  #rows: Int32Array
  #used = 0
  readonly #layers: Layer[]
  readonly #new: Int32Array
  #best: number
  #bestRow = -1
  /** The least bound of the states that were dropped for want of room. */
  #dropped = never

  constructor(shop: Shop, ownPads: boolean, width: number, best: number) {
    const { plates, units, carriers, parks, hop_s } = shop
    this.#shop = shop
    this.#width = width
    this.#ownPads = ownPads
    this.#hop = hop_s
    this.#best = Math.min(best, never)
    const count = plates.length
    const steps = Math.max(...plates.map(({ length }) => length))
    this.#count = count
    this.#steps = steps
    this.#bound = new LowerBound(shop, steps)
    this.#units = Int32Array.from([...units, ownPads ? 0 : parks])
    this.#carriersAt = count
    this.#readyAt = count + carriers
    let at = this.#readyAt + count
    // With one carrier each place is free when the next hop can begin.
    this.#freeAt = this.#units.map((its) => {
      const own = at
      if (carriers > 1) at += its
      return own
    })
    this.#parentAt = at
    this.#row = at + 3
    this.#device = new Int32Array(count * steps)
    this.#seconds = new Int32Array(count * steps)
    for (const [p, its] of plates.entries()) {
      for (const [k, { device, seconds }] of its.entries()) {
        this.#device[p * steps + k] = device
        this.#seconds[p * steps + k] = seconds
      }
    }
    this.#rows = new Int32Array(this.#row * 4096)
    this.#new = new Int32Array(this.#row)
    this.#layers = Array.from({ length: 2 * plates.flat().length + 1 }, () => new Layer())
  }

  run(): Omit<Optimum, 'proven'> {
    this.#new.fill(0)
    this.#new[this.#parentAt] = -1
    this.#add(0)
    for (const layer of this.#layers.slice(0, -1)) {
      for (const row of this.#kept(layer)) this.#expand(row)
      layer.clear()
    }
    const makespan_s = this.#bestRow < 0 ? Number.POSITIVE_INFINITY : this.#best
    const bound_s = Math.min(this.#dropped, this.#best)
    return { makespan_s, bound_s: bound_s === never ? Number.POSITIVE_INFINITY : bound_s, states: this.#used, hops: this.#hops() }
  }

  /** Returns the rows of a layer that are looked at: those with the least bound. */
  #kept(layer: Layer): number[] {
    const boundAt = this.#parentAt + 1
    const boundOf = (row: number) => this.#rows[row * this.#row + boundAt]!
    const all = layer.rows.filter((row) => boundOf(row) < this.#best)
    if (all.length <= this.#width) return all
    all.sort((a, b) => boundOf(a) - boundOf(b) || a - b)
    this.#dropped = Math.min(this.#dropped, boundOf(all[this.#width]!))
    return all.slice(0, this.#width)
  }

  #now(offset: number): number {
    const carriers = this.#carriersAt + offset
    return Math.max(this.#rows[carriers]!, this.#rows[carriers + this.#shop.carriers - 1]! - this.#hop)
  }

  #expand(row: number): void {
    const offset = row * this.#row
    const now = this.#now(offset)
    const latest = this.#latestStart(offset, now)
    for (let p = 0; p < this.#count; p++) {
      const progress = this.#rows[offset + p]!
      const own = this.#shop.plates[p]!.length
      if (progress === 2 * own) continue
      const start = Math.max(now, this.#rows[offset + this.#readyAt + p]!)
      const next = (progress + 1) >> 1
      if (next === own) this.#hopTo(row, p, 2 * own, start, -1, latest)
      else {
        this.#hopTo(row, p, 2 * next + 1, start, this.#device[p * this.#steps + next]!, latest)
        if (isInside(progress)) this.#hopTo(row, p, 2 * next, start, this.#ownPads ? -1 : this.#units.length - 1, latest)
      }
    }
  }

  /**
   * Returns the end of the soonest hop that takes a finished plate out of a device to where it is in nobody's way. A hop that begins no sooner than that
   * need not be tried: the other one fits in before it and harms nobody.
   */
  #latestStart(offset: number, now: number): number {
    let latest = never
    for (let p = 0; p < this.#count; p++) {
      const progress = this.#rows[offset + p]!
      if (!isInside(progress)) continue
      if (!this.#ownPads && progress + 1 < 2 * this.#shop.plates[p]!.length) continue
      latest = Math.min(latest, Math.max(now, this.#rows[offset + this.#readyAt + p]!) + this.#hop)
    }
    return latest
  }

  /** Adds the state after the hop of a plate to a resource (-1: a place of its own), unless the resource is occupied. */
  #hopTo(row: number, p: number, progress: number, ready: number, resource: number, latest: number): void {
    const { carriers } = this.#shop
    const offset = row * this.#row
    const from = this.#rows[offset + p]!
    let start = ready
    if (resource >= 0) {
      if (this.#occupied(offset, resource) >= this.#units[resource]!) return
      if (carriers > 1) start = Math.max(start, this.#rows[offset + this.#freeAt[resource]!]!)
    }
    if (start >= latest) return
    const made = this.#new
    for (let i = 0; i < this.#parentAt; i++) made[i] = this.#rows[offset + i]!
    const end = start + this.#hop
    if (carriers > 1) this.#occupy(p, from, resource, end)
    made[p] = progress
    const isWork = isInside(progress)
    made[this.#readyAt + p] =
      progress === 2 * this.#shop.plates[p]!.length ? 0 : end + (isWork ? this.#seconds[p * this.#steps + (progress >> 1)]! : 0)
    for (let i = 1; i < carriers; i++) made[this.#carriersAt + i - 1] = made[this.#carriersAt + i]!
    made[this.#carriersAt + carriers - 1] = end
    made[this.#parentAt] = row
    this.#settle()
  }

  /** Takes the first free unit of the resource, and frees that which the plate leaves. */
  #occupy(p: number, from: number, resource: number, end: number): void {
    const made = this.#new
    if (resource >= 0) {
      const at = this.#freeAt[resource]!
      for (let i = 1; i < this.#units[resource]!; i++) made[at + i - 1] = made[at + i]!
      made[at + this.#units[resource]! - 1] = never
    }
    const left = isInside(from) ? this.#device[p * this.#steps + (from >> 1)]! : from > 0 && !this.#ownPads ? this.#units.length - 1 : -1
    if (left < 0) return
    // The new time is the latest of all, so that it stands behind the others and before those that are occupied.
    const at = this.#freeAt[left]!
    let i = 0
    while (made[at + i]! < never) i++
    made[at + i] = end
  }

  #occupied(offset: number, resource: number): number {
    const isPark = resource === this.#units.length - 1
    let count = 0
    for (let p = 0; p < this.#count; p++) {
      const progress = this.#rows[offset + p]!
      if (isPark) {
        if (progress > 0 && !isInside(progress) && progress < 2 * this.#shop.plates[p]!.length) count++
      } else if (isInside(progress) && this.#device[p * this.#steps + (progress >> 1)] === resource) count++
    }
    return count
  }

  /** Raises the times of the new state to the soonest start of a hop, computes its bound, and adds it. */
  #settle(): void {
    const made = this.#new
    const { carriers } = this.#shop
    const last = made[this.#carriersAt + carriers - 1]!
    const now = Math.max(made[this.#carriersAt]!, last - this.#hop)
    let layer = 0
    for (let p = 0; p < this.#count; p++) layer += made[p]!
    if (layer === this.#layers.length - 1) {
      if (last >= this.#best) return
      this.#best = last
      made[this.#parentAt + 1] = last
      this.#bestRow = this.#push()
      return
    }
    for (let i = this.#readyAt; i < this.#parentAt; i++) if (made[i]! < now) made[i] = now
    const bound = this.#bound.of(made, 0, this.#readyAt, now)
    if (bound >= this.#best) return
    made[this.#parentAt + 1] = bound
    this.#add(layer)
  }

  #push(): number {
    const offset = this.#used * this.#row
    if (offset + this.#row > this.#rows.length) {
      const more = new Int32Array(this.#rows.length * 2)
      more.set(this.#rows)
      this.#rows = more
    }
    this.#rows.set(this.#new, offset)
    return this.#used++
  }

  /** Adds the new state to its layer, unless one of the same progress dominates it; those that it dominates leave the layer. */
  #add(index: number): void {
    const layer = this.#layers[index]!
    const made = this.#new
    let key = 0
    for (let p = 0; p < this.#count; p++) key = key * (2 * this.#steps + 1) + made[p]!
    const alike = layer.alike.get(key)
    if (alike) {
      for (let i = 0; i < alike.length; i++) if (this.#dominates(alike[i]!)) return
      let kept = 0
      for (let i = 0; i < alike.length; i++) {
        const row = alike[i]!
        if (this.#isDominated(row)) this.#rows[row * this.#row + this.#parentAt + 1] = never
        else alike[kept++] = row
      }
      alike.length = kept
    }
    const row = this.#push()
    if (alike) alike.push(row)
    else layer.alike.set(key, [row])
    layer.rows.push(row)
  }

  #dominates(row: number): boolean {
    const offset = row * this.#row
    for (let i = this.#carriersAt; i < this.#parentAt; i++) if (this.#rows[offset + i]! > this.#new[i]!) return false
    return true
  }

  #isDominated(row: number): boolean {
    const offset = row * this.#row
    for (let i = this.#carriersAt; i < this.#parentAt; i++) if (this.#rows[offset + i]! < this.#new[i]!) return false
    return true
  }

  #hops(): Hop[] {
    const hops: Hop[] = []
    for (let row = this.#bestRow; row > 0; ) {
      const parent = this.#rows[row * this.#row + this.#parentAt]!
      for (let p = 0; p < this.#count; p++) {
        const progress = this.#rows[row * this.#row + p]!
        if (progress === this.#rows[parent * this.#row + p]) continue
        const isWait = !isInside(progress) && progress < 2 * this.#shop.plates[p]!.length
        const end = this.#rows[row * this.#row + this.#carriersAt + this.#shop.carriers - 1]!
        hops.push({ plate: p, step: isWait ? null : progress >> 1, start_s: end - this.#hop })
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
