// The scheduler of the deck: where labware stands, which thread may go where next, and how deadlocks are avoided and resolved. It is synchronous,
// without promises; its only timer is for reservations.

import type { Graph, Hop } from '../plans/graph.ts'
import { Advice, type Visit } from './advice.ts'
import { Buffering } from './buffering.ts'
import { DeadlockAvoidance, type SafetyCounts, type SafetyOptions } from './deadlock_avoidance.ts'
import { DeadlockResolver, type OnDecision } from './deadlock_resolver.ts'
import { DeviceAccess } from './device_access.ts'
import { Holds } from './holds.ts'
import { Lids } from './lids.ts'
import { type Claimant, Ticket } from './model.ts'
import { Occupancy } from './occupancy.ts'
import { Parking } from './parking.ts'
import { Precedence } from './precedence.ts'
import { PresentState, stateOf } from './present_state.ts'
import { Priorities } from './priorities.ts'
import type { Again, Candidate, Obstacle, PositionState, Request, RequestHandle } from './request.ts'
import { RequestQueue } from './request_queue.ts'
import { type Ahead, Reservations } from './reservations.ts'
import { RouteGrants } from './route_grants.ts'
import { Settling } from './settling.ts'
import { Signal } from './signal.ts'
import { TransporterQueue } from './transporter_queue.ts'

/**
 * The scheduler is deterministic: the same calls give the same grants. The higher priority goes first, then the older request, then the order of the
 * topology. Callbacks may call the scheduler again; a request made inside a callback is granted only after the callback has returned.
 */
export class Scheduler {
  readonly graph: Graph
  /** The plan, if there is one. */
  readonly advice = new Advice()
  readonly present: PresentState
  readonly priorities: Priorities
  readonly #occupancy: Occupancy
  readonly #reservations: Reservations
  readonly #requests: RequestQueue
  readonly #routeGrants: RouteGrants
  readonly #buffering: Buffering
  readonly #deadlocks: DeadlockResolver
  readonly transporters: TransporterQueue
  readonly access: DeviceAccess
  readonly holds: Holds
  readonly lids: Lids
  /** The effort of the safe-state checks. */
  readonly safety: Readonly<SafetyCounts>
  readonly #freed = new Signal()
  #sequence = 0
  readonly #settling = new Settling(() => this.#goOn())

