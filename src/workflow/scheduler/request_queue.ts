// The queue of requests: which ticket is next when a resource becomes free, and which resource the ticket is granted.

import { LabError } from '../../errors.ts'
import { type DeadlockAvoidance, isFree } from './deadlock_avoidance.ts'
import { DeviceSites, type ObstacleVisitor, type Resource, type Ticket, type Zone } from './model.ts'
import type { Occupancy } from './occupancy.ts'
import type { Priorities } from './priorities.ts'
import { compare, RankedQueue } from './ranked_queue.ts'
import type { Obstacle } from './request.ts'
import type { Reservations } from './reservations.ts'

export class RequestQueue {
  readonly #occupancy: Occupancy
  readonly #avoidance: DeadlockAvoidance
  readonly #reservations: Reservations
  readonly #priorities: Priorities
  readonly #fresh = new RankedQueue<Ticket>()
  /** Tickets with a free candidate that is unsafe, or reserved for others. */
  readonly #unsafe = new Set<Ticket>()
  /** For each labware, the tickets that accept it as already standing at their device. */
  readonly #guests = new Map<string, Set<Ticket>>()
  #seen = 0

  constructor(
    occupancy: Occupancy,
    { avoidance, reservations, priorities }: { avoidance: DeadlockAvoidance; reservations: Reservations; priorities: Priorities },
  ) {
    this.#occupancy = occupancy
    this.#avoidance = avoidance
    this.#reservations = reservations
    this.#priorities = priorities
  }

  add(ticket: Ticket): void {
    const { claimant } = ticket
    if (claimant.ticket) throw new LabError('internal', `thread ${claimant.thread_id} makes a request while another one of it waits`)
    ticket.rank(this.#priorities.of(claimant.thread_id))
    claimant.ticket = ticket
    if (claimant.promise && !ticket.resources.includes(claimant.promise)) this.#occupancy.breakPromise(claimant)
    this.#occupancy.version++
    this.refresh(ticket)
  }

  /** Ranks all waiting tickets anew, because priorities have changed, or have aged. */
  #rank(): void {
    for (const { ticket, thread_id } of this.#occupancy.claimants.values()) {
      if (!ticket) continue
      const resources = ticket.isInLine ? new Set(ticket.resources) : []
      for (const resource of resources) resource.wanted.delete(ticket)
      if (ticket.isFresh) this.#fresh.delete(ticket)
      ticket.isFresh = false
      ticket.rank(this.#priorities.of(thread_id))
      for (const resource of resources) resource.wanted.add(ticket)
      this.refresh(ticket)
    }
  }

  /** Marks a ticket to be considered again. */
  refresh(ticket: Ticket): void {
    if (ticket.isFresh || ticket.state !== 'waiting') return
    ticket.isFresh = true
    this.#fresh.add(ticket)
  }

  /** Returns the first ticket that may be granted. */
  next(): Ticket | undefined {
    if (this.#priorities.mustRank()) this.#rank()
    const { touched } = this.#occupancy
    let best = this.#fresh.first
    let at: Resource | undefined
    let left = 0
    for (const resource of touched) {
      const ticket = this.#nextFor(resource, resource.lookedAtBy)
      resource.isTouched = ticket !== undefined
      if (!ticket) continue
      touched[left++] = resource
      if (best && compare(ticket, best) >= 0) continue
      best = ticket
      at = resource
    }
    touched.length = left
    if (at) at.lookedAtBy = best
    else if (best) {
      best.isFresh = false
      this.#fresh.delete(best)
    }
    return best
  }

  /** Returns the next ticket for a resource. While labware stands there or will come there, only its thread, or one that takes it as an input, can get it. */
  #nextFor(resource: Resource, last: Ticket | undefined): Ticket | undefined {
    if (resource.wanted.size === 0) return undefined
    const zones = resource instanceof DeviceSites ? resource.zones : [resource]
    const holder = resource instanceof DeviceSites ? resource.holder : resource.device?.holder
    if (holder) return this.#nextOf([holder.ticket], resource, last)
    if (resource.promisedTo)
      return this.#nextOf([resource.promisedTo.ticket, ...zones.map(({ placement }) => placement?.claimant?.ticket)], resource, last)
    for (const { reservedFor, placement } of zones) {
      if (reservedFor) return this.#nextOf([reservedFor.ticket], resource, last)
      if (placement) return this.#nextOf([placement.claimant?.ticket, ...(this.#guests.get(placement.labware_id) ?? [])], resource, last)
    }
    return resource.wanted.after(last)
  }

  #nextOf(tickets: Iterable<Ticket | null | undefined>, resource: Resource, last: Ticket | undefined): Ticket | undefined {
    let first: Ticket | undefined
    for (const ticket of tickets) {
      if (!ticket?.resources.includes(resource) || (last && compare(ticket, last) <= 0)) continue
      if (!first || compare(ticket, first) < 0) first = ticket
    }
    return first
  }

