// Grants routes: all positions between the labware and its target at once, first come, first served.

import { LabError } from '../../errors.ts'
import type { Hop } from '../plans/graph.ts'
import { type Claimant, type ObstacleVisitor, type Placement, RouteGrant, type Zone } from './model.ts'
import type { Occupancy } from './occupancy.ts'
import type { Obstacle } from './request.ts'

export class RouteGrants {
  readonly #occupancy: Occupancy
  /** Route requests to consider again. */
  readonly #fresh: RouteGrant[] = []
  /** Route requests that labware at rest or held labware blocks, and those whose device works. */
  readonly #stalled = new Set<RouteGrant>()
  readonly #calls: { withdraw(routeGrant: RouteGrant): void; explain(routeGrant: RouteGrant): Obstacle[] }
  readonly #isHeldUp: (claimant: Claimant) => boolean
  #count = 0

  /** `isHeldUp`: whether the labware of a claimant with a granted route cannot move now. */
  constructor(occupancy: Occupancy, calls: { withdraw(routeGrant: RouteGrant): void; isHeldUp(claimant: Claimant): boolean }) {
    this.#occupancy = occupancy
    this.#isHeldUp = calls.isHeldUp
    this.#calls = { withdraw: calls.withdraw, explain: (routeGrant) => this.#explain(routeGrant) }
  }

