// The search of the safe-state check: whether all labware of a configuration can still finish. It is depth-first with memory. It knows places as
// numbers only, so that a configuration can be sent to a worker.

/** The rest of one labware's journey. Places are numbers. */
export type Traveller = {
  /** The places that the labware occupies until its first move here: more than one while it holds a device and stands elsewhere. */
  readonly at: readonly number[]
  /** The places of each later stop, of which one is used. */
  readonly stops: readonly (readonly number[])[]
  /** Whether the labware stays at its last stop; otherwise it leaves the deck there. */
  readonly stays: boolean
  readonly canPark: boolean
  /** Whether the labware waits for nothing that is known: it need not finish, and may be parked. */
  readonly isIdle: boolean
  /** A place where only this labware may wait between two stops; -1 for none. */
  readonly home: number
}

/** The labware of one island of the deck: where it is, and where it must go. Everything is plain data. */
export type Configuration = {
  /** For each place, the number of its kind: places of one kind are reached alike. */
  readonly kinds: readonly number[]
  readonly kindCount: number
  /** The ways between places of two kinds, by `from * kindCount + to`: each lists the places that must be free on it. No way: no list. */
  readonly ways: readonly (readonly (readonly number[])[])[]
  /** For each place, the places that cannot be taken at the same time: a device and its sites. */
  readonly conflicts: readonly (readonly number[])[]
  /** The places where labware stands that no thread moves. */
  readonly blocked: readonly number[]
  readonly parking: readonly number[]
  readonly travellers: readonly Traveller[]
}

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

type Move = { readonly i: number; readonly place: number; readonly next: number }

/** A configuration whose moves are being tried: the trail before the move that led to it, and the trail there. */
type Opened = { readonly mark: number; readonly here: number; readonly moves: Generator<Move> }

class Search {
  looked = 0
  isCutShort = false
  readonly #configuration: Configuration
  readonly #bound: number
  readonly #travellers: readonly Traveller[]
  /** For each traveller its place, `gone` or `before`. */
  readonly #at: Int32Array
  /** For each traveller the index of its next stop. */
  readonly #next: Int32Array
  /** For each place how many occupy it. */
  readonly #taken: Uint8Array
  /** For each place how many stops ahead use it. */
  readonly #wants: Int32Array
  /** For each place the first one that is like it: to exchange two of them changes nothing. */
  readonly #alias: readonly number[]
  /** The configurations from which the search did not get on, and those on the way to the present one. */
  readonly #seen = new Set<string>()
  /** For each place how many of those that may be stuck for ever occupy it. */
  readonly #stuckAt: Uint8Array
  readonly #isParking: Uint8Array
  /** The places of which it matters that nobody stands there, besides those that somebody wants. */
  readonly #isPassed: Uint8Array
  /** Whether every place can be reached from every other, whatever stands where. */
  readonly #isOpen: boolean
  /** The moves since the beginning: traveller, place and stop before the move. */
  readonly #trail: number[] = []

