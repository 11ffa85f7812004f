// The scheduler of the deck: which labware stands where, which thread may go where next, and how deadlocks are avoided and resolved. It is
// synchronous: no promise, no timer.

import type { Graph, Hop } from '../plans/graph.ts'
import type { Again, Ask, Asked, Candidate, Obstacle, SeatState } from './asking.ts'
import { Asks } from './asks.ts'
import { type Ahead, Bookings } from './bookings.ts'
import { Ground, type Spot } from './ground.ts'
import { Knots, type OnKnot } from './knots.ts'
import { Safety } from './safety.ts'
import { Travels } from './travels.ts'
import { Turns } from './turns.ts'
import { Wait } from './wait.ts'

/**
 * Deterministic: the same calls give the same grants. The higher priority goes first, then the older request, then the order of the topology.
 * Callbacks may call the scheduler again. It looks at their changes after they have returned, so that a request made inside a callback is
 * granted after the callback, not before.
 */
export class Floor {
  readonly graph: Graph
  readonly #ground: Ground
  readonly #bookings: Bookings
  readonly #asks: Asks
  readonly #travels: Travels
  readonly #knots: Knots
  readonly #turns: Turns
  #sequence = 0
  #isSettling = false

  /** Calls `onKnot` before it parks a labware to resolve a deadlock. Without `ahead` it makes no reservations in time. */
  constructor(graph: Graph, { onKnot, ahead }: { onKnot?: OnKnot; ahead?: Ahead } = {}) {
    this.graph = graph
    this.#ground = new Ground(graph)
    this.#bookings = new Bookings(this.#ground, ahead, () => this.#settle())
    this.#turns = new Turns((thread_id) => this.#isPressed(thread_id))
    this.#asks = new Asks(this.#ground, { safety: new Safety(this.#ground), bookings: this.#bookings })
    this.#travels = new Travels(this.#ground, (travel) => {
      this.#travels.end(travel)
      this.#settle()
    })
    this.#knots = new Knots(this.#ground, { asks: this.#asks, travels: this.#travels, bookings: this.#bookings, onKnot })
  }

  /** Calls `call` with each labware that arrived at a position or left the deck, until the returned function is called. */
  onMoved(call: (labware_id: string) => void): () => void {
    this.#ground.watchers.add(call)
    return () => this.#ground.watchers.delete(call)
  }

  // Where labware is

  /** Puts labware at a position, also after it was carried by hand. Throws `exists` when another stands there, or is to come there. */
  put(labware_id: string, seat: string, thread_id: string | null): void {
    const walker = thread_id === null ? null : this.#ground.walker(thread_id)
    this.#ground.mustBeFree(seat, walker, labware_id)
    const piece = this.#ground.pieces.get(labware_id)
    if (!piece) this.#ground.add(labware_id, seat, walker)
    else {
      this.#ground.assign(piece, walker)
      this.#ground.move(piece, seat)
    }
    this.#rearranged(labware_id)
  }

  /** Takes labware off the deck: it was thrown away, stored, or taken by hand. Does nothing if it is not there. */
  remove(labware_id: string): void {
    const piece = this.#ground.pieces.get(labware_id)
    if (!piece) return
    this.#travels.endOf(piece)
    this.#ground.remove(piece)
    if (piece.walker?.wait) this.#asks.refresh(piece.walker.wait)
    this.#settle()
  }

  whereIs(labware_id: string): string | undefined {
    return this.#ground.pieces.get(labware_id)?.seat
  }

  /** The thread that moves the labware; null when none does, or it is not on the deck. */
  whose(labware_id: string): string | null {
    return this.#ground.pieces.get(labware_id)?.walker?.thread_id ?? null
  }

  /** Says which thread moves the labware from now on; null for none. A thread has one labware; of several, the first gives its routes. */
  assign(labware_id: string, thread_id: string | null): void {
    const piece = this.#ground.piece(labware_id)
    if (piece.walker?.thread_id !== thread_id) this.#travels.endOf(piece)
    this.#ground.assign(piece, thread_id === null ? null : this.#ground.walker(thread_id))
    this.#rearranged(labware_id)
  }

  /** Looks again at those that wait there: the obstacles changed without a new request. */
  #rearranged(labware_id: string): void {
    const { walker, spot } = this.#ground.piece(labware_id)
    if (walker?.wait) this.#asks.refresh(walker.wait)
    if (walker?.wait) this.#knots.suspectAll()
    for (const wait of [...spot.wanted, ...(spot.device?.wanted ?? [])]) this.#knots.suspect(wait.walker)
    this.#settle()
  }

  /** Throws `not_found` for what the topology does not have. */
  seat(name: string): SeatState {
    return stateOf(name, this.#ground.spot(name))
  }

  /** In the order of the topology. */
  seats(): SeatState[] {
    return [...this.graph.seats.keys()].map((name) => this.seat(name))
  }

  // Asking

  /** Makes a request. A thread has one request that waits at a time. Frees a parking position to which its labware did not go. */
  ask(ask: Ask, again?: Again): Asked {
    const order = again ?? { sequence: this.#sequence++, parked: 0 }
    const wait = new Wait(ask, this.#ground, order, {
      withdraw: (wait) => this.#withdraw(wait),
      admit: (wait, inputs) => this.#admit(wait, inputs),
      explain: (wait) => this.#asks.explain(wait),
    })
    const { walker } = wait
    if (walker.parking && walker.travels.size === 0) this.#ground.unreserve(walker.parking, walker)
    this.#asks.add(wait)
    this.#settle()
    return wait
  }

  #withdraw(wait: Wait): void {
    this.#asks.withdraw(wait)
    this.#settle()
  }

  #admit(wait: Wait, inputs: readonly string[]): void {
    if (wait.state !== 'waiting') return
    this.#asks.admit(wait, inputs)
    this.#settle()
  }

  /** Whether the thread's labware could get to one of these from where it is, were they free. */
  canReach(thread_id: string, candidates: readonly Candidate[]): boolean {
    const walker = this.#ground.walkers.get(thread_id)
    if (!walker) return true
    return candidates.some((candidate) => this.#ground.hops(walker, candidate, this.#ground.place(candidate)) !== undefined)
  }

  // Being in time

  /** Says that the use for which the device was granted begins now. */
  began(thread_id: string, device: string): void {
    const { holder, grant } = this.#ground.device(device)
    if (grant && holder?.thread_id === thread_id) grant.began = this.#bookings.now()
  }

  /** Sets the time (ms) by which the next action has to begin, or null once it has: the thread goes before others, and labware in its way is parked. */
  hurry(thread_id: string, deadline: number | null): void {
    const walker = this.#ground.walkers.get(thread_id)
    if (walker) walker.deadline = deadline
  }

  /** Cancels the reservations of the thread: it waits for something that may need the same devices. */
  unbook(thread_id: string): void {
    const walker = this.#ground.walkers.get(thread_id)
    if (!walker || !this.#bookings.giveUp(walker)) return
    this.#settle()
  }

  /** Says whether the thread waits for a custom event. */
  hears(thread_id: string, isWaiting: boolean): void {
    const walker = this.#ground.walkers.get(thread_id)
    if (!walker || walker.hears === isWaiting) return
    walker.hears = isWaiting
    this.#ground.version++
    this.#settle()
  }

  /** Says whether the thread is paused or waits for a person: nobody counts on a held thread to make room. */
  holdUp(thread_id: string, isHeld: boolean): void {
    const walker = this.#ground.walkers.get(thread_id)
    if (!walker || walker.isHeld === isHeld) return
    walker.isHeld = isHeld
    this.#ground.version++
    // The resource that was promised to it goes to others.
    if (isHeld) this.#ground.breakPromise(walker)
    if (isHeld) this.#knots.suspectAll()
    this.#settle()
  }

  #isPressed(thread_id: string): boolean {
    const walker = this.#ground.walkers.get(thread_id)
    return walker !== undefined && this.#bookings.isPressed(walker)
  }

  /**
   * Says for which threads this one waits: it can go on when each of them has done something, as an owner waits for its contributors.
   * Replaces the list before. It counts only while the thread waits for no resource.
   */
  awaits(thread_id: string, others: readonly string[]): void {
    const walker = others.length > 0 ? this.#ground.walker(thread_id) : this.#ground.walkers.get(thread_id)
    if (!walker) return
    walker.awaits = others
    this.#ground.version++
    if (others.length > 0) this.#knots.suspect(walker)
    this.#settle()
  }

  /** Releases a device. Nobody else gets it before the labware that stands there has left. */
  release(thread_id: string, device: string): void {
    const nests = this.#ground.device(device)
    const walker = this.#ground.walkers.get(thread_id)
    if (!walker || nests.holder !== walker) return
    this.#ground.letGo(nests, walker)
    for (const spot of nests.spots) this.#dropUnlessComing(spot)
    this.#settle()
  }

  /** Drops a reservation that was made for the device's holder, unless the labware is on its way. */
  #dropUnlessComing(spot: Spot): void {
    const walker = spot.reservedFor
    if (!walker || spot.isPassage || walker.goal === spot) return
    for (const { target } of walker.travels) if (target === spot) return
    this.#ground.unreserve(spot, walker)
  }

  holder(device: string): string | undefined {
    return this.#ground.device(device).holder?.thread_id
  }

  /**
   * Reserves a free site of a held device for labware of this thread; `site` counts from 1. Labware that stands there already, or has a site
   * reserved, keeps it. Undefined when no site is free, or when `holder` does not hold the device any more.
   */
  nest(device: string, thread_id: string, site?: number, holder?: string): string | undefined {
    const nests = this.#ground.device(device)
    const walker = this.#ground.walker(thread_id)
    const own = nests.spots.find(({ piece }) => piece?.walker === walker)
    if (own) return own.piece?.seat
    if (!nests.holder || (holder !== undefined && nests.holder.thread_id !== holder)) return undefined
    const wanted = site === undefined ? nests.spots : nests.spots.slice(site - 1, site)
    const spot = wanted.find(({ reservedFor }) => reservedFor === walker) ?? wanted.find(({ piece, reservedFor }) => !piece && !reservedFor)
    if (!spot) return undefined
    for (const other of nests.spots) if (other !== spot) this.#ground.unreserve(other, walker)
    if (spot.reservedFor !== walker) this.#ground.reserve(spot, walker)
    if (walker.wait) this.#knots.suspectAll()
    this.#settle()
    return spot.seats[0]!.name
  }

  /** Reserves a position that nothing else may take; false when it is not free. */
  keep(thread_id: string, seat: string): boolean {
    const spot = this.#ground.spot(seat)
    if (spot.piece || spot.reservedFor) return false
    this.#ground.reserve(spot, this.#ground.walker(thread_id), true)
    return true
  }

  /** Frees a position that was reserved for the thread. */
  letGo(thread_id: string, seat: string): void {
    const spot = this.#ground.spot(seat)
    const walker = this.#ground.walkers.get(thread_id)
    if (walker) this.#ground.unreserve(spot, walker)
    this.#settle()
  }

  // Going

  /**
   * Requests the whole route to a position that is reserved for the thread: by a request, by `nest`, or by parking. Nothing waits on the way,
   * and nothing overtakes a request for the same part of it. Replaces the route that was requested for the same labware before.
   */
  travel(
    thread_id: string,
    labware_id: string,
    to: string,
    granted: (route: readonly Hop[]) => void,
  ): { withdraw(): void; explain(): Obstacle[] } {
    const travel = this.#travels.add(this.#ground.walker(thread_id), labware_id, to, granted, this.#isPressed(thread_id))
    this.#settle()
    return travel
  }

  /** Says that the labware arrived by one hop. Throws `exists` when another stands there, or is to come there. */
  arrive(labware_id: string, seat: string): void {
    const piece = this.#ground.piece(labware_id)
    this.#ground.mustBeFree(seat, piece.walker, labware_id)
    this.#ground.move(piece, seat)
    this.#travels.arrived(piece)
    if (piece.walker?.wait) this.#asks.refresh(piece.walker.wait)
    this.#settle()
  }

  /** Queues for a transporter, first come, first served. May call `granted` before it returns. */
  take(transporter: string, thread_id: string, granted: () => void): { withdraw(): void } {
    return this.#turns.take(transporter, thread_id, granted)
  }

  /** The thread that has the transporter. */
  userOf(transporter: string): string | undefined {
    return this.#turns.holder(transporter)
  }

  /** Gives the transporter back. Does nothing if the thread does not have it. */
  giveBack(transporter: string, thread_id: string): void {
    this.#turns.giveBack(transporter, thread_id)
  }

  /** Forgets a thread that has ended: frees all that it holds, and leaves its labware where it stands. */
  forget(thread_id: string): void {
    this.#turns.forget(thread_id)
    const walker = this.#ground.walkers.get(thread_id)
    if (!walker) return
    this.#ground.walkers.delete(thread_id)
    if (walker.wait) this.#asks.withdraw(walker.wait)
    this.#ground.breakPromise(walker)
    this.#bookings.giveUp(walker)
    for (const travel of [...walker.travels]) this.#travels.end(travel)
    for (const nests of [...walker.holds]) this.#ground.letGo(nests, walker)
    for (const spot of [...walker.reserved]) this.#ground.unreserve(spot, walker)
    if (walker.pieces.size > 0) this.#knots.suspectAll()
    for (const piece of [...walker.pieces]) this.#ground.assign(piece, null)
    this.#ground.version++
    this.#settle()
  }

  /** Grants and resolves until nothing more follows from the changes. */
  #settle(): void {
    if (this.#isSettling) return
    this.#isSettling = true
    try {
      while (this.#goOn());
    } finally {
      this.#isSettling = false
    }
  }

  #goOn(): boolean {
    const wait = this.#asks.next()
    if (wait) {
      const wasWaiting = wait.isInLine
      if (!this.#asks.consider(wait) && (!wasWaiting || wait.trapped.length > 0 || wait.barred >= 0)) this.#knots.suspect(wait.walker)
      return true
    }
    const travel = this.#travels.next(({ walker }) => this.#knots.suspect(walker))
    if (travel) {
      travel.granted(travel.route)
      return true
    }
    return this.#asks.reconsider() || this.#knots.examine()
  }
}

function stateOf(seat: string, { seats, piece, reservedFor, device }: Spot): SeatState {
  return {
    seat,
    device: device?.name ?? null,
    labware_id: piece && (piece.seat === seat || seats.length === 1) ? piece.labware_id : null,
    reserved_for: reservedFor?.thread_id ?? null,
  }
}
