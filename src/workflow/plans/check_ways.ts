// Checks the positions of a workflow: labware may start, end and rest there, and each has a route to the next.

import { wrong } from './mistakes.ts'
import type { Draft } from './outline.ts'
import { type ActionPlan, listsIn, type StepPlan, type ThreadPlan, takes } from './plan.ts'

/** Throws `invalid`, naming the place. */
export function checkWays(draft: Draft): void {
  const ways = new Ways(draft)
  for (const thread of draft.threads.values()) {
    checkRests(thread, draft)
    ways.check(thread)
  }
}

function checkRests(thread: ThreadPlan, { topology, where }: Draft): void {
  const at = `${where}: threads.${thread.name}`
  const stations = new Set(Object.values(topology.document.translators).flat())
  const mustRest = (position: string, place: string) => {
    if (stations.has(position)) throw wrong(place, `${position} is a station of a translator, where nothing rests`)
  }
  const isStorage = (position: string) => topology.graph.positions.get(position)!.storage
  mustRest(thread.start.position, `${at}.start.at`)
  for (const position of thread.end.positions) mustRest(position, `${at}.end.at`)
  if (thread.start.mode === 'DISPENSE' && !isStorage(thread.start.position)) {
    const isSlot = topology.graph.positions.get(thread.start.position)!.slot !== null
    const why = isSlot
      ? `${thread.template.start.at} has slots, whose labware is known: use the mode REUSE_EXISTING`
      : `labware is dispensed from a storage, and ${thread.start.position} is none`
    throw wrong(`${at}.start`, why)
  }
  for (const step of [...thread.lists.values()].flat()) {
    if (step.kind !== 'park') continue
    for (const position of step.positions) {
      mustRest(position, `${where}: ${step.path}.park`)
      if (isStorage(position)) throw wrong(`${where}: ${step.path}.park`, `${position} is a storage: what is put there cannot be had back`)
    }
  }
}

/** The possible positions of a labware. */
type Places = ReadonlySet<string>

class Ways {
  readonly #draft: Draft
  /** The routes that were found already. */
  readonly #known = new Set<string>()

  constructor(draft: Draft) {
    this.#draft = draft
  }

  check(thread: ThreadPlan): void {
    const last = this.#through(thread.steps, new Set([thread.start.position]), thread)
    this.#go(last, thread.end.positions, `threads.${thread.name}.end.at`)
  }

  #through(steps: readonly StepPlan[], from: Places, thread: ThreadPlan): Places {
    return steps.reduce((places, step) => this.#step(step, places, thread), from)
  }

  #step(step: StepPlan, from: Places, thread: ThreadPlan): Places {
    switch (step.kind) {
      case 'method':
        return this.#actions(step.method.actions, from, thread)
      case 'action':
        return this.#actions([step.action], from, thread)
      case 'join':
        return union(step.methods.map((name) => this.#actions(this.#draft.methods.get(name)!.actions, from, thread)))
      case 'park':
        return this.#go(from, step.positions, `${step.path}.park`)
      case 'branch':
        return union([...listsIn(step).map(({ steps }) => this.#through(steps, from, thread)), ...(step.otherwise ? [] : [from])])
      case 'if':
        return union(listsIn(step).map(({ steps }) => this.#through(steps, from, thread)))
      case 'repeat': {
        const once = this.#through(step.body.steps, from, thread)
        return step.rounds === 1 ? once : union([once, this.#through(step.body.steps, once, thread)])
      }
      case 'while_more_work': {
        const once = union([from, this.#through(step.body.steps, from, thread)])
        return union([once, this.#through(step.body.steps, once, thread)])
      }
      case 'wait_for':
      case 'delay':
      case 'until_temperature':
        return from
    }
  }

  /** Returns the possible positions of the labware after the actions that use it. */
  #actions(actions: readonly ActionPlan[], from: Places, { labware }: ThreadPlan): Places {
    return actions.filter((action) => takes(action, labware, labware)).reduce((places, action) => this.#toDevices(action, places), from)
  }

  #toDevices({ devices, path }: ActionPlan, from: Places): Places {
    const { graph } = this.#draft.topology
    const positions = devices.flatMap((device) => onePerEntry(graph.positionsOf(device)))
    return positions.length ? this.#go(from, positions, path) : from
  }

  #go(from: Places, to: readonly string[], path: string): Places {
    for (const position of from) for (const next of to) this.#mustLead(position, next, path)
    return new Set(to)
  }

  #mustLead(from: string, to: string, path: string): void {
    const way = JSON.stringify([from, to])
    const { graph } = this.#draft.topology
    const device = graph.positions.get(from)!.device
    const staysThere = device !== null && device === graph.positions.get(to)!.device
    if (from === to || staysThere || this.#known.has(way)) return
    if (!graph.route(from, to))
      throw wrong(`${this.#draft.where}: ${path}`, `there is no way from ${from} to ${to}; see which transporters reach them`)
    this.#known.add(way)
  }
}

/** Keeps one position for each entry of the topology, since all sites of an entry are reached alike. */
function onePerEntry(positions: readonly { name: string; entry: string }[]): string[] {
  return positions.filter((position, i) => positions.findIndex(({ entry }) => entry === position.entry) === i).map(({ name }) => name)
}

function union(places: readonly Places[]): Places {
  return new Set(places.flatMap((some) => [...some]))
}
