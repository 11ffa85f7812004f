// The occupancy of the deck: which labware stands where, who holds which device, and which resources changed since somebody looked.

import { LabError } from '../../errors.ts'
import { Few } from '../../kit/few.ts'
import type { Graph, Seat } from '../plans/graph.ts'
import type { Candidate, Obstacle } from './asking.ts'
import { Line } from './line.ts'
import type { Travel } from './travels.ts'
import type { Wait } from './wait.ts'

/** What a thread can request: a zone, or a device with all its sites. */
export type Place = Spot | Nests

/** Called with each obstacle between a claimant and a resource. `piece` is the labware that stands there. */
export type Tell = (reason: Obstacle['reason'], by: Walker | null, piece: Piece | null) => void

/** Where one labware stands, and which thread moves it. */
export type Piece = {
  readonly labware_id: string
  walker: Walker | null
  spot: Spot
  seat: string
  /** The route that was granted and is not finished. */
  travel: Travel | null
}

/** A thread, as the scheduler knows it. */
export class Walker {
  readonly thread_id: string
  readonly pieces = new Few<Piece>()
  readonly holds = new Few<Nests>()
  readonly reserved = new Few<Spot>()
  readonly travels = new Few<Travel>()
  /** The request that waits. */
  wait: Wait | null = null
  /** The request that was granted last. */
  last: Wait | null = null
  /** The resource that was granted last, while its labware is not there yet. */
  goal: Place | null = null
  /** The parking position to which its labware was sent, while it is not there yet. */
  parking: Spot | null = null
  awaits: readonly string[] = []
  /** Whether it waits for a custom event. */
  hears = false
  /** Whether it is paused or waits for a person: it does not move by itself. */
  isHeld = false
  /** When the next action of its labware has to begin, in ms; null without a deadline. */
  deadline: number | null = null
  /** The resource that is promised to it while a cycle is resolved. */
  promise: Place | null = null

  constructor(thread_id: string) {
    this.thread_id = thread_id
  }

  /** Whether its labware has a deadline. */
  get hurries(): boolean {
    return this.deadline !== null
  }

  /** Where its labware is; undefined if it is not on the deck. */
  get piece(): Piece | undefined {
    for (const piece of this.pieces) return piece
    return undefined
  }
}

/** A zone holds one labware at a time: one position, or both stations of a translator. */
export class Spot {
  readonly seats: readonly Seat[]
  readonly device: Nests | null
  /** Whether labware passes here on its way elsewhere. */
  readonly isHandOver: boolean
  readonly wanted = new Line<Wait>()
  /** Whether it may have become free for somebody; `lookedAtBy` is the last ticket that was tried. */
  isTouched = false
  lookedAtBy: Wait | undefined
  /** Route requests that wait to pass. */
  readonly passers = new Line<Travel>()
  piece: Piece | null = null
  reservedFor: Walker | null = null
  /** The claimant for which it is kept, though that cannot have it yet. */
  promisedTo: Walker | null = null
  /** Whether it is reserved only to pass through. */
  isPassage = false

  constructor(seats: readonly Seat[], device: Nests | null, isHandOver: boolean) {
    this.seats = seats
    this.device = device
    this.isHandOver = isHandOver
  }

  get isParking(): boolean {
    return this.seats[0]!.parking
  }

  isClosedTo(walker: Walker, _inputs: readonly string[], tell?: Tell): boolean {
    const holder = this.device?.holder
    let isClosed = false
    if (holder && holder !== walker) isClosed = told(tell, 'held', holder, null)
    if (this.piece && this.piece.walker !== walker) isClosed = told(tell, 'occupied', this.piece.walker, this.piece)
    if (isPromisedAgainst(this, walker, tell) || isPromisedAgainst(this.device, walker, tell)) isClosed = true
    return this.isReservedAgainst(walker, tell) || isClosed
  }

  isReservedAgainst(walker: Walker, tell?: Tell): boolean {
    if (!this.reservedFor || this.reservedFor === walker) return false
    return told(tell, this.isPassage ? 'corridor' : 'reserved', this.reservedFor, null)
  }
}

/** A device with all its sites. */
export class Nests {
  readonly name: string
  readonly spots: Spot[] = []
  /** One site of each of its positions: all sites of a position are equally far. */
  readonly doors: string[] = []
  readonly wanted = new Line<Wait>()
  /** Whether it may have become free for somebody; `lookedAtBy` is the last ticket that was tried. */
  isTouched = false
  lookedAtBy: Wait | undefined
  holder: Walker | null = null
  /** The request by which its holder got it. */
  grant: Wait | null = null
  promisedTo: Walker | null = null

