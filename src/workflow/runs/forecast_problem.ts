// The rest of all runs of one bench, as a problem for the simulation of dispatch. It is posed in slices, so that the event loop gets its turns between them.

import type { Durations } from '../plans/durations.ts'
import type { ThreadPlan } from '../plans/plan.ts'
import { initializationSeconds } from '../plans/timing.ts'
import type { Topology } from '../plans/topology.ts'
import type { DispatchProblem, Lane, Work } from '../schedule/dispatch_problem.ts'
import { scopeKey } from '../threads/backlogs.ts'
import type { ThreadOrigin } from '../threads/carrier.ts'
import type { Scope } from '../threads/channels.ts'
import { secondsBefore } from '../threads/left_to_do.ts'
import { goThrough } from '../threads/steps_ahead.ts'
import type { LabwareThread } from '../threads/thread.ts'
import { type Walked, type WorkAhead, WorkWalk } from '../threads/work_ahead.ts'
import { once, Places, type PlannedBench, presentOf, scaleAt, scaleOf, scannedSeconds, secondsOfWay } from './bench_problem.ts'
import type { Execution } from './execution.ts'
import { Basis } from './forecast_basis.ts'
import { heldWords } from './forecast_words.ts'

/** The most labware that is looked at; the rest counts by proportion. */
const mostLanes = 300
/** The most labware that may be sent for. */
const mostSeeds = 600
/** The lanes of one slice. */
const slice = 4

export type PosedForecast = {
  problem: DispatchProblem
  executions: readonly Execution[]
  /** For each run, how many times as much labware as was looked at it has. */
  shares: number[]
  basis: Basis[]
  names: (place: number) => string
}

/** Poses the problem of all open runs of a bench. `turn` resolves in a later turn of the event loop. */
export async function forecastProblem(
  executions: readonly Execution[],
  bench: PlannedBench,
  turn: () => Promise<unknown>,
): Promise<PosedForecast> {
  const places = new Places(bench)
  const basis = executions.map(() => new Basis())
  const posed = new Posed(bench, places)
  const lanes: Lane[] = []
  const faults = new Map((bench.equipment.faults?.() ?? []).map((fault) => [fault.device_id, fault]))
  const per = Math.max(1, Math.floor(mostLanes / Math.max(1, executions.length)))
  const shares: number[] = []
  let left = slice
  for (const [run, execution] of executions.entries()) {
    // The operations of the run itself have no labware: those of `before` delay the threads, those of `after` are not counted.
    const live = execution.live().filter(({ plan }) => plan.part === undefined)
    const spared = Math.max(per, mostLanes - lanes.length - (executions.length - run - 1) * per)
    const looked = live.slice(0, spared)
    shares.push(looked.length === 0 ? 1 : live.length / looked.length)
    for (const thread of looked) {
      if (thread.isOver) continue
      lanes.push(posed.lane(thread, execution, { run, basis: basis[run]! }))
      if (--left > 0) continue
      left = slice
      await turn()
    }
    await posed.seedsOf(execution, { run, basis: basis[run]! }, turn)
  }
  const { graph } = bench.scheduler
  const names = places.all.map(({ name }) => name)
  const numbers = new Map(names.map((name, place) => [name, place]))
  const { arms, ways, groups } = places.network()
  const learned = executions[0]?.environment.durations
  const arm_free_s = arms.map((arm) => {
    const moving_s = bench.scheduler.transporters.holder(arm) === undefined ? 0 : bench.hops.hop(arm) / 2
    return moving_s + unpreparedOf(arm, bench, learned).initialize_s
  })
  const order = Object.fromEntries(
    bench.scheduler.advice.order().flatMap(([name, ids]) => (numbers.has(name) ? [[numbers.get(name)!, ids] as const] : [])),
  )
  const blocked = Object.fromEntries(
    names.flatMap((name, place) => {
      const fault = faults.get(name)
      return fault ? [[place, `${name} ${fault.isStop ? 'is stopped' : 'has a fault'}`] as const] : []
    }),
  )
  const stopped = arms.flatMap((arm) => faults.get(arm) ?? [])
  const still =
    stopped.length > 0 && stopped.length === arms.length
      ? `${stopped[0]!.device_id} ${stopped[0]!.isStop ? 'is stopped' : 'has a fault'}`
      : null
  return {
    problem: {
      devices: Object.fromEntries(
        names.flatMap((name, place) => (graph.positionsOf(name).length > 0 ? [[place, unpreparedOf(name, bench, learned)] as const] : [])),
      ),
      ...{ places: places.all, arms, arm_free_s, ways, groups, runs: executions.length, order, blocked },
      lanes: still === null ? lanes : lanes.map((lane) => ({ ...lane, held: lane.held ?? still })),
      seeds: Object.fromEntries(posed.seeds),
    },
    ...{ executions, shares, basis, names: (place) => names[place] ?? '' },
  }
}

