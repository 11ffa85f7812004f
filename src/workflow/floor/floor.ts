// Who stands where, who may go where next, and how those who wait for each other are parted. All of it happens at once: no promise, no timer.

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
 * Same calls, same answers: the higher priority goes first, then the one that asked first, then what comes first in the topology.
 * Callbacks may call the floor again. What they change is looked at when they have returned, so that an `ask` or a `travel` from
 * inside a callback is granted after it has returned, not before.
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

  /** `onKnot` is called before one of those that wait for each other is parked. Without `ahead` nothing is booked. */
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

  /** `call` hears of each labware that has come to a place, or was taken off the floor. The answer calls it off. */
  onMoved(call: (labware_id: string) => void): () => void {
    this.#ground.watchers.add(call)
    return () => this.#ground.watchers.delete(call)
  }

  // Where labware is

  /** Also for labware that was carried there by hand. Throws `exists` when another stands there, or is to come there. */
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

  /** It is on the floor no more: thrown away, stored, taken by hand. Nothing happens if it is not there. */
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

  /** The thread that moves it; null when it just stands there, or is not on the floor. */
  whose(labware_id: string): string | null {
    return this.#ground.pieces.get(labware_id)?.walker?.thread_id ?? null
  }

  /** The thread that moves it from now on; null: it just stands there. A thread has one labware; of several, its ways are the first's. */
  assign(labware_id: string, thread_id: string | null): void {
    const piece = this.#ground.piece(labware_id)
    if (piece.walker?.thread_id !== thread_id) this.#travels.endOf(piece)
    this.#ground.assign(piece, thread_id === null ? null : this.#ground.walker(thread_id))
    this.#rearranged(labware_id)
  }

  /** Who waits for what may now be different without anybody having asked anew. */
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

  /** A thread has one ask that waits at a time. A place to park that it has not gone to is free again. */
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

  /** What the device was granted for begins now. */
  began(thread_id: string, device: string): void {
    const { holder, grant } = this.#ground.device(device)
    if (grant && holder?.thread_id === thread_id) grant.began = this.#bookings.now()
  }

  /** Its labware's next action has to begin by then (ms), or has begun: it goes before others, and what waits in its way is parked. */
  hurry(thread_id: string, deadline: number | null): void {
    const walker = this.#ground.walkers.get(thread_id)
    if (walker) walker.deadline = deadline
  }

  /** What is booked for the thread is free for others: it waits for something that may need them. */
  unbook(thread_id: string): void {
    const walker = this.#ground.walkers.get(thread_id)
    if (!walker || !this.#bookings.giveUp(walker)) return
    this.#settle()
  }

  /** The thread waits for a custom event from now on, or no more. */
  hears(thread_id: string, isWaiting: boolean): void {
    const walker = this.#ground.walkers.get(thread_id)
    if (!walker || walker.hears === isWaiting) return
    walker.hears = isWaiting
    this.#ground.version++
    this.#settle()
  }

  /** The thread is paused or waits for a person from now on, or no more: nobody counts on it to make room. */
  holdUp(thread_id: string, isHeld: boolean): void {
    const walker = this.#ground.walkers.get(thread_id)
    if (!walker || walker.isHeld === isHeld) return
    walker.isHeld = isHeld
    this.#ground.version++
    // Its turn in a ring goes to others.
    if (isHeld) this.#ground.breakPromise(walker)
    if (isHeld) this.#knots.suspectAll()
    this.#settle()
  }

  #isPressed(thread_id: string): boolean {
    const walker = this.#ground.walkers.get(thread_id)
    return walker !== undefined && this.#bookings.isPressed(walker)
  }

  /**
   * The thread waits for these threads, and can go on when each of them has done something: an owner for its contributors, a
   * contributor for its owner. Replaces what was said before. It counts only while the thread waits for no place.
   */
  awaits(thread_id: string, others: readonly string[]): void {
    const walker = others.length > 0 ? this.#ground.walker(thread_id) : this.#ground.walkers.get(thread_id)
    if (!walker) return
    walker.awaits = others
    this.#ground.version++
    if (others.length > 0) this.#knots.suspect(walker)
    this.#settle()
  }

  /** The thread holds the device no more. Nobody else gets it before the labware that stands there has left. */
  release(thread_id: string, device: string): void {
    const nests = this.#ground.device(device)
    const walker = this.#ground.walkers.get(thread_id)
    if (!walker || nests.holder !== walker) return
    this.#ground.letGo(nests, walker)
    for (const spot of nests.spots) this.#dropUnlessComing(spot)
    this.#settle()
  }

  /** Whoever was to come when the device was held needs not, unless it is on its way. */
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
   * Reserves a free seat of a device that is held, for labware of this thread to come to; `site` counts from 1. Where that stands
   * already, or was to come, it stays. Undefined when there is none free, or nobody holds the device any more, or not `holder`.
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

  /** Reserves a seat for labware that may stand there already; false when it is not free. */
  keep(thread_id: string, seat: string): boolean {
    const spot = this.#ground.spot(seat)
    if (spot.piece || spot.reservedFor) return false
    this.#ground.reserve(spot, this.#ground.walker(thread_id), true)
    return true
  }

  /** A seat that is reserved for the thread is not needed after all. */
  letGo(thread_id: string, seat: string): void {
    const spot = this.#ground.spot(seat)
    const walker = this.#ground.walkers.get(thread_id)
    if (walker) this.#ground.unreserve(spot, walker)
    this.#settle()
  }

  // Going

  /**
   * Grants the whole way to a seat that is reserved for the thread: by an ask, by `nest`, by being told to park. Nothing waits on the
   * way, and nothing overtakes what waits for the same part of it. Replaces what was asked for the same labware before.
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

  /** The labware stands there now: one hop is done. Throws `exists` when another stands there, or is to come there. */
  arrive(labware_id: string, seat: string): void {
    const piece = this.#ground.piece(labware_id)
    this.#ground.mustBeFree(seat, piece.walker, labware_id)
    this.#ground.move(piece, seat)
    this.#travels.arrived(piece)
    if (piece.walker?.wait) this.#asks.refresh(piece.walker.wait)
    this.#settle()
  }

  /** A turn with a transporter. First come, first served; `granted` may be called before this returns. */
  take(transporter: string, thread_id: string, granted: () => void): { withdraw(): void } {
    return this.#turns.take(transporter, thread_id, granted)
  }

  /** The thread whose turn it is with a transporter. */
  userOf(transporter: string): string | undefined {
    return this.#turns.holder(transporter)
  }

  /** Nothing happens if the thread has not got it, or no more. */
  giveBack(transporter: string, thread_id: string): void {
    this.#turns.giveBack(transporter, thread_id)
  }

  /** The thread has ended: nothing is granted to it any more, nothing is kept for it, and its labware belongs to nobody. */
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

  /** Until nothing more follows from what has changed. */
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
