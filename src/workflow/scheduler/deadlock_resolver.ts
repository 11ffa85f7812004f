// Finds deadlocks, and resolves each by parking one labware (the victim), or by an unsafe grant where nothing else moves.

import { SmallSet } from '../../kit/small_set.ts'
import type { Advice } from './advice.ts'
import { type DeadlockAvoidance, isFree } from './deadlock_avoidance.ts'
import type { Decision } from './decision_log.ts'
import { Idlers, wanting } from './idlers.ts'
import type { Claimant, Placement, Resource, RouteGrant, Ticket, Zone } from './model.ts'
import type { Occupancy } from './occupancy.ts'
import type { Parking } from './parking.ts'
import { compare } from './ranked_queue.ts'
import type { RequestQueue } from './request_queue.ts'
import type { Reservations } from './reservations.ts'
import type { RouteGrants } from './route_grants.ts'
import { canGoOn, doubting, WaitForGraph } from './wait_for_graph.ts'

export type OnDecision = (decision: Decision) => void

export class DeadlockResolver {
  readonly #occupancy: Occupancy
  readonly #requests: RequestQueue
  readonly #reservations: Reservations
  readonly #waitForGraph: WaitForGraph
  readonly #avoidance: DeadlockAvoidance
  readonly #parking: Parking
  readonly #idlers: Idlers
  readonly #advice: Advice
  readonly #onDecision: OnDecision | undefined
  readonly #suspects = new SmallSet<Claimant>()
  /** The unresolved deadlocks, by at least one member of each. */
  readonly #deadlocked = new Set<Claimant>()
  /** Deadlocks that cannot be resolved before a parking position is free: one member of each, with all its members. */
  readonly #stuck = new Map<Claimant, ReadonlySet<Claimant>>()
  #vacated = 0
  /** Whether every holder is to be examined. */
  #isAnySuspect = false
  #seen = 0

  constructor(
    occupancy: Occupancy,
    parts: {
      requests: RequestQueue
      routeGrants: RouteGrants
      parking: Parking
      reservations: Reservations
      avoidance: DeadlockAvoidance
      advice: Advice
      isHeld: (claimant: Claimant) => boolean
      onDecision: OnDecision | undefined
    },
  ) {
    this.#occupancy = occupancy
    this.#requests = parts.requests
    this.#reservations = parts.reservations
    this.#waitForGraph = new WaitForGraph(occupancy, parts)
    this.#parking = parts.parking
    this.#avoidance = parts.avoidance
    this.#advice = parts.advice
    this.#idlers = new Idlers(parts.parking, parts.advice)
    this.#onDecision = parts.onDecision
  }

  /** Marks a claimant that began to wait, or waits for others than before: a new deadlock contains it. */
  suspect(claimant: Claimant): void {
    this.#suspects.add(claimant)
  }

  /** Marks the claimant of a waiting route, and has its labware parked elsewhere if a held thread blocks the way. */
  suspectOnWay(routeGrant: RouteGrant): void {
    this.suspect(routeGrant.claimant)
    this.#parking.divert(routeGrant)
  }

  /** Marks all claimants: one may have become part of a deadlock without waiting for anything new. */
  suspectAll(): void {
    this.#isAnySuspect = true
  }

