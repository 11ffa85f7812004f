// Grants routes: all positions between where labware stands and where it goes are granted at once, first come, first served.

import { LabError } from '../../errors.ts'
import type { Hop } from '../plans/graph.ts'
import type { Claimant, ObstacleVisitor, Occupancy, Placement, Zone } from './occupancy.ts'
import type { Ranked } from './ranked_queue.ts'
import type { Obstacle } from './request.ts'

/** Its functions are bound: they can be passed on alone. */
export class RouteGrant implements Ranked {
  readonly claimant: Claimant
  readonly placement: Placement
  readonly to: string
  readonly target: Zone
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
  passages: readonly Zone[] = []

  constructor(
    order: { placement: Placement; claimant: Claimant; to: string; target: Zone; granted(route: readonly Hop[]): void } & Ranked,
    calls: { withdraw(routeGrant: RouteGrant): void; explain(routeGrant: RouteGrant): Obstacle[] },
  ) {
    this.claimant = order.claimant
    this.placement = order.placement
    this.to = order.to
    this.target = order.target
    this.granted = order.granted
    this.priority = order.priority
    this.sequence = order.sequence
    this.withdraw = () => calls.withdraw(this)
    this.explain = () => calls.explain(this)
  }
}

export class RouteGrants {
  readonly #occupancy: Occupancy
  /** Route requests to be looked at again. */
  readonly #fresh: RouteGrant[] = []
  /** Route requests with labware at rest in their way. */
  readonly #stalled = new Set<RouteGrant>()
  readonly #calls: { withdraw(routeGrant: RouteGrant): void; explain(routeGrant: RouteGrant): Obstacle[] }
  #count = 0

  constructor(occupancy: Occupancy, withdraw: (routeGrant: RouteGrant) => void) {
    this.#occupancy = occupancy
    this.#calls = { withdraw, explain: (routeGrant) => this.#explain(routeGrant) }
  }

  /** Requests the route to a position that is reserved for the claimant. Threads that are `isPressed` for time go before others. */
  add(claimant: Claimant, labware_id: string, to: string, granted: (route: readonly Hop[]) => void, isPressed = false): RouteGrant {
    const { graph } = this.#occupancy
    const placement = this.#occupancy.placement(labware_id)
    const target = this.#occupancy.zone(to)
    if (placement.claimant !== claimant)
      throw new LabError('internal', `labware ${labware_id} is not thread ${claimant.thread_id}'s to move`)
    if (target.reservedFor !== claimant && target.placement !== placement) {
      throw new LabError(
        'internal',
        `${to} is not reserved for thread ${claimant.thread_id}; ask for it before ${labware_id} travels there`,
      )
    }
    const route = graph.route(placement.seat, to)
    if (!route) throw new LabError('not_found', `there is no way from ${placement.seat} to ${to}`)
    this.endOf(placement)
    const priority = graph.isHandOver(placement.seat) ? 2 : isPressed ? 1 : 0
    const routeGrant = new RouteGrant({ claimant, placement, to, target, granted, priority, sequence: this.#count++ }, this.#calls)
    claimant.routeGrants.add(routeGrant)
    // It may close a cycle of threads that wait for each other.
    this.#occupancy.version++
    this.#lead(routeGrant, route)
    this.#refresh(routeGrant)
    return routeGrant
  }

  #refresh(routeGrant: RouteGrant): void {
    if (routeGrant.isFresh) return
    routeGrant.isFresh = true
    this.#fresh.push(routeGrant)
  }

  #lead(routeGrant: RouteGrant, route: readonly Hop[]): void {
    const { placement, target } = routeGrant
    for (const zone of routeGrant.passages) zone.passers.delete(routeGrant)
    const passages = new Set(route.slice(0, -1).map(({ to }) => this.#occupancy.zone(to)))
    passages.delete(placement.zone)
    passages.delete(target)
    routeGrant.route = route
    routeGrant.passages = [...passages]
    for (const zone of passages) zone.passers.add(routeGrant)
  }

  /** Grants and returns the next route that is open. Calls `waits` with each request whose route is not. */
  next(tickets: (routeGrant: RouteGrant) => void): RouteGrant | undefined {
    const { opened } = this.#occupancy
    for (let zone = opened.shift(); zone; zone = opened.shift()) {
      for (const routeGrant of zone.passers) this.#refresh(routeGrant)
      if (this.#stalled.size > 0) for (const routeGrant of this.#stalled) this.#refresh(routeGrant)
    }
    for (let routeGrant = this.#fresh.shift(); routeGrant; routeGrant = this.#fresh.shift()) {
      routeGrant.isFresh = false
      if (routeGrant.state !== 'waiting') continue
      if (this.#attempt(routeGrant)) return routeGrant
      tickets(routeGrant)
    }
    return undefined
  }

  #attempt(routeGrant: RouteGrant): boolean {
    if (isStalled(routeGrant)) this.#evade(routeGrant)
    if (isStalled(routeGrant)) this.#stalled.add(routeGrant)
    else this.#stalled.delete(routeGrant)
    const isOpen = routeGrant.passages.every((zone) => isPassable(zone, routeGrant) && firstOf(zone) === routeGrant)
    if (isOpen) this.#grant(routeGrant)
    return isOpen
  }

  #evade(routeGrant: RouteGrant): void {
    const isClosed = (seat: string) => {
      const zone = this.#occupancy.zone(seat)
      return restsFor(zone, routeGrant) || (zone.reservedFor !== null && zone.reservedFor !== routeGrant.claimant && !zone.isPassage)
    }
    const detour = this.#occupancy.graph.detour(routeGrant.placement.seat, routeGrant.to, isClosed)
    if (detour) this.#lead(routeGrant, detour)
  }

  #grant(routeGrant: RouteGrant): void {
    const { passages, placement, claimant } = routeGrant
    this.#outOfLine(routeGrant)
    for (const zone of passages) this.#occupancy.reserve(zone, claimant, true)
    routeGrant.state = 'granted'
    placement.routeGrant = routeGrant
    this.arrived(placement)
  }

  #outOfLine(routeGrant: RouteGrant): void {
    this.#stalled.delete(routeGrant)
    for (const zone of routeGrant.passages) {
      zone.passers.delete(routeGrant)
      if (zone.passers.size > 0) this.#occupancy.opened.add(zone)
    }
  }

