// The wait-for graph (AND-OR): the ways in which each claimant could continue, the claimants that each way needs, and the deadlocked claimants.

import type { Claimant, Placement, Resource, Ticket } from './model.ts'
import type { Occupancy } from './occupancy.ts'
import type { Obstacle } from './request.ts'
import type { Reservations } from './reservations.ts'
import type { RouteGrants } from './route_grants.ts'

/** The kinds of claimants that are assumed to stay where they are. */
type View = {
  /** Idle claimants that wait for no other. */
  idle: boolean
  /** Labware without a thread. */
  strangers: boolean
  /** Claimants that were reported as stuck. */
  calls: boolean
  /** Threads that are paused or wait for a person, who may not come for hours, and threads that wait for the transporter of such a thread. */
  held: boolean
}

/** The view that decides whether to make room: all of them are assumed to stay. */
export const doubting: View = { idle: true, strangers: true, calls: true, held: true }

/** A way to continue, to a resource or past an obstacle, as soon as all of `needs` have moved. */
type Way = { resource: Resource | null; needs: readonly Claimant[] }
type Ways = readonly Way[]

/** A claimant in a cycle, and the resource that it waits for. */
type Link = { claimant: Claimant; resource: Resource | null }

export class WaitForGraph {
  readonly #occupancy: Occupancy
  readonly #routeGrants: RouteGrants
  readonly #reservations: Reservations
  /** Whether a claimant moves only after a person acts: it is held, or waits for the transporter of a held one. */
  readonly isHeld: (claimant: Claimant) => boolean

  constructor(
    occupancy: Occupancy,
    parts: { routeGrants: RouteGrants; reservations: Reservations; isHeld: (claimant: Claimant) => boolean },
  ) {
    this.#occupancy = occupancy
    this.#routeGrants = parts.routeGrants
    this.#reservations = parts.reservations
    this.isHeld = parts.isHeld
  }

  /** Lists the claimants that hold something. Others can wait only for these. */
  *holders(): Generator<Claimant> {
    for (const claimant of this.#occupancy.claimants.values()) {
      if (claimant.placements.size > 0 || claimant.holds.size > 0 || claimant.reserved.size > 0) yield claimant
    }
  }

  /**
   * Returns the deadlocked claimants among `start` and all that they wait for: each way of each of them needs another of them. It computes the greatest
   * fixpoint, by removing claimants with a way to continue until none has one.
   */
  locked(start: Iterable<Claimant>, view: View): Set<Claimant> {
    const waysOf = new Map<Claimant, Ways>()
    const waiting = [...start]
    for (let claimant = waiting.pop(); claimant; claimant = waiting.pop()) {
      const ways = waysOf.has(claimant) ? undefined : this.waysOf(claimant, view)
      if (!ways) continue
      waysOf.set(claimant, ways)
      for (const { needs } of ways) waiting.push(...needs)
    }
    const locked = new Set(waysOf.keys())
    for (let size = -1; size !== locked.size; ) {
      size = locked.size
      for (const claimant of locked) if (canGoOn(waysOf.get(claimant)!, locked)) locked.delete(claimant)
    }
    return locked
  }

  /** Returns the ways in which a claimant could continue; undefined if it waits for no other. */
  waysOf(claimant: Claimant, view: View): Ways | undefined {
    const { ticket, routeGrants } = claimant
    if (this.isHeld(claimant)) return view.held ? [] : undefined
    if (ticket && !ticket.isIdle) return ticket.isReported && !view.calls ? undefined : this.#waysOfWait(ticket, view)
    for (const { state, isDiverted } of routeGrants)
      if (state === 'waiting') return isDiverted ? undefined : this.#waysOfTravel(claimant, view)
    if (ticket && claimant.awaits.length === 0) return view.idle ? [] : undefined
    return this.#waysOfFollower(claimant)
  }

