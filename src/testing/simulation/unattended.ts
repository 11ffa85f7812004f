// For tests: random runs in which threads are paused or fail, and nobody attends to them. Every thread that could finish without the held ones must
// finish: when nothing moves any more, a search looks for a way that the scheduler has missed.

import { Person } from '../../../drivers/person/person.ts'
import type { RuntimeEvent } from '../../events/event.ts'
import { type InjectedFault, PureEquipment } from '../../workflow/equipment/pure_equipment.ts'
import { movesOf } from '../../workflow/plans/timing.ts'
import type { Execution } from '../../workflow/runs/execution.ts'
import type { Problem } from '../../workflow/schedule/problem.ts'
import { findSchedule } from '../../workflow/schedule/search.ts'
import type { Candidate } from '../../workflow/scheduler/request.ts'
import type { Scheduler } from '../../workflow/scheduler/scheduler.ts'
import type { LabwareThread } from '../../workflow/threads/thread.ts'
import { tasksOf } from '../people.ts'
import { begin, testRuntime } from '../workflow.ts'
import { Dice, type ScenePeople, topologyOf, withPeople } from './scene.ts'

/** After this many turns of the event loop without news, nothing will happen any more. */
const quietTurns = 30
/** The most states that the search examines. Beyond that the result is undecided. */
const mostStates = 20_000

/** `missed`: threads that could still finish, and how. `held`: the number of threads that wait for a person. `left`: the number that wait behind them. */
type Verdict = { missed: string[]; held: number; left: number; completed: number; isUndecided: boolean; unanswered: number }

/** With people, some of their tasks are never answered. The benches of every other seed follow plans. */
export async function leaveAlone(seed: number, hasPeople = false): Promise<Verdict> {
  const dice = new Dice(seed)
  const { topology, workflow, groups, faults, people } = sceneOf(dice, hasPeople)
  const pauses = new Set(dice.times(3, () => 1 + dice.below(200), 0))
  let news = 0
  const answers = ({ entity_type, context }: RuntimeEvent) => {
    if (entity_type !== 'OPERATOR' || dice.oneIn(30)) return
    const step_id = String(context.step_id)
    setImmediate(() => {
      const task = tasksOf(runtime).find((task) => task.step_id === step_id)
      if (task) runtime.operator.answer(step_id, { answer: 'done', ...(task.move.ask_barcode && { barcode: task.move.labware_id }) })
    })
  }
  const { runtime } = testRuntime([topology, workflow], {
    ...(hasPeople && {
      simulate: ({ document }, clock) => new PeopledEquipment(people, { clock, transporters: movesOf(document), faults }),
    }),
    faults,
    ...(seed % 2 === 0 && { search: async (problem: Problem) => findSchedule(problem, { states: 1000 }) }),
    onTold(event) {
      news++
      answers(event)
      const live = runtime.runs.all()[0]?.live() ?? []
      if (pauses.has(news) && live.length > 0) dice.pick(live).control.pause('manual')
    },
  })
  const execution = await begin(runtime, { workflow: 'work', groups: groups.map((group_id) => ({ group_id, members: {} })) })
  for (let quiet = 0, before = -1; quiet < quietTurns && !execution.isOver; quiet = news === before ? quiet + 1 : 0) {
    before = news
    await new Promise(setImmediate)
  }
  const verdict = { ...verdictOn(execution), unanswered: runtime.operator.steps().length }
  if (!execution.isOver) execution.abort('that was all')
  await runtime.over(execution)
  return verdict
}

/** Equipment with people, who are asked although nothing is real. */
class PeopledEquipment extends PureEquipment {
  readonly #people: ReadonlyMap<string, Person>

  constructor(people: ScenePeople, parts: ConstructorParameters<typeof PureEquipment>[0]) {
    super(parts)
    this.#people = new Map(Object.entries(people).map(([name, settings]) => [name, new Person({ settings, clock: parts.clock })]))
  }

  person(transporter_id: string) {
    return this.#people.get(transporter_id)?.person
  }
}

