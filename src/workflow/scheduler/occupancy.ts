// The occupancy of the deck: which labware stands where, which thread holds which device, and which resources have changed since the last look.

import { LabError } from '../../errors.ts'
import { SmallSet } from '../../kit/small_set.ts'
import type { Graph, Position } from '../plans/graph.ts'
import { Claimant, DeviceSites, type Placement, type Resource, type Ticket, Zone } from './model.ts'
import type { Candidate, Obstacle } from './request.ts'

export class Occupancy {
  readonly graph: Graph
  readonly claimants = new Map<string, Claimant>()
  /** The claimants to which a resource is promised. */
  readonly promised = new SmallSet<Claimant>()
  /** The requests whose labware stands in a device and may better wait elsewhere, because something has changed for it. */
  readonly crowded = new Set<Ticket>()
  /** The requests whose labware found no room elsewhere. */
  readonly cramped = new Set<Ticket>()
  /** The claimants that wait for a custom event. */
  readonly hearing = new Set<Claimant>()
  readonly placements = new Map<string, Placement>()
  /** The plate of each lid. A lid without a placement of its own is on its plate. */
  readonly lids = new Map<string, string>()
  /** Sorted in the order of the topology. */
  readonly parking: readonly Zone[]
  /** Resources that may have become free for a ticket. */
  readonly touched: Resource[] = []
  /** Zones that may have become free to pass. */
  readonly opened = new SmallSet<Zone>()
  /** Whether a position may have become free since the last look. */
  isFreed = false
  /** The number of changes. */
  version = 0
  /** The number of times that a parking position may have become free. */
  vacated = 0
  /** Called with each labware that arrives at a position, leaves the deck, or changes its thread. */
  readonly watchers = new Set<(labware_id: string) => void>()
  readonly #zones = new Map<string, Zone>()
  readonly #devices = new Map<string, DeviceSites>()
  readonly #islands = new Map<number, ReadonlySet<Zone>>()

