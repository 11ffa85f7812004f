// Grants routes: all positions between where labware stands and where it goes are granted at once, first come, first served.

import { LabError } from '../../errors.ts'
import type { Hop } from '../plans/graph.ts'
import type { Obstacle } from './asking.ts'
import type { Ground, Piece, Spot, Tell, Walker } from './ground.ts'
import type { Ranked } from './line.ts'

/** Its functions are bound: they can be passed on alone. */
export class Travel implements Ranked {
  readonly walker: Walker
  readonly piece: Piece
  readonly to: string
  readonly target: Spot
  readonly granted: (route: readonly Hop[]) => void
  /** Labware that stands in a corridor goes before all others, since they wait for it. */
  readonly priority: number
  readonly sequence: number
  readonly withdraw: () => void
  readonly explain: () => Obstacle[]
  state: 'waiting' | 'granted' | 'over' = 'waiting'
  /** Whether it is to be looked at again. */
  isFresh = false
  route: readonly Hop[] = []
  /** The zones that it passes, without those where it stands and where it goes. */
  passages: readonly Spot[] = []

  constructor(
    order: { piece: Piece; walker: Walker; to: string; target: Spot; granted(route: readonly Hop[]): void } & Ranked,
    calls: { withdraw(travel: Travel): void; explain(travel: Travel): Obstacle[] },
  ) {
    this.walker = order.walker
    this.piece = order.piece
    this.to = order.to
    this.target = order.target
    this.granted = order.granted
    this.priority = order.priority
    this.sequence = order.sequence
    this.withdraw = () => calls.withdraw(this)
    this.explain = () => calls.explain(this)
  }
}

export class Travels {
  readonly #ground: Ground
  /** Route requests to be looked at again. */
  readonly #fresh: Travel[] = []
  /** Route requests with labware at rest in their way. */
  readonly #stalled = new Set<Travel>()
  readonly #calls: { withdraw(travel: Travel): void; explain(travel: Travel): Obstacle[] }
  #count = 0

  constructor(ground: Ground, withdraw: (travel: Travel) => void) {
    this.#ground = ground
    this.#calls = { withdraw, explain: (travel) => this.#explain(travel) }
  }

  /** Requests the route to a position that is reserved for the claimant. Threads that are `isPressed` for time go before others. */
  add(walker: Walker, labware_id: string, to: string, granted: (route: readonly Hop[]) => void, isPressed = false): Travel {
    const { graph } = this.#ground
    const piece = this.#ground.piece(labware_id)
    const target = this.#ground.spot(to)
    if (piece.walker !== walker) throw new LabError('internal', `labware ${labware_id} is not thread ${walker.thread_id}'s to move`)
    if (target.reservedFor !== walker && target.piece !== piece) {
      throw new LabError('internal', `${to} is not reserved for thread ${walker.thread_id}; ask for it before ${labware_id} travels there`)
    }
    const route = graph.route(piece.seat, to)
    if (!route) throw new LabError('not_found', `there is no way from ${piece.seat} to ${to}`)
    this.endOf(piece)
    const priority = graph.isHandOver(piece.seat) ? 2 : isPressed ? 1 : 0
    const travel = new Travel({ walker, piece, to, target, granted, priority, sequence: this.#count++ }, this.#calls)
    walker.travels.add(travel)
    // It may close a cycle of threads that wait for each other.
    this.#ground.version++
    this.#lead(travel, route)
    this.#refresh(travel)
    return travel
  }

  #refresh(travel: Travel): void {
    if (travel.isFresh) return
    travel.isFresh = true
    this.#fresh.push(travel)
  }

  #lead(travel: Travel, route: readonly Hop[]): void {
    const { piece, target } = travel
    for (const spot of travel.passages) spot.passers.delete(travel)
    const passages = new Set(route.slice(0, -1).map(({ to }) => this.#ground.spot(to)))
    passages.delete(piece.spot)
    passages.delete(target)
    travel.route = route
    travel.passages = [...passages]
    for (const spot of passages) spot.passers.add(travel)
  }

  /** Grants and returns the next route that is open. Calls `waits` with each request whose route is not. */
  next(waits: (travel: Travel) => void): Travel | undefined {
    const { opened } = this.#ground
    for (let spot = opened.shift(); spot; spot = opened.shift()) {
      for (const travel of spot.passers) this.#refresh(travel)
      if (this.#stalled.size > 0) for (const travel of this.#stalled) this.#refresh(travel)
    }
    for (let travel = this.#fresh.shift(); travel; travel = this.#fresh.shift()) {
      travel.isFresh = false
      if (travel.state !== 'waiting') continue
      if (this.#attempt(travel)) return travel
      waits(travel)
    }
    return undefined
  }

  #attempt(travel: Travel): boolean {
    if (isStalled(travel)) this.#evade(travel)
    if (isStalled(travel)) this.#stalled.add(travel)
    else this.#stalled.delete(travel)
    const isOpen = travel.passages.every((spot) => isPassable(spot, travel) && firstOf(spot) === travel)
    if (isOpen) this.#grant(travel)
    return isOpen
  }

  #evade(travel: Travel): void {
    const isClosed = (seat: string) => {
      const spot = this.#ground.spot(seat)
      return restsFor(spot, travel) || (spot.reservedFor !== null && spot.reservedFor !== travel.walker && !spot.isPassage)
    }
    const detour = this.#ground.graph.detour(travel.piece.seat, travel.to, isClosed)
    if (detour) this.#lead(travel, detour)
  }

  #grant(travel: Travel): void {
    const { passages, piece, walker } = travel
    this.#outOfLine(travel)
    for (const spot of passages) this.#ground.reserve(spot, walker, true)
    travel.state = 'granted'
    piece.travel = travel
    this.arrived(piece)
  }

  #outOfLine(travel: Travel): void {
    this.#stalled.delete(travel)
    for (const spot of travel.passages) {
      spot.passers.delete(travel)
      if (spot.passers.size > 0) this.#ground.opened.add(spot)
    }
  }

