// The objects of the scheduler, which refer to each other: claimants, zones, devices, placements of labware, tickets and route grants.

import { SmallSet } from '../../kit/small_set.ts'
import type { Hop, Position } from '../plans/graph.ts'
import { type Ranked, RankedQueue } from './ranked_queue.ts'
import type { Again, Candidate, Obstacle, Request, RequestHandle } from './request.ts'

/** The object of a request: a zone, or a device with all its sites. */
export type Resource = Zone | DeviceSites

/** Called with each obstacle between a claimant and a resource. `placement` is the labware that stands there. */
export type ObstacleVisitor = (reason: Obstacle['reason'], by: Claimant | null, placement: Placement | null) => void

/** The position of one labware, and the thread that moves it. */
export type Placement = {
  readonly labware_id: string
  claimant: Claimant | null
  zone: Zone
  position: string
  /** The granted route that is not finished. */
  routeGrant: RouteGrant | null
  /** The thread whose plate this lid belongs to, while the lid lies apart from it; null for other labware. */
  lidOf: Claimant | null
}

/** A thread in the scheduler. */
export class Claimant {
  readonly thread_id: string
  readonly placements = new SmallSet<Placement>()
  readonly holds = new SmallSet<DeviceSites>()
  readonly reserved = new SmallSet<Zone>()
  readonly routeGrants = new SmallSet<RouteGrant>()
  /** The waiting request. */
  ticket: Ticket | null = null
  /** The request that was granted last. */
  last: Ticket | null = null
  /** The resource that was granted last, until the labware is there. */
  goal: Resource | null = null
  /** The parking position to which the labware was sent, until it is there. */
  parking: Zone | null = null
  /** The storage in which the labware waits, without occupying it, until it is taken out; null for none. */
  from: string | null = null
  /** The position of its lid, or the one that is kept for the lid until it is on the labware again; null for none. */
  lidZone: Zone | null = null
  /** The own start of the labware: it may wait there while nobody else wants that position. */
  home: Zone | null = null
  awaits: readonly string[] = []
  /** Whether the thread is paused or waits for a person, so that it does not move by itself. */
  isHeld = false
  /** When the next action of the labware must begin, in ms; null without a deadline. */
  deadline: number | null = null
  /** The resource that is promised to the claimant while a cycle is resolved. */
  promise: Resource | null = null
  /** The devices into which the claimant's arm reaches, or may reach. */
  reaches: readonly DeviceSites[] = []

  constructor(thread_id: string) {
    this.thread_id = thread_id
  }

  /** Whether the labware has a deadline. */
  get hurries(): boolean {
    return this.deadline !== null
  }

  /** The placement of the labware; undefined if it is not on the deck. */
  get placement(): Placement | undefined {
    return this.placements.first
  }
}

/** A zone holds one labware at a time: one position, or both stations of a translator. */
export class Zone {
  readonly positions: readonly Position[]
  readonly device: DeviceSites | null
  /** Whether labware passes this zone on its way elsewhere. */
  readonly isHandOver: boolean
  readonly wanted = new RankedQueue<Ticket>()
  /** Whether the zone may have become free for a ticket; `lookedAtBy` is the last ticket that was tried. */
  isTouched = false
  lookedAtBy: Ticket | undefined
  /** Route requests that wait to pass. */
  readonly passers = new RankedQueue<RouteGrant>()
  placement: Placement | null = null
  reservedFor: Claimant | null = null
  /** The claimant for which the zone is kept, although it cannot have the zone yet. */
  promisedTo: Claimant | null = null
  /** Whether the zone is reserved only to pass through. */
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
    if (this.placement && this.placement.claimant !== claimant)
      isClosed = calls(visit, 'occupied', this.placement.claimant ?? this.placement.lidOf, this.placement)
    if (this === claimant.lidZone && !isClosed) isClosed = calls(visit, 'reserved', claimant, null)
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
  /** A site of each position, because all sites of a position are equally far away. */
  readonly doors: string[] = []
  readonly wanted = new RankedQueue<Ticket>()
  /** Whether the device may have become free for a ticket; `lookedAtBy` is the last ticket that was tried. */
  isTouched = false
  lookedAtBy: Ticket | undefined
  holder: Claimant | null = null
  /** The request that gave the device to its holder. */
  grant: Ticket | null = null
  promisedTo: Claimant | null = null
  /** The number of calls in progress, and of those that wait until labware has left or arrived. */
  works = 0
  worksToCome = 0
  /** The claimants whose arms reach in, or may reach in. */
  readonly arms = new SmallSet<Claimant>()

  constructor(name: string) {
    this.name = name
  }

