// The rest of all runs of one bench, as a problem for the search for a plan.

import type { Equipment } from '../equipment/equipment.ts'
import { scannerAt } from '../plans/scanners.ts'
import type { Hops } from '../plans/timing.ts'
import type { Topology } from '../plans/topology.ts'
import type { Job, Leg, Place, Problem, Stop } from '../schedule/problem.ts'
import type { Scheduler } from '../scheduler/scheduler.ts'
import { expectedSeconds } from '../threads/action/seconds.ts'
import { type WayAhead, wayAhead } from '../threads/left_to_do.ts'
import { alikeOf } from '../threads/move/free_arm.ts'
import type { LabwareThread } from '../threads/thread.ts'
import type { PlanWishes } from './plan_wishes.ts'

/** The bench on which a problem is posed. */
export type PlannedBench = {
  readonly scheduler: Scheduler
  readonly hops: Hops
  readonly equipment: Pick<Equipment, 'person' | 'timeScale' | 'faults' | 'isInitialized' | 'conditionWhenNew' | 'readings'>
  /** Returns the time in ms. */
  now(): number
}

/**
 * Returns the problem; undefined if it cannot be foretold, because the journey of a thread depends on other threads. Labware that stands until a person acts
 * is in the way of others for as long as the plan goes.
 */
export function benchProblem(all: Iterable<LabwareThread>, bench: PlannedBench, wishes: PlanWishes): Problem | undefined {
  // The operations of a run itself move no labware.
  const threads = [...all].filter(({ plan }) => !plan.part)
  const places = new Places(bench)
  const jobs: Job[] = []
  const kinds = new Map<string, number>()
  const runs = new Map<string, number>()
  for (const thread of threads) {
    if (isHeld(thread, bench)) continue
    const way = wayAhead(thread)
    if (!way) return undefined
    const { submission_id } = thread.origin
    if (!runs.has(submission_id)) runs.set(submission_id, runs.size)
    const job = jobOf(thread, way, { bench, places, run: runs.get(submission_id)! })
    // Labware of another priority may overtake.
    const kind = `${thread.execution.workflow.hash} ${thread.plan.name} ${thread.execution.planning.priorityOf(submission_id)}`
    if (!kinds.has(kind)) kinds.set(kind, kinds.size)
    jobs.push({ ...job, kind: kinds.get(kind)! })
  }
  for (const thread of threads) if (isHeld(thread, bench)) jobs.push(...obstacleOf(thread, bench, places))
  for (const job of standing(bench, places)) jobs.push(job)
  const { arms, ways, groups } = places.network()
  const { objective, overtaking } = wishes
  const arm_free_s = arms.map((arm) =>
    bench.scheduler.transporters.holder(arm) === undefined ? 0 : bench.hops.hop(arm) / 2 / scaleOf(bench, arm),
  )
  return { places: places.all, arms, arm_free_s, jobs, ways, groups, objective, overtaking }
}

type Context = { bench: PlannedBench; places: Places; run: number }

function jobOf(thread: LabwareThread, way: WayAhead, { bench, places, run }: Context): Omit<Job, 'kind'> {
  const { scheduler } = bench
  const present = presentOf(thread, bench)
  const { topology } = thread.execution.workflow
  const stops: Stop[] = way.stops.map(({ devices, seconds, within_s }) => ({
    options: once(
      devices.map((name, i) => {
        const scanned_s = scannedSeconds(bench, topology, scheduler.graph.positionsOf(name)[0]?.name ?? name)
        return { place: places.named(name), seconds: scanned_s + seconds[i]! / scaleAt(bench, name) }
      }),
    ),
    within_s: within_s === null ? null : sparing(within_s, bench.hops.longestHop()),
  }))
  const ends = thread.plan.end.positions.map((name) => ({ place: places.position(name), seconds: scannedSeconds(bench, topology, name) }))
  stops.push({ options: once(ends), within_s: null })
  // Labware that has a device for its next action is on its way to be in time.
  const deadline = thread.action?.device ? null : scheduler.present.deadlineOf(thread.thread_id)
  if (deadline !== null && stops[0]) stops[0] = { ...stops[0], within_s: Math.max(0, (deadline - bench.now()) / 1000) }
  const ready_s = present.ready_s + way.first_s
  return {
    thread_id: thread.thread_id,
    run,
    priority: scheduler.priorities.of(thread.thread_id),
    at: present.isOff ? places.offDeck(present.place) : places.named(present.place),
    ready_s,
    since_s: deadline === null ? present.ready_s : 0,
    buffers: thread.plan.template.immovable ? [] : scheduler.present.buffersOf(thread.state.starts_at).map((name) => places.position(name)),
    stays: thread.plan.end.mode === 'LEAVE_IN_PLACE',
    stops,
  }
}

