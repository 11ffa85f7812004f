// The objects that the scheduler knows: claimants, zones, devices, where labware stands, tickets and route grants. They refer to each other.

import { SmallSet } from '../../kit/small_set.ts'
import type { Hop, Position } from '../plans/graph.ts'
import { type Ranked, RankedQueue } from './ranked_queue.ts'
import type { Again, Candidate, Obstacle, Request, RequestHandle } from './request.ts'

/** The object of a request: a zone, or a device with all its sites. */
export type Resource = Zone | DeviceSites

/** Called with each obstacle between a claimant and a resource. `placement` is what stands there. */
export type ObstacleVisitor = (reason: Obstacle['reason'], by: Claimant | null, placement: Placement | null) => void

/** The place of one labware, and the thread that moves it. */
export type Placement = {
  readonly labware_id: string
  claimant: Claimant | null
  zone: Zone
  position: string
  /** The route that was granted and is not finished. */
  routeGrant: RouteGrant | null
}

/** A thread, as the scheduler knows it. */
export class Claimant {
  readonly thread_id: string
  readonly placements = new SmallSet<Placement>()
  readonly holds = new SmallSet<DeviceSites>()
  readonly reserved = new SmallSet<Zone>()
  readonly routeGrants = new SmallSet<RouteGrant>()
  /** The request that waits. */
  ticket: Ticket | null = null
  /** The request that was granted last. */
  last: Ticket | null = null
  /** The resource that was granted last, while its labware is not there yet. */
  goal: Resource | null = null
  /** The parking position to which its labware was sent, while it is not there yet. */
  parking: Zone | null = null
  awaits: readonly string[] = []
  /** Whether it is paused or waits for a person: it does not move by itself. */
  isHeld = false
  /** When the next action of its labware has to begin, in ms; null without a deadline. */
  deadline: number | null = null
  /** The resource that is promised to it while a cycle is resolved. */
  promise: Resource | null = null
  /** The devices into which an arm reaches for it, or may. */
  reaches: readonly DeviceSites[] = []

  constructor(thread_id: string) {
    this.thread_id = thread_id
  }

  /** Whether its labware has a deadline. */
  get hurries(): boolean {
    return this.deadline !== null
  }

  /** The placement of its labware; undefined if it is not on the deck. */
  get placement(): Placement | undefined {
    return this.placements.first
  }
}

/** A zone holds one labware at a time: one position, or both stations of a translator. */
export class Zone {
  readonly positions: readonly Position[]
  readonly device: DeviceSites | null
  /** Whether labware passes here on its way elsewhere. */
  readonly isHandOver: boolean
  readonly wanted = new RankedQueue<Ticket>()
  /** Whether it may have become free for somebody; `lookedAtBy` is the last ticket that was tried. */
  isTouched = false
  lookedAtBy: Ticket | undefined
  /** Route requests that wait to pass. */
  readonly passers = new RankedQueue<RouteGrant>()
  placement: Placement | null = null
  reservedFor: Claimant | null = null
  /** The claimant for which it is kept, though that cannot have it yet. */
  promisedTo: Claimant | null = null
  /** Whether it is reserved only to pass through. */
  isPassage = false

  constructor(positions: readonly Position[], device: DeviceSites | null, isHandOver: boolean) {
    this.positions = positions
    this.device = device
    this.isHandOver = isHandOver
  }

  get isParking(): boolean {
    return this.positions[0]!.parking
  }

  isClosedTo(claimant: Claimant, _inputs: readonly string[], visit?: ObstacleVisitor): boolean {
    const holder = this.device?.holder
    let isClosed = false
    if (holder && holder !== claimant) isClosed = calls(visit, 'held', holder, null)
    if (this.placement && this.placement.claimant !== claimant) isClosed = calls(visit, 'occupied', this.placement.claimant, this.placement)
    if (isPromisedAgainst(this, claimant, visit) || isPromisedAgainst(this.device, claimant, visit)) isClosed = true
    return this.isReservedAgainst(claimant, visit) || isClosed
  }

