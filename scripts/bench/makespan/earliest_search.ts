// The search where no window limits how long a plate waits: each hop begins as early as it can.

import { LayeredSearch, type Limits, never } from './layered_search.ts'
import { isInside } from './lower_bound.ts'
import type { Shop } from './shops.ts'

/**
 * The times of a state are those of the carriers in order, the time from which each plate can leave, and, with several carriers, the time from which each
 * unit can be used. They are raised to the time at which the next hop can begin, so that states can be compared.
 */
export class EarliestSearch extends LayeredSearch {
  readonly #carriersAt: number
  readonly #readyAt: number
  /** Where the units of each resource begin. With one carrier each place is free when the next hop can begin. */
  readonly #freeAt: readonly number[]
  readonly #end: number
  /** No hop begins before. */
  #now = 0
  /** No hop that begins then or later need be tried. */
  #latest = 0

  constructor(shop: Shop, limits: Limits) {
    const { plates, carriers, units, parks } = shop
    const resources = carriers === 1 ? [] : [...units, limits.ownPads ? 0 : parks]
    const times = carriers + plates.length + resources.reduce((sum, count) => sum + count, 0)
    super(shop, times, limits)
    this.#carriersAt = plates.length
    this.#readyAt = this.#carriersAt + carriers
    const first = this.#readyAt + plates.length
    this.#freeAt = resources.map((_, i) => first + resources.slice(0, i).reduce((sum, count) => sum + count, 0))
    this.#end = plates.length + times
  }

  protected override begin(): void {
    this.made.fill(0, this.#carriersAt, this.#end)
  }

  /**
   * A hop need not be tried if it begins no sooner than the end of the soonest hop that takes a finished plate out of a device to where it is in nobody's way:
   * that one fits in before it and harms nobody.
   */
  protected override look(offset: number): void {
    const { rows, count, ownPads } = this
    this.#now = this.#soonest(rows, offset)
    this.#latest = never
    for (let p = 0; p < count; p++) {
      const progress = rows[offset + p]!
      if (!isInside(progress) || !(ownPads || this.isHome(p, progress + 1))) continue
      this.#latest = Math.min(this.#latest, Math.max(this.#now, rows[offset + this.#readyAt + p]!) + this.shop.hop_s)
    }
  }

  /** Returns the soonest start of a hop: a carrier is free, and the hop before has begun. */
  #soonest(rows: Int32Array, offset: number): number {
    const first = offset + this.#carriersAt
    return Math.max(rows[first]!, rows[first + this.shop.carriers - 1]! - this.shop.hop_s)
  }

  protected override hop(offset: number, p: number, progress: number, resource: number): void {
    const { made, rows } = this
    const { carriers, hop_s } = this.shop
    let start = Math.max(this.#now, rows[offset + this.#readyAt + p]!)
    if (carriers > 1 && resource >= 0) start = Math.max(start, rows[offset + this.#freeAt[resource]!]!)
    if (start >= this.#latest) return
    const end = start + hop_s
    if (carriers > 1) this.#occupy(resource, this.resourceOf(p, rows[offset + p]!), end)
    const work = isInside(progress) ? this.seconds[p * this.steps + (progress >> 1)]! : 0
    made[this.#readyAt + p] = this.isHome(p, progress) ? 0 : end + work
    made.copyWithin(this.#carriersAt, this.#carriersAt + 1, this.#readyAt)
    made[this.#readyAt - 1] = end
    const now = this.#soonest(made, 0)
    for (let i = this.#readyAt; i < this.#end; i++) if (made[i]! < now) made[i] = now
    this.add(Math.max(end, this.lowerBound.of(made, 0, this.#readyAt, now)), start)
  }

  /** Takes the first free unit of a resource, and frees that which the plate leaves. The times of a resource are in order. */
  #occupy(taken: number, left: number, end: number): void {
    const { made, units } = this
    if (taken >= 0) {
      const at = this.#freeAt[taken]!
      made.copyWithin(at, at + 1, at + units[taken]!)
      made[at + units[taken]! - 1] = never
    }
    if (left < 0) return
    let at = this.#freeAt[left]!
    while (made[at]! < never) at++
    made[at] = end
  }
}