/** Keeps one option for each place: all slots of a storage are one. */
export function once(options: Stop['options']): Stop['options'] {
  return options.filter(({ place }, i) => options.findIndex((other) => other.place === place) === i)
}

/** Returns the seconds for which labware is scanned when it has come to a position, by the clock. */
export function scannedSeconds(bench: PlannedBench, topology: Topology, position: string | undefined): number {
  const scanner = position === undefined ? undefined : scannerAt(topology, position)
  return scanner === undefined ? 0 : bench.hops.scan(scanner) / scaleOf(bench, scanner)
}

/** Leaves a hop of a window for what cannot be foretold, such as a busy arm. */
function sparing(within_s: number, hop_s: number): number {
  return Math.max(Math.min(within_s, 2 * hop_s), within_s - hop_s)
}

/** The device or position where a labware is or will be next, and the seconds until it can leave. */
export type Present = { place: string; ready_s: number; isOff: boolean }

/** Whether nothing can be foretold about a thread: it waits for a person, or for a custom event. */
export function isHeld({ thread_id, status, state, execution }: LabwareThread, { scheduler }: PlannedBench): boolean {
  const { before } = execution.operations
  if (before && !before.isOver && scheduler.present.isHeld(before.thread_id)) return true
  const isOpenEnded = status.current === 'AWAITING_MANUAL_PLACE' || (status.current === 'AWAITING_EVENT' && state.delay === null)
  return isOpenEnded || scheduler.present.isHeld(thread_id)
}

export function presentOf(thread: LabwareThread, bench: PlannedBench): Present {
  const { scheduler } = bench
  const { thread_id, labware, action, state } = thread
  const position = scheduler.whereIs(labware.labware_id)
  if (position === undefined) return { place: state.starts_at, ready_s: 0, isOff: true }
  const here = scheduler.graph.positions.get(position)!
  const at = here.device ?? position
  const device = action?.device ?? null
  if (device !== null) {
    const began = scheduler.present.beganAt(thread_id, device)
    const seconds = expectedSeconds(thread, action!.plan, device) / scaleOf(bench, device)
    // Work that is late may last as long again as it is late.
    const left = began === undefined ? seconds : Math.abs(began / 1000 + seconds - bench.now() / 1000)
    return { place: device, ready_s: left + (at === device ? 0 : secondsOfWay(bench, position, device)), isOff: false }
  }
  const goal = scheduler.present.goalOf(thread_id)
  if (goal === undefined || goal === at) return { place: at, ready_s: 0, isOff: false }
  return { place: goal, ready_s: secondsOfWay(bench, position, goal), isOff: false }
}

/** Returns the seconds of the way to a device or position, by the clock. */
export function secondsOfWay(bench: PlannedBench, from: string, place: string): number {
  const { graph } = bench.scheduler
  const route = graph.route(from, graph.positionsOf(place)[0]?.name ?? place)
  return route ? route.reduce((sum, hop) => sum + bench.hops.way([hop]) / scaleOf(bench, hop.transporter), 0) : Number.POSITIVE_INFINITY
}

/** Returns the seconds that pass at a place in one of the clock, which are those of its device. */
export function scaleAt(bench: PlannedBench, place: string): number {
  return bench.scheduler.graph.positionsOf(place).length > 0 ? scaleOf(bench, place) : 1
}

/** Returns the seconds of a device that pass in one of the clock: more than 1 where it is simulated faster. */
export function scaleOf({ equipment }: PlannedBench, device_id: string): number {
  return equipment.timeScale?.(device_id) ?? 1
}

