// The occupancy of the deck: which labware stands where, who holds which device, and which resources changed since somebody looked.

import { LabError } from '../../errors.ts'
import { SmallSet } from '../../kit/small_set.ts'
import type { Graph, Seat } from '../plans/graph.ts'
import { RankedQueue } from './ranked_queue.ts'
import type { Candidate, Obstacle } from './request.ts'
import type { RouteGrant } from './route_grants.ts'
import type { Ticket } from './ticket.ts'

/** What a thread can request: a zone, or a device with all its sites. */
export type Resource = Zone | DeviceSites

/** Called with each obstacle between a claimant and a resource. `piece` is the labware that stands there. */
export type ObstacleVisitor = (reason: Obstacle['reason'], by: Claimant | null, placement: Placement | null) => void

/** Where one labware stands, and which thread moves it. */
export type Placement = {
  readonly labware_id: string
  claimant: Claimant | null
  zone: Zone
  seat: string
  /** The route that was granted and is not finished. */
  routeGrant: RouteGrant | null
}

/** A thread, as the scheduler knows it. */
export class Claimant {
  readonly thread_id: string
  readonly placements = new SmallSet<Placement>()
  readonly holds = new SmallSet<DeviceSites>()
  readonly reserved = new SmallSet<Zone>()
  readonly routeGrants = new SmallSet<RouteGrant>()
  /** The request that waits. */
  ticket: Ticket | null = null
  /** The request that was granted last. */
  last: Ticket | null = null
  /** The resource that was granted last, while its labware is not there yet. */
  goal: Resource | null = null
  /** The parking position to which its labware was sent, while it is not there yet. */
  parking: Zone | null = null
  awaits: readonly string[] = []
  /** Whether it waits for a custom event. */
  hears = false
  /** Whether it is paused or waits for a person: it does not move by itself. */
  isHeld = false
  /** When the next action of its labware has to begin, in ms; null without a deadline. */
  deadline: number | null = null
  /** The resource that is promised to it while a cycle is resolved. */
  promise: Resource | null = null

  constructor(thread_id: string) {
    this.thread_id = thread_id
  }

  /** Whether its labware has a deadline. */
  get hurries(): boolean {
    return this.deadline !== null
  }

  /** Where its labware is; undefined if it is not on the deck. */
  get placement(): Placement | undefined {
    for (const placement of this.placements) return placement
    return undefined
  }
}

/** A zone holds one labware at a time: one position, or both stations of a translator. */
export class Zone {
  readonly seats: readonly Seat[]
  readonly device: DeviceSites | null
  /** Whether labware passes here on its way elsewhere. */
  readonly isHandOver: boolean
  readonly wanted = new RankedQueue<Ticket>()
  /** Whether it may have become free for somebody; `lookedAtBy` is the last ticket that was tried. */
  isTouched = false
  lookedAtBy: Ticket | undefined
  /** Route requests that wait to pass. */
  readonly passers = new RankedQueue<RouteGrant>()
  placement: Placement | null = null
  reservedFor: Claimant | null = null
  /** The claimant for which it is kept, though that cannot have it yet. */
  promisedTo: Claimant | null = null
  /** Whether it is reserved only to pass through. */
  isPassage = false

  constructor(seats: readonly Seat[], device: DeviceSites | null, isHandOver: boolean) {
    this.seats = seats
    this.device = device
    this.isHandOver = isHandOver
  }

  get isParking(): boolean {
    return this.seats[0]!.parking
  }

  isClosedTo(claimant: Claimant, _inputs: readonly string[], visit?: ObstacleVisitor): boolean {
    const holder = this.device?.holder
    let isClosed = false
    if (holder && holder !== claimant) isClosed = calls(visit, 'held', holder, null)
    if (this.placement && this.placement.claimant !== claimant) isClosed = calls(visit, 'occupied', this.placement.claimant, this.placement)
    if (isPromisedAgainst(this, claimant, visit) || isPromisedAgainst(this.device, claimant, visit)) isClosed = true
    return this.isReservedAgainst(claimant, visit) || isClosed
  }

  isReservedAgainst(claimant: Claimant, visit?: ObstacleVisitor): boolean {
    if (!this.reservedFor || this.reservedFor === claimant) return false
    return calls(visit, this.isPassage ? 'corridor' : 'reserved', this.reservedFor, null)
  }
}

/** A device with all its sites. */
export class DeviceSites {
  readonly name: string
  readonly zones: Zone[] = []
  /** One site of each of its positions: all sites of a position are equally far. */
  readonly doors: string[] = []
  readonly wanted = new RankedQueue<Ticket>()
  /** Whether it may have become free for somebody; `lookedAtBy` is the last ticket that was tried. */
  isTouched = false
  lookedAtBy: Ticket | undefined
  holder: Claimant | null = null
  /** The request by which its holder got it. */
  grant: Ticket | null = null
  promisedTo: Claimant | null = null