  /** Marks the unsafe tickets to be considered again after a change. Returns whether there are any. */
  reconsider(): boolean {
    if (this.#unsafe.size === 0 || this.#seen === this.#occupancy.version) return false
    this.#seen = this.#occupancy.version
    for (const ticket of this.#unsafe) this.refresh(ticket)
    return true
  }

  /** Grants the nearest candidate that is free and safe, or queues the ticket. Returns whether it was granted. */
  consider(ticket: Ticket): boolean {
    if (ticket.state !== 'waiting') return false
    const index = this.#choose(ticket)
    if (index >= 0) {
      this.grant(ticket, index)
      return true
    }
    if (ticket.unsafe >= 0 || ticket.barred >= 0) this.#unsafe.add(ticket)
    else this.#unsafe.delete(ticket)
    if (!ticket.isInLine) this.#putInLine(ticket)
    return false
  }

  #choose(ticket: Ticket): number {
    const { claimant, resources, inputs, request } = ticket
    let [best, fewest] = [-1, Number.POSITIVE_INFINITY]
    ticket.unsafe = -1
    ticket.trapped = []
    ticket.barred = -1
    for (let i = 0; i < resources.length; i++) {
      const resource = resources[i]!
      const hops = this.#occupancy.hops(claimant, request.candidates[i]!, resource)
      if (hops === undefined || hops >= fewest || resource.isClosedTo(claimant, inputs)) continue
      // The labware itself stands there, or is to stand there.
      if (request.forLid && !(resource instanceof DeviceSites) && !isFree(resource)) continue
      const barred = this.#reservations.barred(ticket, resource)
      if (barred) {
        if (ticket.barred < 0) ticket.barred = i
        this.#reservations.refused(ticket, barred)
        continue
      }
      const trapped = this.#avoidance.trapped(ticket, resource)
      if (trapped.length === 0) [best, fewest] = [i, hops]
      else if (ticket.unsafe < 0 || trapped.length < ticket.trapped.length) {
        ticket.unsafe = i
        ticket.trapped = trapped
      }
    }
    return best
  }

  admit(ticket: Ticket, inputs: readonly string[]): void {
    if (ticket.isInLine) for (const labware_id of ticket.inputs) this.#dropGuest(labware_id, ticket)
    ticket.inputs = inputs
    if (ticket.isInLine) this.#letIn(ticket)
    this.#occupancy.version++
    this.refresh(ticket)
  }

  #putInLine(ticket: Ticket): void {
    ticket.isInLine = true
    for (const resource of new Set(ticket.resources)) resource.wanted.add(ticket)
    this.#occupancy.noteCrowdedBy(ticket)
    this.#letIn(ticket)
    this.#occupancy.version++
  }

