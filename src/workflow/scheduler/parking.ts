// Decides which labware may be parked out of the way, and where.

import { type DeadlockAvoidance, isFree } from './deadlock_avoidance.ts'
import type { Claimant, Placement, RouteGrant, Ticket, Zone } from './model.ts'
import type { Occupancy } from './occupancy.ts'
import type { RequestQueue } from './request_queue.ts'
import type { RouteGrants } from './route_grants.ts'

/** Labware that was parked more often than this plus the number of parking positions is moving in circles. */
const parksOfOne = 3

export class Parking {
  readonly #occupancy: Occupancy
  readonly #requests: RequestQueue
  readonly #routeGrants: RouteGrants
  readonly #avoidance: DeadlockAvoidance
  /** For each position, the parking positions within reach, the nearest first. */
  readonly #parkingFrom = new Map<string, readonly Zone[]>()

  constructor(
    occupancy: Occupancy,
    { requests, routeGrants, avoidance }: { requests: RequestQueue; routeGrants: RouteGrants; avoidance: DeadlockAvoidance },
  ) {
    this.#occupancy = occupancy
    this.#requests = requests
    this.#routeGrants = routeGrants
    this.#avoidance = avoidance
  }

  /** Whether the labware may be parked. Not out of a device that another thread holds, which may be at work. */
  canPark(ticket: Ticket): boolean {
    const holder = ticket.claimant.placement?.zone.device?.holder
    if (holder && holder !== ticket.claimant) return false
    return ticket.canPark && ticket.parked < parksOfOne + this.#occupancy.parking.length
  }

  /** Sends the labware to the nearest free parking position from where all labware can still finish. Returns whether there is one. */
  park(ticket: Ticket): boolean {
    const parkingZone = this.nearestPad(ticket.claimant)
    if (parkingZone) this.#requests.park(ticket, parkingZone)
    return parkingZone !== undefined
  }

  /** Sends the labware to a position where it may wait. Returns whether that is free. */
  parkAt(ticket: Ticket, zone: Zone): boolean {
    const isOpen = isFree(zone) && this.#avoidance.mayPark(ticket, zone) && ticket.claimant.placement?.zone !== zone
    if (isOpen) this.#requests.park(ticket, zone)
    return isOpen
  }

  /**
   * Returns the own start of the labware if that is free, else the nearest free parking position: no held thread cuts off the route, and all labware can
   * still finish from there. A hand-over position counts only if others can go around it.
   */
  nearestPad({ placement, ticket, home }: Claimant): Zone | undefined {
    if (!placement) return undefined
    const near = this.parkingNear(placement.position)
    const isHome = home && home !== placement.zone && !near.includes(home) && isUnwanted(home) && this.#reaches(placement, home)
    return (isHome ? [home, ...near] : near).find(
      (parkingZone) =>
        isFree(parkingZone) &&
        !(parkingZone.isHandOver && this.#isNeeded(parkingZone)) &&
        !this.#routeGrants.isCutOff(placement, parkingZone.positions[0]!.name) &&
        (!ticket || this.#avoidance.mayPark(ticket, parkingZone)),
    )
  }

  /** Diverts labware on its way to be parked to another parking position, if a held thread cuts off the route and another one is free. */
  divert(routeGrant: RouteGrant): void {
    const { claimant, placement, to, divert, isDiverted } = routeGrant
    if (!divert || isDiverted || !this.#routeGrants.isCutOff(placement, to) || !this.nearestPad(claimant)) return
    routeGrant.isDiverted = true
    divert()
  }

  /** Lists the parking positions by distance, free or not. */
  parkingNear(position: string): readonly Zone[] {
    let parkingZones = this.#parkingFrom.get(position)
    if (!parkingZones) {
      parkingZones = parkingFrom(position, this.#occupancy)
      this.#parkingFrom.set(position, parkingZones)
    }
    return parkingZones
  }

  #reaches({ position }: Placement, { positions }: Zone): boolean {
    return this.#occupancy.graph.hops(position, positions[0]!.name) !== undefined
  }

  #isNeeded({ positions }: Zone): boolean {
    return !this.#occupancy.graph.canDoWithout(positions[0]!.name, (position) => !isFree(this.#occupancy.zone(position)))
  }
}

function isUnwanted({ wanted, passers }: Zone): boolean {
  return wanted.size === 0 && passers.size === 0
}

/** Added to the distance of hand-over positions, so that they come last. */
const handOver = 1e6

function parkingFrom(from: string, { graph, parking }: Occupancy): readonly Zone[] {
  const reached = parking.flatMap((parkingZone) => {
    const hops = graph.hops(from, parkingZone.positions[0]!.name)
    return hops === undefined ? [] : [{ parkingZone, far: hops + (parkingZone.isHandOver ? handOver : 0) }]
  })
  return reached.sort((a, b) => a.far - b.far).map(({ parkingZone }) => parkingZone)
}