  constructor(name: string) {
    this.name = name
  }

  isClosedTo(walker: Walker, inputs: readonly string[], tell?: Tell): boolean {
    let isClosed = false
    if (this.holder && this.holder !== walker) isClosed = told(tell, 'held', this.holder, null)
    if (isPromisedAgainst(this, walker, tell)) isClosed = true
    for (const spot of this.spots) {
      if (isClosed && !tell) return true
      const { piece } = spot
      if (piece && piece.walker !== walker && !(inputs.includes(piece.labware_id) && isStaying(piece)))
        isClosed = told(tell, 'occupied', piece.walker, piece)
      if (spot.isReservedAgainst(walker, tell) || isPromisedAgainst(spot, walker, tell)) isClosed = true
    }
    return isClosed
  }
}

function isPromisedAgainst(place: Place | null, walker: Walker, tell: Tell | undefined): boolean {
  const promisedTo = place?.promisedTo
  if (!promisedTo || promisedTo === walker || walker.piece?.spot === place || walker.piece?.spot.device === place) return false
  return told(tell, 'reserved', promisedTo, null)
}

/** Whether it is neither on its way elsewhere nor about to be. */
function isStaying({ travel, walker }: Piece): boolean {
  return travel === null && !walker?.parking
}

function told(tell: Tell | undefined, ...what: Parameters<Tell>): true {
  tell?.(...what)
  return true
}

export class Ground {
  readonly graph: Graph
  readonly walkers = new Map<string, Walker>()
  readonly pieces = new Map<string, Piece>()
  /** In the order of the topology. */
  readonly parking: readonly Spot[]
  /** Resources that may have become free for somebody. */
  readonly touched: Place[] = []
  /** Zones that may have become free to pass. */
  readonly opened = new Few<Spot>()
  /** Counts every change. */
  version = 0
  /** Counts how often a parking position may have become free. */
  vacated = 0
  /** Called with each labware that arrives at a position or leaves the deck. */
  readonly watchers = new Set<(labware_id: string) => void>()
  readonly #spots = new Map<string, Spot>()
  readonly #devices = new Map<string, Nests>()

  constructor(graph: Graph) {
    this.graph = graph
    for (const name of graph.devices) this.#devices.set(name, new Nests(name))
    for (const seat of graph.seats.values()) {
      if (!this.#spots.has(seat.name)) this.#addSpot(graph.samePad(seat.name))
    }
    for (const nests of this.#devices.values()) this.#furnish(nests)
    this.parking = [...new Set(this.#spots.values())].filter(({ isParking }) => isParking)
  }

  #addSpot(seats: readonly Seat[]): void {
    const device = seats[0]!.device
    const spot = new Spot(seats, device === null ? null : this.device(device), this.graph.isHandOver(seats[0]!.name))
    for (const { name } of seats) this.#spots.set(name, spot)
  }

  #furnish(nests: Nests): void {
    const positions = new Set<string>()
    for (const { name, position } of this.graph.seatsOf(nests.name)) {
      nests.spots.push(this.spot(name))
      if (!positions.has(position)) nests.doors.push(name)
      positions.add(position)
    }
  }

  spot(seat: string): Spot {
    const spot = this.#spots.get(seat)
    if (!spot) throw new LabError('not_found', `the topology has no seat ${seat}`)
    return spot
  }

  device(name: string): Nests {
    const nests = this.#devices.get(name)
    if (!nests) throw new LabError('not_found', `the topology has no position for device ${name}`)
    return nests
  }

  place(candidate: Candidate): Place {
    return 'device' in candidate ? this.device(candidate.device) : this.spot(candidate.seat)
  }

  piece(labware_id: string): Piece {
    const piece = this.pieces.get(labware_id)
    if (!piece) throw new LabError('not_found', `labware ${labware_id} is not on the floor`)
    return piece
  }

  walker(thread_id: string): Walker {
    let walker = this.walkers.get(thread_id)
    if (!walker) {
      walker = new Walker(thread_id)
      this.walkers.set(thread_id, walker)
    }
    return walker
  }

  /** The number of hops from where the labware stands; 0 for labware that is not on the deck yet, undefined if there is no way. */
  hops(walker: Walker, candidate: Candidate, place: Place): number | undefined {
    const { piece } = walker
    if (!piece) return 0
    if ('seat' in candidate) return this.graph.hops(piece.seat, candidate.seat)
    return place === piece.spot.device ? 0 : shortest(this.graph, piece.seat, place as Nests)
  }

  /** Throws `exists` when something else stands there, or is to come there. */
  mustBeFree(seat: string, walker: Walker | null, labware_id: string): void {
    const { piece, reservedFor } = this.spot(seat)
    if (piece && piece.labware_id !== labware_id) {
      throw new LabError(
        'exists',
        `labware ${piece.labware_id} stands at ${piece.seat}; take it away before ${labware_id} is put at ${seat}`,
      )
    }
    if (reservedFor && reservedFor !== walker) {
      throw new LabError('exists', `${seat} is reserved for thread ${reservedFor.thread_id}; put ${labware_id} elsewhere`)
    }
  }

  add(labware_id: string, seat: string, walker: Walker | null): Piece {
    const piece: Piece = { labware_id, walker, spot: this.spot(seat), seat, travel: null }
    this.pieces.set(labware_id, piece)
    walker?.pieces.add(piece)
    this.#stand(piece)
    return piece
  }

  /** Moves labware: frees the zone that it leaves, and ends the reservation of the zone where it arrives. */
  move(piece: Piece, seat: string): void {
    const before = piece.spot
    const spot = this.spot(seat)
    piece.seat = seat
    piece.spot = spot
    if (before !== spot) {
      before.piece = null
      this.#stand(piece)
      this.touch(before)
    } else this.#tell(piece)
  }

  #stand(piece: Piece): void {
    const { spot, walker } = piece
    spot.piece = piece
    if (walker && spot.reservedFor === walker) {
      spot.reservedFor = null
      walker.reserved.delete(spot)
    }
    if (walker && (walker.goal === spot || walker.goal === spot.device)) walker.goal = null
    if (walker?.parking === spot) walker.parking = null
    this.version++
    this.#tell(piece)
  }

  #tell({ labware_id }: Piece): void {
    for (const call of this.watchers) call(labware_id)
  }

