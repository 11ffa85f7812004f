// The wait-for graph (AND-OR): the ways in which each claimant could go on, whom each way needs, and the claimants that are deadlocked.

import type { Obstacle } from './asking.ts'
import type { Bookings } from './bookings.ts'
import type { Ground, Piece, Place, Walker } from './ground.ts'
import type { Travels } from './travels.ts'
import type { Wait } from './wait.ts'

/** Which claimants are taken to stay where they are. */
export type View = {
  /** Claimants that idle and wait for none of the others. */
  idle: boolean
  /** Labware that belongs to no thread. */
  strangers: boolean
  /** Claimants that were reported as stuck. */
  told: boolean
  /** Threads that are paused or wait for a person, who may not come for hours. */
  held: boolean
}

/** The view that decides whether to make room: everybody is taken to stay. */
export const doubting: View = { idle: true, strangers: true, told: true, held: true }

/** One way to go on: to a resource, or past something, as soon as all of `needs` have moved. */
type Way = { place: Place | null; needs: readonly Walker[] }
export type Ways = readonly Way[]

/** One claimant of a cycle, and the resource for which it waits. */
export type Link = { walker: Walker; place: Place | null }

export class Rings {
  readonly #ground: Ground
  readonly #travels: Travels
  readonly #bookings: Bookings

  constructor(ground: Ground, { travels, bookings }: { travels: Travels; bookings: Bookings }) {
    this.#ground = ground
    this.#travels = travels
    this.#bookings = bookings
  }

  /** The claimants that hold something: only for these can others wait. */
  *holders(): Generator<Walker> {
    for (const walker of this.#ground.walkers.values()) {
      if (walker.pieces.size > 0 || walker.holds.size > 0 || walker.reserved.size > 0) yield walker
    }
  }

  /**
   * Returns the deadlocked claimants among these and all for whom they wait: each way of each of them needs another of them. It is the
   * greatest fixpoint: a claimant with a way to go on is taken out of the set, until none has one.
   */
  locked(start: Iterable<Walker>, view: View): Set<Walker> {
    const waysOf = new Map<Walker, Ways>()
    const waiting = [...start]
    for (let walker = waiting.pop(); walker; walker = waiting.pop()) {
      const ways = waysOf.has(walker) ? undefined : this.waysOf(walker, view)
      if (!ways) continue
      waysOf.set(walker, ways)
      for (const { needs } of ways) waiting.push(...needs)
    }
    const locked = new Set(waysOf.keys())
    for (let size = -1; size !== locked.size; ) {
      size = locked.size
      for (const walker of locked) if (canGoOn(waysOf.get(walker)!, locked)) locked.delete(walker)
    }
    return locked
  }

  /** Undefined for a claimant that waits for no other. */
  waysOf(walker: Walker, view: View): Ways | undefined {
    const { wait, travels } = walker
    if (walker.isHeld) return view.held ? [] : undefined
    if (wait && !wait.isIdle) return wait.isTold && !view.told ? undefined : this.#waysOfWait(wait, view)
    for (const travel of travels) if (travel.state === 'waiting') return this.#waysOfTravel(walker, view)
    if (wait && walker.awaits.length === 0) return view.idle ? [] : undefined
    return this.#waysOfFollower(walker)
  }

  #waysOfWait(wait: Wait, view: View): Ways {
    const { walker, places, inputs, ask } = wait
    const ways: Way[] = []
    for (let i = 0; i < places.length; i++) {
      const place = places[i]!
      if (this.#ground.hops(walker, ask.candidates[i]!, place) === undefined) continue
      const needs = new Needs(view)
      const isClosed = place.isClosedTo(walker, inputs, (...what) => needs.add(...what))
      if (isClosed && !needs.isHopeless) ways.push({ place, needs: needs.walkers })
      if (!isClosed) for (const needs of this.#waysToFree(wait, place)) ways.push({ place: null, needs })
    }
    return ways
  }

  #waysToFree(wait: Wait, place: Place): readonly (readonly Walker[])[] {
    const barred = this.#bookings.barred(wait, place)
    if (barred?.by) return [[barred.by]]
    if (barred && !Number.isFinite(barred.at)) return []
    // The grant may become safe when any of the trapped claimants moves.
    return wait.unsafe >= 0 ? wait.trapped.map((other) => [other]) : [[]]
  }

  #waysOfTravel({ travels }: Walker, view: View): Ways {
    const needs = new Needs(view)
    for (const travel of travels) {
      if (travel.state === 'waiting') this.#travels.obstacles(travel, (...what) => needs.add(...what))
    }
    return needs.isHopeless ? [] : [{ place: null, needs: needs.walkers }]
  }

  /** Two threads that wait for each other, and for no resource, are about to exchange a signal: that is no deadlock. */
  #waysOfFollower(walker: Walker): Ways | undefined {
    const others: Walker[] = []
    let isWaiting = false
    for (const thread_id of walker.awaits) {
      const other = this.#ground.walkers.get(thread_id)
      if (!other) continue
      isWaiting = true
      if (waitsForPlace(other) || !other.awaits.includes(walker.thread_id)) others.push(other)
    }
    return isWaiting ? [{ place: null, needs: others }] : undefined
  }

  /** Returns the shortest cycle through `first`, each claimant with the resource for which it waits. */
  ringOf(first: Walker, members: ReadonlySet<Walker>): readonly Link[] | undefined {
    const cameBy = new Map<Walker, readonly Link[]>([[first, []]])
    for (const [walker, links] of cameBy) {
      for (const { place, needs } of this.waysOf(walker, doubting) ?? []) {
        const further = [...links, { walker, place }]
        if (needs.includes(first)) return further
        for (const next of needs) if (members.has(next) && !cameBy.has(next)) cameBy.set(next, further)
      }
    }
    return undefined
  }

  /** Whether no claimant can go on, neither by itself nor after a person resumes it. */
  isQuiet(): boolean {
    const view = { ...doubting, held: false }
    for (const walker of this.#ground.walkers.values()) if (!this.waysOf(walker, view)) return false
    return true
  }
}

/** Collects whom one way needs. */
class Needs {
  readonly walkers: Walker[] = []
  isHopeless = false
  readonly #view: View

  constructor(view: View) {
    this.#view = view
  }

  add(reason: Obstacle['reason'], by: Walker | null, piece: Piece | null): void {
    // Labware under way leaves by itself, unless its move is held.
    const isLeaving = piece?.travel || (reason === 'corridor' && by && isUnderWay(by))
    if (isLeaving && !by?.isHeld) return
    if (by) this.walkers.push(by)
    else if (this.#view.strangers) this.isHopeless = true
  }
}

export function canGoOn(ways: Ways, locked: ReadonlySet<Walker>): boolean {
  return ways.some(({ needs }) => needs.every((other) => !locked.has(other)))
}

function isUnderWay({ pieces }: Walker): boolean {
  for (const { travel } of pieces) if (travel) return true
  return false
}

function waitsForPlace({ wait, travels }: Walker): boolean {
  if (wait && !wait.isIdle) return true
  for (const { state } of travels) if (state === 'waiting') return true
  return false
}
