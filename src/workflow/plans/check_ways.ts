// What must be so of the places of a workflow: what starts, ends and rests there may, and there is a way from each to the next.

import type { Draft } from './compile.ts'
import { type ActionPlan, type StepPlan, type ThreadPlan, takes } from './plan.ts'
import { wrong } from './wrong.ts'

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
  const mustRest = (seat: string, place: string) => {
    if (stations.has(seat)) throw wrong(place, `${seat} is a station of a translator, where nothing rests`)
  }
  const isStorage = (seat: string) => topology.graph.seats.get(seat)!.storage
  mustRest(thread.start.seat, `${at}.start.at`)
  for (const seat of thread.end.seats) mustRest(seat, `${at}.end.at`)
  if (thread.start.mode === 'DISPENSE' && !isStorage(thread.start.seat)) {
    throw wrong(`${at}.start`, `labware is dispensed from a storage, and ${thread.start.seat} is none`)
  }
  for (const step of [...thread.lists.values()].flat()) {
    if (step.kind !== 'park') continue
    for (const seat of step.seats) {
      mustRest(seat, `${where}: ${step.path}.park`)
      if (isStorage(seat)) throw wrong(`${where}: ${step.path}.park`, `${seat} is a storage: what is put there cannot be had back`)
    }
  }
}

/** Where a labware may be, as seats. */
type Places = ReadonlySet<string>

class Ways {
  readonly #draft: Draft
  /** Of those that were found. */
  readonly #known = new Set<string>()

  constructor(draft: Draft) {
    this.#draft = draft
  }

  check(thread: ThreadPlan): void {
    const last = this.#through(thread.steps, new Set([thread.start.seat]), thread)
    this.#go(last, thread.end.seats, `threads.${thread.name}.end.at`)
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
        return this.#go(from, step.seats, `${step.path}.park`)
      case 'branch':
        return union([...step.cases.values(), step.otherwise].map(({ steps }) => this.#through(steps, from, thread)))
      case 'while_more_work': {
        const once = union([from, this.#through(step.body.steps, from, thread)])
        return union([once, this.#through(step.body.steps, once, thread)])
      }
      case 'wait_for':
        return from
    }
  }

  /** Those that want this thread's labware. */
  #actions(actions: readonly ActionPlan[], from: Places, { labware }: ThreadPlan): Places {
    return actions.filter((action) => takes(action, labware, labware)).reduce((places, action) => this.#toDevices(action, places), from)
  }

  #toDevices({ devices, path }: ActionPlan, from: Places): Places {
    const { graph } = this.#draft.topology
    const seats = devices.flatMap((device) => onePerPosition(graph.seatsOf(device)))
    return seats.length ? this.#go(from, seats, path) : from
  }

  #go(from: Places, to: readonly string[], path: string): Places {
    for (const seat of from) for (const next of to) this.#mustLead(seat, next, path)
    return new Set(to)
  }

  #mustLead(from: string, to: string, path: string): void {
    const way = JSON.stringify([from, to])
    const { graph } = this.#draft.topology
    const device = graph.seats.get(from)!.device
    const staysThere = device !== null && device === graph.seats.get(to)!.device
    if (from === to || staysThere || this.#known.has(way)) return
    if (!graph.route(from, to))
      throw wrong(`${this.#draft.where}: ${path}`, `there is no way from ${from} to ${to}; see which transporters reach them`)
    this.#known.add(way)
  }
}

/** All sites of a device that have one position are reached alike. */
function onePerPosition(seats: readonly { name: string; position: string }[]): string[] {
  return seats.filter((seat, i) => seats.findIndex(({ position }) => position === seat.position) === i).map(({ name }) => name)
}

function union(places: readonly Places[]): Places {
  return new Set(places.flatMap((some) => [...some]))
}
