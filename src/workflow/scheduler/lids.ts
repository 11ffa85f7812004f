// The lids of plates: on its plate a lid occupies no position, and apart from it the position where it lies, until the thread of the plate puts it back.

import { LabError } from '../../errors.ts'
import type { Claimant, Placement } from './model.ts'
import type { Occupancy } from './occupancy.ts'

export class Lids {
  readonly #occupancy: Occupancy
  readonly #settle: () => void

  constructor(occupancy: Occupancy, settle: () => void) {
    this.#occupancy = occupancy
    this.#settle = settle
  }

  /** Notes that a lid belongs to a plate, and is on it until it is put elsewhere. */
  belong(lid_id: string, plate_id: string): void {
    this.#occupancy.lids.set(lid_id, plate_id)
    this.#occupancy.report(lid_id)
  }

  isLid(labware_id: string): boolean {
    return this.#occupancy.lids.has(labware_id)
  }

  /** Returns the labware on which a lid would stand at a position: its plate. */
  mayStandOn(lid_id: string, labware_id: string | null): boolean {
    return labware_id !== null && this.#occupancy.lids.get(lid_id) === labware_id
  }

  /** Returns the placement of the plate; undefined for a plate that is not on the deck, and for labware that is no lid. */
  plateOf(lid_id: string): Placement | undefined {
    const plate_id = this.#occupancy.lids.get(lid_id)
    return plate_id === undefined ? undefined : this.#occupancy.placements.get(plate_id)
  }

  /** Returns the position of a lid that is on its plate. */
  positionOf(lid_id: string): string | undefined {
    return this.plateOf(lid_id)?.position
  }

  isOn(lid_id: string): boolean {
    return this.isLid(lid_id) && !this.#occupancy.placements.has(lid_id)
  }

  /** Returns the thread that moves the labware, or the plate of which it is the lid. */
  moverOf(labware_id: string): Claimant | null {
    const placement = this.#occupancy.placements.get(labware_id) ?? this.plateOf(labware_id)
    return placement?.claimant ?? placement?.lidOf ?? null
  }

  /** Notes that a lid arrived. Returns false for labware that is no lid of a plate that a thread moves. */
  arrive(labware_id: string, position: string): boolean {
    const owner = this.plateOf(labware_id)?.claimant
    if (owner) this.put(labware_id, position, owner)
    return owner !== undefined && owner !== null
  }

  /** Puts labware that is a lid. Returns false for other labware. */
  wasPut(labware_id: string, position: string, owner: Claimant): boolean {
    const isLid = this.isLid(labware_id)
    if (isLid) this.put(labware_id, position, owner)
    return isLid
  }

  /** Puts a lid on its plate, or at another position. Throws `exists` if other labware stands or will stand there. */
  put(lid_id: string, position: string, owner: Claimant): void {
    const zone = this.#occupancy.zone(position)
    const placement = this.#occupancy.placements.get(lid_id)
    if (zone.placement && this.mayStandOn(lid_id, zone.placement.labware_id)) {
      if (placement) this.#occupancy.remove(placement)
      else this.#occupancy.report(lid_id)
      this.release(owner)
    } else {
      if (zone.device) throw new LabError('exists', `${position} is the nest of ${zone.device.name}; put the lid at a position of the deck`)
      this.#occupancy.mustBeFree(position, owner, lid_id)
      if (owner.lidZone && owner.lidZone !== zone) this.#occupancy.unreserve(owner.lidZone, owner)
      owner.lidZone = zone
      const there = placement ?? this.#occupancy.add(lid_id, position, null)
      there.lidOf = owner
      if (placement) this.#occupancy.move(placement, position)
      this.#occupancy.unreserve(zone, owner)
      if (!placement) this.#occupancy.report(lid_id)
    }
    this.#occupancy.version++
    this.#settle()
  }

  /** Gives up the position that is kept for the lid of a thread, unless the lid lies there. */
  release(owner: Claimant): void {
    const { lidZone } = owner
    if (!lidZone || lidZone.placement?.lidOf === owner) return
    this.#occupancy.unreserve(lidZone, owner)
    owner.lidZone = null
  }

  /** Returns the position of the lid of a thread, or the one that is kept for it. */
  padOf(thread_id: string): string | undefined {
    const [position] = this.#occupancy.claimants.get(thread_id)?.lidZone?.positions ?? []
    return position?.name
  }

  /** Gives up the position that is kept for the lid of a thread, because the lid does not come. */
  giveUp(thread_id: string): void {
    const owner = this.#occupancy.claimants.get(thread_id)
    if (owner) this.release(owner)
    this.#settle()
  }

  /** Leaves the lid of a thread that ends where it lies: no thread puts it back. */
  leave(owner: Claimant): void {
    const placement = owner.lidZone?.placement
    if (placement?.lidOf === owner) {
      placement.lidOf = null
      this.#occupancy.lids.delete(placement.labware_id)
      this.#occupancy.report(placement.labware_id)
    }
    owner.lidZone = null
  }

  /** Forgets a lid that is taken off the deck. */
  forget(lid_id: string): void {
    const placement = this.#occupancy.placements.get(lid_id)
    if (placement?.lidOf) placement.lidOf.lidZone = null
    if (this.#occupancy.lids.delete(lid_id) && !placement) this.#occupancy.report(lid_id)
  }
}