  /** Ends the route of labware that has arrived. */
  arrived(piece: Piece): void {
    const { travel } = piece
    if (travel && travel.target === piece.spot && travel.to === piece.seat) this.end(travel)
  }

  /** Ends all routes of the labware. */
  endOf(piece: Piece): void {
    for (const travel of [...(piece.walker?.travels ?? [])]) if (travel.piece === piece) this.end(travel)
  }

  /** Frees the zones that it has not passed yet. The target stays reserved. */
  end(travel: Travel): void {
    if (travel.state === 'over') return
    const { state, piece, walker, passages } = travel
    travel.state = 'over'
    walker.travels.delete(travel)
    this.#ground.version++
    if (state === 'waiting') this.#outOfLine(travel)
    if (state !== 'granted') return
    piece.travel = null
    for (const spot of passages) if (spot.isPassage) this.#ground.unreserve(spot, walker)
    // The labware rests where it is now: others may take a detour around it.
    this.#ground.opened.add(piece.spot)
  }

  /** Calls `tell` with each obstacle on the route. */
  obstacles(travel: Travel, tell: Tell): void {
    for (const spot of travel.passages) {
      if (spot.piece && spot.piece !== travel.piece) tell('corridor', spot.piece.walker, spot.piece)
      if (spot.reservedFor && spot.reservedFor !== travel.walker) tell('corridor', spot.reservedFor, null)
      const first = firstOf(spot)
      if (first && first !== travel) tell('corridor', first.walker, null)
    }
  }

  #explain(travel: Travel): Obstacle[] {
    const obstacles: Obstacle[] = []
    if (travel.state !== 'waiting') return obstacles
    this.obstacles(travel, (reason, by, piece) => {
      obstacles.push({ wanted: travel.to, reason, thread_id: by?.thread_id ?? null, labware_id: piece?.labware_id ?? null })
    })
    return obstacles
  }
}

function isPassable(spot: Spot, { piece, walker }: Travel): boolean {
  return (!spot.piece || spot.piece === piece) && (!spot.reservedFor || spot.reservedFor === walker)
}

/** The first in the queue of a zone. A request that waits for labware at rest holds up no others. */
function firstOf(spot: Spot): Travel | undefined {
  for (const travel of spot.passers) if (!isStalled(travel)) return travel
  return undefined
}

function isStalled(travel: Travel): boolean {
  return travel.passages.some((spot) => restsFor(spot, travel))
}

function restsFor({ piece }: Spot, travel: Travel): boolean {
  return piece !== null && piece !== travel.piece && piece.travel === null
}
