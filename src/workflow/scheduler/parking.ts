// Which labware may be parked, and where: positions that take labware out of the way for a while.

import { isFree } from './deadlock_avoidance.ts'
import type { Claimant, RouteGrant, Ticket, Zone } from './model.ts'
import type { Occupancy } from './occupancy.ts'
import type { RequestQueue } from './request_queue.ts'
import type { RouteGrants } from './route_grants.ts'

/** A labware that was parked more often than this goes around in circles. */
const parksOfOne = 3

export class Parking {
  readonly #occupancy: Occupancy
  readonly #requests: RequestQueue
  readonly #routeGrants: RouteGrants
  /** The parking positions that can be reached from a position, the nearest first. */
  readonly #parkingFrom = new Map<string, readonly Zone[]>()

  constructor(occupancy: Occupancy, { requests, routeGrants }: { requests: RequestQueue; routeGrants: RouteGrants }) {
    this.#occupancy = occupancy
    this.#requests = requests
    this.#routeGrants = routeGrants
  }

  /** Whether the labware may be parked. Nobody reaches into a device that another thread holds, since it may be at work. */
  canPark(ticket: Ticket): boolean {
    const holder = ticket.claimant.placement?.zone.device?.holder
    if (holder && holder !== ticket.claimant) return false
    return ticket.canPark && ticket.parked < parksOfOne + this.#occupancy.parking.length
  }

  /** Sends the labware to the nearest free parking position. Returns whether there is one. */
  park(ticket: Ticket): boolean {
    const parkingZone = this.nearestPad(ticket.claimant)
    if (parkingZone) this.#requests.park(ticket, parkingZone)
    return parkingZone !== undefined
  }

  /** The nearest free parking position to which no held thread cuts off the way. One where labware is handed over counts only if there is a way around it. */
  nearestPad({ placement }: Claimant): Zone | undefined {
    if (!placement) return undefined
    return this.parkingNear(placement.position).find(
      (parkingZone) =>
        isFree(parkingZone) &&
        !(parkingZone.isHandOver && this.#isNeeded(parkingZone)) &&
        !this.#routeGrants.isCutOff(placement, parkingZone.positions[0]!.name),
    )
  }

  /** Has labware on its way to be parked take another position where a held thread cuts off the way, if there is one. */
  divert(routeGrant: RouteGrant): void {
    const { claimant, placement, to, divert, isDiverted } = routeGrant
    if (!divert || isDiverted || !this.#routeGrants.isCutOff(placement, to) || !this.nearestPad(claimant)) return
    routeGrant.isDiverted = true
    divert()
  }

  /** Parking positions by distance, free or not. */
  parkingNear(position: string): readonly Zone[] {
    let parkingZones = this.#parkingFrom.get(position)
    if (!parkingZones) {
      parkingZones = parkingFrom(position, this.#occupancy)
      this.#parkingFrom.set(position, parkingZones)
    }
    return parkingZones
  }

  #isNeeded({ positions }: Zone): boolean {
    return !this.#occupancy.graph.canDoWithout(positions[0]!.name, (position) => !isFree(this.#occupancy.zone(position)))
  }
}

/** Further away than any position. */
const handOver = 1e6

function parkingFrom(from: string, { graph, parking }: Occupancy): readonly Zone[] {
  const reached = parking.flatMap((parkingZone) => {
    const hops = graph.hops(from, parkingZone.positions[0]!.name)
    return hops === undefined ? [] : [{ parkingZone, far: hops + (parkingZone.isHandOver ? handOver : 0) }]
  })
  return reached.sort((a, b) => a.far - b.far).map(({ parkingZone }) => parkingZone)
}
