// The plan that the scheduler follows where reality allows: in which order labware comes to each device, and where it waits in between. It is advice:
// it only makes requests wait, and each grant passes the same safe-state check as without it.

import { DeviceSites, type Resource, type Ticket } from './model.ts'

/** A planned visit of one labware to a device or position, in the order of the visits' beginnings. */
export type Visit = {
  readonly thread_id: string
  /** A device, or a position of the deck. */
  readonly place: string
  /** Whether the labware only waits there, to make room. */
  readonly isBuffer: boolean
  /** When the labware is ready for it, and when it sets out, by the clock of the run, in ms. */
  readonly ready_ms: number
  readonly start_ms: number
  /** Whether it must not begin earlier, because the visit after it has to begin in time. */
  readonly isTimed: boolean
}

/**
 * `first`: the plan gives the resource to this request next. `later`: to the thread in `by` first. `early`: not before `at` (ms). `elsewhere`: it sends the
 * labware to another resource.
 */
export type PlanVerdict = { kind: 'first' } | { kind: 'later'; by: string } | { kind: 'early'; at: number } | { kind: 'elsewhere' }

export type AdviceEvents = {
  /** A thread makes a request that has no place in the plan. */
  stranger(thread_id: string): void
  /** Labware is ready for its next visit, `late_ms` after the time of the plan, or negative before it. */
  ready(late_ms: number): void
  /** A thread is given something that it goes to, planned or not. */
  granted(): void
  /** A thread was held, or goes on. */
  held(): void
  /** The plan was given up, because threads waited for each other. */
  dropped(): void
}

export class Advice {
  /** Whether a plan is being made that new requests wait for. */
  isDue = false
  events: AdviceEvents | undefined
  /** The visits of each thread that are to come. */
  readonly #visits = new Map<string, Visit[]>()
  /** For each thread, when its present move was to begin, in ms. */
  readonly #starts = new Map<string, number>()
  /** The threads whose present move has begun. */
  readonly #moving = new Set<string>()
  /** The grants since the plan that is being made was begun. */
  #meanwhile: { thread_id: string; place: string }[] | undefined
  /** For each place, the visits that are to come. */
  readonly #order = new Map<string, Visit[]>()

  get isInForce(): boolean {
    return this.#visits.size > 0
  }

