// Where everything stands in the picture of the deck, in px: to scale where the teachpoints have x and y, else by which arm reaches what.

import type { Topology } from '../clients/ts/benchd.ts'

/** The room for the picture in px, and the size of the letters around it. */
export type Room = { width: number; height: number; em: number }
/** A point in mm in the frame of an arm, whose base is the origin; y points away from the operator. */
export type Point = { x: number; y: number }
export type Box = { x: number; y: number; width: number; height: number }
/** The frame of a device around its places. */
export type Frame = Box & { device: string }
/** `bases` are the middles of arms and people. `px_per_mm` is undefined for a picture that is not to scale, `bar` is where its scale bar has room. */
export type DeckLayout = {
  width: number
  height: number
  font: number
  /** The size of labware. */
  plate: { width: number; height: number }
  px_per_mm: number | undefined
  bar: Point | undefined
  frames: readonly Frame[]
  places: ReadonlyMap<string, Box>
  bases: ReadonlyMap<string, Point>
}
/** `points` has the coordinates of each arm by the names of its teachpoints. Whoever needs no teachpoints, as a person, has none. */
export type DeckPlan = Pick<Topology, 'positions' | 'transporters'> & { points: Readonly<Record<string, Readonly<Record<string, Point>>>> }

/** A group of places that stand together, or the base of an arm. `middle` is its anchor, from its left upper corner. */
type Block = { device: string | null; names: readonly string[]; base?: string; width: number; height: number; middle: Point; cells: Box[] }
type Placed = { block: Block; x: number; y: number }
type Sizes = { height: number; width: number; font: number; head: number }

const gap = 6
/** The room between the picture and its edge. */
const edge = 4
/** The heights of a place in px, the first that fits is taken. The last is the smallest target for a finger. */
const heights = [112, 98, 84, 76, 68, 60, 54, 48]
const base_px = 48
/** The room of the scale bar. */
export const bar = { width: 110, height: 30 }
/** Positions closer than this stand in one stack, as those of a hotel, in mm. */
const stack_mm = 30
/** How far two frames of arms that share positions may disagree, in mm. */
const tolerance_mm = 40

/** Lays out the deck in the room: never wider than it, higher only where the smallest places need it. Equal plans give equal layouts. */
export function layoutDeck(plan: DeckPlan, room: Room): DeckLayout {
  const inner = { ...room, width: room.width - 2 * edge, height: room.height - 2 * edge }
  const points = inOneFrame(plan)
  return (points && toScale(plan, points, inner)) ?? byReach(plan, inner)
}

function sizesOf(height: number, { em }: Room): Sizes {
  const font = Math.round(Math.min(18, Math.max(13, em * 0.74, height * 0.19)))
  return { height, width: height * 1.5, font, head: Math.round(font * 2.4) + 6 }
}

/** Makes the block of a device, of a stack of positions, or of one position. */
function blockOf(device: string | null, names: readonly string[], sizes: Sizes, room: Room): Block {
  const pad = device === null ? 0 : gap
  const most = Math.max(1, Math.floor((room.width - 2 * pad) / (sizes.width + gap)))
  const columns = Math.min(names.length, most, names.length <= 3 ? 3 : Math.ceil(Math.sqrt(names.length)))
  const rows = Math.ceil(names.length / columns)
  // The place of a device with one fills its frame, so that its name has room.
  const least = device === null ? 0 : Math.round(sizes.font * 8.4)
  const cell = columns === 1 ? Math.max(sizes.width, least) : sizes.width
  const inner = columns * (cell + gap) - gap
  const width = Math.max(inner, least) + 2 * pad
  const top = device === null ? 0 : sizes.head
  const cells = names.map((_, i) => ({
    x: (width - inner) / 2 + (i % columns) * (cell + gap),
    y: top + Math.floor(i / columns) * (sizes.height + gap),
    width: cell,
    height: sizes.height,
  }))
  const inner_height = rows * (sizes.height + gap) - gap
  return { device, names, width, height: top + inner_height + pad, middle: { x: width / 2, y: top + inner_height / 2 }, cells }
}

/** Makes the block of a base: a circle with its name and state to the right. */
function baseBlock(base: string, { font }: Sizes): Block {
  const width = base_px + font * 7
  return { device: null, names: [], base, width, height: base_px, middle: { x: base_px / 2, y: base_px / 2 }, cells: [] }
}

