// The search where windows limit how long a plate waits, for one carrier. A hop may have to begin later than it can, so that a later one is in time.

import { type Found, type Hop, LayeredSearch, type Limits, never } from './layered_search.ts'
import { isInside } from './lower_bound.ts'
import type { Shop } from './shops.ts'

/** The moments of a state: the beginning, the end of the last hop, and for each plate the end of its last work. */
const beginning = 0
const lastHop = 1
const workOf = (p: number) => 2 + p

/**
 * The times of a state are a table of differences: row i, column j is the least time from moment i to moment j, over all starts of the hops so far that
 * hold the windows; `-never` where nothing is asked. A state whose differences are smaller allows more. The row of a moment that nothing must follow soon
 * is empty: such a moment may as well be taken to be later than it is.
 */
export class WindowSearch extends LayeredSearch {
  readonly #moments: number
  /** For each cell the window after the work; `never` without one. */
  readonly #windows: Int32Array
  /** The least times from each moment to the start of the new hop, and from that to each moment. */
  readonly #to: Int32Array
  readonly #from: Int32Array

  constructor(shop: Shop, limits: Limits) {
    if (shop.carriers !== 1) throw new Error('the search with windows knows one carrier')
    const moments = shop.plates.length + 2
    super(shop, moments * moments, limits)
    this.#moments = moments
    this.#windows = new Int32Array(this.count * this.steps).fill(never)
    for (const [p, its] of shop.plates.entries()) {
      for (const [k, { window_s }] of its.entries()) this.#windows[p * this.steps + k] = window_s ?? never
    }
    this.#to = new Int32Array(moments)
    this.#from = new Int32Array(moments)
  }

  override run(): Found {
    const found = super.run()
    return { ...found, hops: timed(this.shop, found.hops) }
  }

  protected override begin(): void {
    for (let i = 0; i < this.#moments; i++) {
      for (let j = 0; j < this.#moments; j++) this.made[this.#cell(i, j)] = i === j || i === beginning ? 0 : -never
    }
  }

  #cell(i: number, j: number): number {
    return this.count + i * this.#moments + j
  }

