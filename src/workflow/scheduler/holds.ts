// The devices that threads hold, the sites reserved in them, and the positions reserved without a request.

import type { Claimant, DeviceSites, Zone } from './model.ts'
import type { Occupancy } from './occupancy.ts'

export class Holds {
  readonly #occupancy: Occupancy
  readonly #settle: () => void
  readonly #suspectAll: () => void

  /** `settle` makes the grants that follow from a change. `suspectAll` has all waiting claimants checked for a deadlock. */
  constructor(occupancy: Occupancy, { settle, suspectAll }: { settle: () => void; suspectAll: () => void }) {
    this.#occupancy = occupancy
    this.#settle = settle
    this.#suspectAll = suspectAll
  }

  /** Returns the thread that holds the device. */
  holder(device: string): string | undefined {
    return this.#occupancy.device(device).holder?.thread_id
  }

  /** Releases a device. Others get it only after the labware that stands there has left. */
  release(thread_id: string, device: string): void {
    const sites = this.#occupancy.device(device)
    const claimant = this.#occupancy.claimants.get(thread_id)
    if (!claimant || sites.holder !== claimant) return
    this.#occupancy.letGo(sites, claimant)
    for (const zone of sites.zones) this.#dropUnlessComing(zone)
    this.#settle()
  }

  /** Drops the reservation of a site of the released device, unless the labware is on its way there. */
  #dropUnlessComing(zone: Zone): void {
    const claimant = zone.reservedFor
    if (!claimant || zone.isPassage || claimant.goal === zone) return
    for (const { target } of claimant.routeGrants) if (target === zone) return
    this.#occupancy.unreserve(zone, claimant)
  }

  /**
   * Reserves a free site of a held device for the thread's labware; `site` counts from 1. Labware that already stands there or has a site reserved
   * keeps that site. Returns undefined if no site is free, or `holder` no longer holds the device.
   */
  reserveSite(device: string, thread_id: string, site?: number, holder?: string): string | undefined {
    const sites = this.#occupancy.device(device)
    const claimant = this.#occupancy.claimant(thread_id)
    const zone = siteFor(sites, claimant, site, holder)
    if (!zone || zone.placement?.claimant === claimant) return zone?.placement?.position
    for (const other of sites.zones) if (other !== zone) this.#occupancy.unreserve(other, claimant)
    if (zone.reservedFor !== claimant) this.#occupancy.reserve(zone, claimant)
    if (claimant.ticket) this.#suspectAll()
    this.#settle()
    return zone.positions[0]!.name
  }

  /** Whether `reserveSite` would reserve a site. */
  hasSite(device: string, thread_id: string, site?: number, holder?: string): boolean {
    return siteFor(this.#occupancy.device(device), this.#occupancy.claimant(thread_id), site, holder) !== undefined
  }

  /** Lists the threads whose labware stands at the device. */
  threadsAt(device: string): string[] {
    return this.#occupancy.device(device).zones.flatMap(({ placement }) => placement?.claimant?.thread_id ?? [])
  }

  /** Reserves a position. Returns false if it is not free. */
  keep(thread_id: string, position: string): boolean {
    const zone = this.#occupancy.zone(position)
    if (zone.placement || zone.reservedFor) return false
    this.#occupancy.reserve(zone, this.#occupancy.claimant(thread_id), true)
    return true
  }

  /** Transfers the reservation of a position to another claimant, so that nobody else gets it in between. */
  transfer(thread_id: string, to_id: string, position: string): void {
    const zone = this.#occupancy.zone(position)
    const claimant = this.#occupancy.claimants.get(thread_id)
    if (zone.placement || (zone.reservedFor && zone.reservedFor !== claimant)) return
    claimant?.reserved.delete(zone)
    this.#occupancy.reserve(zone, this.#occupancy.claimant(to_id), true)
  }

  /** Frees a position that was reserved for the thread. */
  letGo(thread_id: string, position: string): void {
    const zone = this.#occupancy.zone(position)
    const claimant = this.#occupancy.claimants.get(thread_id)
    if (claimant) this.#occupancy.unreserve(zone, claimant)
    this.#settle()
  }
}

function siteFor(sites: DeviceSites, claimant: Claimant, site: number | undefined, holder: string | undefined): Zone | undefined {
  const own = sites.zones.find(({ placement }) => placement?.claimant === claimant)
  if (own) return own
  if (!sites.holder || (holder !== undefined && sites.holder.thread_id !== holder)) return undefined
  const wanted = site === undefined ? sites.zones : sites.zones.slice(site - 1, site)
  return (
    wanted.find(({ reservedFor }) => reservedFor === claimant) ?? wanted.find(({ placement, reservedFor }) => !placement && !reservedFor)
  )
}
