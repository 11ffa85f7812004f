// Uses parking positions as buffers: finished labware that stands in a device where others want to go, and would wait long for its own next place, is
// parked, so that the device can work on.

import type { Advice } from './advice.ts'
import type { OnDecision } from './deadlock_resolver.ts'
import type { DeviceSites, Ticket, Zone } from './model.ts'
import type { Occupancy } from './occupancy.ts'
import type { Parking } from './parking.ts'
import type { Reservations } from './reservations.ts'

/** Parking costs a hop more. It pays if the labware would wait at least so many hops. */
const longWait_hops = 3

export class Buffering {
  readonly #occupancy: Occupancy
  readonly #parking: Parking
  readonly #advice: Advice
  readonly #reservations: Reservations
  readonly #onDecision: OnDecision | undefined
  #seen = -1

  constructor(
    occupancy: Occupancy,
    parts: { parking: Parking; reservations: Reservations; advice: Advice; onDecision: OnDecision | undefined },
  ) {
    this.#occupancy = occupancy
    this.#parking = parts.parking
    this.#advice = parts.advice
    this.#reservations = parts.reservations
    this.#onDecision = parts.onDecision
  }

  /** Parks one labware, if that pays. Returns whether it did. */
  next(): boolean {
    if (!this.#reservations.isTimed || this.#seen === this.#occupancy.version) return false
    this.#seen = this.#occupancy.version
    if (this.#advice.isInForce) return this.#asPlanned()
    const waiting = this.#finished()
    // Labware that waits for a device at work is parked before labware that waits for the former to leave.
    for (const isKnown of [true, false])
      for (const { ticket, wait } of waiting) if (Number.isFinite(wait) === isKnown && this.#park(ticket)) return true
    return false
  }

  /** Parks labware where the plan has it wait. */
  #asPlanned(): boolean {
    for (const { ticket } of this.#occupancy.claimants.values()) {
      if (!ticket || !this.#parking.canPark(ticket) || ticket.claimant.placement?.routeGrant) continue
      const position = this.#advice.bufferOf(ticket.claimant.thread_id)
      if (position === undefined || !this.#park(ticket, this.#occupancy.zone(position))) continue
      this.#advice.given(ticket, this.#occupancy.zone(position))
      return true
    }
    return false
  }

  /** Parks labware at a position, or at the nearest. Returns whether that is free. */
  #park(ticket: Ticket, wanted?: Zone): boolean {
    const { thread_id } = ticket.claimant
    const zone = wanted ?? this.#parking.nearestPad(ticket.claimant)
    const isParked = zone !== undefined && this.#parking.parkAt(ticket, zone)
    if (isParked) this.#onDecision?.({ kind: 'buffered', thread_ids: [thread_id], thread_id, granted: zone.positions[0]!.name })
    return isParked
  }

  /** Lists the labware in the way that would wait long. */
  #finished(): { ticket: Ticket; wait: number }[] {
    const found: { ticket: Ticket; wait: number }[] = []
    const least = longWait_hops * this.#reservations.longestHop()
    for (const device of this.#occupancy.devices()) {
      if (device.wanted.size === 0 || device.holder) continue
      for (const { placement } of device.zones) {
        const ticket = placement?.claimant?.ticket
        if (!ticket || placement.routeGrant || !this.#mayWaitElsewhere(ticket, device)) continue
        const wait = this.#reservations.waitFor(ticket)
        if (wait >= least) found.push({ ticket, wait })
      }
    }
    return found
  }

  #mayWaitElsewhere(ticket: Ticket, device: DeviceSites): boolean {
    const { claimant, isIdle, parked, request } = ticket
    if (isIdle || !request.alone || parked > 0 || claimant.hurries || claimant.isHeld || request.keeps || !this.#parking.canPark(ticket))
      return false
    for (const other of device.wanted) if (other.claimant !== claimant && !other.claimant.isHeld) return !ticket.resources.includes(device)
    return false
  }
}
