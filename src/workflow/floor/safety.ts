// Whether labware can still get everywhere after a grant: looked at before it is given.

import type { Ground, Place, Spot, Walker } from './ground.ts'
import { Nests } from './ground.ts'
import type { Wait } from './wait.ts'

type Lists = readonly (readonly Place[])[]

const nobody: readonly Walker[] = []

export class Safety {
  readonly #ground: Ground
  /** Parking from which all can be reached, and which is in nobody's way. */
  readonly #pads: readonly Spot[]

  constructor(ground: Ground) {
    this.#ground = ground
    this.#pads = ground.parking.filter((pad) => !pad.isHandOver && ground.graph.reachesAll(pad.seats[0]!.name))
  }

  /**
   * Those that could not get through any more if this ask were granted this place, and could otherwise; none if it is safe. It is,
   * at little cost, while there is room to park one labware, which untangles any ring of labware that wants each other's places;
   * and where the labware can do all it has before it while the others stand still.
   */
  trapped(wait: Wait, place: Place): readonly Walker[] {
    const restsOnPad = wait.later.length === 0 && !(place instanceof Nests) && place.isParking
    if (wait.later.length === 0 && !restsOnPad) return nobody
    if (place.promisedTo === wait.walker || isThere(wait.walker, place) || this.#leavesRoom(place)) return nobody
    if (!restsOnPad && wait.later.every((places) => places.some((next) => !next.isClosedTo(wait.walker, wait.inputs)))) return nobody
    const locked = lockedIn(this.#ground, wait, place)
    if (locked.size === 0) return nobody
    for (const walker of lockedIn(this.#ground)) locked.delete(walker)
    if (locked.size === 0) return nobody
    locked.delete(wait.walker)
    return [...locked]
  }

  #leavesRoom(place: Place): boolean {
    const seat = place instanceof Nests ? place.doors[0]! : place.seats[0]!.name
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
 * Takes out, again and again, each labware that can go through all it has before it while the others stand still; where that
 * ends, one that others wait for goes to a parking place. Answers those that remain.
 */
function lockedIn(ground: Ground, asker?: Wait, place?: Place): Set<Walker> {
  const board = new Board(ground)
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
  return left
}

/** Undefined for one that has nothing before it and stays where it is. */
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

/** Who will stand where, when all that is granted has come to pass. */
class Board {
  readonly #takes = new Map<Walker, readonly Place[]>()
  readonly #takers = new Map<Place, Walker[]>()

  constructor({ walkers }: Ground) {
    for (const walker of walkers.values()) {
      const places = placesOf(walker)
      if (places.length > 0) this.set(walker, places)
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

function placesOf(walker: Walker): readonly Place[] {
  const coming = [...walker.reserved].filter(({ isPassage }) => !isPassage)
  const standing = coming.length > 0 ? coming : walker.goal ? [walker.goal] : [...walker.pieces].map(({ spot }) => spot)
  return [...standing, ...walker.holds]
}
