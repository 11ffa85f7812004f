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
  #vacated = 0

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

  /** Parks one labware, if that pays. Returns whether it did. Only labware for which something has changed is looked at. */
  next(): boolean {
    if (this.#advice.isInForce) return this.#asPlanned()
    const { crowded, cramped, vacated } = this.#occupancy
    if (this.#vacated !== vacated) for (const ticket of cramped) crowded.add(ticket)
    this.#vacated = vacated
    if (crowded.size === 0) return false
    const waiting = [...crowded].flatMap((ticket) => this.#longWaitOf(ticket))
    crowded.clear()
    // Labware that waits for a device at work is parked before labware that waits for the former to leave.
    waiting.sort((a, b) => Number(b.isKnown) - Number(a.isKnown))
    for (const [i, { ticket }] of waiting.entries()) {
      if (this.#park(ticket)) {
        for (const other of waiting.slice(i + 1)) crowded.add(other.ticket)
        return true
      }
      cramped.add(ticket)
    }
    return false
  }

  /** Parks labware where the plan has it wait. */
  #asPlanned(): boolean {
    const now = this.#reservations.now()
    if (this.#seen === this.#occupancy.version) return false
    this.#seen = this.#occupancy.version
    let next = Number.POSITIVE_INFINITY
    for (const { ticket } of this.#occupancy.claimants.values()) {
      if (!ticket || !this.#parking.canPark(ticket) || ticket.claimant.placement?.routeGrant) continue
      const buffer = this.#advice.bufferOf(ticket.claimant.thread_id)
      if (buffer && buffer.at > now) next = Math.min(next, buffer.at)
      if (!buffer || buffer.at > now || !this.#park(ticket, this.#occupancy.zone(buffer.place))) continue
      this.#advice.given(ticket, this.#occupancy.zone(buffer.place))
      return true
    }
    if (next < Number.POSITIVE_INFINITY) this.#reservations.lookAgain(next)
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

  /** Returns the request of labware in the way that would wait long, and whether it is known how long; else nothing. Without durations nothing is long. */
  #longWaitOf(ticket: Ticket): { ticket: Ticket; isKnown: boolean }[] {
    const least = longWait_hops * this.#reservations.longestHop()
    const { placement } = ticket.claimant
    const device = placement?.zone.device
    if (least === 0 || !device || device.holder || placement.routeGrant || !this.#mayWaitElsewhere(ticket, device)) return []
    const wait = this.#reservations.waitFor(ticket)
    return wait >= least ? [{ ticket, isKnown: Number.isFinite(wait) }] : []
  }

  #mayWaitElsewhere(ticket: Ticket, device: DeviceSites): boolean {
    const { claimant, isIdle, parked, request } = ticket
    if (
      device.wanted.size === 0 ||
      isIdle ||
      !request.alone ||
      parked > 0 ||
      claimant.hurries ||
      claimant.isHeld ||
      request.keeps ||
      !this.#parking.canPark(ticket)
    )
      return false
    for (const other of device.wanted) if (other.claimant !== claimant && !other.claimant.isHeld) return !ticket.resources.includes(device)
    return false
  }
}
