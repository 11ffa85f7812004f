// The wait-for graph (AND-OR): the ways in which each claimant could go on, whom each way needs, and the claimants that are deadlocked.

import type { Claimant, Placement, Resource, Ticket } from './model.ts'
import type { Occupancy } from './occupancy.ts'
import type { Obstacle } from './request.ts'
import type { Reservations } from './reservations.ts'
import type { RouteGrants } from './route_grants.ts'

/** Which claimants are taken to stay where they are. */
type View = {
  /** Claimants that idle and wait for none of the others. */
  idle: boolean
  /** Labware that belongs to no thread. */
  strangers: boolean
  /** Claimants that were reported as stuck. */
  calls: boolean
  /** Threads that are paused or wait for a person, who may not come for hours, and those that wait for the transporter of one. */
  held: boolean
}

/** The view that decides whether to make room: everybody is taken to stay. */
export const doubting: View = { idle: true, strangers: true, calls: true, held: true }

/** A way to go on: to a resource, or past something, as soon as all of `needs` have moved. */
type Way = { resource: Resource | null; needs: readonly Claimant[] }
type Ways = readonly Way[]

/** A claimant of a cycle, and the resource for which it waits. */
type Link = { claimant: Claimant; resource: Resource | null }

export class WaitForGraph {
  readonly #occupancy: Occupancy
  readonly #routeGrants: RouteGrants
  readonly #reservations: Reservations
  /** Whether a claimant does not move before a person lets it, or lets the one go on that has its transporter. */
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

  /** The claimants that hold something: only for these can others wait. */
  *holders(): Generator<Claimant> {
    for (const claimant of this.#occupancy.claimants.values()) {
      if (claimant.placements.size > 0 || claimant.holds.size > 0 || claimant.reserved.size > 0) yield claimant
    }
  }

  /**
   * Returns the deadlocked claimants among these and all for whom they wait: each way of each of them needs another of them. It is the
   * greatest fixpoint: a claimant with a way to go on is taken out of the set, until none has one.
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

  /** Undefined for a claimant that waits for no other. */
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

  /** Two threads that wait for each other, and for no resource, are about to exchange a signal: that is no deadlock. */
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

  /** Returns the shortest cycle through `first`, each claimant with the resource for which it waits. */
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

  /** Whether no claimant can go on, neither by itself nor after a person resumes it. */
  isQuiet(): boolean {
    const view = { ...doubting, held: false }
    for (const claimant of this.#occupancy.claimants.values()) if (!this.waysOf(claimant, view)) return false
    return true
  }
}

/** Collects whom one way needs. */
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
    // Labware under way leaves by itself, unless its move is held.
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
