// Deadlock avoidance: whether all labware can still finish after a grant, checked before the grant is given (a safe-state check as in the
// banker's algorithm).

import type { Ground, Place, Spot, Walker } from './ground.ts'
import { Nests } from './ground.ts'
import type { Wait } from './wait.ts'

type Lists = readonly (readonly Place[])[]

const nobody: readonly Walker[] = []

export class Safety {
  readonly #ground: Ground
  /** Parking positions from which every position can be reached, and which are in nobody's way. */
  readonly #pads: readonly Spot[]

  /** Results since the last change, by cache key. */
  readonly #known = new Map<string, readonly Walker[]>()
  #seen = -1

  constructor(ground: Ground) {
    this.#ground = ground
    this.#pads = ground.parking.filter((pad) => !pad.isHandOver && ground.graph.reachesAll(pad.seats[0]!.name))
  }

  /**
   * Returns the claimants that could finish now, and could not after this grant; none if the grant is safe. Two cases are safe and cheap to
   * see: a free parking position that can be reached, since parking one labware breaks any cycle; and a claimant that can do all it has
   * before it while the others stand still.
   */
  trapped(wait: Wait, place: Place): readonly Walker[] {
    const { piece, holds, reserved } = wait.walker
    if (piece || holds.size > 0 || reserved.size > 0) return this.#trapped(wait, place)
    // Hundreds of threads that are yet to come may request the same: the answer is the same for all of them.
    if (this.#seen !== this.#ground.version) this.#known.clear()
    this.#seen = this.#ground.version
    const wish = `${wait.wish} with ${wait.inputs} at ${seatOf(place)}`
    let trapped = this.#known.get(wish)
    if (!trapped) {
      trapped = this.#isHeard() ? nobody : this.#trapped(wait, place)
      this.#known.set(wish, trapped)
    }
    return trapped
  }

  #trapped(wait: Wait, place: Place): readonly Walker[] {
    const restsOnPad = wait.later.length === 0 && !(place instanceof Nests) && place.isParking
    if (wait.later.length === 0 && !restsOnPad) return nobody
    if (place.promisedTo === wait.walker || isThere(wait.walker, place) || this.#leavesRoom(place)) return nobody
    if (!restsOnPad && wait.later.every((places) => places.some((next) => !next.isClosedTo(wait.walker, wait.inputs)))) return nobody
    const island = this.#ground.graph.islandOf(seatOf(place))
    const locked = lockedIn(this.#ground, island, wait, place)
    if (locked.size === 0) return nobody
    for (const walker of lockedIn(this.#ground, island)) locked.delete(walker)
    if (locked.size === 0) return nobody
    locked.delete(wait.walker)
    return [...locked]
  }

  /** Whether somebody waits for a custom event: it may be emitted only by a thread that is yet to come. */
  #isHeard(): boolean {
    for (const { hears } of this.#ground.walkers.values()) if (hears) return true
    return false
  }

  #leavesRoom(place: Place): boolean {
    const seat = seatOf(place)
    return this.#pads.some((pad) => pad !== place && isFree(pad) && this.#ground.graph.hops(pad.seats[0]!.name, seat) !== undefined)
  }
}

export function isFree({ piece, reservedFor }: Spot): boolean {
  return !piece && !reservedFor
}

function isThere({ piece }: Walker, place: Place): boolean {
  return piece !== undefined && (piece.spot === place || piece.spot.device === place)
}

/**
 * Takes out, again and again, each claimant that can do all it has before it while the others stand still. When none can, it parks one
 * that others wait for. Returns the claimants that remain.
 */
function lockedIn(ground: Ground, island: number, asker?: Wait, place?: Place): Set<Walker> {
  const board = new Board(ground, island)
  if (asker && place) board.set(asker.walker, [place])
  const left = new Set(board.walkers)
  const lists = new Map([...left].map((walker) => [walker, listsOf(walker, asker)]))
  const parked = new Set<Walker>()
  do {
    for (let size = -1; size !== left.size; ) {
      size = left.size
      for (const walker of left) {
        if (!canGetThrough(walker, lists.get(walker)!, board)) continue
        board.set(walker, [])
        left.delete(walker)
      }
    }
  } while (left.size > 0 && makeRoom(left, lists, parked, board, ground))
  if (left.size < 2 || !isEachAlone(ground, asker)) return left
  const behind = leftBehind(new Board(ground, island), lists, asker, place)
  return behind.size < left.size ? behind : left
}

/** Whether no claimant needs other labware: if one does, that labware may need the very positions that others free for each other. */
function isEachAlone({ walkers }: Ground, asker?: Wait): boolean {
  if (asker && !asker.ask.alone) return false
  for (const { wait, last, pieces } of walkers.values()) if (pieces.size > 0 && !(wait ?? last)?.ask.alone) return false
  return true
}

/** Lets each claimant advance by one resource whenever that is free, instead of all the way at once. Returns those that do not finish. */
function leftBehind(board: Board, lists: ReadonlyMap<Walker, Lists | undefined>, asker?: Wait, place?: Place): Set<Walker> {
  if (asker && place) board.set(asker.walker, [place])
  const at = new Map([...lists.keys()].map((walker) => [walker, 0]))
  const goOn = (walker: Walker): boolean => {
    const next = lists.get(walker)?.[at.get(walker)!]
    const inputs = walker.wait?.inputs ?? walker.last?.inputs ?? []
    const free = next?.find((place) => board.isFreeFor(walker, place, inputs))
    if (!free) return false
    const done = at.get(walker)! + 1
    const isThrough = done === lists.get(walker)!.length
    board.set(walker, isThrough ? [] : [free])
    if (isThrough) at.delete(walker)
    else at.set(walker, done)
    return true
  }
  for (let isMoving = true; isMoving; ) {
    isMoving = false
    for (const walker of [...at.keys()]) if (goOn(walker)) isMoving = true
  }
  return new Set(at.keys())
}

/** The resources before a claimant, one list for each action; undefined for one that has nothing before it and stays where it is. */
function listsOf(walker: Walker, asker?: Wait): Lists | undefined {
  const { wait, last } = walker
  if (asker && walker === asker.walker) return asker.later.length > 0 ? asker.later : undefined
  if (wait?.isIdle) return wait.later.length > 0 ? wait.later : undefined
  return wait ? [wait.places, ...wait.later] : (last?.later ?? [])
}

function canGetThrough(walker: Walker, lists: Lists | undefined, board: Board): boolean {
  if (!lists) return false
  const inputs = walker.wait?.inputs ?? walker.last?.inputs ?? []
  return lists.every((places) => places.some((place) => board.isFreeFor(walker, place, inputs)))
}

function makeRoom(
  left: ReadonlySet<Walker>,
  lists: ReadonlyMap<Walker, Lists | undefined>,
  parked: Set<Walker>,
  board: Board,
  { parking, graph }: Ground,
): boolean {
  const wanted = new Set<Place>()
  for (const walker of left) for (const place of lists.get(walker)?.[0] ?? []) wanted.add(place)
  for (const walker of left) {
    const { piece } = walker
    if (!piece || parked.has(walker) || !(walker.wait ?? walker.last)?.canPark || !board.standsIn(walker, wanted)) continue
    const pad = parking.find((spot) => !spot.isHandOver && board.isEmpty(spot) && graph.hops(piece.seat, spot.seats[0]!.name) !== undefined)
    if (!pad) continue
    board.set(walker, [pad])
    parked.add(walker)
    return true
  }
  return false
}

/** Who will stand where on an island once all grants are used: the state on which the check runs. */
class Board {
  readonly #takes = new Map<Walker, readonly Place[]>()
  readonly #takers = new Map<Place, Walker[]>()

  constructor({ walkers, graph }: Ground, island: number) {
    const isHere = (place: Place) => graph.islandOf(seatOf(place)) === island
    for (const walker of walkers.values()) {
      const here = placesOf(walker, isHere)
      if (here.length > 0) this.set(walker, here)
    }
  }

  get walkers(): Iterable<Walker> {
    return this.#takes.keys()
  }

  set(walker: Walker, places: readonly Place[]): void {
    for (const place of this.#takes.get(walker) ?? [])
      this.#takers.set(
        place,
        this.#takersOf(place).filter((other) => other !== walker),
      )
    this.#takes.set(walker, places)
    for (const place of places) this.#takers.set(place, [...this.#takersOf(place), walker])
  }

  #takersOf(place: Place): readonly Walker[] {
    return this.#takers.get(place) ?? nobody
  }

  isFreeFor(walker: Walker, place: Place, inputs: readonly string[]): boolean {
    const isForeign = (other: Walker) => other !== walker && !(other.piece && inputs.includes(other.piece.labware_id))
    const isBlocked = (spot: Spot) =>
      this.#takersOf(spot).some(isForeign) || (spot.piece?.walker === null && !inputs.includes(spot.piece.labware_id))
    if (place instanceof Nests) return !this.#takersOf(place).some(isForeign) && !place.spots.some(isBlocked)
    return !isBlocked(place) && !(place.device && this.#takersOf(place.device).some(isForeign))
  }

  isEmpty(spot: Spot): boolean {
    return this.#takersOf(spot).length === 0 && spot.piece?.walker !== null
  }

  standsIn(walker: Walker, places: ReadonlySet<Place>): boolean {
    return (this.#takes.get(walker) ?? []).some(
      (place) => places.has(place) || (!(place instanceof Nests) && place.device && places.has(place.device)),
    )
  }
}

function seatOf(place: Place): string {
  return place instanceof Nests ? place.doors[0]! : place.seats[0]!.name
}

/** The resources of a claimant on the island. It may have some on several islands, after its labware was carried by hand. */
function placesOf(walker: Walker, isHere: (place: Place) => boolean): readonly Place[] {
  const { piece, holds } = walker
  const places: Place[] = standingOf(walker).filter(isHere)
  if (places.length === 0 && piece && isHere(piece.spot)) places.push(piece.spot)
  for (const device of holds) if (isHere(device)) places.push(device)
  return places
}

function standingOf({ reserved, goal, pieces }: Walker): readonly Place[] {
  const coming = [...reserved].filter(({ isPassage }) => !isPassage)
  if (coming.length > 0) return coming
  return goal ? [goal] : [...pieces].map(({ spot }) => spot)
}