  constructor(name: string) {
    this.name = name
  }

  isClosedTo(claimant: Claimant, inputs: readonly string[], visit?: ObstacleVisitor): boolean {
    let isClosed = false
    if (this.holder && this.holder !== claimant) isClosed = calls(visit, 'held', this.holder, null)
    if (isPromisedAgainst(this, claimant, visit)) isClosed = true
    for (const zone of this.zones) {
      if (isClosed && !visit) return true
      const { placement } = zone
      if (placement && placement.claimant !== claimant && !(inputs.includes(placement.labware_id) && isStaying(placement)))
        isClosed = calls(visit, 'occupied', placement.claimant, placement)
      if (zone.isReservedAgainst(claimant, visit) || isPromisedAgainst(zone, claimant, visit)) isClosed = true
    }
    return isClosed
  }
}

function isPromisedAgainst(resource: Resource | null, claimant: Claimant, visit: ObstacleVisitor | undefined): boolean {
  const promisedTo = resource?.promisedTo
  if (!promisedTo || promisedTo === claimant || claimant.placement?.zone === resource || claimant.placement?.zone.device === resource)
    return false
  return calls(visit, 'reserved', promisedTo, null)
}

/** Whether it is neither on its way elsewhere nor about to be. */
function isStaying({ routeGrant, claimant }: Placement): boolean {
  return routeGrant === null && !claimant?.parking
}

function calls(visit: ObstacleVisitor | undefined, ...what: Parameters<ObstacleVisitor>): true {
  visit?.(...what)
  return true
}

export class Occupancy {
  readonly graph: Graph
  readonly claimants = new Map<string, Claimant>()
  readonly placements = new Map<string, Placement>()
  /** In the order of the topology. */
  readonly parking: readonly Zone[]
  /** Resources that may have become free for somebody. */
  readonly touched: Resource[] = []
  /** Zones that may have become free to pass. */
  readonly opened = new SmallSet<Zone>()
  /** Counts every change. */
  version = 0
  /** Counts how often a parking position may have become free. */
  vacated = 0
  /** Called with each labware that arrives at a position or leaves the deck. */
  readonly watchers = new Set<(labware_id: string) => void>()
  readonly #zones = new Map<string, Zone>()
  readonly #devices = new Map<string, DeviceSites>()

  constructor(graph: Graph) {
    this.graph = graph
    for (const name of graph.devices) this.#devices.set(name, new DeviceSites(name))
    for (const seat of graph.seats.values()) {
      if (!this.#zones.has(seat.name)) this.#addZone(graph.samePad(seat.name))
    }
    for (const sites of this.#devices.values()) this.#furnish(sites)
    this.parking = [...new Set(this.#zones.values())].filter(({ isParking }) => isParking)
  }

  #addZone(seats: readonly Seat[]): void {
    const device = seats[0]!.device
    const zone = new Zone(seats, device === null ? null : this.device(device), this.graph.isHandOver(seats[0]!.name))
    for (const { name } of seats) this.#zones.set(name, zone)
  }

  #furnish(sites: DeviceSites): void {
    const positions = new Set<string>()
    for (const { name, position } of this.graph.seatsOf(sites.name)) {
      sites.zones.push(this.zone(name))
      if (!positions.has(position)) sites.doors.push(name)
      positions.add(position)
    }
  }

  zone(seat: string): Zone {
    const zone = this.#zones.get(seat)
    if (!zone) throw new LabError('not_found', `the topology has no seat ${seat}`)
    return zone
  }

  device(name: string): DeviceSites {
    const sites = this.#devices.get(name)
    if (!sites) throw new LabError('not_found', `the topology has no position for device ${name}`)
    return sites
  }

  resource(candidate: Candidate): Resource {
    return 'device' in candidate ? this.device(candidate.device) : this.zone(candidate.seat)
  }

  placement(labware_id: string): Placement {
    const placement = this.placements.get(labware_id)
    if (!placement) throw new LabError('not_found', `labware ${labware_id} is not on the deck`)
    return placement
  }

  claimant(thread_id: string): Claimant {
    let claimant = this.claimants.get(thread_id)
    if (!claimant) {
      claimant = new Claimant(thread_id)
      this.claimants.set(thread_id, claimant)
    }
    return claimant
  }

  /** The number of hops from where the labware stands; 0 for labware that is not on the deck yet, undefined if there is no way. */
  hops(claimant: Claimant, candidate: Candidate, resource: Resource): number | undefined {
    const { placement } = claimant
    if (!placement) return 0
    if ('seat' in candidate) return this.graph.hops(placement.seat, candidate.seat)
    return resource === placement.zone.device ? 0 : shortest(this.graph, placement.seat, resource as DeviceSites)
  }

  /** Throws `exists` when something else stands there, or is to come there. */
  mustBeFree(seat: string, claimant: Claimant | null, labware_id: string): void {
    const { placement, reservedFor } = this.zone(seat)
    if (placement && placement.labware_id !== labware_id) {
      throw new LabError(
        'exists',
        `labware ${placement.labware_id} stands at ${placement.seat}; take it away before ${labware_id} is put at ${seat}`,
      )
    }
    if (reservedFor && reservedFor !== claimant) {
      throw new LabError('exists', `${seat} is reserved for thread ${reservedFor.thread_id}; put ${labware_id} elsewhere`)
    }
  }

  add(labware_id: string, seat: string, claimant: Claimant | null): Placement {
    const placement: Placement = { labware_id, claimant, zone: this.zone(seat), seat, routeGrant: null }
    this.placements.set(labware_id, placement)
    claimant?.placements.add(placement)
    this.#stand(placement)
    return placement
  }

  /** Moves labware: frees the zone that it leaves, and ends the reservation of the zone where it arrives. */
  move(placement: Placement, seat: string): void {
    const before = placement.zone
    const zone = this.zone(seat)
    placement.seat = seat
    placement.zone = zone
    if (before !== zone) {
      before.placement = null
      this.#stand(placement)
      this.touch(before)
    } else this.#visit(placement)
  }

  #stand(placement: Placement): void {
    const { zone, claimant } = placement
    zone.placement = placement
    if (claimant && zone.reservedFor === claimant) {
      zone.reservedFor = null
      claimant.reserved.delete(zone)
    }
    if (claimant && (claimant.goal === zone || claimant.goal === zone.device)) claimant.goal = null
    if (claimant?.parking === zone) claimant.parking = null
    this.version++
    this.#visit(placement)
  }

  #visit({ labware_id }: Placement): void {
    for (const call of this.watchers) call(labware_id)
  }

