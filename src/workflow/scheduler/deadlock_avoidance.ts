// Deadlock avoidance: whether all labware can still finish after a grant, checked before the grant is given (a safe-state check as in the
// banker's algorithm).

import { type Change, Configurations, type Sketch } from './configuration.ts'
import { lockedIn, positionOf } from './greedy_safety.ts'
import { type Claimant, DeviceSites, type Resource, type Ticket, type Zone } from './model.ts'
import type { Occupancy } from './occupancy.ts'
import type { Configuration } from './safety_problem.ts'
import { isSafe, type Verdict } from './safety_search.ts'

const nobody: readonly Claimant[] = []
const nothing: readonly Zone[] = []

export type SafetyOptions = {
  /** The most configurations that one check looks at. */
  bound?: number
  /**
   * Returns whether a configuration is safe where the bound was reached and nobody can move, for example in a worker. Undefined: it cannot be asked, and the
   * check looks further in the same turn.
   */
  decideUnbounded?: (configuration: Configuration) => Promise<boolean> | undefined
}

/** The effort of the safe-state checks. */
export type SafetyCounts = {
  /** The grants and parkings that needed a search or an answer from before. */
  checks: number
  searches: number
  configurations: number
  /** The searches that the bound ended. */
  bound_reached: number
}

/** A configuration of 15 labware and 16 devices takes a third of a millisecond, and a stop waits for the check. */
const usualBound = 200
/** The bound where nobody could move without an answer, and nobody else can be asked. */
const urgentBound = 200_000
/** Beyond this number of kinds of positions, each hand-over position counts as one that others must pass. */
const mostExamples = 60
/** The most answers that are kept. */
const mostAnswers = 2000

export class DeadlockAvoidance {
  readonly counts: SafetyCounts = { checks: 0, searches: 0, configurations: 0, bound_reached: 0 }
  /** Whether an answer was asked for that is still to come. */
  isAwaited = false
  readonly #occupancy: Occupancy
  readonly #configurations: Configurations
  readonly #bound: number
  readonly #decideUnbounded: SafetyOptions['decideUnbounded']
  readonly #answered: () => void
  /** For each island, the parking positions from which every position can be reached and that block no route. */
  readonly #parkingZones = new Map<number, Zone[]>()
  /** For each island, what keeps a free parking position from being enough. */
  readonly #exceptions = new Map<number, { corridors: readonly Zone[]; wide: readonly DeviceSites[] }>()
  /** Results since the last change, by cache key. */
  readonly #known = new Map<string, readonly Claimant[]>()
  /** The answers about configurations. */
  readonly #answers = new Map<string, Verdict>()
  readonly #asked = new Set<string>()
  #seen = -1
  /** Whether a check is worth more effort, because nobody can move without an answer. */
  #isUrgent = false

  /** `answered` is called when an answer has come from `decideUnbounded`. */
  constructor(occupancy: Occupancy, { bound = usualBound, decideUnbounded }: SafetyOptions = {}, answered = () => {}) {
    this.#occupancy = occupancy
    this.#configurations = new Configurations(occupancy)
    this.#bound = bound
    this.#decideUnbounded = decideUnbounded
    this.#answered = answered
    const { graph } = occupancy
    for (const zone of occupancy.parking) {
      const { name } = zone.positions[0]!
      if (!graph.reachesAll(name)) continue
      const island = graph.islandOf(name)
      if (zone.isHandOver && corridorsOf(occupancy, island).includes(zone)) continue
      this.#parkingZones.set(island, [...(this.#parkingZones.get(island) ?? []), zone])
    }
  }

