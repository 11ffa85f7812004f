// Reservations in time: devices that are reserved for labware that must reach them within a window. Another use before then must end in time.

import type { Clock } from '../../kit/clock.ts'
import type { Hops } from '../plans/timing.ts'
import type { Advice, PlanVerdict } from './advice.ts'
import { type Claimant, DeviceSites, type Resource, type Ticket } from './model.ts'
import type { Occupancy } from './occupancy.ts'
import type { Keep } from './request.ts'

/** The input for planning: the clock, and the durations of hops. */
export type Ahead = { clock: Clock; hops: Hops }

/** A reservation; `from` and `until` in ms. */
type Reservation = { claimant: Claimant; sites: DeviceSites; from: number; until: number }

/** An obstacle to the grant of a free resource. `at` is the time at which it ends if nothing else changes. */
type Barred = { reason: 'booked' | 'window' | 'planned' | 'early'; wanted: string; by: Claimant | null; at: number }

/** The device of the labware before a reserved use, and the time when it can leave. */
type Before = { sites: DeviceSites; end: number; isKnown: boolean }

/** A hop may take this many times longer than alone, because the transporter may serve other labware first. */
const crowded = 2

export class Reservations {
  readonly #occupancy: Occupancy
  readonly #ahead: Ahead | undefined
  readonly #advice: Advice
  readonly #wake: () => void
  /** Says which requests leave a device free for a more important run. */
  precedence: { of(ticket: Ticket, resource: Resource): Claimant | undefined } | undefined
  readonly #of = new Map<Claimant, readonly Reservation[]>()
  /** The reservations of each device, ordered by their beginning. */
  readonly #on = new Map<DeviceSites, Reservation[]>()
  #alarm: { at: number; cancel(): void } | undefined

  /** `wake` is called when the passage of time may have made a grant possible. */
  constructor(occupancy: Occupancy, { ahead, advice }: { ahead: Ahead | undefined; advice: Advice }, wake: () => void) {
    this.#occupancy = occupancy
    this.#advice = advice
    this.#ahead = ahead
    this.#wake = wake
  }

  /** Returns the reservation that keeps a ticket from a free resource; undefined if there is none. */
  barred(ticket: Ticket, resource: Resource): Barred | undefined {
    const planned = this.#advice.verdict(ticket, resource, this.now())
    if (planned) return planned.kind === 'first' ? undefined : this.#plannedOtherwise(resource, planned)
    const { keeps } = ticket.request
    const by = this.precedence?.of(ticket, resource)
    if (by) return { reason: 'booked', wanted: (resource as DeviceSites).name, by, at: Number.POSITIVE_INFINITY }
    if (this.#of.size === 0 && !keeps) return undefined
    const reservation = this.#on.size > 0 ? this.#inTheWay(ticket, resource) : undefined
    if (reservation) return { reason: 'booked', wanted: reservation.sites.name, by: reservation.claimant, at: Number.POSITIVE_INFINITY }
    if (!keeps) return undefined
    const plan = this.#plan(ticket, resource)
    return Array.isArray(plan) || this.#hasToGo(ticket.claimant, resource, plan) ? undefined : plan
  }

  #plannedOtherwise(resource: Resource, verdict: PlanVerdict): Barred {
    const wanted = resource instanceof DeviceSites ? resource.name : resource.positions[0]!.name
    const by = (verdict.kind === 'later' && this.#occupancy.claimants.get(verdict.by)) || null
    if (verdict.kind === 'early') return { reason: 'early', wanted, by: null, at: verdict.at }
    return { reason: 'planned', wanted, by, at: Number.POSITIVE_INFINITY }
  }

  /** Whether the claimant must go now to meet its present deadline, even if it then misses a later window. */
  #hasToGo(claimant: Claimant, resource: Resource, { at }: Barred): boolean {
    if (claimant.deadline === null) return false
    const way = resource instanceof DeviceSites ? this.wayTo(claimant, resource) : 0
    return at + way * crowded > claimant.deadline
  }

