// Reservations in time: devices that are reserved for labware which must reach them within a window. Another use before that must end in time.

import type { Clock } from '../../kit/clock.ts'
import type { Hops } from '../plans/timing.ts'
import type { Keep } from './asking.ts'
import { type Ground, Nests, type Place, type Walker } from './ground.ts'
import type { Wait } from './wait.ts'

/** What planning ahead needs: the clock, and the durations of hops. */
export type Ahead = { clock: Clock; hops: Hops }

/** Milliseconds. */
type Booking = { walker: Walker; nests: Nests; from: number; until: number }

/** Why a free resource cannot be granted. `at` is when it can be, if nothing else changes. */
type Barred = { reason: 'booked' | 'window'; wanted: string; by: Walker | null; at: number }

/** Where labware is before a reserved use begins, and when it can leave. */
type Before = { nests: Nests; end: number; isKnown: boolean }

/** A hop may take this many times longer than alone, since the transporter may serve other labware first. */
const crowded = 2

export class Bookings {
  readonly #ground: Ground
  readonly #ahead: Ahead | undefined
  readonly #wake: () => void
  readonly #of = new Map<Walker, readonly Booking[]>()
  /** Ordered by their beginning. */
  readonly #on = new Map<Nests, Booking[]>()
  #alarm: { at: number; cancel(): void } | undefined

  /** Calls `wake` when time alone may have made a grant possible. */
  constructor(ground: Ground, ahead: Ahead | undefined, wake: () => void) {
    this.#ground = ground
    this.#ahead = ahead
    this.#wake = wake
  }

  /** The reservation that keeps a ticket from a free resource, if there is one. */
  barred(wait: Wait, place: Place): Barred | undefined {
    const { keeps } = wait.ask
    if (this.#of.size === 0 && !keeps) return undefined
    const booking = this.#on.size > 0 ? this.#inTheWay(wait, place) : undefined
    if (booking) return { reason: 'booked', wanted: booking.nests.name, by: booking.walker, at: Number.POSITIVE_INFINITY }
    if (!keeps) return undefined
    const plan = this.#plan(wait, place)
    return Array.isArray(plan) || this.#hasToGo(wait.walker, place, plan) ? undefined : plan
  }

  /** To be in time now comes before being in time later. */
  #hasToGo(walker: Walker, place: Place, { at }: Barred): boolean {
    if (walker.deadline === null) return false
    const way = place instanceof Nests ? this.#wayTo(walker, place) : 0
    return at + way * crowded > walker.deadline
  }

  /** Books the grant: reservations of the claimant so far are used, or not needed any more. */
  granted(wait: Wait, place: Place): void {
    const { walker, ask } = wait
    if ((this.#of.size === 0 && !ask.keeps) || !(place instanceof Nests)) return
    const plan = ask.keeps ? this.#plan(wait, place) : []
    if (Array.isArray(plan)) this.#book(walker, plan)
    else this.#book(walker, walker.hurries ? (this.#of.get(walker) ?? []).filter(({ nests }) => nests !== place) : [])
  }

  /** Cancels the reservations of a claimant. Returns whether there were any. */
  giveUp(walker: Walker): boolean {
    const isGivenUp = this.#of.has(walker)
    if (isGivenUp) this.#book(walker, [])
    return isGivenUp
  }

  /** It has to come somewhere in time, or another has to come where it is. */
  isPressed(walker: Walker): boolean {
    if (walker.hurries) return true
    if (this.#on.size === 0) return false
    for (const nests of walker.holds) if (this.#on.has(nests)) return true
    for (const { spot } of walker.pieces) if (spot.device && this.#on.has(spot.device)) return true
    return false
  }

  /** Cancels the reservations of a claimant that has to wait. When time alone can help, it is looked at again then. */
  refused({ walker }: Wait, { reason, at }: Barred): void {
    this.#ground.breakPromise(walker)
    if (reason === 'window' && !walker.hurries) this.giveUp(walker)
    if (Number.isFinite(at)) this.#lookAgain(at)
  }

  #lookAgain(at: number): void {
    if (!this.#ahead || (this.#alarm && this.#alarm.at <= at)) return
    this.#alarm?.cancel()
    const ms = Math.max(1, Math.ceil(at - this.now()))
    const cancel = this.#ahead.clock.after(ms, () => {
      this.#alarm = undefined
      this.#ground.version++
      this.#wake()
    })
    this.#alarm = { at, cancel }
  }

  /** Cancels the alarm: nobody waits for time to go by. */
  calm(): void {
    this.#alarm?.cancel()
    this.#alarm = undefined
  }

  #book(walker: Walker, bookings: readonly Booking[]): void {
    for (const { nests } of this.#of.get(walker) ?? []) {
      const left = (this.#on.get(nests) ?? []).filter((other) => other.walker !== walker)
      if (left.length > 0) this.#on.set(nests, left)
      else this.#on.delete(nests)
      this.#ground.touch(nests)
      for (const spot of nests.spots) this.#ground.touch(spot)
    }
    for (const booking of bookings) {
      const others = this.#on.get(booking.nests) ?? []
      this.#on.set(
        booking.nests,
        [...others, booking].sort((a, b) => a.from - b.from),
      )
    }
    if (bookings.length > 0) this.#of.set(walker, bookings)
    else this.#of.delete(walker)
    this.#ground.version++
  }

  /** The first reservation that would be missed. */
  #inTheWay({ walker, ask }: Wait, place: Place): Booking | undefined {
    const nests = place instanceof Nests ? place : place.device
    const bookings = nests ? this.#on.get(nests) : undefined
    if (!nests || !bookings) return undefined
    for (const { spot } of walker.pieces) if (spot.device === nests) return undefined
    const own = bookings.find((booking) => booking.walker === walker)
    const stay = place instanceof Nests ? ask.use?.stays(nests.name) : undefined
    const end = this.now() + this.#wayTo(walker, nests) * crowded + this.#use(stay)
    return bookings.find((booking) => booking.walker !== walker && end > booking.from && !(own && own.from <= booking.from))
  }

  /** The reservations that a grant of this resource makes now. */
  #plan(wait: Wait, place: Place): Booking[] | Barred {
    const { walker, ask } = wait
    if (!(place instanceof Nests) || !this.#ahead) return []
    const bookings: Booking[] = []
    const seconds = ask.use?.seconds(place.name)
    let before: Before = {
      nests: place,
      end: this.now() + this.#wayTo(walker, place) + (seconds ?? 0) * 1000,
      isKnown: seconds !== undefined,
    }
    for (const keep of ask.keeps ?? []) {
      const found = this.#find(wait, keep, before)
      if (!found) break
      if ('reason' in found) return found
      const took = keep.use.seconds(found.nests.name)
      const way = this.#between(before.nests, found.nests)
      if (found.nests !== before.nests) bookings.push(found)
      before = { nests: found.nests, end: found.from + way + (took ?? 0) * 1000, isKnown: before.isKnown && took !== undefined }
    }
    return bookings
  }

  /** The device that can be had soonest; or why none can be in time. Undefined when none ever could. */
  #find({ walker, inputs }: Wait, { candidates, within_s, use }: Keep, before: Before): Booking | Barred | undefined {
    let best: Booking | undefined
    let refusal: Barred | undefined
    for (const { device } of candidates) {
      const nests = this.#ground.device(device)
      const way = this.#between(before.nests, nests)
      if (way > within_s * 1000) continue
      const length = way * crowded + this.#use(use.stays(device))
      const spare = Math.max(0, within_s * 1000 - way * crowded - this.#longestHop()) / 2
      const end = before.isKnown ? before.end : this.now()
      const { start, by } = nests === before.nests ? { start: end, by: null } : this.#gap(nests, { walker, inputs, end, length })
      if (start <= end + spare) {
        if (!best || start < best.from)
          best = { walker, nests, from: start, until: before.isKnown ? start + length : Number.POSITIVE_INFINITY }
      } else {
        const at = this.now() + start - end - spare
        if (!refusal || at < refusal.at) refusal = { reason: 'window', wanted: device, by, at }
      }
    }
    return best ?? refusal
  }

  /** From when on a device is free for so long. */
  #gap(
    nests: Nests,
    { walker, inputs, end, length }: { walker: Walker; inputs: readonly string[]; end: number; length: number },
  ): { start: number; by: Walker | null } {
    const free = this.#freeAt(nests, walker, inputs)
    let start = Math.max(end, free.at)
    let by = free.at > end ? free.by : null
    for (const booking of this.#on.get(nests) ?? []) {
      if (booking.walker === walker || start + length <= booking.from || start >= booking.until) continue
      start = booking.until
      by = booking.walker
    }
    return { start, by }
  }