  /** Returns the claimants that can finish now but could not after this grant; none if the grant is safe. */
  trapped(ticket: Ticket, resource: Resource): readonly Claimant[] {
    const { placement, holds, reserved } = ticket.claimant
    if (placement || holds.size > 0 || reserved.size > 0) return this.#trapped(ticket, resource)
    // Hundreds of threads that have not begun may make the same request, and the result is the same for all of them.
    if (this.#seen !== this.#occupancy.version) this.#known.clear()
    this.#seen = this.#occupancy.version
    const wish = `${ticket.wish} with ${ticket.inputs} at ${positionOf(resource)}`
    let trapped = this.#known.get(wish)
    if (!trapped) {
      // While a thread waits for a custom event, every grant is allowed: perhaps only a thread that has not begun emits the event.
      trapped = this.#occupancy.hearing.size > 0 ? nobody : this.#trapped(ticket, resource)
      this.#known.set(wish, trapped)
    }
    return trapped
  }

  #trapped(ticket: Ticket, resource: Resource): readonly Claimant[] {
    const { claimant, inputs, request } = ticket
    if (request.stands) return nobody
    if (request.forLid) return this.#trappedByLid(ticket, resource)
    const ahead = request.after?.length ?? 0
    const isPad = !(resource instanceof DeviceSites) && resource.isParking
    const staysThere = ahead === 0 && request.stays === true && !(resource instanceof DeviceSites) && !isStorage(resource)
    if (ahead === 0 && !isPad && !staysThere) return nobody
    if (isThere(claimant, resource) && !staysThere) return nobody
    const island = this.#occupancy.graph.islandOf(positionOf(resource))
    if (!staysThere && this.#leavesRoom(resource, island)) return nobody
    // The labware can go all the way while the others stand still, and is gone then.
    if (
      ahead > 0 &&
      !request.stays &&
      !ticket.movesLid &&
      ticket.later.every((resources) => resources.some((next) => !next.isClosedTo(claimant, inputs)))
    )
      return nobody
    const verdict = this.#verdict(island, { ticket, resource, isStop: true })
    if (verdict === 'safe') return nobody
    if (verdict === undefined && resource.promisedTo === claimant) return nobody
    return verdict ? this.#trappedFor(ticket, resource, island) : this.#newlyTrapped(ticket, resource, island)
  }

  /** A lid keeps its place over several stops of its plate, so only a search can tell whether all can finish. */
  #trappedByLid(ticket: Ticket, resource: Resource): readonly Claimant[] {
    const verdict = this.#verdict(this.#occupancy.graph.islandOf(positionOf(resource)), { ticket, resource, isStop: true })
    return verdict === 'safe' || verdict === undefined ? nobody : [ticket.claimant]
  }

  /** Whether labware waits, or will wait, for the place of a lid, which is freed only after several stops of the plate. */
  #hasLids(): boolean {
    for (const { lidZone, ticket, last } of this.#occupancy.claimants.values()) if (lidZone || (ticket ?? last)?.movesLid) return true
    return false
  }

  /**
   * Whether a parking position stays free from which every place can be reached, and that is enough. It is enough if each claimant waits for one
   * other at the most: then the claimants that wait form chains and rings. A chain ends at one that can go on. A ring is turned with the one free
   * position: one member goes there, the others go on one after the other, and then it goes on too and leaves the position free again. So each
   * claimant comes to its next stop, again and again. In a pool it may wait for the occupant of any one device. Islands do not concern each other.
   * A claimant may wait for two others if labware stands at two sites of one device, or rests where others must pass: then a search has to answer.
   */
  #leavesRoom(resource: Resource, island: number): boolean {
    const { graph } = this.#occupancy
    const position = positionOf(resource)
    const near = this.#parkingZones.get(island) ?? nothing
    if (this.#hasLids()) return false
    if (!near.some((zone) => zone !== resource && isFree(zone) && graph.hops(zone.positions[0]!.name, position) !== undefined)) return false
    const { corridors, wide } = this.#exceptionsOn(island)
    return !corridors.some(isRestedIn) && !wide.some(({ zones }) => zones.filter(isRestedIn).length > 1)
  }