  /** Whether no labware may set out from the device or to it. */
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

/** Whether the labware is not on its way elsewhere, nor about to leave. */
function isStaying({ routeGrant, claimant }: Placement): boolean {
  return routeGrant === null && !claimant?.parking
}

function calls(visit: ObstacleVisitor | undefined, ...what: Parameters<ObstacleVisitor>): true {
  visit?.(...what)
  return true
}

/** Looks up by name. Both throw `not_found`. */
type Deck = { claimant(thread_id: string): Claimant; resource(candidate: Candidate): Resource }

/** The calls that a thread makes on its ticket. */
type TicketCalls = {
  withdraw(ticket: Ticket): void
  admit(ticket: Ticket, inputs: readonly string[]): void
  explain(ticket: Ticket): Obstacle[]
}

/** The seconds of urgency that a request gains over newer ones in each second. */
const ageing = 0.25

/** The urgency of one step of priority: as much as an hour of work. */
const ofStep_s = 3600

/** A request that waits or was granted. */
export class Ticket implements RequestHandle, Ranked {
  readonly request: Request
  readonly claimant: Claimant
  /** A thread with a deadline goes before all others. */
  readonly priority: number
  readonly sequence: number
  /** How often the labware was parked since the request was first made. */
  readonly parked: number
  /** When the request was first made, in ms. */
  readonly since: number
  /** The urgency in seconds. A request that waits becomes more urgent than newer ones with every second, so that none waits for ever. */
  urgency = 0
  /** The resources of the candidates, in the same order. */
  readonly resources: readonly Resource[]
  state: RequestHandle['state'] = 'waiting'
  /** Labware that may already stand at the requested resources. */
  inputs: readonly string[]
  /** Whether the ticket is in the queues of its resources. */
  isInLine = false
  /** Whether the ticket must be considered again. */
  isFresh = false
  /** The index of the granted candidate, -1 for none. */
  granted = -1
  /** The index of a candidate that is free but unsafe to grant, -1 for none. If there are several, the one that traps the fewest threads. */
  unsafe = -1
  /** The claimants that the unsafe grant would trap. */
  trapped: readonly Claimant[] = []
  /** The index of a free candidate that is reserved for others, or after which a window would be missed; -1 for none. */
  barred = -1
  /** When the action began at the granted device, in ms. */
  began: number | undefined
  /** Whether `stuck` was called. */
  isReported = false
  readonly #deck: Deck
  readonly #calls: TicketCalls
  #wish: string | undefined
  #later: readonly (readonly Resource[])[] | undefined
  #lids: readonly (readonly Resource[])[] | undefined

  constructor(request: Request, deck: Deck, { sequence, parked, since }: Again, calls: TicketCalls) {
    this.request = request
    this.sequence = sequence
    this.parked = parked
    this.since = since
    this.claimant = deck.claimant(request.thread_id)
    this.priority = this.claimant.hurries ? 2 : request.priority
    this.resources = request.candidates.map((candidate) => deck.resource(candidate))
    this.inputs = request.inputs ?? []
    this.#deck = deck
    this.#calls = calls
  }

  /** Sets the urgency, which follows from the priority of the thread in steps, while the ticket is in no queue. */
  rank(steps: number): void {
    this.urgency = steps * ofStep_s + (this.request.urgency_s ?? 0) - (this.since / 1000) * ageing
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

  /** Whether the lid of the labware is moved now or later. */
  get movesLid(): boolean {
    return this.request.forLid === true || (this.request.lidStops?.length ?? 0) > 0
  }

  get canPark(): boolean {
    return this.request.park !== undefined
  }

  /** Cache key: two requests with the same key have the same set of candidates. */
  get wish(): string {
    const { after = [], alone = false, stays = false, lidStops = [] } = this.request
    this.#wish ??= `${alone} ${stays} ${this.canPark} ${lidStops.length > 0 ? JSON.stringify(lidStops) : ''}${after.map((candidates) => candidates.map(nameOf).join()).join(';')}`
    return this.#wish
  }

  /** The zones at which the lid is put, for each of `lidStops`; none where it is put back. */
  get lids(): readonly (readonly Resource[])[] {
    this.#lids ??= (this.request.lidStops ?? []).map(({ to }) => (to ?? []).map((position) => this.#deck.resource({ position })))
    return this.#lids
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

/** A requested or granted route. Its functions are bound, so that they can be passed on alone. */
export class RouteGrant implements Ranked {
  readonly claimant: Claimant
  readonly placement: Placement
  readonly to: string
  readonly target: Zone
  readonly granted: (route: readonly Hop[]) => void
  /** Called when the labware must be parked elsewhere, because a held thread cuts off the route. Only for labware on its way to be parked. */
  readonly divert: (() => void) | undefined
  /** Whether `divert` was called, so that the thread is about to withdraw this route. */
  isDiverted = false
  /** Labware that stands in a corridor goes before all others, because they wait for it. */
  readonly priority: number
  readonly sequence: number
  readonly withdraw: () => void
  readonly explain: () => Obstacle[]
  state: 'waiting' | 'granted' | 'over' = 'waiting'
  /** Whether the route must be considered again. */
  isFresh = false
  route: readonly Hop[] = []
  /** The zones that the route passes, without its start and its target. */
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