/** A device with an unknown temperature counts as cold. */
const room_celsius = 25

/** Returns what a device needs before its next work. A person, and a device without a driver, need nothing. */
function unpreparedOf(device: string, bench: PlannedBench, learned: Durations | undefined): DispatchProblem['devices'][number] {
  const { equipment } = bench
  const nothing = { initialize_s: 0, temperature: null, heating_s: 0 }
  try {
    if (!equipment.conditionWhenNew || equipment.person?.(device)) return nothing
    const { typical } = equipment.conditionWhenNew(device)
    const scale = scaleOf(bench, device)
    const initialize_s = equipment.isInitialized?.(device) === false ? initializationSeconds(device, typical, learned) / scale : 0
    const heating_s = (learned?.heating(device) ?? typical?.heating_s ?? 0) / scale
    return { initialize_s, temperature: equipment.readings?.newestOf(device)?.reading.temperature ?? room_celsius, heating_s }
  } catch {
    // The topology names a device that the bench does not have.
    return nothing
  }
}

type Visit = Extract<Work, { kind: 'visit' }>

type Of = { run: number; basis: Basis }

class Posed {
  readonly seeds = new Map<string, Lane>()
  readonly #bench: PlannedBench
  readonly #places: Places
  readonly #known = new Map<string, Visit['options']>()
  readonly #ends = new Map<string, readonly number[]>()
  /** The labware that methods may send for, and has no seed yet. */
  readonly #wanted: { key: string; template: string; origin: ThreadOrigin }[] = []

  constructor(bench: PlannedBench, places: Places) {
    this.#bench = bench
    this.#places = places
  }