  isReservedAgainst(claimant: Claimant, visit?: ObstacleVisitor): boolean {
    if (!this.reservedFor || this.reservedFor === claimant) return false
    return calls(visit, this.isPassage ? 'corridor' : 'reserved', this.reservedFor, null)
  }
}

/** A device with all its sites. */
export class DeviceSites {
  readonly name: string
  readonly zones: Zone[] = []
  /** Holds one site of each position: all sites of a position are equally far. */
  readonly doors: string[] = []
  readonly wanted = new RankedQueue<Ticket>()
  /** Whether it may have become free for somebody; `lookedAtBy` is the last ticket that was tried. */
  isTouched = false
  lookedAtBy: Ticket | undefined
  holder: Claimant | null = null
  /** The request by which its holder got it. */
  grant: Ticket | null = null
  promisedTo: Claimant | null = null
  /** The calls under way, and those that wait until labware has left or arrived. */
  works = 0
  worksToCome = 0
  /** The claimants for which an arm reaches in, or may. */
  readonly arms = new SmallSet<Claimant>()

  constructor(name: string) {
    this.name = name
  }

  /** Whether no more labware may set out from there, or for there. */
  get isShut(): boolean {
    return this.works > 0 || this.worksToCome > 0
  }

  isClosedTo(claimant: Claimant, inputs: readonly string[], visit?: ObstacleVisitor): boolean {
    let isClosed = false
    if (this.holder && this.holder !== claimant) isClosed = calls(visit, 'held', this.holder, null)
    if (isPromisedAgainst(this, claimant, visit)) isClosed = true
    for (const zone of this.zones) {
      if (isClosed && !visit) return true
      const { placement } = zone
      if (placement && placement.claimant !== claimant && !(inputs.includes(placement.labware_id) && isStaying(placement)))
        isClosed = calls(visit, 'occupied', placement.claimant, placement)
      if (zone.isReservedAgainst(claimant, visit) || isPromisedAgainst(zone, claimant, visit)) isClosed = true
    }
    return isClosed
  }
}

function isPromisedAgainst(resource: Resource | null, claimant: Claimant, visit: ObstacleVisitor | undefined): boolean {
  const promisedTo = resource?.promisedTo
  if (!promisedTo || promisedTo === claimant || claimant.placement?.zone === resource || claimant.placement?.zone.device === resource)
    return false
  return calls(visit, 'reserved', promisedTo, null)
}

/** Whether it is neither on its way elsewhere nor about to be. */
function isStaying({ routeGrant, claimant }: Placement): boolean {
  return routeGrant === null && !claimant?.parking
}

function calls(visit: ObstacleVisitor | undefined, ...what: Parameters<ObstacleVisitor>): true {
  visit?.(...what)
  return true
}

/** Looks up by name. Both throw `not_found`. */
type Deck = { claimant(thread_id: string): Claimant; resource(candidate: Candidate): Resource }

/** The operations of a thread on its ticket. */
type TicketCalls = {
  withdraw(ticket: Ticket): void
  admit(ticket: Ticket, inputs: readonly string[]): void
  explain(ticket: Ticket): Obstacle[]
}