  /** Requests the route to a position that is reserved for the claimant. Requests with `isPressed` go before others. */
  add(
    claimant: Claimant,
    labware_id: string,
    to: string,
    { isPressed = false, ...calls }: { granted(route: readonly Hop[]): void; divert?: (() => void) | undefined; isPressed?: boolean },
  ): RouteGrant {
    const { graph } = this.#occupancy
    const placement = this.#occupancy.placement(labware_id)
    const target = this.#occupancy.zone(to)
    if (placement.claimant !== claimant)
      throw new LabError('internal', `labware ${labware_id} is not thread ${claimant.thread_id}'s to move`)
    if (target.reservedFor !== claimant && target.placement !== placement) {
      throw new LabError(
        'internal',
        `${to} is not reserved for thread ${claimant.thread_id}; request it before ${labware_id} travels there`,
      )
    }
    const route = graph.route(placement.position, to)
    if (!route) throw new LabError('not_found', `there is no way from ${placement.position} to ${to}`)
    this.endOf(placement)
    const priority = graph.isHandOver(placement.position) ? 2 : isPressed ? 1 : 0
    const routeGrant = new RouteGrant({ claimant, placement, to, target, ...calls, priority, sequence: this.#count++ }, this.#calls)
    claimant.routeGrants.add(routeGrant)
    // The request may close a cycle of threads that wait for each other.
    this.#occupancy.version++
    this.#lead(routeGrant, route)
    this.#refresh(routeGrant)
    return routeGrant
  }

  /** Whether held threads cut off every route of the labware to the position. */
  isCutOff({ position, claimant }: Placement, to: string): boolean {
    const isClosed = (name: string) => this.#isHeldUpAt(this.#occupancy.zone(name), claimant)
    const { graph } = this.#occupancy
    const passages = graph.route(position, to)?.slice(0, -1) ?? []
    return passages.some((hop) => isClosed(hop.to)) && graph.detour(position, to, isClosed) === undefined
  }

  /** Considers all requests again, because a thread is held, or waits for the transporter of a held thread. */
  refreshAll(): void {
    for (const { routeGrants } of this.#occupancy.claimants.values())
      for (const routeGrant of routeGrants) if (routeGrant.state === 'waiting') this.#refresh(routeGrant)
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

  /** Grants and returns the next open route. Calls `waits` with each request whose route is not open. */
  next(waits: (routeGrant: RouteGrant) => void): RouteGrant | undefined {
    const { opened } = this.#occupancy
    for (let zone = opened.shift(); zone; zone = opened.shift()) {
      for (const routeGrant of zone.passers) this.#refresh(routeGrant)
      if (this.#stalled.size > 0) for (const routeGrant of this.#stalled) this.#refresh(routeGrant)
    }
    for (let routeGrant = this.#fresh.shift(); routeGrant; routeGrant = this.#fresh.shift()) {
      routeGrant.isFresh = false
      if (routeGrant.state !== 'waiting') continue
      if (this.#attempt(routeGrant)) return routeGrant
      waits(routeGrant)
    }
    return undefined
  }

  #attempt(routeGrant: RouteGrant): boolean {
    if (this.#isStalled(routeGrant)) this.#evade(routeGrant)
    if (this.#isHeldBack(routeGrant)) this.#stalled.add(routeGrant)
    else this.#stalled.delete(routeGrant)
    const isOpen =
      !isShut(routeGrant) && routeGrant.passages.every((zone) => isPassable(zone, routeGrant) && this.#firstOf(zone) === routeGrant)
    if (isOpen) this.#grant(routeGrant)
    return isOpen
  }

  #evade(routeGrant: RouteGrant): void {
    const isClosed = (position: string) => {
      const zone = this.#occupancy.zone(position)
      return this.#isBlocked(zone, routeGrant) || (zone.reservedFor !== null && zone.reservedFor !== routeGrant.claimant && !zone.isPassage)
    }
    const detour = this.#occupancy.graph.detour(routeGrant.placement.position, routeGrant.to, isClosed)
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
    if (routeGrant && routeGrant.target === placement.zone && routeGrant.to === placement.position) this.end(routeGrant)
  }

  /** Ends all routes of the labware. */
  endOf(placement: Placement): void {
    for (const routeGrant of [...(placement.claimant?.routeGrants ?? [])]) if (routeGrant.placement === placement) this.end(routeGrant)
  }

  /** Ends a route, and releases the zones that the labware has not passed. The target stays reserved. */
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
    // The labware now rests, so others may take a detour around it.
    this.#occupancy.opened.add(placement.zone)
  }

  /** Calls `visit` with each obstacle on the route. */
  obstacles(routeGrant: RouteGrant, visit: ObstacleVisitor): void {
    for (const zone of routeGrant.passages) {
      if (zone.placement && zone.placement !== routeGrant.placement) visit('corridor', zone.placement.claimant, zone.placement)
      if (zone.reservedFor && zone.reservedFor !== routeGrant.claimant) visit('corridor', zone.reservedFor, null)
      const first = this.#firstOf(zone)
      if (first && first !== routeGrant) visit('corridor', first.claimant, null)
    }
    const { placement, target } = routeGrant
    if (placement.zone.device?.isShut) visit('at_work', placement.zone.device.holder, null)
    if (target.device?.isShut && target.device !== placement.zone.device) visit('at_work', target.device.holder, null)
  }

  #explain(routeGrant: RouteGrant): Obstacle[] {
    const obstacles: Obstacle[] = []
    if (routeGrant.state !== 'waiting') return obstacles
    this.obstacles(routeGrant, (reason, by, placement) => {
      const wanted = reason === 'corridor' && placement ? placement.position : routeGrant.to
      obstacles.push({ wanted, reason, thread_id: by?.thread_id ?? null, labware_id: placement?.labware_id ?? null })
    })
    return obstacles
  }

  /** Returns the first request in the queue of a zone. Requests that wait for immobile labware or for a device are passed over. */
  #firstOf(zone: Zone): RouteGrant | undefined {
    for (const routeGrant of zone.passers) if (!this.#isHeldBack(routeGrant)) return routeGrant
    return undefined
  }

  #isHeldBack(routeGrant: RouteGrant): boolean {
    return isShut(routeGrant) || this.#isStalled(routeGrant)
  }

  #isStalled(routeGrant: RouteGrant): boolean {
    return routeGrant.passages.some((zone) => this.#isBlocked(zone, routeGrant))
  }

  /** Whether labware rests in the zone, or the zone is reserved for travelling labware that is held. */
  #isBlocked(zone: Zone, routeGrant: RouteGrant): boolean {
    return restsFor(zone, routeGrant) || this.#isHeldUpAt(zone, routeGrant.claimant)
  }

  #isHeldUpAt({ placement, reservedFor }: Zone, claimant: Claimant | null): boolean {
    return [placement?.claimant, reservedFor].some((other) => other && other !== claimant && this.#isHeldUp(other))
  }
}

function isPassable(zone: Zone, { placement, claimant }: RouteGrant): boolean {
  return (!zone.placement || zone.placement === placement) && (!zone.reservedFor || zone.reservedFor === claimant)
}

/** Whether the route begins or ends in a device that no arm may reach into now. */
function isShut({ placement, target }: RouteGrant): boolean {
  return placement.zone.device?.isShut === true || target.device?.isShut === true
}

function restsFor({ placement }: Zone, routeGrant: RouteGrant): boolean {
  return placement !== null && placement !== routeGrant.placement && placement.routeGrant === null
}