  lane(thread: LabwareThread, execution: Execution, { run, basis }: Of): Lane {
    const present = presentOf(thread, this.#bench)
    const { template, tips_left } = thread.labware
    const serves = thread.joining?.owner.thread_id ?? this.#waitsFor(thread, execution)
    const { before } = execution.operations
    const walk = new WorkWalk(thread, basis, serves !== null)
    goThrough(thread, walk)
    const at = present.isOff ? this.#places.offDeck(present.place) : this.#places.named(present.place)
    return {
      ...{ id: thread.thread_id, name: thread.name, run, at, isOn: !present.isOff, serves },
      key: keyOf(execution, template, thread.origin, run),
      priority: execution.planning.priorityOf(thread.origin.submission_id),
      ready_s: finite(present.ready_s) + this.#gathering_s(thread) + secondsBefore(thread),
      tips: tips_left,
      most: mostOf(thread.plan),
      works: this.#numbered(walk.works, { thread, execution, run }),
      ...this.#endOf(thread.plan),
      held: heldWords(thread, execution) ?? (before && !before.isOver ? heldWords(before, execution) : null),
    }
  }

  /** Seconds until other labware has come to the present action of a thread. */
  #gathering_s(thread: LabwareThread): number {
    const { action, method } = thread
    const { scheduler } = this.#bench
    if (!action?.device || !method || scheduler.present.beganAt(thread.thread_id, action.device) !== undefined) return 0
    const ways = method.participants.map(({ labware }) => {
      const position = scheduler.whereIs(labware.labware_id)
      if (position === undefined || scheduler.graph.positions.get(position)?.device === action.device) return 0
      return finite(secondsOfWay(this.#bench, position, action.device!))
    })
    return Math.max(0, ...ways)
  }

  /** Returns the owner of a method that has sent for the labware of a thread, which waits for work. */
  #waitsFor(thread: LabwareThread, { backlogs }: Execution): string | null {
    const frame = thread.frames.at(-1)
    if (frame?.steps[frame.next]?.kind !== 'join') return null
    const mine = backlogs.list().find(({ receiver_id }) => receiver_id === thread.thread_id)
    return mine ? (backlogs.open(mine.queue)[0]?.owner.thread_id ?? null) : null
  }

  #endOf(plan: ThreadPlan): Pick<Lane, 'ends' | 'stays'> {
    return { ends: this.#endsOf(plan), stays: plan.end.mode === 'LEAVE_IN_PLACE' }
  }

  #numbered(works: readonly WorkAhead[], of: { thread: Walked; execution: Execution; run: number }): Work[] {
    const { thread, execution, run } = of
    const { topology } = execution.workflow
    const scoped = (template: string) => {
      const key = keyOf(execution, template, thread.origin, run)
      this.#wanted.push({ key, template, origin: thread.origin })
      return key
    }
    return works.map((work): Work => {
      switch (work.kind) {
        case 'visit': {
          const { devices, seconds, brings, ...rest } = work
          const options = this.#options(topology, devices, seconds)
          return { ...rest, options, brings: brings.map(({ template, tips }) => ({ key: scoped(template), tips })) }
        }
        case 'over':
          return { kind: 'over', feeds: work.feeds.map(scoped) }
        case 'wait':
        case 'emit':
          return { ...work, event: `${run} ${work.event}`, scope: scopeWord(work.scope) }
        case 'loop':
          return { kind: 'loop', body: this.#numbered(work.body, of) }
        default:
          return work
      }
    })
  }

  /** Returns the places of a visit. Equal ones are one object, so that the problem is sent to the worker fast. */
  #options(topology: Topology, devices: readonly string[], seconds: readonly number[]): Visit['options'] {
    const key = `${topology.name} ${devices} ${seconds}`
    const known = this.#known.get(key)
    if (known) return known
    const options = once(
      devices.map((name, i) => {
        const position = this.#bench.scheduler.graph.positionsOf(name)[0]?.name ?? name
        const scanned_s = scannedSeconds(this.#bench, topology, position)
        return { place: this.#places.named(name), seconds: scanned_s + seconds[i]! / scaleAt(this.#bench, name) }
      }),
    )
    this.#known.set(key, options)
    return options
  }

  #endsOf({ end }: ThreadPlan): readonly number[] {
    const key = end.positions.join()
    const ends = this.#ends.get(key) ?? [...new Set(end.positions.map((name) => this.#places.position(name)))]
    this.#ends.set(key, ends)
    return ends
  }

  /** Adds the labware that the methods of a run may send for, and what that may send for. */
  async seedsOf(execution: Execution, { run, basis }: Of, turn: () => Promise<unknown>): Promise<void> {
    const { workflow, environment } = execution
    let left = slice
    for (let next = this.#wanted.shift(); next && this.seeds.size < mostSeeds; next = this.#wanted.shift()) {
      const { key, template, origin } = next
      const plan = workflow.threads.get(workflow.carrier(template) ?? '')
      if (this.seeds.has(key) || !plan) continue
      const { group_id, submission_id } = origin
      const { group_sharing } = workflow.document.labware[template]!
      const own = { submission_id, group_id: group_sharing === 'SHARED_ACROSS_GROUPS' ? null : group_id }
      const walked: Walked = { execution, environment, origin: own, plan, labware: { template } }
      const walk = new WorkWalk(walked, basis)
      for (const step of plan.steps) walk.take(step)
      this.seeds.set(key, {
        ...{ id: `a new ${plan.name}`, name: `a new ${plan.name}`, run, key, isOn: false, ready_s: 0, serves: null, held: null },
        at: this.#places.offDeck(plan.start.position),
        priority: execution.planning.priorityOf(submission_id),
        tips: tipsOfNew(execution, template),
        most: mostOf(plan),
        works: this.#numbered(walk.works, { thread: walked, execution, run }),
        ...this.#endOf(plan),
      })
      if (--left > 0) continue
      left = slice
      await turn()
    }
    this.#wanted.length = 0
  }
}

function keyOf(execution: Execution, template: string, origin: ThreadOrigin, run: number): string {
  return `${run} ${scopeKey(execution.backlogs.scope(template, origin))}`
}

const scopeWord = (scope: Scope): string | null => (scope === null ? null : `${scope.submission_id} ${scope.group_id}`)

const finite = (seconds: number): number => (Number.isFinite(seconds) ? seconds : 0)

const mostOf = ({ template }: ThreadPlan): number | null => template.capacity?.max ?? null

function tipsOfNew({ workflow }: Execution, template: string): number | null {
  const labware = workflow.document.labware[template]
  return labware && 'tips' in labware && typeof labware.tips === 'number' ? labware.tips : null
}