  /** Takes one step to resolve a deadlock. Returns whether there was one to take. */
  examine(): boolean {
    for (let claimant = this.#suspects.shift(); claimant; claimant = this.#suspects.shift()) {
      if (this.#idlers.clearWay(claimant)) return true
      if (this.#isInDeadlock(claimant)) this.#deadlocked.add(claimant)
      // This claimant is idle too, so perhaps no active claimant is left that could still resolve a stuck deadlock.
      else if (claimant.ticket?.isIdle && this.#stuck.size > 0) this.suspectAll()
    }
    if (this.#seen === this.#occupancy.version) return false
    if (this.#idlers.clearAgain()) return true
    // No active claimant is left that could still resolve a stuck deadlock.
    if (this.#stuck.size > 0 && this.#waitForGraph.isQuiet()) this.suspectAll()
    if (this.#resolveNext()) return true
    this.#seen = this.#occupancy.version
    return false
  }

  // Deadlocks

  #isInDeadlock(claimant: Claimant): boolean {
    if (claimant.ticket?.isIdle && claimant.placement && !isWanted(claimant.placement.zone)) return false
    const ways = this.#waitForGraph.waysOf(claimant, doubting)
    if (!ways || ways.some(({ needs }) => needs.every((other) => !this.#waitForGraph.waysOf(other, doubting)))) return false
    return this.#waitForGraph.locked([claimant], doubting).has(claimant)
  }

  /** Takes one step to resolve one of the deadlocks. */
  #resolveNext(): boolean {
    if (this.#isAnySuspect)
      for (const claimant of this.#waitForGraph.locked(this.#waitForGraph.holders(), doubting)) this.#deadlocked.add(claimant)
    this.#isAnySuspect = false
    this.#reconsider()
    let hasSpread = false
    for (const claimant of this.#deadlocked) {
      this.#deadlocked.delete(claimant)
      const members = this.#waitForGraph.locked([claimant], doubting)
      if (members.size === 0) continue
      const isChanged = this.#resolve(members)
      for (const member of members) {
        this.#stuck.delete(member)
        if (isChanged) this.#deadlocked.add(member)
        else this.#deadlocked.delete(member)
      }
      if (isChanged) return true
      this.#stuck.set(claimant, members)
      // A held thread may be held for hours: claimants that wait for its deadlock are stuck too, and may be in the way of others.
      if (hasSpread || !this.#hasHeld(members)) continue
      hasSpread = true
      for (const other of this.#waitForGraph.locked(this.#waitForGraph.holders(), doubting))
        if (!members.has(other)) this.#deadlocked.add(other)
    }
    return false
  }

  /** Reconsiders stuck deadlocks for which a parking position may be free again. */
  #reconsider(): void {
    if (this.#vacated === this.#occupancy.vacated) return
    this.#vacated = this.#occupancy.vacated
    for (const [claimant, members] of this.#stuck) {
      for (const { placement } of members)
        if (placement && this.#parking.parkingNear(placement.position).some(isFree)) this.#deadlocked.add(claimant)
      if (this.#deadlocked.has(claimant)) this.#stuck.delete(claimant)
    }
  }

  /** Takes the best step to resolve this deadlock. Returns whether there was one. */
  #resolve(members: ReadonlySet<Claimant>): boolean {
    const tickets = [...members].flatMap(({ ticket }) => ticket ?? [])
    if (this.#advice.isInForce && tickets.some(({ barred }) => barred >= 0)) {
      // Labware in a delay goes on by itself, and the plan counts on it.
      if (tickets.some(({ request }) => request.endsByItself)) return false
      this.#advice.drop()
      this.#occupancy.version++
      return true
    }
    return this.#avoidance.urgently(() => {
      if (this.#grantBarred(members, (ticket, resource) => ticket.claimant.hurries && this.#isSafe(ticket, resource))) return true
      const victim = this.#victimOf(members)
      if (victim && this.#parkOf(members, victim)) return true
      if (this.#goOnSafely(members)) return true
      const isSafe = [...members].some((claimant) => this.#avoidance.isSafeNow(claimant))
      // All could still finish: it is too early to risk anything while another claimant may move, or may be the one that has to.
      if (isSafe && !this.#isStill()) return false
      // A promise may bar the only way on.
      if (isSafe && this.#breakPromises()) return true
      if (isSafe && this.#goOnSafely(new Set(this.#waitForGraph.holders()))) return true
      if (this.#avoidance.isAwaited) return false
      if (this.#grantOneOf(members) || this.#grantBarred(members)) return true
      return !(victim && this.#isRoomToCome()) && this.#reportStuck(members)
    })
  }

  /** Takes a step from which all labware can still finish: a grant that was refused only because the check was cut short, or a parking that helps nobody at once. */
  #goOnSafely(members: ReadonlySet<Claimant>): boolean {
    for (const { ticket } of members) if (ticket && ticket.unsafe >= 0 && this.#requests.consider(ticket)) return true
    if (this.#grantBarred(members, (ticket, resource) => this.#isSafe(ticket, resource))) return true
    for (const { ticket, placement } of restingIn(members)) {
      if (placement.zone.isParking || !isWanted(placement.zone) || !this.#parking.canPark(ticket)) continue
      if (!this.#avoidance.isSafeNow(ticket.claimant) || !this.#parking.nearestPad(ticket.claimant)) continue
      this.#decided('parked', members, ticket)
      return this.#parking.park(ticket)
    }
    return false
  }

  #breakPromises(): boolean {
    const promised = this.#occupancy.promised.filter(() => true)
    for (const claimant of promised) this.#occupancy.breakPromise(claimant)
    return promised.length > 0
  }

  #isSafe(ticket: Ticket, resource: Resource): boolean {
    return this.#avoidance.trapped(ticket, resource).length === 0
  }

  /** Whether every claimant that holds something waits for others. */
  #isStill(): boolean {
    const holders = [...this.#waitForGraph.holders()]
    const locked = this.#waitForGraph.locked(holders, doubting)
    return holders.every((claimant) => locked.has(claimant))
  }

  /** Parks the victim, and promises each resource of the cycle to the claimant that waits for it. */
  #parkOf(members: ReadonlySet<Claimant>, victim: Ticket): boolean {
    if (!this.#parking.nearestPad(victim.claimant)) return false
    this.#decided('parked', members, victim)
    // Nobody else may enter the cycle while it turns: the parking position would not become free again.
    for (const { claimant, resource } of this.#waitForGraph.ringOf(victim.claimant, members) ?? []) {
      const isKept = claimant.ticket && resource && this.#reservations.barred(claimant.ticket, resource) !== undefined
      if (resource && !isKept) this.#occupancy.promise(resource, claimant)
    }
    return this.#parking.park(victim)
  }

  /** Selects the victim: its leaving lets another go on, it was parked least, has the shortest way and the youngest request. Members of a cycle come first. */
  #victimOf(members: ReadonlySet<Claimant>): Ticket | undefined {
    let best: { ticket: Ticket; cost: readonly number[] } | undefined
    const isOneHeld = this.#hasHeld(members)
    for (const { ticket, placement, claimant } of restingIn(members)) {
      const benefit = this.#parking.canPark(ticket) ? this.#benefitOf(claimant, placement, members) : 0
      const isInRing = ticket.isIdle || this.#waitForGraph.ringOf(claimant, members) !== undefined
      // A claimant that waits for a cycle without being part of it would only use up the parking position; one that waits for a held thread may wait for hours.
      if (benefit === 0 || (!isInRing && !(isOneHeld && benefit === 2))) continue
      const parkingZone = this.#parking.nearestPad(claimant)
      const hops = parkingZone ? this.#occupancy.graph.hops(placement.position, parkingZone.positions[0]!.name)! : Number.POSITIVE_INFINITY
      const cost = [
        parkingZone ? 0 : 1,
        isInRing ? 0 : 1,
        claimant.hurries ? 1 : 0,
        -benefit,
        ticket.parked,
        hops,
        ticket.priority,
        -ticket.sequence,
      ]
      if (!best || isLess(cost, best.cost)) best = { ticket, cost }
    }
    return best?.ticket
  }

  /** Rates a claimant as a victim: 2 if its leaving lets another go on, 1 if others want its position, else 0. */
  #benefitOf(claimant: Claimant, { zone }: Placement, members: ReadonlySet<Claimant>): 0 | 1 | 2 {
    let benefit: 0 | 1 | 2 = 0
    for (const { claimant: other } of wanting(zone)) {
      if (other === claimant) continue
      const ways = this.#waitForGraph.waysOf(other, doubting) ?? []
      if (canGoOn(ways, members)) continue
      for (const { needs } of ways) {
        if (!needs.includes(claimant)) continue
        benefit = 1
        if (needs.every((needed) => needed === claimant || !members.has(needed))) return 2
      }
    }
    return benefit
  }

  /** Grants an unsafe request as the last resort, when nothing else moves. */
  #grantOneOf(members: ReadonlySet<Claimant>): boolean {
    let best: Ticket | undefined
    const isLocked = this.#hasHeld(members) ? this.#waitForGraph.locked(members, { ...doubting, held: false }) : members
    for (const claimant of members) {
      const { ticket, placement } = claimant
      // A claimant that only a held thread blocks could trap that thread: it is granted only if another can go on then.
      const makesRoom = placement && (this.#benefitOf(claimant, placement, members) === 2 || this.#isRoomFor(placement.zone))
      if (!isLocked.has(claimant) && !makesRoom) continue
      if (!ticket || ticket.unsafe < 0 || ticket.resources[ticket.unsafe]!.isClosedTo(ticket.claimant, ticket.inputs)) continue
      if (
        !best ||
        ticket.trapped.length < best.trapped.length ||
        (ticket.trapped.length === best.trapped.length && compare(ticket, best) < 0)
      )
        best = ticket
    }
    if (!best) return false
    this.#decided('granted_unsafe', members, best, best.unsafe)
    this.#requests.grant(best, best.unsafe)
    return true
  }

  /** Whether the zone could take labware of a stuck deadlock that only lacks a parking position. */
  #isRoomFor(zone: Zone): boolean {
    if (!zone.isParking) return false
    for (const members of this.#stuck.values())
      for (const { ticket, placement } of restingIn(members))
        if (placement.zone !== zone && this.#parking.canPark(ticket) && this.#parking.parkingNear(placement.position).includes(zone))
          return true
    return false
  }

  /** Grants a request against a reservation, whose owner is then late. */
  #grantBarred(members: ReadonlySet<Claimant>, isMeant: (ticket: Ticket, resource: Resource) => boolean = () => true): boolean {
    for (const { ticket } of members) {
      const resource = ticket?.resources[ticket.barred]
      if (!ticket || !resource || !isMeant(ticket, resource) || resource.isClosedTo(ticket.claimant, ticket.inputs)) continue
      const barred = this.#reservations.barred(ticket, resource)
      if (barred?.reason === 'booked' && barred.by) this.#reservations.giveUp(barred.by)
      this.#decided('granted_reserved', members, ticket, ticket.barred)
      this.#requests.grant(ticket, ticket.barred)
      return true
    }
    return false
  }

  /** Reports one claimant as stuck, if nothing can be done and nothing is under way that could help. */
  #reportStuck(deadlock: ReadonlySet<Claimant>): boolean {
    // Parked labware counts too, though nobody in the deadlock waits for it: it takes the room that there could be.
    const parked = this.#occupancy.parking.flatMap(({ placement, reservedFor }) => placement?.claimant ?? reservedFor ?? [])
    const members = this.#waitForGraph.locked([...deadlock, ...parked], {
      idle: this.#waitForGraph.isQuiet(),
      strangers: false,
      calls: false,
      held: false,
    })
    const victim = this.#victimOf(members)
    if (victim && this.#occupancy.parking.some((parkingZone) => isHopeful(parkingZone, members))) return false
    const calls = victim && !victim.isIdle ? victim : (firstOf(members) ?? this.#waitingOffDeck(members))
    if (!calls) return false
    calls.isReported = true
    this.#occupancy.version++
    // Other claimants may have waited for this one to move.
    this.suspectAll()
    this.#decided('stuck', members, calls)
    calls.request.stuck?.(this.#reason(calls))
    return true
  }

  /** Whether a parking position is taken by a claimant that waits for nobody, and so will leave. */
  #isRoomToCome(): boolean {
    return this.#occupancy.parking.some(({ placement, reservedFor }) => {
      const claimant = placement ? placement.claimant : reservedFor
      return claimant !== null && !this.#waitForGraph.waysOf(claimant, doubting)
    })
  }

  /** Finds a ticket whose labware is not on the deck yet and cannot come; one for each position is enough. */
  #waitingOffDeck(members: ReadonlySet<Claimant>): Ticket | undefined {
    for (const { placement } of members) {
      const tickets = placement ? [...wanting(placement.zone)].flatMap(({ claimant }) => claimant.ticket ?? []) : []
      const first = tickets.find(
        (ticket) => !ticket.isIdle && !canGoOn(this.#waitForGraph.waysOf(ticket.claimant, doubting) ?? [], members),
      )
      if (first && !tickets.some(({ isReported }) => isReported)) return first
    }
    return undefined
  }

  /** Reports a decision; `index` is that of the candidate that is granted. */
  #decided(kind: Decision['kind'], members: ReadonlySet<Claimant>, { claimant, request }: Ticket, index = -1): void {
    const candidate = request.candidates[index]
    const granted = candidate ? ('device' in candidate ? candidate.device : candidate.position) : null
    this.#onDecision?.({ kind, thread_ids: [...members].map(({ thread_id }) => thread_id), thread_id: claimant.thread_id, granted })
  }

  #hasHeld(members: ReadonlySet<Claimant>): boolean {
    for (const member of members) if (this.#waitForGraph.isHeld(member)) return true
    return false
  }

  #reason(ticket: Ticket): string {
    const [obstacle] = this.#requests.explain(ticket)
    if (!obstacle || obstacle.reason === 'unreachable') return `there is no way to ${namesOf(ticket)} from where the labware stands`
    const { labware_id, thread_id } = obstacle
    const why = labware_id ? `labware ${labware_id} stands there` : `thread ${thread_id} has it`
    return `${namesOf(ticket)} cannot be had: ${why}, they wait for each other, and no parking place is free to make room`
  }
}

function isWanted({ wanted, device, passers }: Zone): boolean {
  return wanted.size > 0 || passers.size > 0 || (device !== null && device.wanted.size > 0)
}

function isLess(a: readonly number[], b: readonly number[]): boolean {
  const i = a.findIndex((value, at) => value !== b[at])
  return i >= 0 && a[i]! < b[i]!
}

function firstOf(members: ReadonlySet<Claimant>): Ticket | undefined {
  let first: Ticket | undefined
  for (const { ticket } of members) if (ticket && !ticket.isIdle && (!first || compare(ticket, first) < 0)) first = ticket
  return first
}

/** Whether the labware there, or on its way there, may leave. */
function isHopeful({ placement, reservedFor }: Zone, members: ReadonlySet<Claimant>): boolean {
  const claimant = placement ? placement.claimant : reservedFor
  return claimant !== null && !members.has(claimant) && !claimant.ticket?.isReported
}

function* restingIn(members: ReadonlySet<Claimant>): Generator<{ claimant: Claimant; ticket: Ticket; placement: Placement }> {
  for (const claimant of members) {
    const { ticket, placement } = claimant
    if (ticket && placement && !placement.routeGrant) yield { claimant, ticket, placement }
  }
}

function namesOf({ request }: Ticket): string {
  return request.candidates.map((candidate) => ('device' in candidate ? candidate.device : candidate.position)).join(' or ')
}