  /** Ends the route of labware that has arrived. */
  arrived(placement: Placement): void {
    const { routeGrant } = placement
    if (routeGrant && routeGrant.target === placement.zone && routeGrant.to === placement.seat) this.end(routeGrant)
  }

  /** Ends all routes of the labware. */
  endOf(placement: Placement): void {
    for (const routeGrant of [...(placement.claimant?.routeGrants ?? [])]) if (routeGrant.placement === placement) this.end(routeGrant)
  }

  /** Frees the zones that it has not passed yet. The target stays reserved. */
  end(routeGrant: RouteGrant): void {
    if (routeGrant.state === 'over') return
    const { state, placement, claimant, passages } = routeGrant
    routeGrant.state = 'over'
    claimant.routeGrants.delete(routeGrant)
    this.#occupancy.version++
    if (state === 'waiting') this.#outOfLine(routeGrant)
    if (state !== 'granted') return
    placement.routeGrant = null
    for (const zone of passages) if (zone.isPassage) this.#occupancy.unreserve(zone, claimant)
    // The labware rests where it is now: others may take a detour around it.
    this.#occupancy.opened.add(placement.zone)
  }

  /** Calls `tell` with each obstacle on the route. */
  obstacles(routeGrant: RouteGrant, visit: ObstacleVisitor): void {
    for (const zone of routeGrant.passages) {
      if (zone.placement && zone.placement !== routeGrant.placement) visit('corridor', zone.placement.claimant, zone.placement)
      if (zone.reservedFor && zone.reservedFor !== routeGrant.claimant) visit('corridor', zone.reservedFor, null)
      const first = firstOf(zone)
      if (first && first !== routeGrant) visit('corridor', first.claimant, null)
    }
  }

  #explain(routeGrant: RouteGrant): Obstacle[] {
    const obstacles: Obstacle[] = []
    if (routeGrant.state !== 'waiting') return obstacles
    this.obstacles(routeGrant, (reason, by, placement) => {
      obstacles.push({ wanted: routeGrant.to, reason, thread_id: by?.thread_id ?? null, labware_id: placement?.labware_id ?? null })
    })
    return obstacles
  }
}

function isPassable(zone: Zone, { placement, claimant }: RouteGrant): boolean {
  return (!zone.placement || zone.placement === placement) && (!zone.reservedFor || zone.reservedFor === claimant)
}

/** The first in the queue of a zone. A request that waits for labware at rest holds up no others. */
function firstOf(zone: Zone): RouteGrant | undefined {
  for (const routeGrant of zone.passers) if (!isStalled(routeGrant)) return routeGrant
  return undefined
}

function isStalled(routeGrant: RouteGrant): boolean {
  return routeGrant.passages.some((zone) => restsFor(zone, routeGrant))
}

function restsFor({ placement }: Zone, routeGrant: RouteGrant): boolean {
  return placement !== null && placement !== routeGrant.placement && placement.routeGrant === null
}
