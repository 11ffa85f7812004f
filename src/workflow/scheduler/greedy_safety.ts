// The safe-state check without a search, as in the banker's algorithm: it takes out claimants that can do all that they still need, until none is
// left. It can prove a state safe, but a state in which it gets stuck may be safe as well.

import { type Claimant, DeviceSites, type Resource, type Ticket, type Zone } from './model.ts'
import type { Occupancy } from './occupancy.ts'

type Grant = { ticket: Ticket; resource: Resource }

type Lists = readonly (readonly Resource[])[]

const nobody: readonly Claimant[] = []
const nothing: readonly Resource[] = []

/**
 * Repeatedly removes each claimant that can finish while the others stand still. If none can, parks one that others wait for, and goes on. Returns
 * the claimants that remain.
 */
export function lockedIn(occupancy: Occupancy, island: number, { ticket: requester, resource }: Partial<Grant> = {}): Set<Claimant> {
  const board = new Board(occupancy, island)
  if (requester && resource) board.set(requester.claimant, [resource])
  const left = new Set(board.claimants)
  const lists = new Map([...left].map((claimant) => [claimant, listsOf(claimant, requester)]))
  const parked = new Set<Claimant>()
  do {
    for (let size = -1; size !== left.size; ) {
      size = left.size
      for (const claimant of left) {
        if (!canGetThrough(claimant, lists.get(claimant)!, board)) continue
        board.set(claimant, [])
        left.delete(claimant)
      }
    }
  } while (left.size > 0 && makeRoom(left, lists, parked, board, occupancy))
  if (left.size < 2 || !isEachAlone(occupancy, requester)) return left
  const behind = leftBehind(new Board(occupancy, island), lists, requester, resource)
  return behind.size < left.size ? behind : left
}

/** Whether no claimant needs other labware, which may need the very positions that the claimants free for each other. */
function isEachAlone({ claimants }: Occupancy, requester?: Ticket): boolean {
  if (requester && !requester.request.alone) return false
  for (const { ticket, last, placements } of claimants.values()) if (placements.size > 0 && !(ticket ?? last)?.request.alone) return false
  return true
}

/** Lets each claimant advance one resource at a time, instead of all the way at once. Returns the claimants that do not finish. */
function leftBehind(board: Board, lists: ReadonlyMap<Claimant, Lists | undefined>, requester?: Ticket, resource?: Resource): Set<Claimant> {
  if (requester && resource) board.set(requester.claimant, [resource])
  const at = new Map([...lists.keys()].map((claimant) => [claimant, 0]))
  const goOn = (claimant: Claimant): boolean => {
    const next = lists.get(claimant)?.[at.get(claimant)!]
    const inputs = claimant.ticket?.inputs ?? claimant.last?.inputs ?? []
    const free = next?.find((resource) => board.isFreeFor(claimant, resource, inputs))
    if (!free) return false
    const done = at.get(claimant)! + 1
    const isThrough = done === lists.get(claimant)!.length
    board.set(claimant, isThrough ? [] : [free])
    if (isThrough) at.delete(claimant)
    else at.set(claimant, done)
    return true
  }
  for (let isMoving = true; isMoving; ) {
    isMoving = false
    for (const claimant of [...at.keys()]) if (goOn(claimant)) isMoving = true
  }
  return new Set(at.keys())
}

/** Returns the resources that a claimant still needs, one list per action; undefined for one that needs nothing and stays where it is. */
function listsOf(claimant: Claimant, requester?: Ticket): Lists | undefined {
  const { ticket, last } = claimant
  if (requester && claimant === requester.claimant) return requester.later.length > 0 ? requester.later : undefined
  if (ticket?.isIdle) return ticket.later.length > 0 ? ticket.later : undefined
  return ticket ? [ticket.resources, ...ticket.later] : (last?.later ?? [])
}

function canGetThrough(claimant: Claimant, lists: Lists | undefined, board: Board): boolean {
  if (!lists) return false
  const inputs = claimant.ticket?.inputs ?? claimant.last?.inputs ?? []
  return lists.every((resources) => resources.some((resource) => board.isFreeFor(claimant, resource, inputs)))
}