  #letIn(ticket: Ticket): void {
    for (const labware_id of ticket.inputs) this.#guests.set(labware_id, (this.#guests.get(labware_id) ?? new Set()).add(ticket))
  }

  #takeOut(ticket: Ticket): void {
    const { claimant } = ticket
    if (claimant.ticket === ticket) claimant.ticket = null
    if (this.#unsafe.delete(ticket) && this.#unsafe.size === 0) this.#reservations.calm()
    this.#occupancy.version++
    if (ticket.isFresh) this.#fresh.delete(ticket)
    ticket.isFresh = false
    if (!ticket.isInLine) return
    ticket.isInLine = false
    this.#occupancy.crowded.delete(ticket)
    this.#occupancy.cramped.delete(ticket)
    for (const resource of new Set(ticket.resources)) resource.wanted.delete(ticket)
    for (const labware_id of ticket.inputs) this.#dropGuest(labware_id, ticket)
  }

  #dropGuest(labware_id: string, ticket: Ticket): void {
    const guests = this.#guests.get(labware_id)
    guests?.delete(ticket)
    if (guests?.size === 0) this.#guests.delete(labware_id)
  }

  grant(ticket: Ticket, index: number): void {
    const { claimant, resources, request } = ticket
    const resource = resources[index]!
    this.#takeOut(ticket)
    ticket.state = 'granted'
    ticket.granted = index
    // Labware that is taken out of its storage goes to what was granted before.
    const isFetched = request.stands && claimant.last !== null
    if (!isFetched) claimant.last = ticket
    this.#occupancy.breakPromise(claimant)
    this.#reservations.granted(ticket, resource)
    const { placement } = claimant
    if (request.forLid && !(resource instanceof DeviceSites)) {
      this.#occupancy.reserve(resource, claimant, true)
      claimant.lidZone = resource
    } else if (resource instanceof DeviceSites) this.#occupancy.hold(resource, ticket)
    else if (placement?.zone !== resource) this.#occupancy.reserve(resource, claimant)
    if (!isFetched && !request.forLid)
      claimant.goal = placement && (placement.zone === resource || placement.zone.device === resource) ? null : resource
    request.granted(request.candidates[index]!)
  }

  /** Withdraws a request, and releases what was granted but not used. */
  withdraw(ticket: Ticket): void {
    const { state, claimant, resources, granted } = ticket
    ticket.state = 'withdrawn'
    if (state === 'waiting') {
      this.#takeOut(ticket)
      this.#occupancy.breakPromise(claimant)
    }
    if (state !== 'granted') return
    const resource = resources[granted]!
    if (!(resource instanceof DeviceSites)) this.#occupancy.unreserve(resource, claimant)
    else if (resource.grant === ticket) this.#occupancy.letGo(resource, claimant)
  }

  /** Sends the labware to a parking position, from where its thread repeats the request. */
  park(ticket: Ticket, parkingZone: Zone): void {
    const { claimant, request, sequence, parked, since } = ticket
    this.#takeOut(ticket)
    ticket.state = 'withdrawn'
    this.#occupancy.reserve(parkingZone, claimant)
    claimant.parking = parkingZone
    request.park?.(parkingZone.positions[0]!.name, { sequence, parked: parked + 1, since })
  }

  /** Calls `visit` with each obstacle between the ticket and one of its candidates. */
  obstacles(ticket: Ticket, index: number, visit: ObstacleVisitor): void {
    const { claimant, resources, inputs, request } = ticket
    const resource = resources[index]!
    if (this.#occupancy.hops(claimant, request.candidates[index]!, resource) === undefined) visit('unreachable', null, null)
    else if (!resource.isClosedTo(claimant, inputs, visit)) this.#dangers(ticket, resource, visit)
  }

  /** Returns the reservation that bars the candidate. It may be of another device than the requested one. */
  #barredBy(ticket: Ticket, index: number): Obstacle[] {
    const { claimant, resources, inputs } = ticket
    const resource = resources[index]!
    const barred = resource.isClosedTo(claimant, inputs) ? undefined : this.#reservations.barred(ticket, resource)
    return barred ? [{ wanted: barred.wanted, reason: barred.reason, thread_id: barred.by?.thread_id ?? null, labware_id: null }] : []
  }

  #dangers(ticket: Ticket, resource: Resource, visit: ObstacleVisitor): void {
    for (const other of this.#avoidance.trapped(ticket, resource)) visit('unsafe', other, null)
  }

  explain(ticket: Ticket): Obstacle[] {
    const obstacles: Obstacle[] = []
    if (ticket.state !== 'waiting') return obstacles
    ticket.request.candidates.forEach((candidate, i) => {
      const wanted = 'device' in candidate ? candidate.device : candidate.position
      this.obstacles(ticket, i, (reason, by, placement) => {
        obstacles.push({ wanted, reason, thread_id: by?.thread_id ?? null, labware_id: placement?.labware_id ?? null })
      })
      obstacles.push(...this.#barredBy(ticket, i))
    })
    return obstacles
  }
}
