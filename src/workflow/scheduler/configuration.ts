// Makes the configuration that the safe-state check searches: the labware of an island of the deck, and the stops that each labware has left.

import { resourcesOf } from './greedy_safety.ts'
import { type Claimant, DeviceSites, type Placement, type Resource, type Ticket, type Zone } from './model.ts'
import type { Occupancy } from './occupancy.ts'
import type { Configuration, StopKind, Traveller } from './safety_problem.ts'

/** A change of the state whose safety is in question: the claimant gets the resource. `isStop` says whether that is its next stop. */
export type Change = { readonly ticket: Ticket; readonly resource: Resource; readonly isStop: boolean }

/** Whether the resource is for the lid, and not a parking position for the labware. */
function isForLid({ ticket, isStop }: Change): boolean {
  return isStop && ticket.request.forLid === true
}

/** Returns the place of the claimant's lid, or the one that is kept for it, after a change. */
function lidPlaceOf({ lidZone }: Claimant, change: Change | undefined): Resource | null {
  return change && isForLid(change) ? change.resource : lidZone
}

/** The ways from one resource to another: each lists the zones that it passes. */
type Ways = readonly (readonly Zone[])[]

const noWay: Ways = []
const direct: Ways = [[]]

/** A question to the safe-state check. Sketches with the same key have the same configuration, which is made only if it is searched. */
export type Sketch = { readonly key: string; configuration(): Configuration }

type Journey = { claimant: Claimant; ticket: Ticket; here: readonly Resource[]; isStop: boolean; lid: Resource | null }

/** The most kinds of places at which labware of a configuration stands: the ways between each two of them are found once. */
const mostKinds = 40

export class Configurations {
  readonly #occupancy: Occupancy
  readonly #ways = new Map<string, Ways>()
  readonly #kinds = new Map<Resource, string>()
  readonly #journeys = new WeakMap<Ticket, { true?: number; false?: number }>()
  readonly #numbers = new Map<Resource | string, number>()
  /** The stops of tickets, of which equal ones are one list, by what they list. */
  readonly #stops = new Map<string, readonly Resource[]>()
  readonly #sameStop = new WeakMap<readonly Resource[], readonly Resource[]>()

  constructor(occupancy: Occupancy) {
    this.#occupancy = occupancy
  }

  /**
   * Returns the configuration of an island after a change, or the present one. Undefined if a claimant there needs other labware, because nobody
   * knows then what it waits for; undefined also where the labware stands at places of so many kinds that the ways between them are not worth finding.
   */
  after(island: number, change?: Change): Sketch | undefined {
    const claimants = this.#occupancy.claimantsOn(island)
    const isHere = (resource: Resource) => this.#occupancy.isOn(island, resource)
    const journeys: Journey[] = []
    const kinds = new Set<string>()
    let key = `${island}`
    for (const claimant of change && !claimants.has(change.ticket.claimant) ? [...claimants, change.ticket.claimant] : claimants) {
      const isAsker = claimant === change?.ticket.claimant
      const goes = isAsker && !isForLid(change)
      const here = goes ? [change.resource] : withoutStorage(resourcesOf(claimant, isHere))
      if (here.length === 0) continue
      const ticket = isAsker ? change.ticket : ticketOf(claimant)
      if (!ticket?.request.alone) return undefined
      for (const resource of here) kinds.add(this.#kindOf(resource))
      if (kinds.size > mostKinds) return undefined
      const isStop = isAsker ? change.isStop : ticket !== claimant.ticket
      key += `|${this.#namesOf(here)}>${this.#journeyOf(ticket, isStop)}`
      if (claimant.home) key += `<${this.#numberOf(claimant.home)}`
      const lid = lidPlaceOf(claimant, isAsker ? change : undefined)
      if (lid) key += `~${this.#numberOf(lid)}`
      journeys.push({ claimant, ticket, here, isStop, lid })
    }
    for (const zone of this.#occupancy.zonesOn(island)) if (zone.placement && isUnmoved(zone.placement)) key += `!${this.#numberOf(zone)}`
    return { key, configuration: () => this.#write(journeys, isHere) }
  }

  /** Numbers the rest of a journey: the same stops have the same number, whether the next one is requested or not. */
  #journeyOf(ticket: Ticket, isStop: boolean): number {
    const known = this.#journeys.get(ticket) ?? {}
    this.#journeys.set(ticket, known)
    const { stays = false } = ticket.request
    const stops = () => (isStop || ticket.isIdle ? ticket.later : [ticket.resources, ...ticket.later]).map((stop) => this.#namesOf(stop))
    const lids = () => JSON.stringify([ticket.request.forLid, ticket.request.lidStops])
    known[`${isStop}`] ??= this.#numberOf(
      `${stays} ${isStop || ticket.canPark} ${ticket.isIdle} ${stops().join(';')}${ticket.movesLid ? lids() : ''}`,
    )
    return known[`${isStop}`]!
  }

  /** Returns the first stop that listed the same resources. */
  #one(resources: readonly Resource[]): readonly Resource[] {
    let one = this.#sameStop.get(resources)
    if (!one) {
      const names = this.#namesOf(resources)
      one = this.#stops.get(names) ?? resources
      this.#stops.set(names, one)
      this.#sameStop.set(resources, one)
    }
    return one
  }

  #namesOf(resources: readonly Resource[]): string {
    let names = ''
    for (const resource of resources) names += `${this.#numberOf(resource)},`
    return names
  }

