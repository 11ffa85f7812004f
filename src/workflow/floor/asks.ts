// The queue of requests: which ticket is next where a resource became free, and which resource it is granted.

import { LabError } from '../../errors.ts'
import type { Obstacle } from './asking.ts'
import type { Bookings } from './bookings.ts'
import { type Ground, Nests, type Place, type Spot, type Tell } from './ground.ts'
import { compare, Line } from './line.ts'
import type { Safety } from './safety.ts'
import type { Wait } from './wait.ts'

export class Asks {
  readonly #ground: Ground
  readonly #safety: Safety
  readonly #bookings: Bookings
  readonly #fresh = new Line<Wait>()
  /** Tickets that found a candidate free, but unsafe, or reserved for others. */
  readonly #unsafe = new Set<Wait>()
  /** Tickets that accept this labware as already standing at their device. */
  readonly #guests = new Map<string, Set<Wait>>()
  #seen = 0

  constructor(ground: Ground, { safety, bookings }: { safety: Safety; bookings: Bookings }) {
    this.#ground = ground
    this.#safety = safety
    this.#bookings = bookings
  }

  add(wait: Wait): void {
    const { walker } = wait
    if (walker.wait) throw new LabError('internal', `thread ${walker.thread_id} asks again while an ask of it waits`)
    walker.wait = wait
    if (walker.promise && !wait.places.includes(walker.promise)) this.#ground.breakPromise(walker)
    this.#ground.version++
    this.refresh(wait)
  }

  /** Marks a ticket to be looked at again. */
  refresh(wait: Wait): void {
    if (wait.isFresh || wait.state !== 'waiting') return
    wait.isFresh = true
    this.#fresh.add(wait)
  }

  /** The first ticket that may be grantable. */
  next(): Wait | undefined {
    const { touched } = this.#ground
    let best = this.#fresh.first
    let at: Place | undefined
    let left = 0
    for (const place of touched) {
      const wait = this.#nextFor(place, place.lookedAtBy)
      place.isTouched = wait !== undefined
      if (!wait) continue
      touched[left++] = place
      if (best && compare(wait, best) >= 0) continue
      best = wait
      at = place
    }
    touched.length = left
    if (at) at.lookedAtBy = best
    else if (best) {
      best.isFresh = false
      this.#fresh.delete(best)
    }
    return best
  }

