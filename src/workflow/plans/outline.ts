// Makes the plans of a document: threads, steps, methods and actions with their paths, and with all names resolved.

import type { Action, RunOperation } from './action_schema.ts'
import { actionsIn, listsInStep, type Step, type ThreadTemplate, type WorkflowDocument } from './documents.ts'
import { member, mustBeKnown, mustBeOnce, wrong } from './mistakes.ts'
import {
  type ActionPlan,
  type EventWait,
  kindOf,
  type MethodPlan,
  own,
  type RunPart,
  type StepList,
  type StepPlan,
  type ThreadPlan,
} from './plan.ts'
import type { Topology } from './topology.ts'

type Outline = {
  methods: ReadonlyMap<string, MethodPlan>
  threads: ReadonlyMap<string, ThreadPlan>
  operations: ReadonlyMap<string, ThreadPlan>
}

/** The input of the checks. `where` begins their sentences. */
export type Draft = Outline & { document: WorkflowDocument; topology: Topology; where: string }

/** Throws `invalid` for an unknown method, device, pool or position, and for a repeated name. */
export function outline(document: WorkflowDocument, topology: Topology): Outline {
  const where = `workflow ${document.name}`
  const methods = planMethods(document, topology, where)
  const threads = Object.entries(document.threads).map(([name, template]) => {
    const steps = new StepPlanner({ name, template, methods, topology, where })
    return [name, steps.thread()] as const
  })
  return { methods, threads: new Map(threads), operations: planOperations(document, topology, where) }
}

/** Makes the plans of the operations that a run does once. Throws `invalid` for a thread that has the name of such a part. */
function planOperations(document: WorkflowDocument, topology: Topology, where: string): Map<string, ThreadPlan> {
  const plans = new Map<string, ThreadPlan>()
  for (const part of ['before', 'after'] as const) {
    const operations = document[part]
    if (!operations?.length) continue
    if (Object.hasOwn(document.threads, part))
      throw wrong(`${where}: threads.${part}`, `the operations in "${part}" have this name in a run; give the thread another`)
    plans.set(part, planPart(part, operations, { topology, where }))
  }
  return plans
}

function planPart(part: RunPart, operations: readonly RunOperation[], { topology, where }: Pick<Around, 'topology' | 'where'>): ThreadPlan {
  const naming = new Naming(operations, `${where}: ${part}`)
  const steps = operations.map((operation, i): StepPlan => {
    const path = `${part}[${i}]`
    const action = planAction({ ...operation, labware: [], sites: {}, tips: {} }, { path, carried: own, naming, topology, where })
    return { name: action.name, path, feeds: new Set(), kind: 'action', action }
  })
  const nowhere = { labware: '', start: { at: '', mode: 'DISPENSE' }, end: { at: [], mode: 'MANUAL_REMOVE' } } as const
  return {
    name: part,
    part,
    template: { ...nowhere, end: { ...nowhere.end, at: [] }, steps: [], contributes_to: [], immovable: true },
    labware: '',
    start: { position: '', mode: 'DISPENSE' },
    end: { positions: [], mode: 'MANUAL_REMOVE' },
    steps,
    lists: new Map([[part, steps]]),
  }
}

function planMethods(document: WorkflowDocument, topology: Topology, where: string): Map<string, MethodPlan> {
  const owners = ownersOf(document)
  const plans = Object.entries(document.methods).map(([name, method]) => {
    const actions = actionsIn(method)
    const emits = Array.isArray(method) ? {} : { on_start: method.on_start, on_end: method.on_end }
    const path = `methods.${name}`
    const threads = [...(owners.get(name) ?? [])]
    const only = threads.length === 1 ? document.threads[threads[0]!]!.labware : own
    const naming = new Naming(actions, `${where}: ${path}`)
    const planned = actions.map((action, i) => planAction(action, { path: `${path}[${i}]`, carried: only, naming, topology, where }))
    const labware = new Set(planned.flatMap((action) => action.labware).filter((name) => name !== own))
    return [name, { name, path, actions: planned, owners: threads, labware, emits }] as const
  })
  return new Map(plans)
}

