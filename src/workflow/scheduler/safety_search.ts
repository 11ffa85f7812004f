// The search of the safe-state check: whether all labware of a configuration can still finish. It is depth-first with memory. Places that
// are alike are one place with room for several labware.

import { alikes, type Configuration, endsClosed, kindAt, mayNeedForLid, merged, movesLid, type Traveller } from './safety_problem.ts'

/** `unknown`: the bound was reached first. */
export type Verdict = 'safe' | 'unsafe' | 'unknown'

/** Searches whether all labware can finish. It looks at `bound` configurations at the most; `looked` is their number. */
export function isSafe(configuration: Configuration, bound: number): { verdict: Verdict; looked: number } {
  const search = new Search(configuration, bound)
  const isFound = search.explore()
  if (isFound || !search.isCutShort) return { verdict: isFound ? 'safe' : 'unsafe', looked: search.looked }
  return { verdict: new Search(configuration, bound).dive() ? 'safe' : 'unknown', looked: search.looked }
}

/** The labware has left the deck. */
const gone = -1
/** The labware has not moved yet, and occupies all of `Traveller.at`. */
const before = -2

type Move = { readonly i: number; readonly place: number; readonly next: number; readonly lid: number }

/** A configuration whose moves are being tried: the trail before the move that led to it, and the trail there. */
type Opened = { readonly mark: number; readonly here: number; readonly moves: Generator<Move> }

class Search {
  looked = 0
  isCutShort = false
  readonly #configuration: Configuration
  readonly #bound: number
  /** For each place how many labware can stand there. */
  readonly #room: Int32Array
  readonly #travellers: readonly Traveller[]
  /** For each traveller its place, `gone` or `before`. */
  readonly #at: Int32Array
  /** For each traveller the index of its next stop. */
  readonly #next: Int32Array
  /** For each traveller the place of its lid; `gone` while it lies nowhere. */
  readonly #lid: Int32Array
  /** For each place how many occupy it. */
  readonly #taken: Int32Array
  /** For each place how many stops ahead use it. */
  readonly #wants: Int32Array
  /** For each stop how often it is ahead: where two travellers have the same stop ahead, each of its places is wanted. */
  readonly #ahead = new Map<readonly number[], number>()
  /** The configurations from which the search did not get on, and those on the way to the present one. */
  readonly #seen = new Set<string>()
  /** For each place how many of those that may be stuck for ever occupy it. */
  readonly #stuckAt: Int32Array
  readonly #isParking: Uint8Array
  /** The places of which it matters that nobody stands there, besides those that somebody wants. */
  readonly #isPassed: Uint8Array
  /** Whether every place can be reached from every other, whatever stands where. */
  readonly #isOpen: boolean
  /** The moves since the beginning: traveller, place, stop and lid before the move. */
  readonly #trail: number[] = []

  constructor(configuration: Configuration, bound: number) {
    const alike = alikes(configuration)
    this.#configuration = merged(configuration, alike)
    this.#bound = bound
    const { travellers, kinds, ways, blocked, parking } = this.#configuration
    this.#travellers = travellers
    this.#at = new Int32Array(travellers.length).fill(before)
    this.#next = new Int32Array(travellers.length)
    this.#lid = Int32Array.from(travellers, ({ lid = gone }) => lid)
    this.#taken = new Int32Array(kinds.length)
    this.#stuckAt = new Int32Array(kinds.length)
    this.#isParking = new Uint8Array(kinds.length)
    this.#isPassed = new Uint8Array(kinds.length)
    this.#wants = new Int32Array(kinds.length)
    this.#room = new Int32Array(kinds.length)
    for (const place of alike) this.#room[place]!++
    for (const place of blocked) this.#taken[place]!++
    for (const { at, stops, lid = gone } of travellers) {
      for (const place of at) this.#taken[place]!++
      if (lid !== gone) this.#taken[lid]!++
      for (const stop of stops) this.#wish(stop, 1)
    }
    for (const place of parking) this.#isParking[place] = 1
    for (const alternatives of ways) for (const passed of alternatives) for (const place of passed) this.#isPassed[place] = 1
    this.#isOpen = ways.every((alternatives) => alternatives.some((passed) => passed.length === 0))
  }

