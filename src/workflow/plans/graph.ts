// The graph of positions, and the shortest route from one position to another.

import { LabError } from '../../errors.ts'
import type { TopologyDocument } from './topology_schema.ts'

/** A single pick and place. */
export type Hop = { from: string; to: string; transporter: string }

/**
 * A place for one labware: an entry of the topology's `positions`, one of several sites of a device (`nest/site-1`), or a slot of a storage
 * (`incubator/slot-1`).
 */
export type Position = {
  name: string
  /** The name of the entry in the topology's document. */
  entry: string
  device: string | null
  parking: boolean
  storage: boolean
  handover: boolean
  /** The number of a slot, from 1; null for what is no slot of a storage. */
  slot: number | null
}

/** An entry of the topology, whose positions are all reached alike. */
type Node = {
  entry: string
  positions: readonly Position[]
  arms: Arm[]
  /** For a station of a shuttle: the other station. */
  ride: { translator: string; to: Node } | null
  /** Nodes of one kind are reached by the same transporters, so that their routes are the same. */
  kind: number
}

type Arm = { transporter: string; nodes: Node[] }

/** A hop without its positions. The last leg leads to the destination. */
type Leg = { transporter: string; to: Node }

export class Graph {
  readonly positions: ReadonlyMap<string, Position>
  /** Keyed by transporter and translator: the positions that it reaches. */
  readonly reach: ReadonlyMap<string, ReadonlySet<string>>
  readonly #nodes = new Map<string, Node>()
  readonly #devices = new Map<string, Position[]>()
  readonly #kinds: number
  readonly #islands: ReadonlyMap<Node, number>
  readonly #covering = new Map<Arm, Map<Arm, boolean>>()
  /** The routes by the kinds of start and end; null if there is none. */
  readonly #ways: (readonly Leg[] | null | undefined)[] = []

  constructor(document: TopologyDocument) {
    const entries = entriesOf(document)
    const nodes = new Map(Object.keys(document.positions).map((entry) => [entry, nodeOf(entry, document, entries)]))
    connect(nodes, document)
    this.#kinds = sortIntoKinds(nodes.values())
    const positions = new Map<string, Position>()
    for (const node of nodes.values()) {
      for (const position of node.positions) {
        positions.set(position.name, position)
        this.#nodes.set(position.name, node)
        if (position.device !== null) this.#devices.set(position.device, [...(this.#devices.get(position.device) ?? []), position])
      }
    }
    this.positions = positions
    this.reach = reachOf(nodes.values())
    this.#islands = this.#numbered()
  }

  get devices(): Iterable<string> {
    return this.#devices.keys()
  }

  /** Lists the positions of a device in the order of its sites; none for a device without a position. */
  positionsOf(device: string): readonly Position[] {
    return this.#devices.get(device) ?? []
  }

  /**
   * Returns the shortest route; undefined if there is none, empty if start and end are equal. It stops only at stations of translators and at positions
   * for handing over: never in a device or a storage, and on a parking position only if there is no other route.
   */
  route(from: string, to: string): readonly Hop[] | undefined {
    if (from === to) return []
    const legs = this.#way(this.#node(from), this.#node(to))
    return legs ? filledIn(legs, from, to) : undefined
  }

  /** The length of the route. */
  hops(from: string, to: string): number | undefined {
    if (from === to) return 0
    return this.#way(this.#node(from), this.#node(to))?.length
  }