function sceneOf(dice: Dice, hasPeople: boolean) {
  const { topology: document, places } = topologyOf(dice, 'PURE_SIM')
  const { topology, people } = hasPeople ? withPeople(dice, document) : { topology: document, people: {} }
  const names = dice.times(4, (i) => `c${i}`)
  const methods: Record<string, object[]> = {}
  const threadOf = (name: string) => {
    const steps = dice.times(4, (i) => {
      const on = dice.pick([...places.devices.map(({ id }) => id), ...Object.keys(places.pools), ...Object.keys(places.pools)])
      methods[`${name}_m${i}`] = [{ do: 'work', on }]
      return { method: `${name}_m${i}` }
    })
    const store = () => ({ at: dice.pick(places.storages) })
    return { labware: name, start: { ...store(), mode: 'DISPENSE' }, end: { at: [store().at], mode: 'LEAVE_IN_PLACE' }, steps }
  }
  const threads = Object.fromEntries(names.map((name) => [name, threadOf(name)]))
  const faults = dice.times<InjectedFault>(
    3,
    () => ({ operation: dice.pick(['work', 'work', 'ready', 'pick', 'place']), call: 1 + dice.below(10), does: 'fail' }),
    0,
  )
  const workflow = {
    format: 1,
    name: 'work',
    topology: 'floor',
    labware: Object.fromEntries(names.map((name) => [name, { type: 'any' }])),
    methods,
    threads,
    start: names,
  }
  return { topology, people, workflow, faults, groups: dice.times(3, (i) => `g${i}`, 0) }
}

function verdictOn(execution: Execution): Omit<Verdict, 'unanswered'> {
  const { scheduler } = execution.environment
  const live = execution.live()
  const held = live.filter(({ status }) => status.current === 'PAUSED')
  // A thread that waits for a held thread's arm is in the middle of its route, so it cannot move either.
  const free = live.filter((thread) => !held.includes(thread) && thread.move === null)
  const completed = [...execution.threads.values()].filter(({ status }) => status.current === 'COMPLETED').length
  const { way, isUndecided } = new Search(scheduler, free, live).first()
  const missed = way ? [`${way.join(', ')}; ${picture(live)}`] : []
  return { missed, held: held.length, left: live.length - held.length, completed, isUndecided }
}

function picture(live: readonly LabwareThread[]): string {
  return live
    .map(({ name, status, environment, labware, control: { waiting } }) => {
      const obstacles = waiting?.obstacles().map(({ wanted, reason }) => `${wanted} ${reason}`)
      return `${name} ${status.current} at ${environment.scheduler.whereIs(labware.labware_id)} waits for ${waiting?.what} (${obstacles})`
    })
    .join('; ')
}

/** `at` is null before the labware is on the deck, and undefined when it has finished; `next` is the index of its next stop. */
type Standing = { at: string | null | undefined; next: number; device: string | null }

type Mover = { name: string; thread_id: string; wants: readonly (readonly Candidate[])[] }

/** Searches the possible moves of the free threads, while all others stay where they are. */
class Search {
  readonly #scheduler: Scheduler
  readonly #movers: readonly Mover[]
  readonly #begin: readonly Standing[]
  /** Positions that are occupied or reserved for good. */
  readonly #taken = new Set<string>()
  /** The positions that are reserved, and for which thread. A grant is never taken back, not even a held thread's. */
  readonly #reserved = new Map<string, string>()
  readonly #devices = new Set<string>()
  readonly #arms = new Set<string>()