  /** Books a grant. It replaces the claimant's earlier reservations, which are used or no longer needed. */
  granted(ticket: Ticket, resource: Resource): void {
    const { claimant, request } = ticket
    this.#advice.given(ticket, resource)
    if ((this.#of.size === 0 && !request.keeps) || !(resource instanceof DeviceSites)) return
    const plan = request.keeps ? this.#plan(ticket, resource) : []
    if (Array.isArray(plan)) this.#book(claimant, plan)
    else this.#book(claimant, claimant.hurries ? (this.#of.get(claimant) ?? []).filter(({ sites }) => sites !== resource) : [])
  }

  /** Cancels the reservations of a claimant. Returns whether there were any. */
  giveUp(claimant: Claimant): boolean {
    const isGivenUp = this.#of.has(claimant)
    if (isGivenUp) this.#book(claimant, [])
    return isGivenUp
  }

  /** Whether the claimant has a deadline, or occupies a device that is reserved in time for another. */
  isPressed(claimant: Claimant): boolean {
    if (claimant.hurries) return true
    if (this.#on.size === 0) return false
    for (const sites of claimant.holds) if (this.#on.has(sites)) return true
    for (const { zone } of claimant.placements) if (zone.device && this.#on.has(zone.device)) return true
    return false
  }

  /** Cancels the reservations of a claimant that has to wait. If time alone removes the obstacle, sets an alarm for that time. */
  refused({ claimant }: Ticket, { reason, at }: Barred): void {
    this.#occupancy.breakPromise(claimant)
    if (reason === 'window' && !claimant.hurries) this.giveUp(claimant)
    if (Number.isFinite(at)) this.lookAgain(at)
  }

  /** Has everything considered again at a time, in ms. */
  lookAgain(at: number): void {
    if (!this.#ahead || (this.#alarm && this.#alarm.at <= at)) return
    this.#alarm?.cancel()
    const ms = Math.max(1, Math.ceil(at - this.now()))
    const cancel = this.#ahead.clock.after(ms, () => {
      this.#alarm = undefined
      this.#occupancy.version++
      this.#wake()
    })
    this.#alarm = { at, cancel }
  }

  /** Cancels the alarm, because no request waits for time to pass. */
  calm(): void {
    this.#alarm?.cancel()
    this.#alarm = undefined
  }

  #book(claimant: Claimant, reservations: readonly Reservation[]): void {
    for (const { sites } of this.#of.get(claimant) ?? []) {
      const left = (this.#on.get(sites) ?? []).filter((other) => other.claimant !== claimant)
      if (left.length > 0) this.#on.set(sites, left)
      else this.#on.delete(sites)
      this.#occupancy.touch(sites)
      for (const zone of sites.zones) this.#occupancy.touch(zone)
    }
    for (const reservation of reservations) {
      const others = this.#on.get(reservation.sites) ?? []
      this.#on.set(
        reservation.sites,
        [...others, reservation].sort((a, b) => a.from - b.from),
      )
    }
    if (reservations.length > 0) this.#of.set(claimant, reservations)
    else this.#of.delete(claimant)
    this.#occupancy.version++
  }

  /** Returns the first reservation that a grant would delay. */
  #inTheWay({ claimant, request }: Ticket, resource: Resource): Reservation | undefined {
    const sites = resource instanceof DeviceSites ? resource : resource.device
    const reservations = sites ? this.#on.get(sites) : undefined
    if (!sites || !reservations) return undefined
    for (const { zone } of claimant.placements) if (zone.device === sites) return undefined
    const own = reservations.find((reservation) => reservation.claimant === claimant)
    const stay = resource instanceof DeviceSites ? request.use?.stays(sites.name) : undefined
    const end = this.now() + this.wayTo(claimant, sites) * crowded + this.use(stay)
    return reservations.find(
      (reservation) => reservation.claimant !== claimant && end > reservation.from && !(own && own.from <= reservation.from),
    )
  }

  /** Returns the reservations that a grant of this resource would make now, or the obstacle to them. */
  #plan(ticket: Ticket, resource: Resource): Reservation[] | Barred {
    const { claimant, request } = ticket
    if (!(resource instanceof DeviceSites) || !this.#ahead) return []
    const reservations: Reservation[] = []
    const seconds = request.use?.seconds(resource.name)
    let before: Before = {
      sites: resource,
      end: this.now() + this.wayTo(claimant, resource) + (seconds ?? 0) * 1000,
      isKnown: seconds !== undefined,
    }
    for (const keep of request.keeps ?? []) {
      const found = this.#find(ticket, keep, before)
      if (!found) break
      if ('reason' in found) return found
      const took = keep.use.seconds(found.sites.name)
      const way = this.between(before.sites, found.sites)
      if (found.sites !== before.sites) reservations.push(found)
      before = { sites: found.sites, end: found.from + way + (took ?? 0) * 1000, isKnown: before.isKnown && took !== undefined }
    }
    return reservations
  }

  /** Returns the reservation of the soonest device, or the obstacle if none is in time; undefined if none can ever be. */
  #find({ claimant, inputs }: Ticket, { candidates, within_s, use }: Keep, before: Before): Reservation | Barred | undefined {
    let best: Reservation | undefined
    let refusal: Barred | undefined
    for (const { device } of candidates) {
      const sites = this.#occupancy.device(device)
      const way = this.between(before.sites, sites)
      if (way > within_s * 1000) continue
      const length = way * crowded + this.use(use.stays(device))
      const spare = Math.max(0, within_s * 1000 - way * crowded - this.longestHop()) / 2
      const end = before.isKnown ? before.end : this.now()
      const { start, by } = sites === before.sites ? { start: end, by: null } : this.#gap(sites, { claimant, inputs, end, length })
      if (start <= end + spare) {
        if (!best || start < best.from)
          best = { claimant, sites, from: start, until: before.isKnown ? start + length : Number.POSITIVE_INFINITY }
      } else {
        const at = this.now() + start - end - spare
        if (!refusal || at < refusal.at) refusal = { reason: 'window', wanted: device, by, at }
      }
    }
    return best ?? refusal
  }

  /** Returns when a device becomes free for `length` ms, and the claimant that occupies it until then. */
  #gap(
    sites: DeviceSites,
    { claimant, inputs, end, length }: { claimant: Claimant; inputs: readonly string[]; end: number; length: number },
  ): { start: number; by: Claimant | null } {
    const free = this.freeAt(sites, claimant, inputs)
    let start = Math.max(end, free.at)
    let by = free.at > end ? free.by : null
    for (const reservation of this.#on.get(sites) ?? []) {
      if (reservation.claimant === claimant || start + length <= reservation.from || start >= reservation.until) continue
      start = reservation.until
      by = reservation.claimant
    }
    return { start, by }
  }

