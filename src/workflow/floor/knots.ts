// Finds deadlocks, and resolves each by parking one labware (the victim), or by an unsafe grant where nothing else moves.

import { Few } from '../../kit/few.ts'
import type { Asks } from './asks.ts'
import type { Bookings } from './bookings.ts'
import { type Ground, Nests, type Piece, type Place, type Spot, type Walker } from './ground.ts'
import { compare, type Ranked } from './line.ts'
import { Parking } from './parking.ts'
import { canGoOn, doubting, Rings } from './rings.ts'
import { isFree } from './safety.ts'
import type { Travels } from './travels.ts'
import type { Wait } from './wait.ts'

export type OnKnot = (thread_ids: readonly string[], victim: string) => void

export class Knots {
  readonly #ground: Ground
  readonly #asks: Asks
  readonly #bookings: Bookings
  readonly #rings: Rings
  readonly #parking: Parking
  readonly #onKnot: OnKnot | undefined
  readonly #suspects = new Few<Walker>()
  /** Those that idlers keep from a nest, while there is nowhere to put them. */
  readonly #cramped = new Set<Wait>()
  /** Members of deadlocks that are to be resolved, at least one of each. */
  readonly #knotted = new Set<Walker>()
  /** Deadlocks that cannot be resolved before a parking position is free: one member of each, with all its members. */
  readonly #stuck = new Map<Walker, ReadonlySet<Walker>>()
  #vacated = 0
  /** Whether every holder is to be examined. */
  #isAnySuspect = false
  #seen = 0

  constructor(
    ground: Ground,
    { asks, travels, bookings, onKnot }: { asks: Asks; travels: Travels; bookings: Bookings; onKnot: OnKnot | undefined },
  ) {
    this.#ground = ground
    this.#asks = asks
    this.#bookings = bookings
    this.#rings = new Rings(ground, { travels, bookings })
    this.#parking = new Parking(ground, asks)
    this.#onKnot = onKnot
  }

  /** Marks a claimant that began to wait, or waits for others than before: a new deadlock contains it. */
  suspect(walker: Walker): void {
    this.#suspects.add(walker)
  }

  /** Marks all claimants: one may have become part of a deadlock without waiting for anything new. */
  suspectAll(): void {
    this.#isAnySuspect = true
  }