  /** Whether all can finish: looks at one configuration after the other, depth-first. */
  explore(): boolean {
    const open: Opened[] = []
    for (let mark = 0; ; ) {
      this.#reduce()
      if (this.#isDone()) return true
      const key = this.#key()
      if (!this.#seen.has(key) && !this.#isDead()) {
        if (this.looked >= this.#bound) this.isCutShort = true
        if (this.isCutShort) return false
        this.looked++
        this.#seen.add(key)
        open.push({ mark, here: this.#trail.length, moves: this.#choices() })
      }
      const next = this.#nextOf(open)
      if (next === undefined) return false
      mark = next
    }
  }

  /** Makes the next move of the innermost configuration that has one left. Returns where the trail was before; undefined if no move is left. */
  #nextOf(open: Opened[]): number | undefined {
    for (let last = open.at(-1); last; last = open.at(-1)) {
      this.#backTo(last.here)
      const { value: move } = last.moves.next()
      if (move) {
        this.#moves(move)
        return last.here
      }
      open.pop()
      this.#backTo(last.mark)
    }
    return undefined
  }

  /** Whether all finish if each takes the first move that leads to something new, without a second try. It proves a configuration safe, but not unsafe. */
  dive(): boolean {
    for (;;) {
      this.#reduce()
      if (this.#isDone()) return true
      const key = this.#key()
      if (this.#seen.has(key)) return false
      this.#seen.add(key)
      const { value: move } = this.#choices().next()
      if (!move) return false
      this.#moves(move)
    }
  }

  #isDone(): boolean {
    return this.#travellers.every((_, i) => this.#hasFinished(i) || this.#travellers[i]!.isIdle)
  }

  /** Whether the labware has no stop left. */
  #hasFinished(i: number): boolean {
    return this.#next[i]! >= this.#travellers[i]!.stops.length && !this.#travellers[i]!.isIdle
  }

  #key(): string {
    let key = ''
    for (let i = 0; i < this.#at.length; i++) key += String.fromCharCode(this.#at[i]! + 2, this.#next[i]!, this.#lid[i]! + 1)
    return key
  }

  /**
   * Whether some can never move again: each place to which one of them may go is occupied by another of them, or blocked. It is the greatest fixpoint:
   * those that have a way, even if only all others were gone, are taken out until none is left that has one.
   */
  #isDead(): boolean {
    const { travellers } = this.#configuration
    const stuck = new Set<number>()
    for (let i = 0; i < travellers.length; i++) if (this.#at[i] !== gone && !this.#hasFinished(i)) stuck.add(i)
    const blocked = new Int32Array(this.#taken)
    // The lid of labware that can go on may be put back, so it counts as a place of the labware.
    const occupied = (i: number) => (this.#lid[i] === gone ? this.#placesOf(i) : [...this.#placesOf(i), this.#lid[i]!])
    for (const i of stuck) for (const place of occupied(i)) blocked[place]!--
    // From here on `blocked` is what never moves; the stuck ones are put back.
    const isShut = (i: number, place: number) => {
      const isFull = (at: number) => blocked[at]! + this.#stuckAt[at]! - this.#countOf(i, at) >= this.#room[at]!
      return isFull(place) || this.#configuration.conflicts[place]!.some(isFull)
    }
    this.#stuckAt.fill(0)
    for (const i of stuck) for (const place of occupied(i)) this.#stuckAt[place]!++
    for (let size = -1; size !== stuck.size; ) {
      size = stuck.size
      for (const i of stuck) {
        const { stops, canPark, home } = travellers[i]!
        const hasWay =
          kindAt(this.#travellers[i]!, this.#next[i]!) === 'on' ||
          (stops[this.#next[i]!] ?? []).some((place) => !isShut(i, place)) ||
          (canPark && (this.#configuration.parking.some((place) => !isShut(i, place)) || (home >= 0 && !isShut(i, home))))
        if (!hasWay) continue
        stuck.delete(i)
        for (const place of occupied(i)) this.#stuckAt[place]!--
      }
    }
    for (const i of stuck) if (!travellers[i]!.isIdle) return true
    return false
  }

  // Moves without a choice

  /** Makes the moves that can do no harm, until there is none. */
  #reduce(): void {
    for (let isMoving = true; isMoving; ) {
      isMoving = false
      for (let i = 0; i < this.#travellers.length; i++) if (this.#goesHarmlessly(i)) isMoving = true
    }
  }

  /**
   * Each of these moves keeps a safe configuration safe, because the others can do all that they could do before. A traveller that can pass through all
   * its stops while the others stand still leaves only more room, if it leaves the deck or ends where nobody else wants to go. A traveller that goes
   * to a place that nobody else wants leaves its old place to the others, and can go on from there as well: that is so if every place reaches all.
   */
  #goesHarmlessly(i: number): boolean {
    const { stops, home, stays } = this.#travellers[i]!
    const at = this.#at[i]!
    const next = this.#next[i]!
    const lid = this.#lid[i]!
    if (this.#hasFinished(i)) return !stays && at !== gone && this.#moves({ i, place: gone, next, lid })
    if (this.#travellers[i]!.isIdle) return false
    // A lid that is put back leaves only more room, and nothing else may come first. Labware without a further stop can be parked no more.
    if (kindAt(this.#travellers[i]!, next) === 'on' && next + 1 < stops.length)
      return this.#moves({ i, place: at, next: next + 1, lid: gone })
    const end = this.#endOf(i)
    if (end !== undefined)
      return this.#moves({
        i,
        place: stays ? end : gone,
        next: stops.length,
        lid: movesLid(this.#travellers[i]!, this.#next[i]!) ? gone : lid,
      })
    if (!this.#isOpen || kindAt(this.#travellers[i]!, next) !== 'go') return false
    const place = this.#isShared(i, stops[next]!)
      ? undefined
      : stops[next]!.find((place) => this.#isFree(i, place) && !this.#isWanted(i, place))
    // Its own lid may need the place later.
    const isForLid = place !== undefined && mayNeedForLid(this.#travellers[i]!, this.#next[i]!, place)
    if (place !== undefined && !isForLid) return this.#moves({ i, place, next: next + 1, lid })
    const goesHome = home >= 0 && at !== home && this.#travellers[i]!.canPark && this.#isFree(i, home) && !this.#isWanted(i, home)
    return goesHome && !mayNeedForLid(this.#travellers[i]!, this.#next[i]!, home) ? this.#moves({ i, place: home, next, lid }) : false
  }

  /** Returns the place at which the traveller ends if it passes through all its stops while the others stand still; undefined if it cannot. */
  #endOf(i: number): number | undefined {
    const { stops, stays } = this.#travellers[i]!
    const { moves } = this.#travellers[i]!
    const last = moves ? moves.lastIndexOf('go') : stops.length - 1
    if (stays && last >= 0 && this.#isShared(i, stops[last]!)) return undefined
    if (movesLid(this.#travellers[i]!, this.#next[i]!) && !endsClosed(this.#travellers[i]!)) return undefined
    let from: readonly number[] = this.#placesOf(i)
    for (let stop = this.#next[i]!; stop < stops.length; stop++) {
      const isLast = stop === last
      const kind = kindAt(this.#travellers[i]!, stop)
      if (kind === 'on') continue
      if (kind === 'off') {
        if (!this.#hasPadFor(i, stop)) return undefined
        continue
      }
      const reached = stops[stop]!.filter(
        (place) =>
          this.#isFree(i, place) && from.some((start) => this.#hasWay(i, start, place)) && !(isLast && stays && this.#isWanted(i, place)),
      )
      if (reached.length === 0) return undefined
      from = reached
    }
    return from[0]
  }

  /** Whether a place is free for the lid at a stop that is in the way of no other stop and no way of the traveller. */
  #hasPadFor(i: number, stop: number): boolean {
    const { stops, home, moves = [] } = this.#travellers[i]!
    const isGone = (place: number) => stops.some((other, at) => at >= this.#next[i]! && moves[at] === 'go' && other.includes(place))
    return stops[stop]!.some(
      (place) => this.#taken[place]! < this.#room[place]! && !isGone(place) && this.#isPassed[place] === 0 && place !== home,
    )
  }

  /** Whether another traveller has a use for the place. */
  #isWanted(i: number, place: number): boolean {
    return this.#isParking[place] === 1 || this.#isPassed[place] === 1 || this.#isStop(i, place)
  }

  /** Whether the place, or one that cannot be taken at the same time, is a stop ahead of another traveller. */
  #isStop(i: number, place: number): boolean {
    let others = this.#wants[place]! - this.#ownWants(i, place)
    for (const conflict of this.#configuration.conflicts[place]!) others += this.#wants[conflict]! - this.#ownWants(i, conflict)
    return others > 0
  }

  /** Whether another traveller has the same stop ahead. */
  #isShared(i: number, stop: readonly number[]): boolean {
    const { stops } = this.#travellers[i]!
    let others = this.#ahead.get(stop)!
    for (let own = this.#next[i]!; own < stops.length; own++) if (stops[own] === stop) others--
    return others > 0
  }

  #ownWants(i: number, place: number): number {
    const { stops } = this.#travellers[i]!
    let count = 0
    for (let stop = this.#next[i]!; stop < stops.length; stop++) if (stops[stop]!.includes(place)) count++
    return count
  }

  // Moves with a choice

  /** Lists the moves to a next stop, then those out of the way. */
  *#choices(): Generator<Move> {
    for (const i of this.#inOrder()) {
      const next = this.#next[i]!
      const places = this.#travellers[i]!.stops[next]!
      if (kindAt(this.#travellers[i]!, next) === 'off') {
        for (const lid of places) if (this.#taken[lid]! < this.#room[lid]!) yield { i, place: this.#at[i]!, next: next + 1, lid }
      } else if (kindAt(this.#travellers[i]!, next) === 'on') yield { i, place: this.#at[i]!, next: next + 1, lid: gone }
      else yield* this.#movesTo(i, places, next + 1)
    }
    // Out of the way goes only labware that stands where another may want to go: until then such a move can wait.
    for (let i = 0; i < this.#travellers.length; i++) {
      const { canPark, home } = this.#travellers[i]!
      if (!canPark || this.#hasFinished(i) || !this.#placesOf(i).some((place) => this.#isWanted(i, place))) continue
      yield* this.#movesTo(i, this.#configuration.parking, this.#next[i]!)
      if (home >= 0 && !this.#isWanted(i, home)) yield* this.#movesTo(i, [home], this.#next[i]!)
    }
  }

  /** Returns those that have stops left: first those with few, because they soon make room for good. */
  #inOrder(): number[] {
    const left = (i: number) => this.#travellers[i]!.stops.length - this.#next[i]!
    const moving: number[] = []
    for (let i = 0; i < this.#travellers.length; i++) if (left(i) > 0) moving.push(i)
    return moving.sort((a, b) => left(a) - left(b) || a - b)
  }

  *#movesTo(i: number, places: readonly number[], next: number): Generator<Move> {
    // A move between places that are alike is of no use, unless it leads to the next stop.
    const useless = next === this.#next[i] ? this.#at[i] : undefined
    for (const place of places) if (place !== useless && this.#isReachable(i, place)) yield { i, place, next, lid: this.#lid[i]! }
  }

  // The board

  #placesOf(i: number): readonly number[] {
    const at = this.#at[i]!
    return at === before ? this.#travellers[i]!.at : at === gone ? [] : [at]
  }

  /** How many times the traveller itself occupies the place, without its lid. */
  #countOf(i: number, place: number): number {
    let count = 0
    for (const own of this.#placesOf(i)) if (own === place) count++
    return count
  }

  /** Whether the others leave no room at the place. */
  #isTaken(i: number, place: number): boolean {
    return this.#taken[place]! - this.#countOf(i, place) >= this.#room[place]!
  }

  /** Whether the traveller has room at the place and at all that cannot be taken at the same time. */
  #isFree(i: number, place: number): boolean {
    return !this.#isTaken(i, place) && !this.#configuration.conflicts[place]!.some((other) => this.#isTaken(i, other))
  }

  #isReachable(i: number, place: number): boolean {
    return this.#isFree(i, place) && this.#placesOf(i).some((from) => this.#hasWay(i, from, place))
  }

  #hasWay(i: number, from: number, to: number): boolean {
    if (this.#isOpen || from === to) return true
    const { kinds, kindCount, ways } = this.#configuration
    return ways[kinds[from]! * kindCount + kinds[to]!]!.some((passed) => passed.every((place) => place === to || !this.#isTaken(i, place)))
  }

  #moves(move: Move): true {
    const { i } = move
    this.#trail.push(i, this.#at[i]!, this.#next[i]!, this.#lid[i]!)
    this.#set(move)
    return true
  }

  #set({ i, place, next, lid }: Move): void {
    for (const left of this.#placesOf(i)) this.#taken[left]!--
    if (this.#lid[i] !== gone) this.#taken[this.#lid[i]!]!--
    this.#lid[i] = lid
    if (lid !== gone) this.#taken[lid]!++
    const { stops } = this.#travellers[i]!
    for (let stop = this.#next[i]!; stop < next; stop++) this.#wish(stops[stop]!, -1)
    for (let stop = next; stop < this.#next[i]!; stop++) this.#wish(stops[stop]!, 1)
    this.#at[i] = place
    this.#next[i] = next
    for (const entered of this.#placesOf(i)) this.#taken[entered]!++
  }

  #wish(stop: readonly number[], change: 1 | -1): void {
    this.#ahead.set(stop, (this.#ahead.get(stop) ?? 0) + change)
    for (const place of stop) this.#wants[place]! += change
  }

  #backTo(mark: number): void {
    while (this.#trail.length > mark) {
      const lid = this.#trail.pop()!
      const next = this.#trail.pop()!
      const place = this.#trail.pop()!
      this.#set({ i: this.#trail.pop()!, place, next, lid })
    }
  }
}