  /** Follows a plan in place of the present one. */
  adopt(visits: readonly Visit[]): void {
    this.isDue = false
    this.#visits.clear()
    this.#order.clear()
    this.#starts.clear()
    this.#moving.clear()
    for (const visit of visits) {
      put(this.#visits, visit.thread_id, visit)
      put(this.#order, visit.place, visit)
    }
    for (const { thread_id, place } of this.#meanwhile ?? []) this.#pass(thread_id, place)
    this.#meanwhile = undefined
  }

  drop(): void {
    this.#visits.clear()
    this.#order.clear()
    this.#starts.clear()
    this.#moving.clear()
    this.events?.dropped()
  }

  /** Whether the thread is in the plan. */
  has(thread_id: string): boolean {
    return this.#visits.has(thread_id)
  }

  /** Returns what the plan says of a request for a resource at `now` (ms); undefined if it says nothing. */
  verdict(ticket: Ticket, resource: Resource, now: number): PlanVerdict | undefined {
    const { thread_id } = ticket.claimant
    const visits = this.#visits.get(thread_id)
    if (!visits || ticket.request.forLid || isToCome(ticket, resource)) return undefined
    const next = nextStop(visits)
    if (staysAt(ticket, resource, next)) return { kind: 'first' }
    if (!next) return undefined
    const place = nameOf(resource)
    if (next.place !== place) return { kind: 'elsewhere' }
    const [first] = this.#order.get(place)!
    if (first !== next) return { kind: 'later', by: first!.thread_id }
    const isEarly = (next.isTimed && now < next.start_ms) || this.#isBeforeItsTurn(next, now)
    return isEarly ? { kind: 'early', at: next.start_ms } : { kind: 'first' }
  }

  /** Notes a request that is made at `now` (ms). */
  asked(ticket: Ticket, now: number): void {
    const { thread_id } = ticket.claimant
    if (!this.isInForce || ticket.isIdle || ticket.request.forLid || !ticket.claimant.placement) return
    const visits = this.#visits.get(thread_id) ?? []
    const next = nextStop(visits)
    if (ticket.resources.some((resource) => staysAt(ticket, resource, next))) return
    // A step was skipped, or another was put before it.
    const isPlanned = ticket.resources.some((resource) => nameOf(resource) === next?.place)
    if (isPlanned) this.events?.ready(now - visits[0]!.ready_ms)
    else this.events?.stranger(thread_id)
  }

  /** Returns the position where the plan lets labware wait now, or from `at` on (ms); undefined if it lets it stay. */
  bufferOf(thread_id: string): { place: string; at: number } | undefined {
    const next = this.#visits.get(thread_id)?.[0]
    if (!next?.isBuffer || this.#order.get(next.place)![0] !== next) return undefined
    return { place: next.place, at: next.isTimed ? next.start_ms : 0 }
  }

  /** Returns the visit that is to begin first of all that are next at their places; undefined without any. */
  nextVisit(): Visit | undefined {
    let first: Visit | undefined
    for (const [visit] of this.#order.values()) if (visit && (!first || visit.start_ms < first.start_ms)) first = visit
    return first
  }

  /** Returns for each place the threads that are to come, the next one first. */
  order(): [place: string, thread_ids: string[]][] {
    return [...this.#order].map(([place, visits]) => [place, visits.flatMap(({ isBuffer, thread_id }) => (isBuffer ? [] : thread_id))])
  }

  /** Notes that a thread is given a resource. Visits of the thread before that one are left out. */
  given(ticket: Ticket, resource: Resource): void {
    const { thread_id } = ticket.claimant
    const visits = this.#visits.get(thread_id)
    if (ticket.request.forLid || isToCome(ticket, resource) || staysAt(ticket, resource, nextStop(visits ?? []))) return
    const place = nameOf(resource)
    this.#meanwhile?.push({ thread_id, place })
    this.#pass(thread_id, place)
    // Labware that stands there already does not set out.
    const zone = ticket.claimant.placement?.zone
    if (zone && (zone === resource || zone.device === resource)) this.moves(thread_id)
    this.events?.granted()
  }

  /** Takes the visit of a thread to a place out of the plan, and those before it. */
  #pass(thread_id: string, place: string): void {
    const visits = this.#visits.get(thread_id)
    const index = visits?.findIndex((visit) => visit.place === place) ?? -1
    if (!visits || index < 0) return
    this.#starts.set(thread_id, visits[index]!.start_ms)
    this.#moving.delete(thread_id)
    for (const left of visits.splice(0, index + 1)) this.#leave(left)
    if (visits.length === 0) this.#visits.delete(thread_id)
  }

  /** Remembers what is given from now on until the next plan is adopted, which does not know of it. */
  remember(): void {
    this.#meanwhile = []
  }

  /** Returns when the present move of a thread was to begin, in ms; undefined if it is not in the plan. */
  startOf(thread_id: string): number | undefined {
    return this.#starts.get(thread_id)
  }

  /**
   * Whether a visit waits, because one that was to begin before it has not begun, although it is time. Labware that is ready a moment too early would else
   * take the transporter while a device is idle.
   */
  #isBeforeItsTurn({ thread_id, start_ms }: Visit, now: number): boolean {
    if (start_ms <= now) return false
    const isAhead = (other: number | undefined) => other !== undefined && other < start_ms && other <= now
    if (isAhead(this.nextVisit()?.start_ms)) return true
    for (const [other, start] of this.#starts) if (other !== thread_id && !this.#moving.has(other) && isAhead(start)) return true
    return false
  }

  /** Notes that a thread sets out on its present move. */
  moves(thread_id: string): void {
    if (this.#starts.has(thread_id)) this.#moving.add(thread_id)
  }

  /** Takes a thread out of the plan. */
  forget(thread_id: string): void {
    this.#starts.delete(thread_id)
    this.#moving.delete(thread_id)
    for (const visit of this.#visits.get(thread_id) ?? []) this.#leave(visit)
    this.#visits.delete(thread_id)
  }

  #leave(visit: Visit): void {
    const order = this.#order.get(visit.place)!
    order.splice(order.indexOf(visit), 1)
    if (order.length === 0) this.#order.delete(visit.place)
  }
}

/** Whether the labware is to come onto the deck. The plan begins when it is at its start. */
function isToCome({ claimant }: Ticket, resource: Resource): boolean {
  return !claimant.placement && !(resource instanceof DeviceSites)
}

function nextStop(visits: readonly Visit[]): Visit | undefined {
  return visits.find(({ isBuffer }) => !isBuffer)
}

/** Whether the labware stays where it is: at the device that its thread holds, or for a further action in the device in which it stands. */
function staysAt({ claimant }: Ticket, resource: Resource, next: Visit | undefined): boolean {
  if (!(resource instanceof DeviceSites)) return false
  return resource.holder === claimant || (claimant.placement?.zone.device === resource && next?.place !== resource.name)
}

/** Returns the place as a plan names it, to which all slots of a storage are one. */
function nameOf(resource: Resource): string {
  if (resource instanceof DeviceSites) return resource.name
  const { name, entry, slot } = resource.positions[0]!
  return slot === null ? name : entry
}

function put(visits: Map<string, Visit[]>, key: string, visit: Visit): void {
  const there = visits.get(key)
  if (there) there.push(visit)
  else visits.set(key, [visit])
}