  /** Takes one step to resolve a deadlock. Returns whether there was one to take. */
  examine(): boolean {
    for (let walker = this.#suspects.shift(); walker; walker = this.#suspects.shift()) {
      if (this.#clearWay(walker)) return true
      if (this.#isInKnot(walker)) this.#knotted.add(walker)
      // With one more that idles, there may be nobody left to hope for.
      else if (walker.wait?.isIdle && this.#stuck.size > 0) this.suspectAll()
    }
    if (this.#seen === this.#ground.version) return false
    for (const wait of [...this.#cramped]) if (this.#clearFor(wait)) return true
    // Nobody is left whose doing could be hoped for.
    if (this.#stuck.size > 0 && this.#rings.isQuiet()) this.suspectAll()
    if (this.#undo()) return true
    this.#seen = this.#ground.version
    return false
  }

  // Idlers in the way

  #clearWay(walker: Walker): boolean {
    const { wait, piece } = walker
    if (!wait) return false
    if (!wait.isIdle) return this.#clearFor(wait)
    for (const { walker: other } of piece ? wanting(piece.spot) : []) if (other.wait && this.#clearFor(other.wait)) return true
    return false
  }

  /** One that idles in a nest which another wants goes elsewhere at once: it may stand there for ever. */
  #clearFor(wait: Wait): boolean {
    this.#cramped.delete(wait)
    if (wait.state !== 'waiting') return false
    if (wait.walker.hurries) this.#cramped.add(wait)
    for (const place of wait.places) {
      const idlers = this.#idlersIn(place, wait)
      if (!idlers) continue
      let count = 0
      for (const idler of idlers) if (this.#parking.park(idler)) count++
      if (count < idlers.length) this.#cramped.add(wait)
      return count > 0
    }
    return false
  }

  /** The idle claimants that alone are in the way; undefined if anything else is. To a thread with a deadline all that wait there count as idle. */
  #idlersIn(place: Place, { walker, inputs }: Wait): Wait[] | undefined {
    if (!(place instanceof Nests) && !place.device) return undefined
    const idlers: Wait[] = []
    let isAll = true
    place.isClosedTo(walker, inputs, (reason, by, piece) => {
      if (reason === 'occupied' && by?.wait && (by.wait.isIdle || walker.hurries) && this.#parking.canPark(by.wait) && !piece?.travel)
        idlers.push(by.wait)
      else isAll = false
    })
    return isAll && idlers.length > 0 ? idlers : undefined
  }

  // Deadlocks

  #isInKnot(walker: Walker): boolean {
    if (walker.wait?.isIdle && walker.piece && !isWanted(walker.piece.spot)) return false
    const ways = this.#rings.waysOf(walker, doubting)
    if (!ways || ways.some(({ needs }) => needs.every((other) => !this.#rings.waysOf(other, doubting)))) return false
    return this.#rings.locked([walker], doubting).has(walker)
  }

  /** Takes one step for one of the deadlocks. */
  #undo(): boolean {
    if (this.#isAnySuspect) for (const walker of this.#rings.locked(this.#rings.holders(), doubting)) this.#knotted.add(walker)
    this.#isAnySuspect = false
    this.#reconsider()
    let hasSpread = false
    for (const walker of this.#knotted) {
      this.#knotted.delete(walker)
      const members = this.#rings.locked([walker], doubting)
      if (members.size === 0) continue
      const isChanged = this.#undoOne(members)
      for (const member of members) {
        this.#stuck.delete(member)
        if (isChanged) this.#knotted.add(member)
        else this.#knotted.delete(member)
      }
      if (isChanged) return true
      this.#stuck.set(walker, members)
      // A held thread may be held for hours: claimants that wait for its deadlock are stuck too, and may be in the way of others.
      if (hasSpread || !hasHeld(members)) continue
      hasSpread = true
      for (const other of this.#rings.locked(this.#rings.holders(), doubting)) if (!members.has(other)) this.#knotted.add(other)
    }
    return false
  }

  /** Looks again at deadlocks that a parking position could resolve, since one may be free again. */
  #reconsider(): void {
    if (this.#vacated === this.#ground.vacated) return
    this.#vacated = this.#ground.vacated
    for (const [walker, members] of this.#stuck) {
      for (const { piece } of members) if (piece && this.#parking.padsNear(piece.seat).some(isFree)) this.#knotted.add(walker)
      if (this.#knotted.has(walker)) this.#stuck.delete(walker)
    }
  }

  #undoOne(members: ReadonlySet<Walker>): boolean {
    if (this.#grantBarred(members, ({ walker }) => walker.hurries)) return true
    const victim = this.#victimOf(members)
    if (victim && this.#parkOf(members, victim)) return true
    if (this.#grantOneOf(members)) return true
    return !(victim && this.#isRoomToCome()) && this.#tellOne(members)
  }

  /** Parks the victim, and promises each resource of the cycle to the claimant that waits for it. */
  #parkOf(members: ReadonlySet<Walker>, victim: Wait): boolean {
    if (!this.#parking.nearestPad(victim.walker)) return false
    this.#onKnot?.(
      [...members].map(({ thread_id }) => thread_id),
      victim.walker.thread_id,
    )
    // Nobody else may enter the cycle while it turns: the parking position would not become free again.
    for (const { walker, place } of this.#rings.ringOf(victim.walker, members) ?? []) {
      const isKept = walker.wait && place && this.#bookings.barred(walker.wait, place) !== undefined
      if (place && !isKept) this.#ground.promise(place, walker)
    }
    return this.#parking.park(victim)
  }

  /** Selects the victim: its leaving lets another go on, it was parked least, has the shortest way and the youngest request. Members of a cycle come first. */
  #victimOf(members: ReadonlySet<Walker>): Wait | undefined {
    let best: { wait: Wait; cost: readonly number[] } | undefined
    const isOneHeld = hasHeld(members)
    for (const { wait, piece, walker } of restingIn(members)) {
      const helps = this.#parking.canPark(wait) ? this.#helps(walker, piece, members) : 0
      const isInRing = wait.isIdle || this.#rings.ringOf(walker, members) !== undefined
      // A claimant that waits for a cycle without being part of it would only use up the parking position; one that waits for a held thread may wait for hours.
      if (helps === 0 || (!isInRing && !(isOneHeld && helps === 2))) continue
      const pad = this.#parking.nearestPad(walker)
      const hops = pad ? this.#ground.graph.hops(piece.seat, pad.seats[0]!.name)! : Number.POSITIVE_INFINITY
      const cost = [pad ? 0 : 1, isInRing ? 0 : 1, walker.hurries ? 1 : 0, -helps, wait.parked, hops, wait.priority, -wait.sequence]
      if (!best || isLess(cost, best.cost)) best = { wait, cost }
    }
    return best?.wait
  }

  /** 2 if its leaving lets another go on, 1 if others want its position, 0 if nobody does. */
  #helps(walker: Walker, { spot }: Piece, members: ReadonlySet<Walker>): 0 | 1 | 2 {
    let helps: 0 | 1 | 2 = 0
    for (const { walker: other } of wanting(spot)) {
      if (other === walker) continue
      const ways = this.#rings.waysOf(other, doubting) ?? []
      if (canGoOn(ways, members)) continue
      for (const { needs } of ways) {
        if (!needs.includes(walker)) continue
        helps = 1
        if (needs.every((needed) => needed === walker || !members.has(needed))) return 2
      }
    }
    return helps
  }

  /** Grants an unsafe request: where nothing else moves that is better than nothing. */
  #grantOneOf(members: ReadonlySet<Walker>): boolean {
    let best: Wait | undefined
    const isLocked = hasHeld(members) ? this.#rings.locked(members, { ...doubting, held: false }) : members
    for (const walker of members) {
      const { wait, piece } = walker
      // A claimant that only a held thread blocks could trap that thread: it is granted only if another can go on then.
      if (!isLocked.has(walker) && !(piece && this.#helps(walker, piece, members) === 2)) continue
      if (!wait || wait.unsafe < 0 || wait.places[wait.unsafe]!.isClosedTo(wait.walker, wait.inputs)) continue
      if (!best || wait.trapped.length < best.trapped.length || (wait.trapped.length === best.trapped.length && compare(wait, best) < 0))
        best = wait
    }
    if (best) this.#asks.grant(best, best.unsafe)
    return best !== undefined || this.#grantBarred(members)
  }

  /** Grants a request against a reservation: late is better than never. */
  #grantBarred(members: ReadonlySet<Walker>, isMeant: (wait: Wait) => boolean = () => true): boolean {
    for (const { wait } of members) {
      const place = wait?.places[wait.barred]
      if (!wait || !place || !isMeant(wait) || place.isClosedTo(wait.walker, wait.inputs)) continue
      const barred = this.#bookings.barred(wait, place)
      if (barred?.reason === 'booked' && barred.by) this.#bookings.giveUp(barred.by)
      this.#asks.grant(wait, wait.barred)
      return true
    }
    return false
  }

  /** Reports one claimant as stuck, where nothing can be done and nothing is under way that could help. */
  #tellOne(knot: ReadonlySet<Walker>): boolean {
    // Parked labware counts too, though nobody in the deadlock waits for it: it takes the room that there could be.
    const parked = this.#ground.parking.flatMap(({ piece, reservedFor }) => piece?.walker ?? reservedFor ?? [])
    const members = this.#rings.locked([...knot, ...parked], { idle: this.#rings.isQuiet(), strangers: false, told: false, held: false })
    const victim = this.#victimOf(members)
    if (victim && this.#ground.parking.some((pad) => isHopeful(pad, members))) return false
    const told = victim && !victim.isIdle ? victim : (firstOf(members) ?? this.#keptOut(members))
    if (!told) return false
    told.isTold = true
    this.#ground.version++
    // Others may have waited for this one to move.
    this.suspectAll()
    told.ask.stuck?.(this.#reason(told))
    return true
  }

  /** Whether a parking position is taken by a claimant that waits for nobody, and so will leave. */
  #isRoomToCome(): boolean {
    return this.#ground.parking.some(({ piece, reservedFor }) => {
      const walker = piece ? piece.walker : reservedFor
      return walker !== null && !this.#rings.waysOf(walker, doubting)
    })
  }

  /** A claimant whose labware is not on the deck yet, and cannot come. One for each position is enough. */
  #keptOut(members: ReadonlySet<Walker>): Wait | undefined {
    for (const { piece } of members) {
      const waits = piece ? [...wanting(piece.spot)].flatMap(({ walker }) => walker.wait ?? []) : []
      const first = waits.find((wait) => !wait.isIdle && !canGoOn(this.#rings.waysOf(wait.walker, doubting) ?? [], members))
      if (first && !waits.some(({ isTold }) => isTold)) return first
    }
    return undefined
  }

  #reason(wait: Wait): string {
    const [obstacle] = this.#asks.explain(wait)
    if (!obstacle || obstacle.reason === 'unreachable') return `there is no way to ${namesOf(wait)} from where the labware stands`
    const { labware_id, thread_id } = obstacle
    const why = labware_id ? `labware ${labware_id} stands there` : `thread ${thread_id} has it`
    return `${namesOf(wait)} cannot be had: ${why}, they wait for each other, and no parking place is free to make room`
  }
}

/** All that request a zone, its device, or a route through it. */
function* wanting({ wanted, device, passers }: Spot): Generator<Ranked & { walker: Walker }> {
  yield* wanted
  if (device) yield* device.wanted
  yield* passers
}

function isWanted({ wanted, device, passers }: Spot): boolean {
  return wanted.size > 0 || passers.size > 0 || (device !== null && device.wanted.size > 0)
}

function hasHeld(members: ReadonlySet<Walker>): boolean {
  for (const { isHeld } of members) if (isHeld) return true
  return false
}

function isLess(a: readonly number[], b: readonly number[]): boolean {
  const i = a.findIndex((value, at) => value !== b[at])
  return i >= 0 && a[i]! < b[i]!
}

function firstOf(members: ReadonlySet<Walker>): Wait | undefined {
  let first: Wait | undefined
  for (const { wait } of members) if (wait && !wait.isIdle && (!first || compare(wait, first) < 0)) first = wait
  return first
}

/** Whether the labware there, or on its way there, may leave. */
function isHopeful({ piece, reservedFor }: Spot, members: ReadonlySet<Walker>): boolean {
  const walker = piece ? piece.walker : reservedFor
  return walker !== null && !members.has(walker) && !walker.wait?.isTold
}

function* restingIn(members: ReadonlySet<Walker>): Generator<{ walker: Walker; wait: Wait; piece: Piece }> {
  for (const walker of members) {
    const { wait, piece } = walker
    if (wait && piece && !piece.travel) yield { walker, wait, piece }
  }
}

function namesOf({ ask }: Wait): string {
  return ask.candidates.map((candidate) => ('device' in candidate ? candidate.device : candidate.seat)).join(' or ')
}