  constructor(configuration: Configuration, bound: number) {
    const { travellers, kinds, ways, blocked, parking } = configuration
    this.#configuration = configuration
    this.#bound = bound
    this.#travellers = travellers
    this.#at = new Int32Array(travellers.length).fill(before)
    this.#next = new Int32Array(travellers.length)
    this.#taken = new Uint8Array(kinds.length)
    this.#stuckAt = new Uint8Array(kinds.length)
    this.#isParking = new Uint8Array(kinds.length)
    this.#isPassed = new Uint8Array(kinds.length)
    this.#wants = new Int32Array(kinds.length)
    this.#alias = aliases(configuration)
    for (const place of blocked) this.#taken[place]!++
    for (const { at, stops } of travellers) {
      for (const place of at) this.#taken[place]!++
      for (const stop of stops) for (const place of stop) this.#wants[place]!++
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
        this.#moves(move.i, move.place, move.next)
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
      this.#moves(move.i, move.place, move.next)
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
    for (let i = 0; i < this.#at.length; i++) {
      const at = this.#at[i]!
      key += String.fromCharCode((at < 0 ? at : this.#alias[at]!) + 2, this.#next[i]!)
    }
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
    const blocked = new Uint8Array(this.#taken)
    for (const i of stuck) for (const place of this.#placesOf(i)) blocked[place]!--
    // From here on `blocked` is what never moves; the stuck ones are put back.
    const isShut = (i: number, place: number) => {
      const own = this.#placesOf(i)
      const others = (at: number) => blocked[at]! + this.#stuckAt[at]! - (own.includes(at) ? 1 : 0) > 0
      return others(place) || this.#configuration.conflicts[place]!.some(others)
    }
    this.#stuckAt.fill(0)
    for (const i of stuck) for (const place of this.#placesOf(i)) this.#stuckAt[place]!++
    for (let size = -1; size !== stuck.size; ) {
      size = stuck.size
      for (const i of stuck) {
        const { stops, canPark, home } = travellers[i]!
        const hasWay =
          (stops[this.#next[i]!] ?? []).some((place) => !isShut(i, place)) ||
          (canPark && (this.#configuration.parking.some((place) => !isShut(i, place)) || (home >= 0 && !isShut(i, home))))
        if (!hasWay) continue
        stuck.delete(i)
        for (const place of this.#placesOf(i)) this.#stuckAt[place]!--
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
    if (this.#hasFinished(i)) return !stays && at !== gone && this.#moves(i, gone, next)
    if (this.#travellers[i]!.isIdle) return false
    const end = this.#endOf(i)
    if (end !== undefined) return this.#moves(i, stays ? end : gone, stops.length)
    if (!this.#isOpen) return false
    const place = stops[next]!.find((place) => this.#isFree(i, place) && !this.#isWanted(i, place))
    if (place !== undefined) return this.#moves(i, place, next + 1)
    return home >= 0 && at !== home && this.#travellers[i]!.canPark && this.#isFree(i, home) && !this.#isWanted(i, home)
      ? this.#moves(i, home, next)
      : false
  }

  /** Returns the place at which the traveller ends if it passes through all its stops while the others stand still; undefined if it cannot. */
  #endOf(i: number): number | undefined {
    const { stops, stays } = this.#travellers[i]!
    let from: readonly number[] = this.#placesOf(i)
    for (let stop = this.#next[i]!; stop < stops.length; stop++) {
      const isLast = stop === stops.length - 1
      const reached = stops[stop]!.filter(
        (place) =>
          this.#isFree(i, place) && from.some((start) => this.#hasWay(i, start, place)) && !(isLast && stays && this.#isWanted(i, place)),
      )
      if (reached.length === 0) return undefined
      from = reached
    }
    return from[0]
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
      yield* this.#movesTo(i, this.#travellers[i]!.stops[next]!, next + 1)
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

  /** Lists the moves to each of the places; of places that are alike, to one only. */
  *#movesTo(i: number, places: readonly number[], next: number): Generator<Move> {
    const listed: number[] = []
    // A move between places that are alike is of no use, unless it leads to the next stop.
    if (next === this.#next[i] && this.#at[i]! >= 0) listed.push(this.#alias[this.#at[i]!]!)
    for (const place of places) {
      const alias = this.#alias[place]!
      if (listed.includes(alias) || !this.#isReachable(i, place)) continue
      listed.push(alias)
      yield { i, place, next }
    }
  }

  // The board

  #placesOf(i: number): readonly number[] {
    const at = this.#at[i]!
    return at === before ? this.#travellers[i]!.at : at === gone ? [] : [at]
  }

  /** Whether nobody but the traveller itself occupies the place. */
  #isFree(i: number, place: number): boolean {
    const own = this.#placesOf(i)
    if (this.#taken[place]! > (own.includes(place) ? 1 : 0)) return false
    for (const other of this.#configuration.conflicts[place]!) if (this.#taken[other]! > (own.includes(other) ? 1 : 0)) return false
    return true
  }

  #isReachable(i: number, place: number): boolean {
    return this.#isFree(i, place) && this.#placesOf(i).some((from) => this.#hasWay(i, from, place))
  }

  #hasWay(i: number, from: number, to: number): boolean {
    if (this.#isOpen || from === to) return true
    const { kinds, kindCount, ways } = this.#configuration
    const own = this.#placesOf(i)
    return ways[kinds[from]! * kindCount + kinds[to]!]!.some((passed) =>
      passed.every((place) => place === to || this.#taken[place]! <= (own.includes(place) ? 1 : 0)),
    )
  }

  #moves(i: number, place: number, next: number): true {
    this.#trail.push(i, this.#at[i]!, this.#next[i]!)
    this.#set(i, place, next)
    return true
  }

  #set(i: number, place: number, next: number): void {
    for (const left of this.#placesOf(i)) this.#taken[left]!--
    const { stops } = this.#travellers[i]!
    for (let stop = this.#next[i]!; stop < next; stop++) for (const wanted of stops[stop]!) this.#wants[wanted]!--
    for (let stop = next; stop < this.#next[i]!; stop++) for (const wanted of stops[stop]!) this.#wants[wanted]!++
    this.#at[i] = place
    this.#next[i] = next
    for (const entered of this.#placesOf(i)) this.#taken[entered]!++
  }

  #backTo(mark: number): void {
    while (this.#trail.length > mark) {
      const next = this.#trail.pop()!
      const place = this.#trail.pop()!
      this.#set(this.#trail.pop()!, place, next)
    }
  }
}

/** Returns for each place the first one that is like it: of its kind, a stop of the same travellers, and equally blocked and passed. */
function aliases({ kinds, ways, conflicts, blocked, parking, travellers }: Configuration): number[] {
  const signs = kinds.map((kind, place) => [kind, conflicts[place]!.length > 0 ? place : -1])
  for (const place of blocked) signs[place]!.push(-2)
  for (const place of parking) signs[place]!.push(-3)
  for (const alternatives of ways) for (const passed of alternatives) for (const place of passed) signs[place]!.push(-4, place)
  travellers.forEach(({ stops, home }, i) => {
    if (home >= 0) signs[home]!.push(-5, i)
    stops.forEach((stop, at) => {
      for (const place of stop) signs[place]!.push(i, at)
    })
  })
  const first = new Map<string, number>()
  return signs.map((sign, place) => {
    const key = sign.join()
    const alias = first.get(key) ?? place
    first.set(key, alias)
    return alias
  })
}