/** Groups the positions: those of a device, then stacks of positions that `key` puts together. */
function groupsOf(positions: DeckPlan['positions'], key: (name: string) => string): [device: string | null, names: string[]][] {
  const groups = new Map<string, [string | null, string[]]>()
  for (const { name, device } of positions) {
    const id = device === null ? `stack ${key(name)}` : `device ${device}`
    const group = groups.get(id)
    if (group) group[1].push(name)
    else groups.set(id, [device, [name]])
  }
  // The devices first, in the order of the topology.
  return [...groups.values()].sort(([a], [b]) => Number(a === null) - Number(b === null))
}

/** Returns the points of all positions in the frame of the first arm, and the bases of the arms; undefined where the arms do not fit together. */
function inOneFrame({ positions, transporters, points }: DeckPlan) {
  const known = new Map<string, Point>()
  const bases = new Map<string, Point>()
  const arms = transporters.filter(({ device_id }) => points[device_id] !== undefined)
  for (const { device_id, positions: reach } of arms) {
    const own = points[device_id]!
    const names = reach.filter((name) => own[name])
    const shared = names.filter((name) => known.has(name))
    const turn = bases.size === 0 ? (point: Point) => point : fit(shared.map((name) => [own[name]!, known.get(name)!]))
    if (!turn) return undefined
    for (const name of names) if (!known.has(name)) known.set(name, turn(own[name]!))
    bases.set(device_id, turn({ x: 0, y: 0 }))
  }
  const isKnown = ({ name }: { name: string }) => known.has(name)
  return positions.filter(isKnown).length >= 3 ? { known, bases } : undefined
}

/** Returns the turn and the shift that bring pairs of points together; undefined for fewer than two, or if they do not fit. */
function fit(pairs: readonly (readonly [from: Point, to: Point])[]): ((point: Point) => Point) | undefined {
  if (pairs.length < 2) return undefined
  const from = meanOf(pairs.map(([one]) => one))
  const to = meanOf(pairs.map(([, other]) => other))
  let [along, across] = [0, 0]
  for (const [a, b] of pairs) {
    const [ax, ay, bx, by] = [a.x - from.x, a.y - from.y, b.x - to.x, b.y - to.y]
    along += ax * bx + ay * by
    across += ax * by - ay * bx
  }
  const angle = Math.atan2(across, along)
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)]
  const turn = ({ x, y }: Point) => ({
    x: to.x + cos * (x - from.x) - sin * (y - from.y),
    y: to.y + sin * (x - from.x) + cos * (y - from.y),
  })
  const isNear = pairs.every(([a, b]) => Math.hypot(turn(a).x - b.x, turn(a).y - b.y) <= tolerance_mm)
  return isNear ? turn : undefined
}

function meanOf(points: readonly Point[]): Point {
  const sum = points.reduce((all, { x, y }) => ({ x: all.x + x, y: all.y + y }))
  return { x: sum.x / points.length, y: sum.y / points.length }
}

type Frames = NonNullable<ReturnType<typeof inOneFrame>>

/** Lays out to scale, with what has no coordinates in rows below; undefined if places would overlap in this room. */
function toScale(plan: DeckPlan, { known, bases }: Frames, room: Room): DeckLayout | undefined {
  const apart = plan.positions.filter(({ name }) => known.has(name))
  const rest = plan.positions.filter(({ name }) => !known.has(name))
  const people = plan.transporters.filter(({ device_id }) => !bases.has(device_id)).map(({ device_id }) => device_id)
  const heads: string[] = []
  // Positions near an earlier one belong to its stack.
  const stackOf = (name: string) => {
    const at = known.get(name)!
    const head = heads.find((one) => near(known.get(one)!, at))
    if (!head) heads.push(name)
    return head ?? name
  }
  const groups = groupsOf(apart, stackOf)
  for (const height of heights) {
    const sizes = sizesOf(height, room)
    const below = rowsOf([...people.map((id) => baseBlock(id, sizes)), ...blocksOf(rest, sizes, room)], room.width)
    const free = room.height - (below.height && below.height + 2 * gap)
    const anchored = [
      ...groups.map(([device, names]) => ({
        block: blockOf(device, names, sizes, room),
        at: meanOf(names.map((name) => known.get(name)!)),
      })),
      ...[...bases].map(([id, at]) => ({ block: baseBlock(id, sizes), at })),
    ]
    const { least, widest, highest } = scalesOf(anchored, room.width, free)
    const isLast = height === heights.at(-1)
    if (least > widest || (least > highest && !isLast)) continue
    const px_per_mm = Math.max(least, Math.min(widest, highest))
    const map = anchored.map(({ block, at }) => ({ block, x: at.x * px_per_mm - block.middle.x, y: -at.y * px_per_mm - block.middle.y }))
    const size = boundsOf(map)
    const shifted = shift(map, (room.width - size.width) / 2 - size.x, -size.y)
    const all = [...shifted, ...shift(below.placed, 0, size.height + 2 * gap)]
    return finished(all, { room, sizes, px_per_mm, height: size.height + (below.height && below.height + 2 * gap) })
  }
  return undefined
}