function makeRoom(
  left: ReadonlySet<Claimant>,
  lists: ReadonlyMap<Claimant, Lists | undefined>,
  parked: Set<Claimant>,
  board: Board,
  { parking, graph }: Occupancy,
): boolean {
  const wanted = new Set<Resource>()
  for (const claimant of left) for (const resource of lists.get(claimant)?.[0] ?? []) wanted.add(resource)
  for (const claimant of left) {
    const { placement } = claimant
    if (!placement || parked.has(claimant) || !(claimant.ticket ?? claimant.last)?.canPark || !board.standsIn(claimant, wanted)) continue
    const parkingZone = parking.find(
      (zone) => !zone.isHandOver && board.isEmpty(zone) && graph.hops(placement.position, zone.positions[0]!.name) !== undefined,
    )
    if (!parkingZone) continue
    board.set(claimant, [parkingZone])
    parked.add(claimant)
    return true
  }
  return false
}

/** The occupancy of an island after all present grants are used. The check runs on this state. */
class Board {
  readonly #takes = new Map<Claimant, readonly Resource[]>()
  readonly #takers = new Map<Resource, Claimant[]>()

  constructor(occupancy: Occupancy, island: number) {
    const isHere = (resource: Resource) => occupancy.isOn(island, resource)
    for (const claimant of occupancy.claimantsOn(island)) {
      const here = resourcesOf(claimant, isHere)
      if (here.length > 0) this.set(claimant, here)
    }
  }

  get claimants(): Iterable<Claimant> {
    return this.#takes.keys()
  }

  set(claimant: Claimant, resources: readonly Resource[]): void {
    for (const resource of this.#takes.get(claimant) ?? [])
      this.#takers.set(
        resource,
        this.#takersOf(resource).filter((other) => other !== claimant),
      )
    this.#takes.set(claimant, resources)
    for (const resource of resources) this.#takers.set(resource, [...this.#takersOf(resource), claimant])
  }

  #takersOf(resource: Resource): readonly Claimant[] {
    return this.#takers.get(resource) ?? nobody
  }

  isFreeFor(claimant: Claimant, resource: Resource, inputs: readonly string[]): boolean {
    const isForeign = (other: Claimant) => other !== claimant && !(other.placement && inputs.includes(other.placement.labware_id))
    const isBlocked = (zone: Zone) =>
      this.#takersOf(zone).some(isForeign) || (zone.placement?.claimant === null && !inputs.includes(zone.placement.labware_id))
    if (resource instanceof DeviceSites) return !this.#takersOf(resource).some(isForeign) && !resource.zones.some(isBlocked)
    return !isBlocked(resource) && !(resource.device && this.#takersOf(resource.device).some(isForeign))
  }

  isEmpty(zone: Zone): boolean {
    return this.#takersOf(zone).length === 0 && zone.placement?.claimant !== null
  }

  standsIn(claimant: Claimant, resources: ReadonlySet<Resource>): boolean {
    return (this.#takes.get(claimant) ?? []).some(
      (resource) => resources.has(resource) || (!(resource instanceof DeviceSites) && resource.device && resources.has(resource.device)),
    )
  }
}

export function positionOf(resource: Resource): string {
  return resource instanceof DeviceSites ? resource.doors[0]! : resource.positions[0]!.name
}

/** Returns the resources of a claimant on the island. It may have some on several islands after its labware was carried by hand. */
export function resourcesOf(claimant: Claimant, isHere: (resource: Resource) => boolean): readonly Resource[] {
  const { placement, holds, goal, reserved } = claimant
  // Most threads of a large run have not begun, and have nothing.
  if (!placement && !goal && holds.size === 0 && reserved.size === 0) return nothing
  const resources: Resource[] = standingOf(claimant).filter(isHere)
  if (resources.length === 0 && placement && isHere(placement.zone)) resources.push(placement.zone)
  for (const device of holds) if (isHere(device)) resources.push(device)
  return resources
}

function standingOf({ reserved, goal, placements }: Claimant): readonly Resource[] {
  const coming = reserved.size > 0 ? reserved.filter(isNoPassage) : nothing
  if (coming.length > 0) return coming
  return goal ? [goal] : [...placements].map(({ zone }) => zone)
}

function isNoPassage({ isPassage }: Zone): boolean {
  return !isPassage
}
