// For tests: random topologies, workflows and faults, from a seed.

import type { PersonSettings } from '../../devices/device.ts'
import type { InjectedFault } from '../../workflow/equipment/pure_equipment.ts'
import type { Body } from '../../workflow/plans/action_schema.ts'
import { randomFrom } from '../scheduler_runs.ts'

type Mode = 'PURE_SIM' | 'LIVE'

/** How a person behaves, by the transporter that it is. */
export type ScenePeople = Readonly<Record<string, PersonSettings>>

export type Scene = {
  mode: Mode
  topology: Record<string, unknown>
  workflow: Record<string, unknown>
  faults: InjectedFault[]
  groups: string[]
  batch_mode: 'STANDALONE' | 'JOIN_EXISTING'
  /** How much the operator interferes; 0 for not at all. */
  unrest: number
  /** The custom events that threads wait for. */
  events: string[]
  /** The numbers of the operation calls that take far too long. */
  slow: number[]
  /** How often the service dies during the run. */
  restarts: number
  /** Whether the runs are restored afterwards. */
  isKept: boolean
  /** The transporters that are people. */
  people: ScenePeople
  /** Whether the benches follow plans. */
  isPlanned: boolean
}

/** Random choices that are the same for the same seed. */
export class Dice {
  readonly below: (count: number) => number

  constructor(seed: number) {
    this.below = randomFrom(seed)
  }

  /** Returns true once in `count` times, at random. */
  oneIn(count: number): boolean {
    return this.below(count) === 0
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)]!
  }

  /** Returns a random selection of the items, in order. */
  some<Item>(items: readonly Item[], oneIn = 2): Item[] {
    return items.filter(() => this.oneIn(oneIn))
  }

  times<Item>(most: number, make: (i: number) => Item, least = 1): Item[] {
    return Array.from({ length: least + this.below(most - least + 1) }, (_, i) => make(i + 1))
  }
}

type Places = {
  devices: { id: string; sites: number }[]
  pools: Record<string, string[]>
  storages: string[]
  rests: string[]
  stations: string[]
}

/** Returns a random scene; without people, seeds give the scenes that they gave before there were any. */
export function sceneOf(dice: Dice, mode: Mode, hasPeople = false): Scene {
  const { topology: document, places } = topologyOf(dice, mode)
  const { topology, people } = hasPeople ? withPeople(dice, document) : { topology: document, people: {} }
  const events = ['qc.done', 'go']
  return {
    people,
    isPlanned: false,
    mode,
    topology,
    workflow: new WorkflowMaker(dice, places, events).document(),
    faults: dice.oneIn(2) ? dice.times(3, () => faultOf(dice)) : [],
    groups: dice.times(3, (i) => `g${i}`, 0),
    batch_mode: dice.oneIn(2) ? 'JOIN_EXISTING' : 'STANDALONE',
    unrest: dice.below(4),
    events,
    slow: dice.oneIn(4) ? dice.times(2, () => 1 + dice.below(8)) : [],
    restarts: dice.oneIn(3) ? 1 + dice.below(4) : 0,
    isKept: mode === 'LIVE' || !dice.oneIn(8),
  }
}

function faultOf(dice: Dice): InjectedFault {
  const operation = dice.pick(['work', 'work', 'pick', 'place', 'ready', 'open'])
  const does = dice.oneIn(20) ? 'hang' : dice.pick(['fail', 'fail', 'break off'] as const)
  return { operation, call: 1 + dice.below(8), does }
}

export function topologyOf(dice: Dice, mode: Mode): { topology: Record<string, unknown>; places: Places } {
  const reach = dice.times<string[]>(3, () => [])
  const positions: Record<string, object> = {}
  const translators: Record<string, [string, string]> = {}
  const put = (name: string, what: object, arms = [dice.pick(reach)]) => {
    positions[name] = what
    for (const arm of arms) arm.push(name)
    return name
  }
  reach.slice(1).forEach((arm, i) => {
    const before = reach[i]!
    if (mode === 'LIVE' || dice.oneIn(2)) put(`bridge_${i}`, { parking: dice.oneIn(3) }, [before, arm])
    else translators[`shuttle_${i}`] = [put(`station_${i}_a`, {}, [before]), put(`station_${i}_b`, {}, [arm])]
  })
  const devices = dice.times(4, (i) => {
    const id = `d${i}`
    put(`in_${id}`, { device: id })
    return { id, sites: 1 + dice.below(3) }
  })
  const storages = dice.times(3, (i) => put(`store_${i}`, { storage: true }))
  const pads = dice.times(4, (i) => put(`pad_${i}`, { parking: true }), 0)
  const rests = dice.times(3, (i) => put(`rest_${i}`, {}))
  const pools: Record<string, string[]> =
    devices.length > 1 ? { pool: devices.slice(dice.below(devices.length - 1)).map(({ id }) => id) } : {}
  const seconds = () => ({ pick: dice.below(3), move: dice.below(3), place: dice.below(3) })
  const topology = {
    format: 1,
    name: 'floor',
    transporters: Object.fromEntries(
      reach.flatMap((reached, i) => (reached.length > 0 ? [[`arm_${i}`, { positions: reached, seconds: seconds() }]] : [])),
    ),
    positions,
    translators,
    pools,
    devices: Object.fromEntries(
      devices.map(({ id, sites }) => [id, { sites, operations: { work: { seconds: dice.pick([0, 1, 60, 600]) } } }]),
    ),
  }
  return { topology, places: { devices, pools, storages, rests: [...rests, ...pads], stations: Object.values(translators).flat() } }
}