  remove(placement: Placement): void {
    this.placements.delete(placement.labware_id)
    placement.claimant?.placements.delete(placement)
    placement.zone.placement = null
    this.#visit(placement)
    this.touch(placement.zone)
  }

  assign(placement: Placement, claimant: Claimant | null): void {
    placement.claimant?.placements.delete(placement)
    placement.claimant = claimant
    claimant?.placements.add(placement)
    this.touch(placement.zone)
  }

  reserve(zone: Zone, claimant: Claimant, isPassage = false): void {
    zone.reservedFor = claimant
    zone.isPassage = isPassage
    claimant.reserved.add(zone)
    this.version++
  }

  unreserve(zone: Zone, claimant: Claimant): void {
    if (zone.reservedFor !== claimant) return
    zone.reservedFor = null
    claimant.reserved.delete(zone)
    if (claimant.parking === zone) claimant.parking = null
    if (claimant.goal === zone) claimant.goal = null
    this.touch(zone)
  }

  hold(sites: DeviceSites, ticket: Ticket): void {
    sites.holder = ticket.claimant
    sites.grant = ticket
    ticket.claimant.holds.add(sites)
    this.version++
  }

  letGo(sites: DeviceSites, claimant: Claimant): void {
    if (sites.holder !== claimant) return
    sites.holder = null
    sites.grant = null
    claimant.holds.delete(sites)
    if (claimant.goal === sites) claimant.goal = null
    this.touch(sites)
    for (const zone of sites.zones) this.touch(zone)
  }

  promise(resource: Resource, claimant: Claimant): void {
    if (resource.promisedTo) this.breakPromise(resource.promisedTo)
    this.breakPromise(claimant)
    resource.promisedTo = claimant
    claimant.promise = resource
    this.version++
  }

  /** Ends a promise that was kept, or is not needed any more. */
  breakPromise(claimant: Claimant): void {
    const { promise } = claimant
    if (!promise) return
    promise.promisedTo = null
    claimant.promise = null
    this.touch(promise)
  }

  /** Marks a resource that may have become free for somebody. */
  touch(resource: Resource): void {
    this.version++
    if (resource.wanted.size > 0) this.#lookAt(resource)
    if (resource instanceof DeviceSites) return
    if (resource.isParking) this.vacated++
    if (resource.device && resource.device.wanted.size > 0) this.#lookAt(resource.device)
    this.opened.add(resource)
  }

  #lookAt(resource: Resource): void {
    resource.lookedAtBy = undefined
    if (resource.isTouched) return
    resource.isTouched = true
    this.touched.push(resource)
  }
}

function shortest(graph: Graph, from: string, sites: DeviceSites): number | undefined {
  let least: number | undefined
  for (const door of sites.doors) {
    const hops = graph.hops(from, door)
    if (hops !== undefined && (least === undefined || hops < least)) least = hops
  }
  return least
}