function near(a: Point, b: Point): boolean {
  return Math.abs(a.x - b.x) < stack_mm && Math.abs(a.y - b.y) < stack_mm
}

/** Returns the least scale at which nothing overlaps, and the largest at which all fits the width and the height, in px/mm. */
function scalesOf(all: readonly { block: Block; at: Point }[], width: number, height: number) {
  let [least, widest, highest] = [0, Number.MAX_VALUE, Number.MAX_VALUE]
  for (const [i, a] of all.entries())
    for (const b of all.slice(i)) {
      const [left, right] = a.at.x < b.at.x ? [a, b] : [b, a]
      const [low, high] = a.at.y < b.at.y ? [a, b] : [b, a]
      const [dx, dy] = [right.at.x - left.at.x, high.at.y - low.at.y]
      const sides = left.block.middle.x + right.block.width - right.block.middle.x
      const ends = high.block.middle.y + low.block.height - low.block.middle.y
      if (dx > 0) widest = Math.min(widest, (width - sides) / dx)
      if (dy > 0) highest = Math.min(highest, (height - ends) / dy)
      if (a === b) continue
      const between = left.block.width - left.block.middle.x + right.block.middle.x + gap
      const among = high.block.height - high.block.middle.y + low.block.middle.y + gap
      least = Math.max(least, Math.min(between / dx, among / dy))
    }
  return { least, widest, highest }
}

/** Lays out by reach: for each arm a column with the devices above the arm and other positions below it. */
function byReach(plan: DeckPlan, room: Room): DeckLayout {
  const [first] = plan.transporters
  const ownerOf = (name: string) => (plan.transporters.find(({ positions }) => positions.includes(name)) ?? first)?.device_id
  const owned = new Map<string | undefined, DeckPlan['positions'][number][]>(plan.transporters.map(({ device_id }) => [device_id, []]))
  // All positions of a device stand with its first one.
  const owners = new Map<string, string | undefined>()
  for (const one of plan.positions) {
    const owner = one.device !== null && owners.has(one.device) ? owners.get(one.device) : ownerOf(one.name)
    if (one.device !== null) owners.set(one.device, owner)
    owned.set(owner, [...(owned.get(owner) ?? []), one])
  }
  const stations = [...owned]
  let last: DeckLayout | undefined
  for (const height of heights) {
    const sizes = sizesOf(height, room)
    const wide = blockOf('', [''], sizes, room).width + 2 * gap
    const side = Math.max(1, Math.min(stations.length, Math.floor(room.width / (2 * wide))))
    const column = room.width / side
    const all: Placed[] = []
    let top = 0
    for (let i = 0; i < stations.length; i += side) {
      const line = stations
        .slice(i, i + side)
        .map(([arm, positions]) => stationOf(arm, positions, sizes, { ...room, width: column - 2 * gap }))
      const highest = Math.max(...line.map((one) => one.height))
      for (const [n, one] of line.entries()) all.push(...shift(one.placed, n * column + gap, top + (highest - one.height) / 2))
      top += highest + 3 * gap
    }
    const used = Math.max(0, top - 3 * gap)
    last = finished(all, { room, sizes, px_per_mm: undefined, height: used })
    if (used <= room.height) break
  }
  return last!
}