/** Returns the threads that own each method. */
function ownersOf({ threads }: WorkflowDocument): Map<string, Set<string>> {
  const owners = new Map<string, Set<string>>()
  const look = (steps: readonly Step[], thread: string): void => {
    for (const step of steps) {
      if ('method' in step) owners.set(step.method, (owners.get(step.method) ?? new Set()).add(thread))
      for (const inner of listsInStep(step)) look(inner, thread)
    }
  }
  for (const [name, { steps }] of Object.entries(threads)) look(steps, name)
  return owners
}

type Around = { path: string; carried: string; naming: Naming; topology: Topology; where: string }

function planAction(action: Action, { path, carried, naming, topology, where }: Around): ActionPlan {
  const kind = kindOf(action)
  const devices = 'on' in action && action.on !== undefined ? devicesOf(action.on, topology, `${where}: ${path}.on`) : []
  const labware = 'labware' in action ? action.labware : undefined
  if (labware) mustBeOnce(labware, `${where}: ${path}.labware`)
  return {
    name: naming.of(action, 'do' in action ? action.do : kind),
    path,
    kind,
    action,
    devices,
    candidates: devices.map((device) => ({ device })),
    labware: labware ?? (devices.length > 0 ? [carried] : []),
    seconds: 'seconds' in action ? action.seconds : undefined,
    ...('remove_lid' in action && { positions: lidPlaces(action.to, topology, `${where}: ${path}.to`) }),
  } as ActionPlan
}

function lidPlaces(to: string | readonly string[], topology: Topology, where: string): readonly string[] {
  const places = typeof to === 'string' ? [to] : to
  mustBeOnce(places, where)
  return places.flatMap((place) => positionsAt(place, topology, where))
}

function devicesOf(on: string, { devices, pools }: Topology, where: string): readonly string[] {
  mustBeKnown('device or pool', on, [...devices.keys(), ...pools.keys()], where)
  return pools.get(on) ?? [on]
}

/** Returns the positions of a place: itself, or all sites of a device with several. */
function positionsAt(place: string, { graph }: Topology, where: string): readonly string[] {
  const positions = [...graph.positions.values()]
  const found = positions.filter(({ name, entry }) => name === place || entry === place)
  if (found.length === 0) mustBeKnown('position', place, new Set(positions.flatMap(({ name, entry }) => [entry, name])), where)
  return found.map(({ name }) => name)
}

type Journey = {
  name: string
  template: ThreadTemplate
  methods: ReadonlyMap<string, MethodPlan>
  topology: Topology
  where: string
}

class StepPlanner {
  readonly #journey: Journey
  readonly #naming: Naming
  readonly #lists = new Map<string, readonly StepPlan[]>()

  constructor(journey: Journey) {
    this.#journey = journey
    this.#naming = new Naming([...nested(journey.template.steps)], `${journey.where}: threads.${journey.name}`)
  }