  constructor(scheduler: Scheduler, free: readonly LabwareThread[], live: readonly LabwareThread[]) {
    this.#scheduler = scheduler
    const isFree = (thread_id: string | null | undefined) => free.some((thread) => thread.thread_id === thread_id)
    const ids = new Set(free.map(({ labware }) => labware.labware_id))
    for (const { position, labware_id, reserved_for } of scheduler.positions()) {
      if (labware_id !== null && !ids.has(labware_id)) this.#taken.add(this.#pad(position))
      if (reserved_for !== null) this.#reserved.set(this.#pad(position), reserved_for)
    }
    for (const device of scheduler.graph.devices) {
      const holder = scheduler.holds.holder(device)
      if (holder !== undefined && !isFree(holder)) this.#devices.add(device)
    }
    for (const { thread_id } of live) {
      if (isFree(thread_id)) continue
      const { document } = live[0]!.execution.workflow.topology
      const { space, equipment } = live[0]!.environment
      const isKeptOut = (arm: string) => !equipment.person?.(arm) && space.taskWithin(arm) !== undefined
      for (const arm of [...Object.keys(document.transporters), ...Object.keys(document.translators)])
        if (scheduler.transporters.holder(arm) === thread_id || isKeptOut(arm)) this.#arms.add(arm)
    }
    this.#movers = free.map((thread) => ({ name: thread.name, thread_id: thread.thread_id, wants: wantsOf(thread) }))
    this.#begin = free.map(({ labware, device, thread_id }) => ({
      at: scheduler.whereIs(labware.labware_id) ?? null,
      next: 0,
      device: device.name ?? [...scheduler.graph.devices].find((one) => scheduler.holds.holder(one) === thread_id) ?? null,
    }))
  }

  /** Returns the fewest moves after which a thread has finished. */
  first(): { way?: string[]; isUndecided: boolean } {
    const seen = new Set<string>()
    const states: { all: readonly Standing[]; way: string[] }[] = [{ all: this.#begin, way: [] }]
    for (const { all, way } of states) {
      for (const { i, to, did } of this.#moves(all)) {
        const mover = this.#movers[i]!
        const after = all.map((one, j) => (i === j ? to : one))
        const further = [...way, `${mover.name} ${did}`]
        if (to.at === undefined) return { way: further, isUndecided: false }
        const key = JSON.stringify(after)
        if (seen.has(key)) continue
        seen.add(key)
        states.push({ all: after, way: further })
      }
      if (states.length > mostStates) return { isUndecided: true }
    }
    return { isUndecided: false }
  }

  *#moves(all: readonly Standing[]): Generator<{ i: number; to: Standing; did: string }> {
    const { graph } = this.#scheduler
    for (const [i, standing] of all.entries()) {
      const { wants } = this.#movers[i]!
      if (standing.at === undefined) continue
      const places = wants[standing.next]!.filter((place) => !standing.device || ('device' in place && place.device === standing.device))
      const isLast = standing.next === wants.length - 1
      for (const place of places) {
        const positions = 'device' in place ? graph.positionsOf(place.device).map(({ name }) => name) : [place.position]
        if ('device' in place && !this.#isFreeDevice(place.device, all, i)) continue
        const position = positions.find((one) => this.#canGo(standing.at!, one, all, i))
        if (position === undefined) continue
        // Its action at the device is done: it stands there, and no longer holds the device.
        yield { i, did: `goes to ${position}`, to: { at: isLast ? undefined : position, next: standing.next + 1, device: null } }
      }
      if (standing.at === null || standing.device !== null) continue
      // Labware parked at a hand-over position would block others.
      for (const { name, parking } of graph.positions.values())
        if (parking && !graph.isHandOver(name) && name !== standing.at && this.#canGo(standing.at, name, all, i))
          yield { i, did: `parks at ${name}`, to: { ...standing, at: name } }
    }
  }

  #isFreeDevice(device: string, all: readonly Standing[], i: number): boolean {
    if (this.#devices.has(device)) return false
    const isHeld = all.some((other, j) => j !== i && other.device === device)
    const positions = this.#scheduler.graph.positionsOf(device).map(({ name }) => name)
    return !isHeld && positions.every((position) => this.#isFree(position, all, i))
  }

  #isFree(position: string, all: readonly Standing[], i: number): boolean {
    const pad = this.#pad(position)
    const isReserved = this.#reserved.has(pad) && this.#reserved.get(pad) !== this.#movers[i]!.thread_id
    if (this.#taken.has(pad) || isReserved) return false
    return !all.some(({ at }, j) => j !== i && at && this.#pad(at) === pad)
  }

  /** Whether labware can go there; labware that is not on the deck yet only has to find the position free. */
  #canGo(from: string | null, to: string, all: readonly Standing[], i: number): boolean {
    if (from === null) return this.#isFree(to, all, i)
    const route = this.#scheduler.graph.route(from, to)
    return route?.every((hop) => !this.#arms.has(hop.transporter) && this.#isFree(hop.to, all, i)) ?? false
  }

  #pad(position: string): string {
    return this.#scheduler.graph.sameZone(position)[0]!.name
  }
}

/** Lists the start, if the labware is not on the deck yet, then all later stops. */
function wantsOf(thread: LabwareThread): readonly (readonly Candidate[])[] {
  const { method, frames, ends } = thread
  const { seat, starts_at } = thread.state
  const steps = frames[0]?.steps.slice(frames[0].next) ?? []
  const actions = steps.flatMap((step) => (step.kind === 'method' ? step.method.actions : []))
  // Each method has one action here. If it is done, so is the step.
  const ahead = method && method.next >= method.actions.length ? actions.slice(1) : actions
  const devices = ahead.map((action) => action.devices.map((device) => ({ device })))
  return [...(seat === null ? [[{ position: starts_at }]] : []), ...devices, ends]
}