  constructor(graph: Graph) {
    this.graph = graph
    for (const name of graph.devices) this.#devices.set(name, new DeviceSites(name))
    for (const position of graph.positions.values()) {
      if (!this.#zones.has(position.name)) this.#addZone(graph.sameZone(position.name))
    }
    for (const sites of this.#devices.values()) this.#furnish(sites)
    this.parking = [...new Set(this.#zones.values())].filter(({ isParking }) => isParking)
  }

  #addZone(positions: readonly Position[]): void {
    const device = positions[0]!.device
    const zone = new Zone(positions, device === null ? null : this.device(device), this.graph.isHandOver(positions[0]!.name))
    for (const { name } of positions) this.#zones.set(name, zone)
  }

  #furnish(sites: DeviceSites): void {
    const entries = new Set<string>()
    for (const { name, entry } of this.graph.positionsOf(sites.name)) {
      sites.zones.push(this.zone(name))
      if (!entries.has(entry)) sites.doors.push(name)
      entries.add(entry)
    }
  }

  /** Returns the zones of an island of the deck. */
  zonesOn(island: number): ReadonlySet<Zone> {
    let zones = this.#islands.get(island)
    if (!zones) {
      zones = new Set([...this.#zones].flatMap(([name, zone]) => (this.graph.islandOf(name) === island ? zone : [])))
      this.#islands.set(island, zones)
    }
    return zones
  }

  isOn(island: number, resource: Resource): boolean {
    return this.zonesOn(island).has(resource instanceof DeviceSites ? resource.zones[0]! : resource)
  }

  /** Returns the claimants that have something on the island. There may be thousands of others. */
  claimantsOn(island: number): ReadonlySet<Claimant> {
    const found = new Set<Claimant>()
    for (const { placement, reservedFor, device } of this.zonesOn(island))
      for (const claimant of [placement?.claimant, reservedFor, device?.holder]) if (claimant) found.add(claimant)
    return found
  }

  zone(position: string): Zone {
    const zone = this.#zones.get(position)
    if (!zone) throw new LabError('not_found', `the topology has no position ${position}`)
    return zone
  }

  device(name: string): DeviceSites {
    const sites = this.#devices.get(name)
    if (!sites) throw new LabError('not_found', `the topology has no position for device ${name}`)
    return sites
  }

  resource(candidate: Candidate): Resource {
    return 'device' in candidate ? this.device(candidate.device) : this.zone(candidate.position)
  }

  placement(labware_id: string): Placement {
    const placement = this.placements.get(labware_id)
    if (!placement) throw new LabError('not_found', `labware ${labware_id} is not on the deck`)
    return placement
  }

  /** Returns the position where labware that starts there may wait later; null for a device, a storage, or a position that others pass. */
  homeAt(position: string): Zone | null {
    const zone = this.zone(position)
    const { device, storage } = this.graph.positions.get(position)!
    return device !== null || storage || zone.isHandOver ? null : zone
  }

  claimant(thread_id: string): Claimant {
    let claimant = this.claimants.get(thread_id)
    if (!claimant) {
      claimant = new Claimant(thread_id)
      this.claimants.set(thread_id, claimant)
    }
    return claimant
  }

  /**
   * Returns the number of hops from the position of the labware, or from its storage; undefined if there is no route, 0 for labware that comes onto the
   * deck at the candidate.
   */
  hops({ placement, from }: Pick<Claimant, 'placement' | 'from'>, candidate: Candidate, resource: Resource): number | undefined {
    const position = placement?.position ?? from
    if (position === null) return 0
    if ('position' in candidate) return this.graph.hops(position, candidate.position)
    return resource === placement?.zone.device ? 0 : shortest(this.graph, position, resource as DeviceSites)
  }

  /** Returns the obstacles between the thread and a device. The labware of `inputs` may already stand there. */
  obstaclesTo(thread_id: string, device: string, inputs: readonly string[]): Obstacle[] {
    const obstacles: Obstacle[] = []
    const claimant = this.claimants.get(thread_id)
    if (!claimant) return obstacles
    this.device(device).isClosedTo(claimant, inputs, (reason, by, placement) => {
      obstacles.push({ wanted: device, reason, thread_id: by?.thread_id ?? null, labware_id: placement?.labware_id ?? null })
    })
    return obstacles
  }

  /** Throws `exists` if other labware stands at the position, or the position is reserved for another claimant. */
  mustBeFree(position: string, claimant: Claimant | null, labware_id: string): void {
    const { placement, reservedFor } = this.zone(position)
    if (placement && placement.labware_id !== labware_id) {
      throw new LabError(
        'exists',
        `labware ${placement.labware_id} stands at ${placement.position}; take it away before ${labware_id} is put at ${position}`,
      )
    }
    if (reservedFor && reservedFor !== claimant) {
      throw new LabError('exists', `${position} is reserved for thread ${reservedFor.thread_id}; put ${labware_id} elsewhere`)
    }
  }

  /** Adds labware, or moves it and changes its thread. */
  put(labware_id: string, position: string, claimant: Claimant | null): void {
    const placement = this.placements.get(labware_id)
    if (!placement) this.add(labware_id, position, claimant)
    else {
      this.assign(placement, claimant)
      this.move(placement, position)
    }
  }

  add(labware_id: string, position: string, claimant: Claimant | null): Placement {
    const placement: Placement = { labware_id, claimant, zone: this.zone(position), position, routeGrant: null, lidOf: null }
    this.placements.set(labware_id, placement)
    claimant?.placements.add(placement)
    this.#stand(placement)
    return placement
  }

  /** Moves labware: frees the zone that it leaves, and ends the reservation of the zone where it arrives. */
  move(placement: Placement, position: string): void {
    const before = placement.zone
    const zone = this.zone(position)
    placement.position = position
    placement.zone = zone
    if (before !== zone) {
      before.placement = null
      this.#stand(placement)
      this.touch(before)
    } else this.#report(placement)
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
    this.#report(placement)
  }

  #report({ labware_id }: Placement): void {
    this.report(labware_id)
    for (const [lid_id, plate_id] of this.lids) if (plate_id === labware_id && !this.placements.has(lid_id)) this.report(lid_id)
  }

  report(labware_id: string): void {
    for (const call of this.watchers) call(labware_id)
  }

  remove(placement: Placement): void {
    this.placements.delete(placement.labware_id)
    placement.claimant?.placements.delete(placement)
    placement.zone.placement = null
    this.#report(placement)
    this.touch(placement.zone)
  }

  assign(placement: Placement, claimant: Claimant | null): void {
    placement.claimant?.placements.delete(placement)
    placement.claimant = claimant
    claimant?.placements.add(placement)
    this.#report(placement)
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
    if (claimant.lidZone === zone && zone.placement?.lidOf !== claimant) claimant.lidZone = null
    this.touch(zone)
  }

  hold(sites: DeviceSites, ticket: Ticket): void {
    sites.holder = ticket.claimant
    sites.grant = ticket
    for (const other of sites.wanted) this.#noteCrowded(other.claimant)
    ticket.claimant.holds.add(sites)
    this.version++
  }

  letGo(sites: DeviceSites, claimant: Claimant): void {
    if (sites.holder !== claimant) return
    sites.holder = null
    sites.grant = null
    claimant.holds.delete(sites)
    if (claimant.goal === sites) claimant.goal = null
    this.#noteCrowdedIn(sites)
    this.touch(sites)
    for (const zone of sites.zones) this.touch(zone)
  }

  /** Notes that labware which stands in a device may have to wait longer, or is in the way of more labware. */
  #noteCrowded({ ticket, placement }: Claimant): void {
    if (ticket?.isInLine && placement?.zone.device) this.crowded.add(ticket)
  }

  #noteCrowdedIn({ zones }: DeviceSites): void {
    for (const { placement } of zones) if (placement?.claimant) this.#noteCrowded(placement.claimant)
  }

  /** Notes the labware of a request that waits, and the labware in the devices that it wants. */
  noteCrowdedBy({ claimant, resources }: Ticket): void {
    this.#noteCrowded(claimant)
    for (const resource of resources) if (resource instanceof DeviceSites) this.#noteCrowdedIn(resource)
  }

  promise(resource: Resource, claimant: Claimant): void {
    if (resource.promisedTo) this.breakPromise(resource.promisedTo)
    this.breakPromise(claimant)
    resource.promisedTo = claimant
    claimant.promise = resource
    this.promised.add(claimant)
    this.version++
  }

  /** Ends a promise that was kept or is no longer needed. */
  breakPromise(claimant: Claimant): void {
    const { promise } = claimant
    if (!promise) return
    promise.promisedTo = null
    claimant.promise = null
    this.promised.delete(claimant)
    this.touch(promise)
  }

  /** Marks a resource that may have become free for a ticket. */
  touch(resource: Resource): void {
    this.version++
    if (resource.wanted.size > 0) this.#lookAt(resource)
    if (resource instanceof DeviceSites) return
    if (resource.isParking) this.vacated++
    if (resource.device && resource.device.wanted.size > 0) this.#lookAt(resource.device)
    this.opened.add(resource)
    this.isFreed = true
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
