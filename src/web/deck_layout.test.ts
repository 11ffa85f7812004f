import { type Test, test } from 'tap'
import { demoTeachpoints } from '../examples/demo_bench.ts'
import { demoTopology } from '../examples/seal_and_spin.ts'
import { type Box, bar, type DeckLayout, type DeckPlan, layoutDeck, meet, type Point } from './deck_layout.ts'

const small = { width: 788, height: 409, em: 18 }
const desk = { width: 1260, height: 728, em: 16 }
const phone = { width: 370, height: 720, em: 16 }
/** The smallest target for a finger, in px. */
const finger = 48

function positionsOf(devices: Record<string, string | null>): DeckPlan['positions'] {
  const rest = { parking: false, storage: false, handover: false, slot: null, labware: null, reserved_for: null }
  return Object.entries(devices).map(([name, device]) => ({ name, device, ...rest }))
}

const demoDevices = Object.fromEntries(
  Object.entries(demoTopology.positions ?? {}).map(([name, its]) => [name, (its as { device?: string }).device ?? null]),
)
const demoPoints = Object.fromEntries(demoTeachpoints.map(({ name, coords }) => [name, coords as unknown as Point]))
const demo: DeckPlan = {
  positions: positionsOf(demoDevices),
  transporters: [{ device_id: 'arm-1', positions: Object.keys(demoDevices) }],
  points: { 'arm-1': demoPoints },
}

/** A bench of 23 devices with sites, storage of 100 positions and 31 pads: 200 positions, two arms. */
const large: DeckPlan = (() => {
  const devices: Record<string, string | null> = {}
  for (let n = 1; n <= 23; n++) for (let site = 1; site <= 3; site++) devices[`device-${n}/site-${site}`] = `device-${n}`
  for (let n = 1; n <= 100; n++) devices[`hotel/slot-${n}`] = 'hotel'
  for (let n = 1; n <= 31; n++) devices[`pad_${n}`] = null
  const names = Object.keys(devices)
  const transporters = [
    { device_id: 'arm-1', positions: names.slice(0, 60) },
    { device_id: 'arm-2', positions: names.slice(50) },
  ]
  return { positions: positionsOf(devices), transporters, points: {} }
})()

function overlaps(boxes: readonly Box[]): number {
  return boxes.reduce((count, a, i) => count + boxes.slice(i + 1).filter((b) => meet(a, b)).length, 0)
}

/** The boxes of the bases, as they are drawn. */
function basesOf({ bases }: DeckLayout): Box[] {
  return [...bases.values()].map(({ x, y }) => ({ x: x - 24, y: y - 24, width: 48, height: 48 }))
}

function mustBeReadable(t: Test, plan: DeckPlan, layout: DeckLayout): void {
  const places = [...layout.places.values()]
  t.same([...layout.places.keys()].sort(), plan.positions.map(({ name }) => name).sort())
  t.same([...layout.bases.keys()].sort(), plan.transporters.map(({ device_id }) => device_id).sort())
  t.equal(overlaps(places), 0, 'places stand apart')
  t.equal(overlaps([...layout.frames, ...basesOf(layout)]), 0, 'so do devices and arms')
  for (const place of places) t.ok(place.width >= finger && place.height >= finger, 'large enough for a finger')
  const its = layout.bar ? [{ ...layout.bar, ...bar }] : []
  t.equal(its.filter((one) => [...places, ...layout.frames].some((box) => meet(one, box))).length, 0, 'the scale bar hides nothing')
  for (const { x, y, width, height } of [...places, ...layout.frames, ...basesOf(layout), ...its])
    t.ok(x >= 0 && y >= 0 && x + width <= layout.width && y + height <= layout.height, 'in the picture')
  for (const { name, device } of plan.positions) {
    const frame = layout.frames.find((one) => one.device === device)
    if (device !== null) t.ok(frame && meet(frame, layout.places.get(name)!), `${name} is in the frame of ${device}`)
  }
}

function middle({ x, y, width, height }: Box): Point {
  return { x: x + width / 2, y: y + height / 2 }
}

test('the demo bench is drawn to scale, and fits a bench screen and a desk without scrolling', (t) => {
  for (const room of [small, desk]) {
    const layout = layoutDeck(demo, room)
    mustBeReadable(t, demo, layout)
    t.ok(layout.height <= room.height, `${layout.height} of ${room.height}`)
    const { px_per_mm = 0, places } = layout
    t.ok(px_per_mm > 0.4)
    for (const a of places.keys())
      for (const b of places.keys()) {
        const [from, to] = [middle(places.get(a)!), middle(places.get(b)!)]
        t.ok(Math.abs(to.x - from.x - (demoPoints[b]!.x - demoPoints[a]!.x) * px_per_mm) <= 2, `${a} to ${b}, across`)
        t.ok(Math.abs(from.y - to.y - (demoPoints[b]!.y - demoPoints[a]!.y) * px_per_mm) <= 2, `${a} to ${b}, away from the operator`)
      }
  }
  t.end()
})