/** The rows of one arm with its base between them. */
function stationOf(
  arm: string | undefined,
  positions: DeckPlan['positions'],
  sizes: Sizes,
  room: Room,
): { placed: Placed[]; height: number } {
  const blocks = blocksOf(positions, sizes, room)
  const rows = rowsOf(blocks, room.width)
  if (arm === undefined) return rows
  const base = baseBlock(arm, sizes)
  const tops = [...new Set(rows.placed.map(({ y }) => y)), rows.height + gap].sort((a, b) => a - b)
  // Between devices and other positions, else at half the height.
  const border = rows.placed.find(({ block }, i) => block.device === null && rows.placed[i - 1]?.block.device)?.y
  const half = tops.reduce((best, y) => (Math.abs(y - rows.height / 2) < Math.abs(best - rows.height / 2) ? y : best), tops[0] ?? 0)
  const at = border ?? half
  const room_px = base_px + 3 * gap
  const placed = rows.placed.map((one) => (one.y < at ? one : { ...one, y: one.y + room_px + gap }))
  return {
    placed: [...placed, { block: base, x: (room.width - base_px) / 2, y: at + gap }],
    height: rows.height + room_px + gap,
  }
}

/** Devices as blocks, each other position as one of its own. */
function blocksOf(positions: DeckPlan['positions'], sizes: Sizes, room: Room): Block[] {
  return groupsOf(positions, (name) => name).map(([device, names]) => blockOf(device, names, sizes, room))
}

/** Puts blocks into centred rows; devices and other positions do not share one. */
function rowsOf(blocks: readonly Block[], width: number): { placed: Placed[]; height: number } {
  const rows: Block[][] = []
  let left = 0
  for (const [i, block] of blocks.entries()) {
    const isOther = i > 0 && (block.device === null) !== (blocks[i - 1]!.device === null) && !blocks[i - 1]!.base
    if (i === 0 || isOther || left + block.width > width) {
      rows.push([])
      left = 0
    }
    rows.at(-1)!.push(block)
    left += block.width + 2 * gap
  }
  const placed: Placed[] = []
  let y = 0
  for (const row of rows) {
    const highest = Math.max(...row.map(({ height }) => height))
    const used = row.reduce((sum, block) => sum + block.width + 2 * gap, -2 * gap)
    let x = (width - used) / 2
    for (const block of row) {
      placed.push({ block, x, y })
      x += block.width + 2 * gap
    }
    y += highest + 2 * gap
  }
  return { placed, height: Math.max(0, y - 2 * gap) }
}

function shift(all: readonly Placed[], dx: number, dy: number): Placed[] {
  return all.map((one) => ({ ...one, x: one.x + dx, y: one.y + dy }))
}

function boundsOf(all: readonly Placed[]): Box {
  const [x, y] = [Math.min(...all.map((one) => one.x)), Math.min(...all.map((one) => one.y))]
  const width = Math.max(...all.map((one) => one.x + one.block.width)) - x
  return { x, y, width, height: Math.max(...all.map((one) => one.y + one.block.height)) - y }
}

type Finish = { room: Room; sizes: Sizes; px_per_mm: number | undefined; height: number }

/** Rounds to px inside the edge, and finds a corner for the scale bar, or adds a strip for it. */
function finished(all: readonly Placed[], { room, sizes, px_per_mm, height }: Finish): DeckLayout {
  const frames: Frame[] = []
  const places = new Map<string, Box>()
  const bases = new Map<string, Point>()
  const taken: Box[] = []
  for (const { block, ...at } of all) {
    const [x, y] = [Math.round(at.x) + edge, Math.round(at.y) + edge]
    const box = { x, y, width: block.width, height: block.height }
    taken.push(box)
    if (block.base !== undefined) bases.set(block.base, { x: x + base_px / 2, y: y + base_px / 2 })
    if (block.device !== null) frames.push({ ...box, device: block.device })
    for (const [i, cell] of block.cells.entries()) places.set(block.names[i]!, { ...cell, x: x + cell.x, y: y + cell.y })
  }
  const [width, high] = [room.width + 2 * edge, Math.ceil(height) + 2 * edge]
  const layout = {
    width,
    height: high,
    font: sizes.font,
    plate: { width: sizes.width, height: sizes.height },
    px_per_mm,
    frames,
    places,
    bases,
  }
  if (px_per_mm === undefined) return { ...layout, bar: undefined }
  const corners = [high - bar.height - edge, edge].flatMap((y) => [edge, width - bar.width - edge].map((x) => ({ x, y })))
  const free = corners.find((at) => !taken.some((box) => meet({ ...at, ...bar }, box)))
  return free ? { ...layout, bar: free } : { ...layout, height: high + bar.height, bar: { x: edge, y: high } }
}

/** Whether two boxes have a part in common. */
export function meet(a: Box, b: Box): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height
}