  /** The window after the last work of the plate; `never` without one, and where there is no next work. */
  #window(p: number, progress: number): number {
    return progress === 0 || progress + 1 >= 2 * this.shop.plates[p]!.length
      ? never
      : this.#windows[p * this.steps + ((progress - 1) >> 1)]!
  }

  protected override hop(offset: number, p: number, progress: number): void {
    const { hop_s } = this.shop
    const before = this.rows[offset + p]!
    const window = this.#window(p, before)
    const back = isInside(progress) && window < never ? hop_s - window : -never
    if (!this.#begins(workOf(p), isInside(before), back)) return
    const start = this.#to[beginning]!
    const work = isInside(progress) ? this.seconds[p * this.steps + (progress >> 1)]! : null
    this.#replace(workOf(p), progress, p, work === null ? null : hop_s + work)
    this.#move(lastHop, hop_s)
    for (let q = 0; q < this.count; q++) if (!this.#waits(q)) return
    this.#clear(lastHop)
    for (let q = 0; q < this.count; q++) if (this.#window(q, this.made[q]!) === never) this.#settle(q)
    const end = this.made[this.#cell(beginning, lastHop)]!
    this.add(Math.max(end, this.lowerBound.of(this.made, 0, this.#cell(beginning, workOf(0)), end)), start)
  }

  /**
   * Adds the start of the hop to the table: after the last hop, after the work of the plate if it stands where that was done, and not too late after that
   * (`back`: the least time from the start to the end of the work, below zero). Returns false if no starts hold all that.
   */
  #begins(work: number, isAfter: boolean, back: number): boolean {
    const { made } = this
    const to = this.#to
    const from = this.#from
    for (let i = 0; i < this.#moments; i++) {
      to[i] = Math.max(made[this.#cell(i, lastHop)]!, isAfter ? made[this.#cell(i, work)]! : -never)
      from[i] = sum(back, made[this.#cell(work, i)]!)
    }
    if (back === -never) return true
    for (let i = 0; i < this.#moments; i++) if (sum(to[i]!, from[i]!) > 0) return false
    for (let i = 0; i < this.#moments; i++) {
      for (let j = 0; j < this.#moments; j++) {
        const cell = this.#cell(i, j)
        made[cell] = Math.max(made[cell]!, sum(to[i]!, from[j]!))
      }
    }
    return true
  }

  /** Sets the end of the work of the plate so many seconds after the start of the hop; without seconds it stays, if a window is open, or is forgotten. */
  #replace(moment: number, progress: number, p: number, after: number | null): void {
    if (after !== null) this.#move(moment, after)
    else if (this.#window(p, progress) === never) {
      for (let i = 0; i < this.#moments; i++) this.made[this.#cell(i, moment)] = i === beginning || i === moment ? 0 : -never
      this.#clear(moment)
    }
  }

  /** Sets a moment so many seconds after the start of the hop. */
  #move(moment: number, after: number): void {
    for (let i = 0; i < this.#moments; i++) {
      if (i === moment) continue
      this.made[this.#cell(i, moment)] = sum(this.#to[i]!, after)
      this.made[this.#cell(moment, i)] = sum(this.#from[i]!, -after)
    }
    // From now on the moment is this one.
    this.#to[moment] = -after
    this.#from[moment] = after
  }

  #clear(moment: number): void {
    for (let i = 0; i < this.#moments; i++) if (i !== moment) this.made[this.#cell(moment, i)] = -never
  }

  /**
   * The next hop of a plate with an open window comes after the last hop, and, if another plate is at the device where it goes, after the hop of that one.
   * Returns false if the window cannot be held.
   */
  #waits(p: number): boolean {
    const { made, shop } = this
    const progress = made[p]!
    const window = this.#window(p, progress)
    if (window === never) return true
    if (!this.#require(lastHop, workOf(p), shop.hop_s - window)) return false
    const device = this.device[p * this.steps + ((progress + 1) >> 1)]!
    if (this.units[device] !== 1) return true
    for (let q = 0; q < this.count; q++) {
      if (q === p || this.resourceOf(q, made[q]!) !== device) continue
      if (!this.#require(workOf(q), workOf(p), 2 * shop.hop_s - window)) return false
    }
    return true
  }

  /** Adds to the table that so many seconds lie between two moments. Returns false if that cannot be. */
  #require(first: number, second: number, seconds: number): boolean {
    const { made } = this
    if (made[this.#cell(first, second)]! >= seconds) return true
    if (sum(made[this.#cell(second, first)]!, seconds) > 0) return false
    for (let i = 0; i < this.#moments; i++) {
      const before = sum(made[this.#cell(i, first)]!, seconds)
      if (before === -never) continue
      for (let j = 0; j < this.#moments; j++) {
        const cell = this.#cell(i, j)
        made[cell] = Math.max(made[cell]!, sum(before, made[this.#cell(second, j)]!))
      }
    }
    return true
  }

  /** Lets the end of a work without a window be no sooner than the last hop. */
  #settle(p: number): void {
    const { made } = this
    const moment = workOf(p)
    this.#clear(moment)
    if (this.isHome(p, made[p]!)) return
    for (let i = 0; i < this.#moments; i++) {
      if (i === moment) continue
      const cell = this.#cell(i, moment)
      made[cell] = Math.max(made[cell]!, made[this.#cell(i, lastHop)]!)
    }
  }
}

function sum(a: number, b: number): number {
  return a === -never || b === -never ? -never : a + b
}

/** Returns the hops with the earliest starts that hold all windows. */
function timed(shop: Shop, hops: readonly Hop[]): Hop[] {
  if (hops.length === 0) return []
  const starts = hops.map(() => 0)
  /** [i, j, seconds]: hop j begins no sooner than so many seconds after hop i. */
  const rules: [number, number, number][] = hops.slice(1).map((_, i) => [i, i + 1, shop.hop_s])
  for (const [p, steps] of shop.plates.entries()) {
    const own = hops.flatMap((hop, i) => (hop.plate === p ? [i] : []))
    for (const [k, { seconds, window_s }] of steps.entries()) {
      const into = own.find((i) => hops[i]!.step === k)!
      const away = own.find((i) => i > into)!
      const next = own.find((i) => hops[i]!.step === k + 1)!
      rules.push([into, away, shop.hop_s + seconds])
      if (window_s !== null && k + 1 < steps.length) rules.push([next, into, -(seconds + window_s)])
    }
  }
  for (let isChanged = true; isChanged; ) {
    isChanged = false
    for (const [i, j, seconds] of rules) {
      if (starts[j]! >= starts[i]! + seconds) continue
      starts[j] = starts[i]! + seconds
      isChanged = true
    }
  }
  return hops.map((hop, i) => ({ ...hop, start_s: starts[i]! }))
}