  /** Returns a route without closed positions, for as long as labware blocks the shortest one. It is not cached. */
  detour(from: string, to: string, isClosed: (position: string) => boolean): readonly Hop[] | undefined {
    if (from === to) return []
    const [start, end] = [this.#node(from), this.#node(to)]
    const isOpen = (node: Node) => passesOn(node) && !node.positions.every(({ name }) => isClosed(name))
    const legs = search(start, end, (node) => isOpen(node) && !isParking(node)) ?? search(start, end, isOpen)
    return legs ? filledIn(legs, from, to) : undefined
  }

  /** Returns the positions of the same zone, in the order of the document: both stations of a translator, else the position alone. */
  sameZone(position: string): readonly Position[] {
    const { ride, positions, kind } = this.#node(position)
    if (!ride) return [this.positions.get(position)!]
    return kind < ride.to.kind ? [...positions, ...ride.to.positions] : [...ride.to.positions, ...positions]
  }

  /** Lists the transporters that can carry labware between two positions in one hop, in the order of the document. */
  transportersBetween(from: string, to: string): readonly string[] {
    const { arms } = this.#node(from)
    return arms.flatMap(({ transporter }) => (this.reach.get(transporter)!.has(to) ? [transporter] : []))
  }

  /**
   * Whether transporters hand labware over here, so that resting labware is in the way: two that meet here, and each reaches what the other does not.
   */
  isHandOver(position: string): boolean {
    const node = this.#node(position)
    if (!passesOn(node) || links(node) < 2) return false
    return node.ride !== null || node.arms.some((one) => node.arms.some((other) => !this.#covers(one, other) && !this.#covers(other, one)))
  }

  /** Whether an arm reaches all that the other reaches. */
  #covers(one: Arm, other: Arm): boolean {
    const known = this.#covering.get(one) ?? new Map<Arm, boolean>()
    this.#covering.set(one, known)
    const covers = known.get(other) ?? isSubset(other.nodes, new Set(one.nodes))
    known.set(other, covers)
    return covers
  }

  /** Whether its neighbours stay connected if it is closed. */
  canDoWithout(position: string, isClosed: (position: string) => boolean): boolean {
    const node = this.#node(position)
    const isOpen = (other: Node) => other !== node && !other.positions.some(({ name }) => isClosed(name))
    const isEnd = (other: Node) => isOpen(other) || (other !== node && !this.isHandOver(other.positions[0]!.name))
    const ends = node.arms.map(({ nodes }) => nodes.find(isEnd) ?? nodes.find((other) => other !== node))
    const [from, ...others] = [...ends, node.ride?.to].filter((other) => other !== undefined)
    return others.every((to) => from === to || search(from!, to, (other) => passesOn(other) && isOpen(other)) !== undefined)
  }

  /** Whether there is a route from this position to each one that can be reached at all, also through devices. */
  reachesAll(position: string): boolean {
    const node = this.#node(position)
    return island(node).every((other) => this.#way(node, other) !== null)
  }

  /** Returns the number of the connected component. Labware of different components is never in each other's way. */
  islandOf(position: string): number {
    return this.#islands.get(this.#node(position))!
  }

  /** Numbers the connected components; the nests of a device are connected too. */
  #numbered(): ReadonlyMap<Node, number> {
    const numbers = new Map<Node, number>()
    let count = 0
    for (const first of this.#nodes.values()) {
      if (numbers.has(first)) continue
      const number = count++
      for (const waiting = [first]; waiting.length > 0; ) {
        for (const node of hangingTogether(waiting.pop()!)) {
          if (numbers.has(node)) continue
          numbers.set(node, number)
          for (const { device } of node.positions)
            if (device !== null) for (const { name } of this.positionsOf(device)) waiting.push(this.#node(name))
        }
      }
    }
    return numbers
  }

  /** Returns the number of the kind: positions of one kind are reached by the same transporters, so that their routes are the same. */
  kindOf(position: string): number {
    return this.#node(position).kind
  }

  #node(position: string): Node {
    const node = this.#nodes.get(position)
    if (!node) throw new LabError('not_found', `the topology has no position ${position}`)
    return node
  }

  #way(from: Node, to: Node): readonly Leg[] | null {
    const key = from.kind * this.#kinds + to.kind
    const known = this.#ways[key]
    if (known !== undefined) return known
    const way = search(from, to, (node) => passesOn(node) && !isParking(node)) ?? search(from, to, passesOn) ?? null
    this.#ways[key] = way
    return way
  }
}

/** Returns the positions that each transporter and translator reaches. */
function reachOf(nodes: Iterable<Node>): Map<string, Set<string>> {
  const reach = new Map<string, Set<string>>()
  for (const { positions, arms, ride } of nodes) {
    for (const transporter of [...arms.map((arm) => arm.transporter), ...(ride ? [ride.translator] : [])]) {
      const reached = reach.get(transporter) ?? new Set()
      for (const { name } of positions) reached.add(name)
      reach.set(transporter, reached)
    }
  }
  return reach
}

/** Counts the entries of the topology of each device. */
function entriesOf({ positions }: TopologyDocument): ReadonlyMap<string, number> {
  const entries = new Map<string, number>()
  for (const { device } of Object.values(positions)) if (device !== undefined) entries.set(device, (entries.get(device) ?? 0) + 1)
  return entries
}

function nodeOf(entry: string, { positions, devices }: TopologyDocument, entries: ReadonlyMap<string, number>): Node {
  const { device = null, parking, storage, handover, slots } = positions[entry]!
  const sites = device === null || entries.get(device) !== 1 ? 1 : (devices[device]?.sites ?? 1)
  const kind = slots === undefined ? 'site' : 'slot'
  const numbers = Array.from({ length: slots ?? sites }, (_, i) => i + 1)
  const isAlone = kind === 'site' && sites === 1
  const all = numbers.map((number) => ({
    ...{ name: isAlone ? entry : `${entry}/${kind}-${number}`, entry, device, parking, storage, handover },
    slot: kind === 'slot' ? number : null,
  }))
  return { entry, positions: all, arms: [], ride: null, kind: 0 }
}

function connect(nodes: ReadonlyMap<string, Node>, { transporters, translators }: TopologyDocument): void {
  const nodeAt = (entry: string) => {
    const node = nodes.get(entry)
    if (!node) throw new LabError('not_found', `the topology has no position ${entry}`)
    return node
  }
  for (const [transporter, { positions }] of Object.entries(transporters)) {
    const arm = { transporter, nodes: positions.map(nodeAt) }
    for (const node of arm.nodes) node.arms.push(arm)
  }
  for (const [translator, [one, other]] of Object.entries(translators)) {
    nodeAt(one).ride = { translator, to: nodeAt(other) }
    nodeAt(other).ride = { translator, to: nodeAt(one) }
  }
}

/** Numbers the kinds in the order of the document, and returns their number. Each station is a kind of its own, because its ride leads elsewhere. */
function sortIntoKinds(nodes: Iterable<Node>): number {
  const kinds = new Map<string, number>()
  for (const node of nodes) {
    const key = JSON.stringify([node.arms.map(({ transporter }) => transporter), node.ride ? node.entry : null])
    if (!kinds.has(key)) kinds.set(key, kinds.size)
    node.kind = kinds.get(key)!
  }
  return kinds.size
}

/** Searches breadth-first. Of routes of equal length, the first in the document wins. */
function search(from: Node, to: Node, mayPass: (node: Node) => boolean): readonly Leg[] | undefined {
  const cameBy = new Map<Node, { leg: Leg; before: Node } | null>([[from, null]])
  for (const [node] of cameBy) {
    for (const leg of legsFrom(node)) {
      if (leg.to === to) return [...legsTo(node, cameBy), leg]
      if (!cameBy.has(leg.to) && links(leg.to) > 1 && mayPass(leg.to)) cameBy.set(leg.to, { leg, before: node })
    }
  }
  return undefined
}

function legsTo(node: Node, cameBy: ReadonlyMap<Node, { leg: Leg; before: Node } | null>): Leg[] {
  const legs: Leg[] = []
  for (let step = cameBy.get(node); step; step = cameBy.get(step.before)) legs.unshift(step.leg)
  return legs
}

function* legsFrom(node: Node): Generator<Leg> {
  const { arms, ride } = node
  // A storage brings labware from one slot to another over its transfer station.
  for (const { transporter, nodes } of arms) for (const to of nodes) if (to !== node || !isSlotted(node)) yield { transporter, to }
  if (ride) yield { transporter: ride.translator, to: ride.to }
}

/** Finds the connected component, with one node for each kind. */
function island(start: Node): Node[] {
  const kinds = new Map<number, Node>()
  for (const node of hangingTogether(start)) if (!kinds.has(node.kind)) kinds.set(node.kind, node)
  return [...kinds.values()]
}

function hangingTogether(start: Node): ReadonlySet<Node> {
  const [nodes, arms] = [new Set([start]), new Set<Arm>()]
  for (const node of nodes) {
    if (node.ride) nodes.add(node.ride.to)
    for (const arm of node.arms) {
      if (arms.has(arm)) continue
      arms.add(arm)
      for (const next of arm.nodes) nodes.add(next)
    }
  }
  return nodes
}

function isSubset(some: readonly Node[], all: ReadonlySet<Node>): boolean {
  return some.every((node) => all.has(node))
}

function links({ arms, ride }: Node): number {
  return arms.length + (ride ? 1 : 0)
}

function passesOn({ positions }: Node): boolean {
  const { device, storage, slot } = positions[0]!
  return device === null && !storage && slot === null
}

function isSlotted({ positions }: Node): boolean {
  return positions[0]!.slot !== null
}

function isParking({ positions }: Node): boolean {
  return positions[0]!.parking
}

function filledIn(legs: readonly Leg[], from: string, to: string): readonly Hop[] {
  let here = from
  return legs.map(({ transporter, to: node }, i) => {
    const hop = { from: here, to: i === legs.length - 1 ? to : node.positions[0]!.name, transporter }
    here = hop.to
    return hop
  })
}
