// Keeps a device free for the labware of a more important run that will come soon, where other labware would still be at work in it. Without a plan.

import { type Claimant, DeviceSites, type Resource, type Ticket } from './model.ts'
import type { Occupancy } from './occupancy.ts'
import type { Parking } from './parking.ts'
import type { Priorities } from './priorities.ts'
import type { Reservations } from './reservations.ts'

/** A run is more important than another if its priority is higher by so many steps. */
const leastSteps = 1

/** A device, and when labware leaves it, in ms. */
type Leaving = { readonly at: DeviceSites; readonly end: number }

export class Precedence {
  readonly #occupancy: Occupancy
  readonly #priorities: Priorities
  readonly #parking: Parking
  readonly #estimates: Reservations

  constructor(occupancy: Occupancy, parking: Parking, parts: { priorities: Priorities; estimates: Reservations }) {
    this.#occupancy = occupancy
    this.#priorities = parts.priorities
    this.#parking = parking
    this.#estimates = parts.estimates
  }

  /**
   * Returns the claimant of a more important run that will come to a device before the ticket's use of the device would end; undefined if nobody will. Only
   * labware counts that is at work, on its way, or waits for such labware, so that it comes without anything that the ticket's claimant would have to do
   * first, except to make room where it can.
   */
  of(ticket: Ticket, resource: Resource): Claimant | undefined {
    const { claimant, request } = ticket
    if (!this.#priorities.differ || claimant.hurries || !(resource instanceof DeviceSites)) return undefined
    if (claimant.placement?.zone.device === resource) return undefined
    const least = this.#priorities.of(claimant.thread_id) + leastSteps
    const estimates = this.#estimates
    const end = estimates.now() + estimates.wayTo(claimant, resource) + estimates.use(request.use?.stays(resource.name))
    for (const other of this.#occupancy.claimants.values()) {
      if (other === claimant || other.isHeld || this.#priorities.of(other.thread_id) < least) continue
      if (this.#arrivalAt(other, resource, ticket) < end) return other
    }
    return undefined
  }

  /** Estimates when the labware of a claimant comes to a device, in ms; Infinity if that is unknown, or if the labware has the choice. */
  #arrivalAt(claimant: Claimant, sites: DeviceSites, asking: Ticket): number {
    const { ticket, last } = claimant
    const use = (ticket ?? last)?.request.use
    if (ticket?.resources.length === 1 && ticket.resources[0] === sites) return this.#comesTo(ticket, sites, asking)
    let leaving = ticket ? this.#leavesNext(ticket, asking) : this.#leaves(claimant)
    for (const { devices, seconds } of use?.later?.() ?? []) {
      if (!leaving || leaving.end === Number.POSITIVE_INFINITY) break
      const next = this.#occupancy.device(devices[0]!)
      const comes = leaving.end + this.#estimates.between(leaving.at, next)
      if (next === sites) return devices.length > 1 ? Number.POSITIVE_INFINITY : comes
      leaving = { at: next, end: comes + milliseconds(seconds(next.name)) }
    }
    return Number.POSITIVE_INFINITY
  }

  /** When the present work of labware ends. Labware whose work has ended asks for its next device in one of the next turns. */
  #leaves(claimant: Claimant): Leaving | undefined {
    const { last } = claimant
    const at = last?.state === 'granted' ? last.resources[last.granted] : undefined
    if (!(at instanceof DeviceSites)) return undefined
    const now = this.#estimates.now()
    if (at.holder !== claimant) return { at, end: now }
    const end = (at.grant?.began ?? now + this.#estimates.wayTo(claimant, at)) + milliseconds(last?.request.use?.seconds(at.name))
    return end < now ? undefined : { at, end }
  }

  /** When labware that waits leaves the first of its devices that it can leave. */
  #leavesNext(ticket: Ticket, asking: Ticket): Leaving | undefined {
    let first: Leaving | undefined
    for (const at of ticket.resources) {
      if (!(at instanceof DeviceSites)) return undefined
      const end = this.#comesTo(ticket, at, asking) + milliseconds(ticket.request.use?.seconds(at.name))
      if (!first || end < first.end) first = { at, end }
    }
    return first
  }

  #comesTo({ claimant, inputs }: Ticket, sites: DeviceSites, asking: Ticket): number {
    const free = this.#isAboutToLeave(sites, asking) ? 0 : this.#estimates.freeAt(sites, claimant, inputs).at
    return Math.max(this.#estimates.now(), free) + this.#estimates.wayTo(claimant, sites)
  }

  /** Whether all labware in a device has finished there, and may go elsewhere before it gets its next place. */
  #isAboutToLeave({ holder, promisedTo, zones }: DeviceSites, asking: Ticket): boolean {
    if (holder || promisedTo) return false
    return zones.every(({ reservedFor, placement }) => {
      if (reservedFor || placement?.claimant?.isHeld) return false
      return placement?.claimant !== asking.claimant || this.#canMakeRoom(asking)
    })
  }

  #canMakeRoom(ticket: Ticket): boolean {
    return (
      ticket.request.alone === true &&
      ticket.parked === 0 &&
      this.#parking.canPark(ticket) &&
      this.#parking.nearestPad(ticket.claimant) !== undefined
    )
  }
}

const milliseconds = (seconds: number | undefined) => (seconds ?? Number.POSITIVE_INFINITY) * 1000