type Topology = { transporters: Record<string, { positions: string[] }>; positions: object }

/** Makes people of some transporters of a topology, and adds one who reaches some of all positions. */
export function withPeople<Document extends object>(dice: Dice, document: Document): { topology: Document; people: ScenePeople } {
  const { transporters, positions } = document as unknown as Topology
  const reached = dice.some(Object.keys(positions))
  const all = { ...transporters, ...(reached.length > 1 && { hands: { positions: reached } }) }
  const names = Object.keys(all).filter((name) => name === 'hands' || dice.oneIn(2))
  const chosen = names.length > 0 ? names : Object.keys(all).slice(0, 1)
  return { topology: { ...document, transporters: all }, people: Object.fromEntries(chosen.map((name) => [name, settingsOf(dice)])) }
}

function settingsOf(dice: Dice): PersonSettings {
  return {
    confirm: dice.pick(['once', 'twice'] as const),
    reminder_s: dice.pick([20, 300]),
    ask_barcode: dice.oneIn(4),
    shared_space: dice.oneIn(10),
  }
}

/** Makes a workflow. Labware and its thread have the same name. Earlier threads own methods, and later threads take part in them. */
class WorkflowMaker {
  readonly #dice: Dice
  readonly #places: Places
  readonly #events: readonly string[]
  readonly #methods: Record<string, object[]> = {}
  /** For each carrier, the methods in which it takes part. */
  readonly #joined = new Map<string, string[]>()
  readonly #racks: ReadonlySet<string>
  readonly #carriers: string[]

  constructor(dice: Dice, places: Places, events: readonly string[]) {
    this.#dice = dice
    this.#places = places
    this.#events = events
    this.#carriers = dice.times(4, (i) => `c${i}`)
    this.#racks = new Set(dice.some(this.#carriers.slice(1), 3))
  }