  #waysOfWait(ticket: Ticket, view: View): Ways {
    const { claimant, resources, inputs, request } = ticket
    const ways: Way[] = []
    for (let i = 0; i < resources.length; i++) {
      const resource = resources[i]!
      if (this.#occupancy.hops(claimant, request.candidates[i]!, resource) === undefined) continue
      const needs = new Needs(view, this.isHeld)
      const isClosed = resource.isClosedTo(claimant, inputs, (...what) => needs.add(...what))
      if (isClosed && !needs.isHopeless) ways.push({ resource, needs: needs.claimants })
      if (!isClosed) for (const needs of this.#waysToFree(ticket, resource)) ways.push({ resource: null, needs })
    }
    return ways
  }

  #waysToFree(ticket: Ticket, resource: Resource): readonly (readonly Claimant[])[] {
    const barred = this.#reservations.barred(ticket, resource)
    if (barred?.by) return [[barred.by]]
    if (barred && !Number.isFinite(barred.at)) return []
    // The grant may become safe when any of the trapped claimants moves.
    return ticket.unsafe >= 0 ? ticket.trapped.map((other) => [other]) : [[]]
  }

  #waysOfTravel({ routeGrants }: Claimant, view: View): Ways {
    const needs = new Needs(view, this.isHeld)
    for (const routeGrant of routeGrants) {
      if (routeGrant.state === 'waiting') this.#routeGrants.obstacles(routeGrant, (...what) => needs.add(...what))
    }
    return needs.isHopeless ? [] : [{ resource: null, needs: needs.claimants }]
  }

  /** Ignores pairs of threads that wait for each other and for no resource: they are about to exchange a signal, which is no deadlock. */
  #waysOfFollower(claimant: Claimant): Ways | undefined {
    const others: Claimant[] = []
    let isWaiting = false
    for (const thread_id of claimant.awaits) {
      const other = this.#occupancy.claimants.get(thread_id)
      if (!other) continue
      isWaiting = true
      if (waitsForPlace(other) || !other.awaits.includes(claimant.thread_id)) others.push(other)
    }
    return isWaiting ? [{ resource: null, needs: others }] : undefined
  }

  /** Returns the shortest cycle through `first`: each claimant with the resource that it waits for. */
  ringOf(first: Claimant, members: ReadonlySet<Claimant>): readonly Link[] | undefined {
    const cameBy = new Map<Claimant, readonly Link[]>([[first, []]])
    for (const [claimant, links] of cameBy) {
      for (const { resource, needs } of this.waysOf(claimant, doubting) ?? []) {
        const further = [...links, { claimant, resource }]
        if (needs.includes(first)) return further
        for (const next of needs) if (members.has(next) && !cameBy.has(next)) cameBy.set(next, further)
      }
    }
    return undefined
  }

  /** Whether no claimant can continue, neither by itself nor after a person resumes it. */
  isQuiet(): boolean {
    const view = { ...doubting, held: false }
    for (const claimant of this.#occupancy.claimants.values()) if (!this.waysOf(claimant, view)) return false
    return true
  }
}

/** Collects the claimants that one way needs. */
class Needs {
  readonly claimants: Claimant[] = []
  isHopeless = false
  readonly #view: View
  readonly #isHeld: (claimant: Claimant) => boolean

  constructor(view: View, isHeld: (claimant: Claimant) => boolean) {
    this.#view = view
    this.#isHeld = isHeld
  }

  add(reason: Obstacle['reason'], by: Claimant | null, placement: Placement | null): void {
    // Travelling labware leaves by itself, unless its thread is held.
    const isLeaving = placement?.routeGrant || (reason === 'corridor' && by && isUnderWay(by))
    if (isLeaving && !(by && this.#isHeld(by))) return
    if (by) this.claimants.push(by)
    else if (this.#view.strangers) this.isHopeless = true
  }
}

export function canGoOn(ways: Ways, locked: ReadonlySet<Claimant>): boolean {
  return ways.some(({ needs }) => needs.every((other) => !locked.has(other)))
}

function isUnderWay({ placements }: Claimant): boolean {
  for (const { routeGrant } of placements) if (routeGrant) return true
  return false
}

function waitsForPlace({ ticket, routeGrants }: Claimant): boolean {
  if (ticket && !ticket.isIdle) return true
  for (const { state } of routeGrants) if (state === 'waiting') return true
  return false
}