  /** As far as anybody knows. */
  #freeAt(nests: Nests, walker: Walker, inputs: readonly string[]): { at: number; by: Walker | null } {
    const { holder, promisedTo } = nests
    if (promisedTo && promisedTo !== walker) return { at: Number.POSITIVE_INFINITY, by: promisedTo }
    if (holder) return holder === walker ? { at: 0, by: null } : { at: this.#endOf(holder, nests), by: holder }
    let free: { at: number; by: Walker | null } = { at: 0, by: null }
    for (const { piece, reservedFor } of nests.spots) {
      if (reservedFor && reservedFor !== walker) return { at: Number.POSITIVE_INFINITY, by: reservedFor }
      if (!piece || piece.walker === walker || inputs.includes(piece.labware_id)) continue
      if (!piece.travel) return { at: Number.POSITIVE_INFINITY, by: piece.walker }
      free = { at: this.now() + this.#longestHop() * crowded, by: piece.walker }
    }
    return free
  }

  /** When whoever holds a device will have left it. What should be over by now has no end that is known. */
  #endOf(holder: Walker, nests: Nests): number {
    const wait = nests.grant
    const began = wait?.began
    // The labware may have to wait there until the device is ready.
    if (began === undefined && wait?.ask.keeps) return Number.POSITIVE_INFINITY
    const start = began ?? this.now() + this.#wayTo(holder, nests) * crowded
    const end = start + this.#use(wait?.ask.use?.stays(nests.name))
    return end < this.now() ? Number.POSITIVE_INFINITY : end
  }

  /** With its leaving, ms. */
  #use(seconds: number | undefined): number {
    return seconds === undefined ? Number.POSITIVE_INFINITY : seconds * 1000 + this.#longestHop() * crowded
  }

  #wayTo({ piece }: Walker, nests: Nests): number {
    return !piece || piece.spot.device === nests ? 0 : this.#way(piece.seat, nests)
  }

  #between(from: Nests, to: Nests): number {
    return from === to ? 0 : Math.min(...from.doors.map((door) => this.#way(door, to)))
  }

  /** Of the shortest way to any of its positions, ms. */
  #way(from: string, { doors }: Nests): number {
    return Math.min(...doors.map((door) => (this.#ahead?.hops.way(this.#ground.graph.route(from, door)) ?? 0) * 1000))
  }

  /** ms */
  #longestHop(): number {
    return (this.#ahead?.hops.longestHop() ?? 0) * 1000
  }

  /** ms; stands still where nothing is planned. */
  now(): number {
    return this.#ahead?.clock.now() ?? 0
  }
}