  #numberOf(item: Resource | string): number {
    let number = this.#numbers.get(item)
    if (number === undefined) {
      number = this.#numbers.size
      this.#numbers.set(item, number)
    }
    return number
  }

  #write(journeys: readonly Journey[], isHere: (resource: Resource) => boolean): Configuration {
    const places = new Places()
    const numbered = new Map<readonly Resource[], readonly number[]>()
    const stopOf = (resources: readonly Resource[]) => {
      const stop = this.#one(resources)
      const numbers = numbered.get(stop) ?? places.all(stop)
      numbered.set(stop, numbers)
      return numbers
    }
    const travellers = journeys.map((journey) => travellerOf(journey, places, stopOf))
    const parking = places.all(this.#occupancy.parking.filter(isHere))
    return { ...this.#layout(places), parking, travellers }
  }

  #layout(places: Places): Omit<Configuration, 'parking' | 'travellers'> {
    const kindNames = new Map<string, { number: number; example: Resource }>()
    const kindOf = (resource: Resource) => {
      const name = this.#kindOf(resource)
      const kind = kindNames.get(name) ?? { number: kindNames.size, example: resource }
      kindNames.set(name, kind)
      return kind.number
    }
    for (const resource of places.resources) kindOf(resource)
    const examples = [...kindNames.values()].map(({ example }) => example)
    const ways = examples.flatMap((from) => examples.map((to) => this.#waysFrom(from, to)))
    // Zones that are only passed come last, and need no ways of their own.
    const numbered = ways.map((alternatives) => alternatives.map((passed) => passed.map((zone) => places.of(zone))))
    const { resources } = places
    return {
      kinds: resources.map((resource) => kindNames.get(this.#kindOf(resource))?.number ?? 0),
      kindCount: examples.length,
      ways: numbered,
      conflicts: places.conflicts(),
      blocked: resources.flatMap((resource, place) => (isBlocked(resource) ? [place] : [])),
    }
  }

  /** Resources of one kind are reached alike. */
  #kindOf(resource: Resource): string {
    let kind = this.#kinds.get(resource)
    if (kind === undefined) {
      const { graph } = this.#occupancy
      kind = [...new Set(doorsOf(resource).map((door) => graph.kindOf(door)))].sort((a, b) => a - b).join()
      this.#kinds.set(resource, kind)
    }
    return kind
  }

  #waysFrom(from: Resource, to: Resource): Ways {
    const key = `${this.#kindOf(from)}>${this.#kindOf(to)}`
    let ways = this.#ways.get(key)
    if (!ways) {
      ways = this.#find(from, to)
      this.#ways.set(key, ways)
    }
    return ways
  }

  /** Finds the shortest ways, and for each a detour that passes none of the same zones. */
  #find(from: Resource, to: Resource): Ways {
    const { graph } = this.#occupancy
    const found: Zone[][] = []
    for (const start of doorsOf(from)) {
      for (const end of doorsOf(to)) {
        const route = graph.route(start, end)
        if (!route) continue
        const zones = [...new Set(route.slice(0, -1).map((hop) => this.#occupancy.zone(hop.to)))]
        if (zones.length === 0) return direct
        found.push(zones)
        const detour = graph.detour(start, end, (position) => zones.includes(this.#occupancy.zone(position)))
        if (detour) found.push([...new Set(detour.slice(0, -1).map((hop) => this.#occupancy.zone(hop.to)))])
      }
    }
    return found.length > 0 ? found : noWay
  }
}

/** The numbers of places. A device with one site is one place with its site. */
class Places {
  readonly resources: Resource[] = []
  readonly #numbers = new Map<Resource, number>()

  of(resource: Resource): number {
    const one = resource instanceof DeviceSites || resource.device?.zones.length !== 1 ? resource : resource.device
    let place = this.#numbers.get(one)
    if (place === undefined) {
      place = this.resources.length
      this.#numbers.set(one, place)
      this.resources.push(one)
    }
    return place
  }

  all(resources: readonly Resource[]): number[] {
    return [...new Set(resources.map((resource) => this.of(resource)))]
  }

  conflicts(): number[][] {
    return this.resources.map((resource) => {
      const others = resource instanceof DeviceSites ? resource.zones : resource.device ? [resource.device] : []
      return others.flatMap((other) => this.#numbers.get(other) ?? [])
    })
  }
}

function travellerOf(
  { claimant, ticket, here, isStop, lid }: Journey,
  places: Places,
  stopOf: (stop: readonly Resource[]) => readonly number[],
): Traveller {
  const { home } = claimant
  const { stops, moves } = stopsOf(ticket, isStop)
  return {
    ...(lid && { lid: places.of(lid) }),
    ...(moves && { moves }),
    at: places.all(here),
    stops: stops.map(stopOf),
    stays: ticket.request.stays === true && !(stops.at(-1) ?? here).some(isStorage),
    // Labware that comes to a stop may be parked when it waits for the next one.
    canPark: isStop || ticket.canPark,
    isIdle: ticket.isIdle && stops.length === 0,
    home: home === null ? -1 : places.of(home),
  }
}

/** Lists the stops that are left, with those of the lid between them. */
function stopsOf(ticket: Ticket, isStop: boolean): { stops: readonly (readonly Resource[])[]; moves?: readonly StopKind[] } {
  const isDone = isStop || ticket.isIdle
  const stops = isDone ? ticket.later : [ticket.resources, ...ticket.later]
  if (!ticket.movesLid) return { stops }
  const { lidStops = [], forLid = false } = ticket.request
  const all: [StopKind, readonly Resource[]][] = isDone ? [] : [[forLid ? 'off' : 'go', ticket.resources]]
  for (let i = 0; i <= ticket.later.length; i++) {
    for (const [at, { before, to }] of lidStops.entries()) if (before === i) all.push([to ? 'off' : 'on', ticket.lids[at]!])
    if (ticket.later[i]) all.push(['go', ticket.later[i]!])
  }
  // After a branch nothing is known: a lid that is moved right before it counts as if it stayed where it is.
  while (all.length > 1 && all.at(-1)![0] !== 'go') all.pop()
  return { stops: all.map(([, stop]) => stop), moves: all.map(([kind]) => kind) }
}

/** Labware that has another place is on its way out of the storage, and does not stay in it. */
function withoutStorage(resources: readonly Resource[]): readonly Resource[] {
  return resources.length > 1 ? resources.filter((resource) => !isStorage(resource)) : resources
}

/** Returns the request that says what the labware needs. Labware that waits to be taken out of its storage has a place already. */
function ticketOf({ ticket, last }: Claimant): Ticket | null {
  return ticket?.request.stands && last ? last : (ticket ?? last)
}

function doorsOf(resource: Resource): readonly string[] {
  return resource instanceof DeviceSites ? resource.doors : resource.positions.map(({ name }) => name)
}

/** Labware that ends in a storage leaves the deck there. */
function isStorage(resource: Resource): boolean {
  return !(resource instanceof DeviceSites) && resource.positions[0]!.storage
}

/** Whether labware stands there that no thread moves. */
function isBlocked(resource: Resource): boolean {
  const zones = resource instanceof DeviceSites ? resource.zones : [resource]
  return zones.some(({ placement }) => placement !== null && isUnmoved(placement))
}

/** Whether no thread moves the labware: also not as the lid of its plate. */
function isUnmoved({ claimant, lidOf }: Placement): boolean {
  return claimant === null && lidOf === null
}