/** Labware that no thread moves: it stands in the way of others for as long as the plan goes. */
function standing({ scheduler }: PlannedBench, places: Places): Job[] {
  return scheduler.positions().flatMap(({ position, device, labware_id }) => {
    // A lid that lies apart from its plate stands in the way as long as the plan goes.
    const isMoved = labware_id !== null && scheduler.whose(labware_id) !== null && !scheduler.lids.isLid(labware_id)
    if (labware_id === null || isMoved || !places.has(device ?? position)) return []
    return [obstacle(places.named(device ?? position))]
  })
}

function obstacleOf(thread: LabwareThread, bench: PlannedBench, places: Places): Job[] {
  const { place, isOff } = presentOf(thread, bench)
  return isOff || !places.has(place) ? [] : [obstacle(places.named(place))]
}

function obstacle(at: number): Job {
  return { thread_id: '', kind: -1, run: -1, priority: 0, at, ready_s: 0, since_s: 0, buffers: [], stays: true, stops: [] }
}

/** The places of a problem, and the ways between them. */
export class Places {
  readonly all: Place[] = []
  readonly #bench: PlannedBench
  readonly #numbers = new Map<string, number>()
  /** The groups by the kinds of their positions. */
  readonly #groups = new Map<number, number>()
  /** For each group, its positions so far, two at most. */
  readonly #members: string[][] = []

  constructor(bench: PlannedBench) {
    this.#bench = bench
  }

  has(name: string): boolean {
    return this.#numbers.has(name)
  }

  position(name: string): number {
    return this.named(this.#bench.scheduler.graph.positions.get(name)?.device ?? name)
  }

  /** Returns the number of a device or position. All slots of a storage are one place, which has room for all labware. */
  named(name: string): number {
    const { graph } = this.#bench.scheduler
    const position = graph.positions.get(graph.positionsOf(name)[0]?.name ?? name)!
    const isSlot = position.slot !== null
    return this.#place(isSlot ? position.entry : name, position.name, position.storage || isSlot)
  }

  /** Returns a storage of its own for labware that will come to a position. */
  offDeck(position: string): number {
    return this.#place(`before ${position} ${this.all.length}`, position, true)
  }

  #place(name: string, position: string, isStorage: boolean): number {
    const known = this.#numbers.get(name)
    if (known !== undefined) return known
    this.#numbers.set(name, this.all.length)
    this.all.push({ name, isStorage, group: this.#groupOf(position) })
    return this.all.length - 1
  }

  #groupOf(position: string): number {
    const kind = this.#bench.scheduler.graph.kindOf(position)
    const group = this.#groups.get(kind) ?? this.#members.push([]) - 1
    this.#groups.set(kind, group)
    const members = this.#members[group]!
    if (members.length < 2 && !members.includes(position)) members.push(position)
    return group
  }

  /** Returns the transporters and the ways from each group to each other. Hand-over places on a way become places too. */
  network(): Pick<Problem, 'arms' | 'ways' | 'groups'> {
    const { scheduler } = this.#bench
    const { graph } = scheduler
    const arms = [...graph.reach.keys()]
    const legsOf = (from: string, to: string): Leg[] | null => {
      const route = graph.route(from, to)
      if (!route || route.length === 0) return null
      return route.map((hop, i) => {
        const able = alikeOf(hop, graph, this.#bench.equipment)
        const by = (able.length > 0 ? able : [hop.transporter]).map((name) => ({
          arm: arms.indexOf(name),
          seconds: this.#bench.hops.way([{ ...hop, transporter: name }]) / scaleOf(this.#bench, name),
        }))
        return { by, via: i === route.length - 1 ? -1 : this.position(hop.to) }
      })
    }
    const groups = this.#members.length
    // Finding the ways adds the hand-over places on them.
    const known = this.#members.map((members) => [...members])
    const ways = known.flatMap((from) => known.map((to) => legsOf(from[0]!, to.find((name) => name !== from[0]) ?? to[0]!)))
    return { arms, ways, groups }
  }
}