  thread(): ThreadPlan {
    const { name, template, topology, where } = this.#journey
    const path = `threads.${name}`
    const { steps } = this.#list(template.steps, `${path}.steps`)
    const starts = this.#positions([template.start.at], `${path}.start.at`)
    const [position, ...others] = starts
    const isStorage = topology.graph.positions.get(position!)!.slot !== null
    if (others.length && !isStorage)
      throw wrong(`${where}: ${path}.start.at`, `there are several places at ${template.start.at}; say ${position}, for example`)
    return {
      name,
      template,
      labware: template.labware,
      start: { position: position!, ...(others.length && { slots: starts }), mode: template.start.mode },
      end: { positions: this.#positions(template.end.at, `${path}.end.at`), mode: template.end.mode },
      steps,
      lists: this.#lists,
    }
  }

  #list(steps: readonly Step[], path: string): StepList {
    const planned = steps.map((step, i) => this.#step(step, `${path}[${i}]`))
    this.#lists.set(path, planned)
    return { path, steps: planned }
  }

  #step(step: Step, path: string): StepPlan {
    // `feeds` is filled in when all threads are known.
    const shared = { path, feeds: new Set<string>() }
    const name = (usual: string) => this.#naming.of(step, usual)
    if ('method' in step) return { ...shared, name: name(step.method), kind: 'method', method: this.#method(step.method, `${path}.method`) }
    if ('action' in step) {
      const action = this.#action(step.action, `${path}.action`)
      return { ...shared, name: name(action.name), kind: 'action', action }
    }
    if ('join' in step) return { ...shared, name: name('join'), kind: 'join', methods: this.#joined(step.join, `${path}.join`) }
    if ('park' in step)
      return { ...shared, name: name('park'), kind: 'park', places: step.park, positions: this.#positions(step.park, `${path}.park`) }
    if ('wait_for' in step) return { ...shared, name: name('wait_for'), kind: 'wait_for', ...eventWait(step.wait_for, step) }
    if ('while_more_work' in step) {
      return {
        ...shared,
        name: name('while_more_work'),
        kind: 'while_more_work',
        body: this.#list(step.while_more_work, `${path}.while_more_work`),
      }
    }
    if ('if' in step) {
      const [then, otherwise] = [this.#list(step.then, `${path}.then`), this.#list(step.else, `${path}.else`)]
      return { ...shared, name: name('if'), kind: 'if', condition: step.if, then, otherwise }
    }
    if ('repeat' in step) {
      const [rounds, until] = 'times' in step.repeat ? [step.repeat.times] : [step.repeat.at_most, step.repeat.until]
      return { ...shared, name: name('repeat'), kind: 'repeat', rounds, until, body: this.#list(step.steps, `${path}.steps`) }
    }
    if ('delay' in step) return { ...shared, name: name('delay'), kind: 'delay', seconds: step.delay }
    if ('until_temperature' in step) {
      const { device, within } = step.until_temperature
      return { ...shared, name: name('until_temperature'), kind: 'until_temperature', device, within, timeout: step.timeout }
    }
    const cases = Object.entries(step.cases).map(([value, steps]) => [value, this.#list(steps, member(`${path}.cases`, value))] as const)
    const otherwise = step.else ? this.#list(step.else, `${path}.else`) : null
    return { ...shared, name: name('branch'), kind: 'branch', ...eventWait(step.branch, step), cases: new Map(cases), otherwise }
  }

  #method(name: string, path: string): MethodPlan {
    mustBeKnown('method', name, this.#journey.methods.keys(), `${this.#journey.where}: ${path}`)
    return this.#journey.methods.get(name)!
  }

  #action(action: Action, path: string): ActionPlan {
    const { topology, where, template } = this.#journey
    return planAction(action, { path, carried: template.labware, naming: new Naming([], ''), topology, where })
  }

  #joined(names: readonly string[], path: string): readonly string[] {
    mustBeOnce(names, `${this.#journey.where}: ${path}`)
    names.forEach((name, i) => {
      this.#method(name, `${path}[${i}]`)
    })
    return names
  }

  #positions(places: readonly string[], path: string): readonly string[] {
    const { topology, where } = this.#journey
    mustBeOnce(places, `${where}: ${path}`)
    return places.flatMap((place, i) => positionsAt(place, topology, `${where}: ${path}[${i}]`))
  }
}

function eventWait(event: string, { timeout, across_groups }: Omit<EventWait, 'event'>): EventWait {
  return { event, timeout, across_groups }
}

function* nested(steps: readonly Step[]): Generator<Step> {
  for (const step of steps) {
    yield step
    for (const inner of listsInStep(step)) yield* nested(inner)
  }
}

type Named = { name?: string | undefined }

/** Assigns unique names: the given one, or the default with a number if that is taken. */
class Naming {
  readonly #taken = new Set<string>()
  /** Keyed by default name: the last number that was tried. */
  readonly #tried = new Map<string, number>()

  /** Throws if two have the same given name. */
  constructor(things: readonly Named[], where: string) {
    for (const { name } of things) {
      if (name === undefined) continue
      if (this.#taken.has(name)) throw wrong(where, `two things in it have the name ${name}; give each its own`)
      this.#taken.add(name)
    }
  }

  of({ name }: Named, usual: string): string {
    if (name !== undefined) return name
    let free = usual
    let n = this.#tried.get(usual) ?? 1
    while (this.#taken.has(free)) free = `${usual}-${++n}`
    this.#tried.set(usual, n)
    this.#taken.add(free)
    return free
  }
}