  /** While labware stands at a resource, or is to come there, only its own thread can get it, or one that takes it as an input. */
  #nextFor(place: Place, last: Wait | undefined): Wait | undefined {
    if (place.wanted.size === 0) return undefined
    const spots = place instanceof Nests ? place.spots : [place]
    const holder = place instanceof Nests ? place.holder : place.device?.holder
    if (holder) return this.#nextOf([holder.wait], place, last)
    if (place.promisedTo) return this.#nextOf([place.promisedTo.wait, ...spots.map(({ piece }) => piece?.walker?.wait)], place, last)
    for (const { reservedFor, piece } of spots) {
      if (reservedFor) return this.#nextOf([reservedFor.wait], place, last)
      if (piece) return this.#nextOf([piece.walker?.wait, ...(this.#guests.get(piece.labware_id) ?? [])], place, last)
    }
    return place.wanted.after(last)
  }

  #nextOf(waits: Iterable<Wait | null | undefined>, place: Place, last: Wait | undefined): Wait | undefined {
    let first: Wait | undefined
    for (const wait of waits) {
      if (!wait?.places.includes(place) || (last && compare(wait, last) <= 0)) continue
      if (!first || compare(wait, first) < 0) first = wait
    }
    return first
  }

  /** Looks again at the unsafe ones after a change. Returns whether there is one. */
  reconsider(): boolean {
    if (this.#unsafe.size === 0 || this.#seen === this.#ground.version) return false
    this.#seen = this.#ground.version
    for (const wait of this.#unsafe) this.refresh(wait)
    return true
  }

  /** Grants the nearest candidate that is free and safe, or queues the ticket. Returns whether it was granted. */
  consider(wait: Wait): boolean {
    if (wait.state !== 'waiting') return false
    const index = this.#choose(wait)
    if (index >= 0) {
      this.grant(wait, index)
      return true
    }
    if (wait.unsafe >= 0 || wait.barred >= 0) this.#unsafe.add(wait)
    else this.#unsafe.delete(wait)
    if (!wait.isInLine) this.#putInLine(wait)
    return false
  }

  #choose(wait: Wait): number {
    const { walker, places, inputs, ask } = wait
    let [best, fewest] = [-1, Number.POSITIVE_INFINITY]
    wait.unsafe = -1
    wait.trapped = []
    wait.barred = -1
    for (let i = 0; i < places.length; i++) {
      const place = places[i]!
      const hops = this.#ground.hops(walker, ask.candidates[i]!, place)
      if (hops === undefined || hops >= fewest || place.isClosedTo(walker, inputs)) continue
      const barred = this.#bookings.barred(wait, place)
      if (barred) {
        if (wait.barred < 0) wait.barred = i
        this.#bookings.refused(wait, barred)
        continue
      }
      const trapped = this.#safety.trapped(wait, place)
      if (trapped.length === 0) [best, fewest] = [i, hops]
      else if (wait.unsafe < 0 || trapped.length < wait.trapped.length) {
        wait.unsafe = i
        wait.trapped = trapped
      }
    }
    return best
  }

  admit(wait: Wait, inputs: readonly string[]): void {
    if (wait.isInLine) for (const labware_id of wait.inputs) this.#dropGuest(labware_id, wait)
    wait.inputs = inputs
    if (wait.isInLine) this.#letIn(wait)
    this.#ground.version++
    this.refresh(wait)
  }

  #putInLine(wait: Wait): void {
    wait.isInLine = true
    for (const place of new Set(wait.places)) place.wanted.add(wait)
    this.#letIn(wait)
    this.#ground.version++
  }

  #letIn(wait: Wait): void {
    for (const labware_id of wait.inputs) this.#guests.set(labware_id, (this.#guests.get(labware_id) ?? new Set()).add(wait))
  }

  #takeOut(wait: Wait): void {
    const { walker } = wait
    if (walker.wait === wait) walker.wait = null
    if (this.#unsafe.delete(wait) && this.#unsafe.size === 0) this.#bookings.calm()
    this.#ground.version++
    if (wait.isFresh) this.#fresh.delete(wait)
    wait.isFresh = false
    if (!wait.isInLine) return
    wait.isInLine = false
    for (const place of new Set(wait.places)) place.wanted.delete(wait)
    for (const labware_id of wait.inputs) this.#dropGuest(labware_id, wait)
  }

  #dropGuest(labware_id: string, wait: Wait): void {
    const guests = this.#guests.get(labware_id)
    guests?.delete(wait)
    if (guests?.size === 0) this.#guests.delete(labware_id)
  }

  grant(wait: Wait, index: number): void {
    const { walker, places, ask } = wait
    const place = places[index]!
    this.#takeOut(wait)
    wait.state = 'granted'
    wait.granted = index
    walker.last = wait
    this.#ground.breakPromise(walker)
    this.#bookings.granted(wait, place)
    const { piece } = walker
    if (place instanceof Nests) this.#ground.hold(place, wait)
    else if (piece?.spot !== place) this.#ground.reserve(place, walker)
    walker.goal = piece && (piece.spot === place || piece.spot.device === place) ? null : place
    ask.granted(ask.candidates[index]!)
  }

  /** Takes a request back, and frees what was granted and not used. */
  withdraw(wait: Wait): void {
    const { state, walker, places, granted } = wait
    wait.state = 'withdrawn'
    if (state === 'waiting') {
      this.#takeOut(wait)
      this.#ground.breakPromise(walker)
    }
    if (state !== 'granted') return
    const place = places[granted]!
    if (!(place instanceof Nests)) this.#ground.unreserve(place, walker)
    else if (place.grant === wait) this.#ground.letGo(place, walker)
  }

  /** Sends the labware to a parking position, from where its thread makes a new request. */
  park(wait: Wait, pad: Spot): void {
    const { walker, ask, sequence, parked } = wait
    this.#takeOut(wait)
    wait.state = 'withdrawn'
    this.#ground.reserve(pad, walker)
    walker.parking = pad
    ask.park?.(pad.seats[0]!.name, { sequence, parked: parked + 1 })
  }

  /** Calls `tell` with each obstacle between the ticket and one of its candidates. */
  obstacles(wait: Wait, index: number, tell: Tell): void {
    const { walker, places, inputs, ask } = wait
    const place = places[index]!
    if (this.#ground.hops(walker, ask.candidates[index]!, place) === undefined) tell('unreachable', null, null)
    else if (!place.isClosedTo(walker, inputs, tell)) this.#dangers(wait, place, tell)
  }

  /** The reservation that bars the candidate: its device may be another than the requested one. */
  #barredBy(wait: Wait, index: number): Obstacle[] {
    const { walker, places, inputs } = wait
    const place = places[index]!
    const barred = place.isClosedTo(walker, inputs) ? undefined : this.#bookings.barred(wait, place)
    return barred ? [{ wanted: barred.wanted, reason: barred.reason, thread_id: barred.by?.thread_id ?? null, labware_id: null }] : []
  }

  #dangers(wait: Wait, place: Place, tell: Tell): void {
    for (const other of this.#safety.trapped(wait, place)) tell('unsafe', other, null)
  }

  explain(wait: Wait): Obstacle[] {
    const obstacles: Obstacle[] = []
    if (wait.state !== 'waiting') return obstacles
    wait.ask.candidates.forEach((candidate, i) => {
      const wanted = 'device' in candidate ? candidate.device : candidate.seat
      this.obstacles(wait, i, (reason, by, piece) => {
        obstacles.push({ wanted, reason, thread_id: by?.thread_id ?? null, labware_id: piece?.labware_id ?? null })
      })
      obstacles.push(...this.#barredBy(wait, i))
    })
    return obstacles
  }
}