test('where the scale leaves no room for fingers, and without coordinates, the deck is laid out by reach', (t) => {
  for (const [plan, room] of [
    [demo, phone],
    [{ ...demo, points: {} }, small],
    [{ ...demo, points: { 'arm-1': { pad_1: { x: 0, y: 10 } } } }, small],
    [{ ...demo, points: { 'arm-1': { ...demoPoints, sealer_in: demoPoints['shaker_in']! } } }, small],
  ] as const) {
    const layout = layoutDeck(plan, room)
    mustBeReadable(t, plan, layout)
    t.equal(layout.px_per_mm, undefined)
    t.ok(layout.height <= room.height, `${layout.height} of ${room.height}`)
  }
  t.end()
})

test('positions without coordinates, and people, stand below the map', (t) => {
  const { shaker_in: _, ...points } = demoPoints
  const person = { device_id: 'hands', positions: Object.keys(demoDevices) }
  const plan = { ...demo, transporters: [...demo.transporters, person], points: { 'arm-1': points } }
  const layout = layoutDeck(plan, desk)
  mustBeReadable(t, plan, layout)
  t.ok(layout.px_per_mm)
  const lowest = Math.max(...['waste', 'sealer_in'].map((name) => layout.places.get(name)!.y))
  t.ok(layout.places.get('shaker_in')!.y > lowest)
  t.ok(layout.bases.get('hands')!.y > lowest)
  t.end()
})

test('a second arm is drawn in the frame of the first by the positions that they share; else nothing is to scale', (t) => {
  // The second arm stands 600 mm to the right and is turned by a half turn.
  const turned = (point: Point) => ({ x: 600 - point.x, y: -point.y })
  const second = { device_id: 'arm-2', positions: ['pad_1', 'pad_2', 'shaker_in', 'far'] }
  const far = { x: -200, y: -200 }
  const shared = Object.fromEntries(['pad_1', 'pad_2', 'shaker_in'].map((name) => [name, turned(demoPoints[name]!)]))
  const plan = (points: Record<string, Point>): DeckPlan => ({
    positions: [...demo.positions, ...positionsOf({ far: null })],
    transporters: [...demo.transporters, second],
    points: { 'arm-1': demoPoints, 'arm-2': points },
  })
  const layout = layoutDeck(plan({ ...shared, far }), desk)
  mustBeReadable(t, plan({}), layout)
  const { px_per_mm = 0, bases } = layout
  const [one, two] = [bases.get('arm-1')!, bases.get('arm-2')!]
  t.ok(px_per_mm > 0)
  t.ok(Math.abs(two.x - one.x - 600 * px_per_mm) <= 2 && Math.abs(two.y - one.y) <= 2, 'the base of the second arm')
  t.ok(Math.abs(middle(layout.places.get('far')!).x - one.x - 800 * px_per_mm) <= 2, 'the position that it alone reaches')
  const wrongs: Record<string, Point>[] = [
    { pad_1: shared['pad_1']!, far },
    { ...shared, pad_2: { x: 900, y: 900 }, far },
  ]
  for (const wrong of wrongs) {
    const apart = layoutDeck(plan(wrong), desk)
    mustBeReadable(t, plan({}), apart)
    t.equal(apart.px_per_mm, undefined)
  }
  t.end()
})

test('positions above each other, as in a hotel, become one stack', (t) => {
  const names = Array.from({ length: 12 }, (_, i) => `slot_${i + 1}`)
  const plan = {
    positions: [...demo.positions, ...positionsOf(Object.fromEntries(names.map((name) => [name, null])))],
    transporters: [{ device_id: 'arm-1', positions: [...Object.keys(demoDevices), ...names] }],
    points: { 'arm-1': { ...demoPoints, ...Object.fromEntries(names.map((name, i) => [name, { x: -400 + (i % 2), y: 500 }])) } },
  }
  const layout = layoutDeck(plan, desk)
  mustBeReadable(t, plan, layout)
  t.ok(layout.px_per_mm)
  const [first, last] = [layout.places.get('slot_1')!, layout.places.get('slot_12')!]
  t.ok(last.x - first.x < 5 * first.width && last.y - first.y < 4 * first.height)
  t.end()
})

test('23 devices and 200 positions stay readable, at every width', (t) => {
  t.equal(large.positions.length, 200)
  for (const room of [small, desk, phone]) mustBeReadable(t, large, layoutDeck(large, room))
  t.end()
})

test('equal plans have equal layouts, and contents change none', (t) => {
  t.same(layoutDeck(structuredClone(large), desk), layoutDeck(large, desk))
  const taken = demo.positions.map((one) => ({ ...one, reserved_for: 'a thread' }))
  t.same(layoutDeck({ ...demo, positions: taken }, small), layoutDeck(demo, small))
  t.end()
})

test('a bench without arms or positions has a picture too', (t) => {
  const alone = { positions: positionsOf({ pad_1: null }), transporters: [], points: {} }
  mustBeReadable(t, alone, layoutDeck(alone, small))
  t.equal(layoutDeck({ positions: [], transporters: [], points: {} }, small).places.size, 0)
  t.end()
})
