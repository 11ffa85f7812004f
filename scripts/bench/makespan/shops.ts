// Random shops: plates that visit devices on a bench whose carriers reach every position. Each has an abstract description for the solver, and
// documents for the runtime.

import { randomFrom } from '../../../src/testing/scheduler_runs.ts'
import type { WorkflowInput } from '../../../src/workflow/plans/author.ts'
import type { TopologyInput } from '../../../src/workflow/plans/topology_schema.ts'
import type { SubmissionRequest } from '../../../src/workflow/state/submission_request.ts'

/** A stop of a plate. The service expects `seconds`; where durations vary, the work takes `varied_s`. */
export type Step = {
  readonly device: number
  readonly seconds: number
  readonly varied_s: number
  /** The work of the next step begins within so many seconds after this one; null without a limit. */
  readonly window_s: number | null
}

export type Shop = {
  readonly name: string
  readonly kind: 'flow' | 'job'
  /** The steps of each plate. A plate starts at its own pad. */
  readonly plates: readonly (readonly Step[])[]
  /** For each device the number of its units: 2 for a pool of two. */
  readonly units: readonly number[]
  readonly parks: number
  readonly carriers: number
  /** The number of carriers that are people. */
  readonly people: number
  readonly hop_s: number
  /** Whether the plates are groups of one thread, and end at whichever pad is free. Otherwise each ends at its own pad. */
  readonly alike: boolean
}

export type Shape = {
  kind: 'flow' | 'job'
  plates: number
  devices: number
  parks?: number
  carriers?: number
  people?: number
  /** Whether the slowest device is a pool of two. */
  pool?: boolean
  /** The least and the most seconds of a window after each step. */
  windows?: readonly [number, number]
}

/** Pick, move and place together. */
const hop_s = 12

export function randomShop(
  seed: number,
  { kind, plates, devices, parks = 2, carriers = 1, people = 0, pool = false, windows }: Shape,
): Shop {
  const below = randomFrom(seed)
  const between = (least: number, most: number) => least + below(most - least + 1)
  const all = Array.from({ length: plates }, () => {
    const order = Array.from({ length: devices }, (_, device) => device)
    if (kind === 'job') shuffle(order, below)
    return order.map((device, i): Step => {
      const seconds = between(60, 300)
      const varied_s = Math.round((seconds * between(800, 1200)) / 1000)
      return { device, seconds, varied_s, window_s: windows && i < devices - 1 ? between(...windows) : null }
    })
  })
  const units = Array.from({ length: devices }, () => 1)
  if (pool) units[slowest(all, devices)] = 2
  return { name: `${kind}-${seed}`, kind, plates: all, units, parks, carriers, people, hop_s, alike: false }
}

/** Returns the shop with the seconds that the work takes in fact. */
export function asVaried(shop: Shop): Shop {
  return { ...shop, plates: shop.plates.map((steps) => steps.map((step) => ({ ...step, seconds: step.varied_s }))) }
}

export function withoutWindows(shop: Shop): Shop {
  return { ...shop, plates: shop.plates.map((steps) => steps.map((step) => ({ ...step, window_s: null }))) }
}

function shuffle(list: number[], below: (most: number) => number): void {
  for (let i = list.length - 1; i > 0; i--) {
    const j = below(i + 1)
    ;[list[i], list[j]] = [list[j]!, list[i]!]
  }
}

/** Returns the device with the most work. */
function slowest(plates: readonly (readonly Step[])[], devices: number): number {
  const load = Array.from({ length: devices }, () => 0)
  for (const { device, seconds } of plates.flat()) load[device]! += seconds
  return load.indexOf(Math.max(...load))
}

/** The names of the units of a device: one that is alone has the name of the device. */
export function unitsOf({ units }: Shop, device: number): string[] {
  const name = `d${device + 1}`
  return units[device] === 1 ? [name] : Array.from({ length: units[device]! }, (_, i) => `${name}-${'abcdefgh'[i]}`)
}

export function parksOf({ parks }: Shop): string[] {
  return all(parks, 'park')
}

export function carriersOf({ carriers, people }: Shop): string[] {
  return [...all(carriers - people, 'arm'), ...all(people, 'person')]
}

const all = (count: number, name: string) => Array.from({ length: count }, (_, i) => `${name}${i + 1}`)

export function topologyOf(shop: Shop): TopologyInput {
  const names = shop.units.map((_, device) => unitsOf(shop, device))
  const units = names.flat()
  const pads = padsOf(shop)
  const parks = parksOf(shop)
  const reached = [...pads, ...parks, ...units.map((unit) => `${unit}_in`)]
  return {
    format: 1,
    name: shop.name,
    transporters: Object.fromEntries(carriersOf(shop).map((arm) => [arm, { positions: reached }])),
    positions: {
      ...Object.fromEntries(pads.map((pad) => [pad, {}])),
      ...Object.fromEntries(parks.map((park) => [park, { parking: true }])),
      ...Object.fromEntries(units.map((unit) => [`${unit}_in`, { device: unit }])),
    },
    pools: Object.fromEntries(names.flatMap((its, device) => (its.length > 1 ? [[`d${device + 1}`, its]] : []))),
    devices: Object.fromEntries(units.map((unit) => [unit, { operations: { work: { seconds: 60 } } }])),
  }
}

/** Returns the names of the threads as charts have them. */
export function platesOf({ plates, alike }: Shop): string[] {
  return plates.map((_, p) => (alike ? (p === 0 ? 'p' : `p-${p + 1}`) : `p${p + 1}`))
}

export function padsOf({ plates }: Shop): string[] {
  return all(plates.length, 'in')
}

/** Returns the groups of a submission, each of which brings one plate; none where each plate has a thread of its own. */
export function groupsOf(shop: Shop): SubmissionRequest['groups'] {
  return shop.alike ? padsOf(shop).map((location, p) => ({ group_id: `g${p + 1}`, members: { p: { location } } })) : []
}

/** Returns the workflow of a shop. The parameter `step` of an operation says whose work it is. */
export function workflowOf(shop: Shop): WorkflowInput {
  const { name, plates, alike } = shop
  const pads = padsOf(shop)
  const threads: readonly [string, readonly Step[]][] = alike ? [['p', plates[0]!]] : plates.map((steps, p) => [`p${p + 1}`, steps])
  return {
    format: 1,
    name,
    topology: name,
    labware: Object.fromEntries(threads.map(([thread]) => [thread, { type: '96-well' }])),
    methods: Object.fromEntries(
      threads.flatMap(([thread, steps]) => steps.map((step, i) => [`${thread}_s${i + 1}`, method(step, `${thread}_s${i + 1}`)])),
    ),
    threads: Object.fromEntries(
      threads.map(([thread, steps], p) => [
        thread,
        {
          labware: thread,
          start: { at: pads[p]!, mode: 'REUSE_EXISTING' },
          end: { at: alike ? pads : [pads[p]!], mode: 'LEAVE_IN_PLACE' },
          steps: steps.map((_, i) => ({ method: `${thread}_s${i + 1}` })),
        },
      ]),
    ),
    start: threads.map(([thread]) => thread),
  } as WorkflowInput
}

function method({ device, seconds, window_s }: Step, step: string) {
  return [{ do: 'work', on: `d${device + 1}`, with: { step }, seconds, ...(window_s !== null && { max_wait_after: window_s }) }]
}