  document(): Record<string, unknown> {
    const dice = this.#dice
    const threads = Object.fromEntries(this.#carriers.map((name) => [name, this.#thread(name)]))
    return {
      format: 1,
      name: 'work',
      topology: 'floor',
      labware: Object.fromEntries(this.#carriers.map((name) => [name, this.#labware(name)])),
      methods: this.#methods,
      threads,
      start: this.#carriers.filter((name, i) => i === 0 || !this.#joined.has(name) || dice.oneIn(5)),
    }
  }

  #labware(name: string): object {
    const dice = this.#dice
    return {
      type: 'any',
      ...(this.#racks.has(name) && { kind: 'tip_rack', tips: 10 }),
      ...(dice.oneIn(4) && { group_sharing: 'SHARED_ACROSS_GROUPS' }),
      ...(dice.oneIn(4) && { submission_batching: 'BATCHABLE' }),
    }
  }

  #thread(name: string): object {
    const dice = this.#dice
    const { storages, rests } = this.#places
    const start = dice.oneIn(5)
      ? { at: dice.pick(rests), mode: dice.pick(['MANUAL_PLACE', 'REUSE_EXISTING']) }
      : { at: dice.pick(storages), mode: 'DISPENSE' }
    const ends = dice.oneIn(8) ? [dice.pick(rests)] : [...(dice.oneIn(3) ? [dice.pick(rests)] : []), dice.pick(storages)]
    const when_full = dice.pick(['NEW', 'NEW', 'REJECT', 'RECOVERABLE_REJECT'])
    return {
      labware: name,
      start,
      end: { at: ends, mode: dice.pick(['LEAVE_IN_PLACE', 'MANUAL_REMOVE']) },
      steps: this.#steps(name),
      ...(dice.oneIn(4) && { capacity: { max: 1 + dice.below(2), when_full } }),
      ...(dice.oneIn(20) && { immovable: true }),
    }
  }

  #steps(name: string): object[] {
    const dice = this.#dice
    const own = dice.times(3, (i) => this.#own(name, i), this.#joined.has(name) ? 0 : 1)
    const between = dice.some([0, 1], 3).map(() => this.#between(name))
    const joins = this.#joins(name)
    return dice.oneIn(4)
      ? [...between, ...own, ...joins]
      : [...joins, ...own.flatMap((step) => [step, ...between.splice(0, 1)]), ...between]
  }

  #joins(name: string): object[] {
    const dice = this.#dice
    const methods = this.#joined.get(name)
    if (!methods) return []
    const join = { join: methods }
    const park = { park: [...new Set([dice.pick(this.#places.rests), dice.pick(this.#places.rests)])] }
    switch (dice.below(4)) {
      case 0:
        return [{ while_more_work: [join] }]
      case 1:
        return [{ while_more_work: [join, park] }]
      case 2:
        return [{ while_more_work: [park, join] }]
      default:
        return methods.slice(0, 1 + dice.below(2)).map(() => join)
    }
  }

  #between(name: string): object {
    const dice = this.#dice
    const event = dice.pick(this.#events)
    const timeout = dice.pick([0, 0, 30, 300])
    const step = (): object => this.#own(name, 10 + dice.below(1000))
    return dice.pick<() => object>([
      () => ({ wait_for: event, timeout }),
      () => ({ branch: event, timeout, cases: { yes: [step()], no: [] }, else: dice.oneIn(2) ? [step()] : [] }),
      () => ({ park: [dice.pick(this.#places.rests)] }),
      () => ({ action: this.#onDevice(name, []) }),
      () => ({ action: this.#emit() }),
    ])()
  }

  #own(name: string, i: number): object {
    const dice = this.#dice
    const method = `${name}_m${i}`
    if (!this.#methods[method]) {
      const later = this.#carriers.slice(this.#carriers.indexOf(name) + 1)
      const actions = dice.times(3, () => this.#action(name, dice.some(later)), dice.oneIn(10) ? 0 : 1)
      this.#methods[method] = actions
      const wanted = new Set(actions.flatMap((action) => ('labware' in action ? (action.labware as string[]) : [])))
      for (const other of wanted) if (other !== name) this.#joined.set(other, [...(this.#joined.get(other) ?? []), method])
    }
    return { method }
  }

  #action(name: string, others: readonly string[]): object {
    const dice = this.#dice
    if (dice.oneIn(6)) return this.#emit()
    if (dice.oneIn(15)) return { wait_for: dice.pick(this.#events), timeout: dice.pick([0, 100]) }
    if (dice.oneIn(15)) return { instruct: 'Look at it' }
    return dice.oneIn(15) ? { name: `free_${dice.below(1e6)}`, body: bodyOf(dice, this.#events, false) } : this.#onDevice(name, others)
  }

  #onDevice(name: string, others: readonly string[]): object {
    const dice = this.#dice
    const { devices, pools } = this.#places
    const sitesOf = (id: string) => devices.find((device) => device.id === id)!.sites
    const on = dice.pick([...devices.map(({ id }) => id), ...Object.keys(pools)])
    const sites = Math.min(...(pools[on] ?? [on]).map(sitesOf))
    const labware = [name, ...others].slice(0, sites)
    const racks = labware.filter((other) => other !== name && this.#racks.has(other))
    const shared = {
      on,
      ...(dice.oneIn(15) ? { labware: [] } : { labware, tips: Object.fromEntries(racks.map((rack) => [rack, 1 + dice.below(10)])) }),
      ...(dice.oneIn(30) && { on_failure: 'ABORT' }),
    }
    if (dice.oneIn(8)) return { ...shared, name: `code_${dice.below(1e6)}`, body: bodyOf(dice, this.#events, true) }
    return { ...shared, do: 'work', ...(dice.oneIn(2) && { seconds: dice.below(300) }) }
  }

  #emit(): object {
    const dice = this.#dice
    return { emit: dice.pick(this.#events), value: dice.pick(['yes', 'no', null]) }
  }
}

function bodyOf(dice: Dice, events: readonly string[], hasDevice: boolean): Body {
  const calls = dice.times(3, () => dice.below(hasDevice ? 4 : 3))
  const event = dice.pick(events)
  return async (ctx) => {
    for (const call of calls) {
      if (call === 0) await ctx.emit(event, 'yes')
      if (call === 1) await ctx.sleep(5)
      if (call === 2) await ctx.instruct('Look at it')
      if (call === 3) await ctx.device.perform('work')
    }
  }
}

type Scanned = { positions: Record<string, object>; transporters: Record<string, object>; devices: Record<string, object> }

/** Adds scanners at some positions and of some transporters that are no people. Drawn after all else, so that seeds keep their scenes. */
export function withScanners(dice: Dice, { topology, people, ...scene }: Scene): Scene {
  const { positions, transporters, devices } = topology as unknown as Scanned
  const ids = dice.times(2, (i) => `scan_${i}`)
  const some = (parts: Record<string, object>, oneIn: number) =>
    Object.fromEntries(
      Object.entries(parts).map(([name, part]) => [
        name,
        Object.hasOwn(people, name) || !dice.oneIn(oneIn) ? part : { ...part, scanner: dice.pick(ids) },
      ]),
    )
  const scanners = Object.fromEntries(ids.map((id) => [id, { operations: { scan: { seconds: dice.pick([0, 1, 5]) } } }]))
  const scanned = { positions: some(positions, 3), transporters: some(transporters, 2) }
  const used = [...Object.values(scanned.positions), ...Object.values(scanned.transporters)].flatMap((part) =>
    'scanner' in part ? [part.scanner as string] : [],
  )
  const declared = Object.fromEntries(Object.entries(scanners).filter(([id]) => used.includes(id)))
  return { ...scene, people, topology: { ...topology, ...scanned, devices: { ...devices, ...declared } } }
}