  remove(piece: Piece): void {
    this.pieces.delete(piece.labware_id)
    piece.walker?.pieces.delete(piece)
    piece.spot.piece = null
    this.#tell(piece)
    this.touch(piece.spot)
  }

  assign(piece: Piece, walker: Walker | null): void {
    piece.walker?.pieces.delete(piece)
    piece.walker = walker
    walker?.pieces.add(piece)
    this.touch(piece.spot)
  }

  reserve(spot: Spot, walker: Walker, isPassage = false): void {
    spot.reservedFor = walker
    spot.isPassage = isPassage
    walker.reserved.add(spot)
    this.version++
  }

  unreserve(spot: Spot, walker: Walker): void {
    if (spot.reservedFor !== walker) return
    spot.reservedFor = null
    walker.reserved.delete(spot)
    if (walker.parking === spot) walker.parking = null
    if (walker.goal === spot) walker.goal = null
    this.touch(spot)
  }

  hold(nests: Nests, wait: Wait): void {
    nests.holder = wait.walker
    nests.grant = wait
    wait.walker.holds.add(nests)
    this.version++
  }

  letGo(nests: Nests, walker: Walker): void {
    if (nests.holder !== walker) return
    nests.holder = null
    nests.grant = null
    walker.holds.delete(nests)
    if (walker.goal === nests) walker.goal = null
    this.touch(nests)
    for (const spot of nests.spots) this.touch(spot)
  }

  promise(place: Place, walker: Walker): void {
    if (place.promisedTo) this.breakPromise(place.promisedTo)
    this.breakPromise(walker)
    place.promisedTo = walker
    walker.promise = place
    this.version++
  }

  /** Ends a promise that was kept, or is not needed any more. */
  breakPromise(walker: Walker): void {
    const { promise } = walker
    if (!promise) return
    promise.promisedTo = null
    walker.promise = null
    this.touch(promise)
  }

  /** Marks a resource that may have become free for somebody. */
  touch(place: Place): void {
    this.version++
    if (place.wanted.size > 0) this.#lookAt(place)
    if (place instanceof Nests) return
    if (place.isParking) this.vacated++
    if (place.device && place.device.wanted.size > 0) this.#lookAt(place.device)
    this.opened.add(place)
  }

  #lookAt(place: Place): void {
    place.lookedAtBy = undefined
    if (place.isTouched) return
    place.isTouched = true
    this.touched.push(place)
  }
}

function shortest(graph: Graph, from: string, nests: Nests): number | undefined {
  let least: number | undefined
  for (const door of nests.doors) {
    const hops = graph.hops(from, door)
    if (hops !== undefined && (least === undefined || hops < least)) least = hops
  }
  return least
}