  /** `onDecision` is called before each step that resolves a deadlock. Without `ahead` there are no reservations in time. */
  constructor(graph: Graph, { onDecision, ahead, safety }: { onDecision?: OnDecision; ahead?: Ahead; safety?: SafetyOptions } = {}) {
    this.graph = graph
    this.#occupancy = new Occupancy(graph)
    this.present = new PresentState(this.#occupancy)
    this.priorities = new Priorities(() => this.#reservations.now())
    this.#reservations = new Reservations(this.#occupancy, { ahead, advice: this.advice }, () => this.#settle())
    this.transporters = new TransporterQueue(
      (thread_id) => this.#isPressed(thread_id),
      (thread_id) => this.advice.startOf(thread_id),
      this.priorities,
    )
    this.access = new DeviceAccess(this.#occupancy, { isHeldUp: this.#isHeldUp, settle: () => this.#settle() })
    const avoidance = new DeadlockAvoidance(this.#occupancy, safety, () => this.#settle())
    this.safety = avoidance.counts
    this.#requests = new RequestQueue(this.#occupancy, { avoidance, reservations: this.#reservations, priorities: this.priorities })
    this.#routeGrants = new RouteGrants(this.#occupancy, {
      isHeldUp: this.#isHeldUp,
      withdraw: (routeGrant) => {
        this.#routeGrants.end(routeGrant)
        this.#settle()
      },
    })
    this.lids = new Lids(this.#occupancy, () => this.#settle())
    this.holds = new Holds(this.#occupancy, { settle: () => this.#settle(), suspectAll: () => this.#deadlocks.suspectAll() })
    const parking = new Parking(this.#occupancy, { requests: this.#requests, routeGrants: this.#routeGrants, avoidance })
    this.#reservations.precedence = new Precedence(this.#occupancy, parking, { priorities: this.priorities, estimates: this.#reservations })
    this.#buffering = new Buffering(this.#occupancy, { parking, reservations: this.#reservations, advice: this.advice, onDecision })
    this.#deadlocks = new DeadlockResolver(this.#occupancy, {
      requests: this.#requests,
      routeGrants: this.#routeGrants,
      parking,
      reservations: this.#reservations,
      avoidance,
      advice: this.advice,
      isHeld: this.#isHeld,
      onDecision,
    })
  }

  /** Calls `call` with each labware that arrived at a position, left the deck or changed its thread. The returned function ends that. */
  onMoved(call: (labware_id: string) => void): () => void {
    this.#occupancy.watchers.add(call)
    return () => this.#occupancy.watchers.delete(call)
  }

  /** Calls `call` when a position may have become free: labware left it, or a reservation ended. The returned function ends that. */
  onFreed(call: () => void): () => void {
    return this.#freed.watch(call)
  }

  // Where labware is

  /** Puts labware at a position, for example after it was carried by hand. Throws `exists` if other labware stands or will stand there. */
  put(labware_id: string, position: string, thread_id: string | null): void {
    const claimant = thread_id === null ? null : this.#occupancy.claimant(thread_id)
    if (claimant && this.lids.wasPut(labware_id, position, claimant)) return
    this.#occupancy.mustBeFree(position, claimant, labware_id)
    this.#occupancy.put(labware_id, position, claimant)
    this.#rearranged(labware_id)
  }

  /** Makes several changes, between which nobody is granted anything. */
  together(change: () => void): void {
    this.#settling.together(change)
  }

  /** Takes the reservation of a position away, because a person has put other labware there: call `put` next. */
  revoke(position: string): void {
    const zone = this.#occupancy.zone(position)
    if (zone.reservedFor) this.#occupancy.unreserve(zone, zone.reservedFor)
  }

  /** Takes labware off the deck, because it was thrown away, stored, or taken by hand. Does nothing if it is not there. */
  remove(labware_id: string): void {
    this.lids.forget(labware_id)
    const placement = this.#occupancy.placements.get(labware_id)
    if (!placement) return
    this.#routeGrants.endOf(placement)
    this.#occupancy.remove(placement)
    if (placement.claimant?.ticket) this.#requests.refresh(placement.claimant.ticket)
    this.#settle()
  }

  whereIs(labware_id: string): string | undefined {
    return this.#occupancy.placements.get(labware_id)?.position ?? this.lids.positionOf(labware_id)
  }

  /** Returns the thread that moves the labware; null if none does, or the labware is not on the deck. */
  whose(labware_id: string): string | null {
    return this.lids.moverOf(labware_id)?.thread_id ?? null
  }

  /** Sets the thread that moves the labware; null for none. A thread has one labware; if it has several, the first determines its routes. */
  assign(labware_id: string, thread_id: string | null): void {
    const placement = this.#occupancy.placement(labware_id)
    if (placement.claimant?.thread_id !== thread_id) this.#routeGrants.endOf(placement)
    this.#occupancy.assign(placement, thread_id === null ? null : this.#occupancy.claimant(thread_id))
    this.#rearranged(labware_id)
  }

  /** Considers the waiting requests there again, because their obstacles changed without a new request. */
  #rearranged(labware_id: string): void {
    const { claimant, zone } = this.#occupancy.placement(labware_id)
    if (claimant?.ticket) this.#requests.refresh(claimant.ticket)
    if (claimant?.ticket) this.#deadlocks.suspectAll()
    for (const ticket of [...zone.wanted, ...(zone.device?.wanted ?? [])]) this.#deadlocks.suspect(ticket.claimant)
    this.#settle()
  }

  /** Returns the state of a position. Throws `not_found` for an unknown one. */
  position(name: string): PositionState {
    return stateOf(name, this.#occupancy.zone(name))
  }

  /** Lists the states of all positions, in the order of the topology. */
  positions(): PositionState[] {
    return [...this.graph.positions.keys()].map((name) => this.position(name))
  }

  // Asking

  /** Makes a request. A thread has at most one waiting request. Releases a parking position that the labware did not go to. */
  request(request: Request, again?: Again): RequestHandle {
    const order = again ?? { sequence: this.#sequence++, parked: 0, since: this.#reservations.now() }
    const ticket = new Ticket(request, this.#occupancy, order, this.#calls)
    const { claimant } = ticket
    if (!again) this.advice.asked(ticket, this.#reservations.now())
    if (request.home !== undefined) claimant.home = this.#occupancy.homeAt(request.home)
    claimant.from = request.from ?? null
    if (claimant.parking && claimant.routeGrants.size === 0) this.#occupancy.unreserve(claimant.parking, claimant)
    this.#requests.add(ticket)
    this.#settle()
    return ticket
  }

  /** The calls that a thread makes on its ticket. */
  readonly #calls = {
    withdraw: (ticket: Ticket) => {
      this.#requests.withdraw(ticket)
      this.#settle()
    },
    admit: (ticket: Ticket, inputs: readonly string[]) => {
      if (ticket.state !== 'waiting') return
      this.#requests.admit(ticket, inputs)
      this.#settle()
    },
    explain: (ticket: Ticket) => this.#requests.explain(ticket),
  }

  /** Whether a route leads from the thread's labware to one of these, free or not. `from` is the storage of labware that is not on the deck. */
  canReach(thread_id: string, candidates: readonly Candidate[], from?: string): boolean {
    const { placement = undefined } = this.#occupancy.claimants.get(thread_id) ?? {}
    const claimant = { placement, from: from ?? null }
    return candidates.some((candidate) => this.#occupancy.hops(claimant, candidate, this.#occupancy.resource(candidate)) !== undefined)
  }

  /** Returns the obstacles between the thread and a device. The labware of `inputs` may already stand there. */
  obstaclesTo(thread_id: string, device: string, inputs: readonly string[]): Obstacle[] {
    return this.#occupancy.obstaclesTo(thread_id, device, inputs)
  }

  // Being in time

  /** Notes that the use for which the device was granted begins now. */
  began(thread_id: string, device: string): void {
    const { holder, grant } = this.#occupancy.device(device)
    if (grant && holder?.thread_id === thread_id) grant.began = this.#reservations.now()
  }

  /** Sets the time (ms) by which the thread's next action must begin; null for none. With a deadline it goes before others, and labware in its way is parked. */
  hurry(thread_id: string, deadline: number | null): void {
    const claimant = this.#occupancy.claimants.get(thread_id)
    if (claimant) claimant.deadline = deadline
  }

  /** Cancels the thread's reservations, because it waits for something that may need the same devices. */
  cancelReservations(thread_id: string): void {
    const claimant = this.#occupancy.claimants.get(thread_id)
    if (!claimant || !this.#reservations.giveUp(claimant)) return
    this.#settle()
  }

  /** Sets whether the thread waits for a custom event. */
  setAwaitsEvent(thread_id: string, isWaiting: boolean): void {
    const claimant = this.#occupancy.claimants.get(thread_id)
    const { hearing } = this.#occupancy
    if (!claimant || hearing.has(claimant) === isWaiting) return
    if (isWaiting) hearing.add(claimant)
    else hearing.delete(claimant)
    this.#occupancy.version++
    this.#settle()
  }

  /** Sets whether the thread is paused or waits for a person. The scheduler does not expect a held thread to make room. */
  setHeld(thread_id: string, isHeld: boolean): void {
    const claimant = this.#occupancy.claimants.get(thread_id)
    if (!claimant || claimant.isHeld === isHeld) return
    claimant.isHeld = isHeld
    this.#occupancy.version++
    if (isHeld) this.advice.forget(thread_id)
    else if (claimant.ticket) this.#occupancy.noteCrowdedBy(claimant.ticket)
    this.advice.events?.held()
    if (isHeld) this.#breakPromises()
    if (isHeld) this.#deadlocks.suspectAll()
    this.#routeGrants.refreshAll()
    this.#settle()
  }

  /** Breaks the promises to claimants that cannot move now, including those that wait for a transporter of such a claimant. */
  #breakPromises(): void {
    for (const claimant of this.#occupancy.promised.filter(this.#isHeldUp)) this.#occupancy.breakPromise(claimant)
  }

  #isPressed(thread_id: string): boolean {
    const claimant = this.#occupancy.claimants.get(thread_id)
    return claimant !== undefined && this.#reservations.isPressed(claimant)
  }

  /**
   * Sets the threads that must act before this one can continue, as an owner waits for its contributors. Replaces the earlier list. The list counts
   * only while the thread waits for no resource.
   */
  setAwaitedThreads(thread_id: string, others: readonly string[]): void {
    const claimant = others.length > 0 ? this.#occupancy.claimant(thread_id) : this.#occupancy.claimants.get(thread_id)
    if (!claimant) return
    claimant.awaits = others
    this.#occupancy.version++
    if (others.length > 0) this.#deadlocks.suspect(claimant)
    this.#settle()
  }

  /** Whether the claimant's labware cannot move now even with a route: it waits for a person or for a device to end its work, or for the transporter of such a claimant. */
  readonly #isHeldUp = (claimant: Claimant): boolean =>
    this.#stands(claimant) || this.transporters.isBehind(claimant, this.#occupancy, this.#stands)
  readonly #stands = (claimant: Claimant): boolean => claimant.isHeld || this.access.isKeptOut(claimant)

  /** Whether the claimant moves only after a person acts: it is held, or waits for the transporter of a held thread. */
  readonly #isHeld = (claimant: Claimant): boolean => claimant.isHeld || this.transporters.isBehind(claimant, this.#occupancy, isHeld)

  /** Sets whether new requests wait for a plan that is being made. */
  setPlanDue(isDue: boolean): void {
    this.advice.isDue = isDue
    this.#settle()
  }

  /** Follows a plan in place of the present one; with no visits, the rule. */
  follow(visits: readonly Visit[]): void {
    this.advice.adopt(visits)
    this.#occupancy.version++
    this.#settle()
  }

  /**
   * Requests the whole route to a position that is reserved for the thread (by a request, by `holds`, or by parking), so that no labware waits on the
   * way. No later request for the same part overtakes it. Replaces an earlier route of the same labware. `divert` is called, perhaps before this
   * returns, when a held thread cuts off the route of labware to its parking position: the thread must then repeat its request.
   */
  requestRoute(
    thread_id: string,
    labware_id: string,
    to: string,
    granted: (route: readonly Hop[]) => void,
    divert?: () => void,
  ): { withdraw(): void; explain(): Obstacle[] } {
    this.advice.moves(thread_id)
    const claimant = this.#occupancy.claimant(thread_id)
    const routeGrant = this.#routeGrants.add(claimant, labware_id, to, { granted, divert, isPressed: this.#isPressed(thread_id) })
    this.#settle()
    return routeGrant
  }

  /** Notes that the labware arrived after one hop. Throws `exists` if other labware stands or will stand there. */
  arrive(labware_id: string, position: string): void {
    if (this.lids.arrive(labware_id, position)) return
    const placement = this.#occupancy.placement(labware_id)
    this.#occupancy.mustBeFree(position, placement.claimant, labware_id)
    this.#occupancy.move(placement, position)
    this.#routeGrants.arrived(placement)
    if (placement.claimant?.ticket) this.#requests.refresh(placement.claimant.ticket)
    this.#settle()
  }

  /** Queues for a transporter, first come, first served. May call `granted` before it returns. */
  take(transporter: string, thread_id: string, granted: () => void): { withdraw(): void } {
    const turn = this.transporters.take(transporter, thread_id, granted)
    if (this.transporters.holder(transporter) === thread_id) return turn
    this.#breakPromises()
    const claimant = this.#occupancy.claimants.get(thread_id)
    if (claimant && this.#isHeldUp(claimant)) this.#routeGrants.refreshAll()
    if (claimant && this.#isHeld(claimant)) this.#deadlocks.suspectAll()
    this.#settle()
    return turn
  }

  /** Forgets a thread that has ended: releases all that it holds, and leaves its labware where it stands. */
  forget(thread_id: string): void {
    this.transporters.forget(thread_id)
    const claimant = this.#occupancy.claimants.get(thread_id)
    if (!claimant) return
    this.#occupancy.claimants.delete(thread_id)
    this.#occupancy.hearing.delete(claimant)
    if (claimant.ticket) this.#requests.withdraw(claimant.ticket)
    this.#occupancy.breakPromise(claimant)
    this.#reservations.giveUp(claimant)
    for (const routeGrant of [...claimant.routeGrants]) this.#routeGrants.end(routeGrant)
    this.access.forget(claimant)
    this.lids.leave(claimant)
    for (const sites of [...claimant.holds]) this.#occupancy.letGo(sites, claimant)
    for (const zone of [...claimant.reserved]) this.#occupancy.unreserve(zone, claimant)
    if (claimant.placements.size > 0) this.#deadlocks.suspectAll()
    for (const placement of [...claimant.placements]) this.#occupancy.assign(placement, null)
    this.#occupancy.version++
    this.#settle()
  }

  /** Makes grants and resolves deadlocks until nothing more follows from the changes. */
  #settle(): void {
    this.#settling.settle()
  }

  #goOn(): boolean {
    if (this.#occupancy.isFreed) {
      this.#occupancy.isFreed = false
      this.#freed.tell()
    }
    const ticket = this.advice.isDue ? undefined : this.#requests.next()
    if (ticket) {
      const wasWaiting = ticket.isInLine
      if (!this.#requests.consider(ticket) && (!wasWaiting || ticket.trapped.length > 0 || ticket.barred >= 0))
        this.#deadlocks.suspect(ticket.claimant)
      return true
    }
    const routeGrant = this.#routeGrants.next((waiting) => this.#deadlocks.suspectOnWay(waiting))
    if (routeGrant) {
      routeGrant.granted(routeGrant.route)
      return true
    }
    if (this.access.next()) return true
    if (this.advice.isDue) return false
    return this.#requests.reconsider() || this.#buffering.next() || this.#deadlocks.examine()
  }
}

const isHeld = ({ isHeld }: Claimant): boolean => isHeld