  #exceptionsOn(island: number): { corridors: readonly Zone[]; wide: readonly DeviceSites[] } {
    let exceptions = this.#exceptions.get(island)
    if (!exceptions) {
      const { graph } = this.#occupancy
      const devices = [...graph.devices].map((name) => this.#occupancy.device(name))
      const wide = devices.filter((device) => device.zones.length > 1 && graph.islandOf(positionOf(device)) === island)
      exceptions = { corridors: corridorsOf(this.#occupancy, island), wide }
      this.#exceptions.set(island, exceptions)
    }
    return exceptions
  }

  /** Whether the state stays safe if the labware goes to the parking position, from where it will repeat its request. */
  mayPark(ticket: Ticket, zone: Zone): boolean {
    const island = this.#occupancy.graph.islandOf(positionOf(zone))
    if (this.#leavesRoom(zone, island)) return true
    const verdict = this.#verdict(island, { ticket, resource: zone, isStop: false })
    return verdict === undefined || verdict === 'safe'
  }

  /** Runs checks that are worth more effort than usual, because nobody can move without an answer. */
  urgently<Value>(run: () => Value): Value {
    this.#isUrgent = true
    this.isAwaited = false
    this.#known.clear()
    try {
      return run()
    } finally {
      this.#isUrgent = false
    }
  }

  /** Whether all labware on the island of the claimant can still finish, as far as is known, so that nothing needs to be risked. */
  isSafeNow({ placement, ticket }: Claimant): boolean {
    const resource = placement?.zone ?? ticket?.resources[0]
    if (!resource) return false
    const present = this.#configurations.after(this.#occupancy.graph.islandOf(positionOf(resource)))
    return present !== undefined && this.#answer(present) !== 'unsafe'
  }

  /** Returns whether the state after a change is safe; undefined if a search cannot tell, because the present state is not safe or labware needs other labware. */
  #verdict(island: number, change: Change): Verdict | undefined {
    const sketch = this.#configurations.after(island, change)
    if (!sketch) return undefined
    this.counts.checks++
    const verdict = this.#answer(sketch)
    if (verdict === 'safe') return 'safe'
    const present = this.#configurations.after(island)
    if (!present || this.#answer(present) === 'unsafe') return undefined
    return verdict
  }

  #answer(sketch: Sketch): Verdict {
    const known = this.#answers.get(sketch.key)
    if (known && !(known === 'unknown' && this.#isUrgent)) return known
    let verdict = known ?? this.#search(sketch.configuration(), this.#bound)
    if (verdict === 'unknown' && this.#isUrgent) verdict = this.#lookFurther(sketch)
    this.#keep(sketch, verdict)
    return verdict
  }

  #keep({ key }: Sketch, verdict: Verdict): void {
    if (this.#answers.size >= mostAnswers) this.#answers.delete(this.#answers.keys().next().value!)
    this.#answers.set(key, verdict)
  }

  #search(configuration: Configuration, bound: number): Verdict {
    const { verdict, looked } = isSafe(configuration, bound)
    this.counts.searches++
    this.counts.configurations += looked
    if (verdict === 'unknown') this.counts.bound_reached++
    return verdict
  }

  #lookFurther(sketch: Sketch): Verdict {
    if (this.#asked.has(sketch.key)) {
      this.isAwaited = true
      return 'unknown'
    }
    const configuration = sketch.configuration()
    const answer = this.#decideUnbounded?.(configuration)
    if (!answer) return this.#search(configuration, urgentBound)
    this.isAwaited = true
    this.#asked.add(sketch.key)
    const done = (verdict: Verdict) => {
      this.#asked.delete(sketch.key)
      this.#keep(sketch, verdict)
      this.#occupancy.version++
      this.#answered()
    }
    answer.then(
      (isSafe) => done(isSafe ? 'safe' : 'unsafe'),
      // The question is too hard: nothing is granted that may be unsafe.
      () => done('unsafe'),
    )
    return 'unknown'
  }

  /** Names the claimants that a refused grant would trap. */
  #trappedFor(ticket: Ticket, resource: Resource, island: number): readonly Claimant[] {
    const trapped = lockedIn(this.#occupancy, island, { ticket, resource })
    trapped.delete(ticket.claimant)
    return trapped.size > 0 ? [...trapped] : [ticket.claimant]
  }

  /** Returns the claimants that cannot finish after the grant, without those that cannot finish now either. */
  #newlyTrapped(ticket: Ticket, resource: Resource, island: number): readonly Claimant[] {
    const locked = lockedIn(this.#occupancy, island, { ticket, resource })
    if (locked.size === 0) return nobody
    for (const claimant of lockedIn(this.#occupancy, island)) locked.delete(claimant)
    if (locked.size === 0) return nobody
    locked.delete(ticket.claimant)
    return [...locked]
  }
}

/** Lists the zones of an island that lie on a shortest way between two others. */
function corridorsOf(occupancy: Occupancy, island: number): readonly Zone[] {
  const { graph } = occupancy
  const examples = new Map<number, string[]>()
  for (const name of graph.positions.keys()) {
    if (graph.islandOf(name) !== island) continue
    const alike = examples.get(graph.kindOf(name)) ?? []
    if (alike.length < 2) examples.set(graph.kindOf(name), [...alike, name])
  }
  const names = [...examples.values()].flat()
  if (names.length > mostExamples) return [...occupancy.zonesOn(island)].filter(({ isHandOver }) => isHandOver)
  const corridors = new Set<Zone>()
  for (const from of names)
    for (const to of names) for (const hop of graph.route(from, to)?.slice(0, -1) ?? []) corridors.add(occupancy.zone(hop.to))
  return [...corridors]
}

function isThere({ placement }: Claimant, resource: Resource): boolean {
  return placement !== undefined && (placement.zone === resource || placement.zone.device === resource)
}

function isStorage({ positions }: Zone): boolean {
  return positions[0]!.storage
}

export function isFree({ placement, reservedFor }: Zone): boolean {
  return !placement && !reservedFor
}

/** Whether labware rests in the zone or will come there, and not only to pass. */
function isRestedIn({ placement, reservedFor, isPassage }: Zone): boolean {
  return (placement !== null && placement.routeGrant === null) || (reservedFor !== null && !isPassage)
}