  /** Estimates how long the claimant waits for one of these resources, in ms; Infinity if that is unknown. */
  waitFor(ticket: Ticket): number {
    const { claimant, resources, inputs } = ticket
    const now = this.now()
    const waits = resources.map((resource) =>
      resource instanceof DeviceSites
        ? this.precedence?.of(ticket, resource)
          ? Number.POSITIVE_INFINITY
          : this.freeAt(resource, claimant, inputs).at - now
        : resource.placement
          ? Number.POSITIVE_INFINITY
          : 0,
    )
    return Math.max(0, Math.min(...waits))
  }

  /** Estimates when the present use of a device ends. */
  freeAt(sites: DeviceSites, claimant: Claimant, inputs: readonly string[]): { at: number; by: Claimant | null } {
    const { holder, promisedTo } = sites
    if (promisedTo && promisedTo !== claimant) return { at: Number.POSITIVE_INFINITY, by: promisedTo }
    if (holder) return holder === claimant ? { at: 0, by: null } : { at: this.#endOf(holder, sites), by: holder }
    let free: { at: number; by: Claimant | null } = { at: 0, by: null }
    for (const { placement, reservedFor } of sites.zones) {
      if (reservedFor && reservedFor !== claimant) return { at: Number.POSITIVE_INFINITY, by: reservedFor }
      if (!placement || placement.claimant === claimant || inputs.includes(placement.labware_id)) continue
      if (!placement.routeGrant && !placement.claimant?.parking) return { at: Number.POSITIVE_INFINITY, by: placement.claimant }
      free = { at: this.now() + this.longestHop() * crowded, by: placement.claimant }
    }
    return free
  }

  /** Estimates when the holder of a device will have left it; Infinity if that is unknown, or overdue. */
  #endOf(holder: Claimant, sites: DeviceSites): number {
    const ticket = sites.grant
    const began = ticket?.began
    // The labware may have to wait at the device for the devices that it needs next.
    if (began === undefined && ticket?.request.keeps) return Number.POSITIVE_INFINITY
    const start = began ?? this.now() + this.wayTo(holder, sites) * crowded
    const end = start + this.use(ticket?.request.use?.stays(sites.name))
    return end < this.now() ? Number.POSITIVE_INFINITY : end
  }

  /** Returns the duration of a use, including the departure, in ms. */
  use(seconds: number | undefined): number {
    return seconds === undefined ? Number.POSITIVE_INFINITY : seconds * 1000 + this.longestHop() * crowded
  }

  wayTo({ placement, from }: Claimant, sites: DeviceSites): number {
    const position = placement?.position ?? from
    return position === null || placement?.zone.device === sites ? 0 : this.#way(position, sites)
  }

  between(from: DeviceSites, to: DeviceSites): number {
    return from === to ? 0 : Math.min(...from.doors.map((door) => this.#way(door, to)))
  }

  /** Returns the time of the shortest route to the device, in ms. */
  #way(from: string, { doors }: DeviceSites): number {
    return Math.min(...doors.map((door) => (this.#ahead?.hops.way(this.#occupancy.graph.route(from, door)) ?? 0) * 1000))
  }

  /** Returns the duration of the longest hop, in ms. */
  longestHop(): number {
    return (this.#ahead?.hops.longestHop() ?? 0) * 1000
  }

  /** Returns the time in ms; always 0 without planning. */
  now(): number {
    return this.#ahead?.clock.now() ?? 0
  }
}