/** A request that waits or was granted. */
export class Ticket implements RequestHandle, Ranked {
  readonly request: Request
  readonly claimant: Claimant
  /** A thread with a deadline goes before all others. */
  readonly priority: number
  readonly sequence: number
  /** How often the labware was parked since the request was first made. */
  readonly parked: number
  /** The resources of the candidates, in the same order. */
  readonly resources: readonly Resource[]
  state: RequestHandle['state'] = 'waiting'
  /** Labware that may stand at the requested resources already. */
  inputs: readonly string[]
  /** Whether the ticket is in the queues of its resources. */
  isInLine = false
  /** Whether the ticket is to be looked at again. */
  isFresh = false
  /** The index of the granted candidate, -1 for none. */
  granted = -1
  /** The index of a candidate that is free but unsafe to grant, -1 for none; of several the one that traps the fewest threads. */
  unsafe = -1
  /** The claimants that granting it would trap. */
  trapped: readonly Claimant[] = []
  /** The index of a candidate that is free and safe, but reserved for others, or after which a deadline would be missed; -1 for none. */
  barred = -1
  /** When the action began at the granted device, in ms. */
  began: number | undefined
  /** Whether `stuck` was called. */
  isReported = false
  readonly #deck: Deck
  readonly #calls: TicketCalls
  #wish: string | undefined
  #later: readonly (readonly Resource[])[] | undefined

  constructor(request: Request, deck: Deck, { sequence, parked }: Again, calls: TicketCalls) {
    this.request = request
    this.sequence = sequence
    this.parked = parked
    this.claimant = deck.claimant(request.thread_id)
    this.priority = this.claimant.hurries ? 2 : request.priority
    this.resources = request.candidates.map((candidate) => deck.resource(candidate))
    this.inputs = request.inputs ?? []
    this.#deck = deck
    this.#calls = calls
  }

  withdraw(): void {
    this.#calls.withdraw(this)
  }

  admit(inputs: readonly string[]): void {
    this.#calls.admit(this, inputs)
  }

  explain(): Obstacle[] {
    return this.#calls.explain(this)
  }

  get isIdle(): boolean {
    return this.resources.length === 0
  }

  get canPark(): boolean {
    return this.request.park !== undefined
  }

  /** Cache key: two requests with the same key have the same set of candidates. */
  get wish(): string {
    const { after = [], alone = false } = this.request
    this.#wish ??= `${alone} ${this.canPark} ${after.map((candidates) => candidates.map(nameOf).join()).join(';')}`
    return this.#wish
  }

  /** The resources of `after`. */
  get later(): readonly (readonly Resource[])[] {
    this.#later ??= (this.request.after ?? []).map((candidates) => candidates.map((candidate) => this.#deck.resource(candidate)))
    return this.#later
  }
}

function nameOf(candidate: Candidate): string {
  return 'device' in candidate ? candidate.device : candidate.position
}

/** A route that was requested or granted. Its functions are bound: they can be passed on alone. */
export class RouteGrant implements Ranked {
  readonly claimant: Claimant
  readonly placement: Placement
  readonly to: string
  readonly target: Zone
  readonly granted: (route: readonly Hop[]) => void
  /** Called when its labware is to be parked elsewhere, as a held thread cuts off the way. Absent unless it goes to be parked. */
  readonly divert: (() => void) | undefined
  /** Whether `divert` was called: its thread is about to withdraw it. */
  isDiverted = false
  /** Labware that stands in a corridor goes before all others, since they wait for it. */
  readonly priority: number
  readonly sequence: number
  readonly withdraw: () => void
  readonly explain: () => Obstacle[]
  state: 'waiting' | 'granted' | 'over' = 'waiting'
  /** Whether it is to be looked at again. */
  isFresh = false
  route: readonly Hop[] = []
  /** The zones that it passes, without those where it stands and where it goes. */
  passages: readonly Zone[] = []

  constructor(
    order: {
      placement: Placement
      claimant: Claimant
      to: string
      target: Zone
      granted(route: readonly Hop[]): void
      divert?: (() => void) | undefined
    } & Ranked,
    calls: { withdraw(routeGrant: RouteGrant): void; explain(routeGrant: RouteGrant): Obstacle[] },
  ) {
    this.claimant = order.claimant
    this.placement = order.placement
    this.to = order.to
    this.target = order.target
    this.granted = order.granted
    this.divert = order.divert
    this.priority = order.priority
    this.sequence = order.sequence
    this.withdraw = () => calls.withdraw(this)
    this.explain = () => calls.explain(this)
  }
}
