// Makes the plan of a bench: has a search find it, gives it to the scheduler as advice, and makes it anew when the runs go otherwise.

import type { Clock } from '../../kit/clock.ts'
import type { StepQueue } from '../../kit/steps.ts'
import type { Hops } from '../plans/timing.ts'
import type { MadePlan } from '../schedule/made_plan.ts'
import type { FindSchedule, Problem, Schedule } from '../schedule/problem.ts'
import type { Visit } from '../scheduler/advice.ts'
import type { Scheduler } from '../scheduler/scheduler.ts'
import type { LabwareThread } from '../threads/thread.ts'
import { benchProblem, type PlannedBench } from './bench_problem.ts'
import { wishesOf } from './plan_wishes.ts'

export type PlannerOptions = {
  scheduler: Scheduler
  clock: Clock
  steps: StepQueue
  hops: Hops
  equipment: PlannedBench['equipment']
  /** Whether simulated time stands still while a plan is made. */
  isVirtual: boolean
  /** Without it no plan is made. */
  find: FindSchedule | undefined
}

/** The reason why a plan is made: labware came, labware is later or earlier than planned, threads were held or went on, or a run got another priority. */
export type PlanReason = 'came' | 'off_time' | 'held' | 'deadlock' | 'priority'

/** Labware that is so many hops later or earlier than planned makes the plan out of date. */
const slack_hops = 4
/** Above this number of threads the bench goes by the rule alone: a plan would cost more than it saves. */
const mostThreads = 150
/** The longest time for which the bench waits for its first plan, in ms. */
const longestWait_ms = 2000
/** The longest search on the bench, in ms, after which it goes by the rule. */
const longestSearch_ms = 30_000
/** The least time between a plan and the next one because of labware that is late or early, on the bench, in ms. */
const leastPause_ms = 5000
/** While nothing is granted, an alarm comes twice as late as the one before it, so many times. Then time alone changes nothing. */
const mostDoublings = 12

export class Planner {
  readonly #options: PlannerOptions
  /** The threads of the bench that have not ended, in the order in which they came. */
  readonly #threads = new Set<LabwareThread>()
  /** The first plan since the bench was empty. */
  first: MadePlan | undefined
  #reason: PlanReason | undefined
  #isSearching = false
  #cancelAlarm = () => {}
  #stopWaiting = () => {}
  /** Whether the plan was given up, so that another is to be made. */
  #isDropped = false
  /** The number of alarms since a thread last got something. */
  #alarms = 0
  /** Whether a plan has been made since the bench was empty. */
  #hasBegun = false
  #made_ms = Number.NEGATIVE_INFINITY

  constructor(options: PlannerOptions) {
    this.#options = options
    options.scheduler.advice.events = {
      stranger: () => this.request('came'),
      ready: (late_ms) => {
        if (Math.abs(late_ms) > this.#slack_ms) this.request('off_time')
      },
      granted: () => {
        this.#alarms = 0
        this.#watch()
      },
      held: () => this.request('held'),
      dropped: () => {
        this.#isDropped = true
        this.#watch()
      },
    }
  }

  /** Whether a plan is to be made, or is being made, before time goes on. */
  get isDue(): boolean {
    return this.#reason !== undefined || this.#isSearching
  }

  /** Adds a thread. The operations of a run itself move no labware, and have no place in a plan. */
  join(thread: LabwareThread): void {
    if (thread.plan.part) return
    if (this.#threads.size === 0) this.first = undefined
    this.#threads.add(thread)
    this.request('came')
  }

  leave(thread: LabwareThread): void {
    if (thread.plan.part) return
    this.#threads.delete(thread)
    const { scheduler } = this.#options
    scheduler.advice.forget(thread.thread_id)
    // The thread may have been the reason why the bench had no plan.
    if (this.#threads.size > 0 && !scheduler.advice.isInForce) this.request('came')
    if (this.#threads.size > 0) return
    this.#cancelAlarm()
    this.#reason = undefined
    this.#isDropped = false
    this.#alarms = 0
    this.#hasBegun = false
    scheduler.follow([])
  }

  /** Has a plan made: in simulated time before the clock goes on, else soon. */
  request(reason: PlanReason): void {
    const { scheduler, steps, clock, isVirtual } = this.#options
    if (this.#reason !== undefined) return
    if (!this.#isWorthwhile) {
      if (scheduler.advice.isInForce || scheduler.advice.isDue) scheduler.follow([])
      return
    }
    this.#reason = reason
    if (isVirtual || !this.#hasBegun) scheduler.setPlanDue(true)
    if (isVirtual) return
    const pause_ms = reason === 'off_time' ? this.#made_ms + leastPause_ms - clock.now() : 0
    if (pause_ms > 0) {
      clock.after(pause_ms, () => void this.make())
      return
    }
    steps.push(() => void this.make())
    if (this.#hasBegun) return
    // Where the search takes long, the bench begins by the rule.
    this.#stopWaiting()
    this.#stopWaiting = clock.after(longestWait_ms, () => scheduler.setPlanDue(false))
  }

  get #isWorthwhile(): boolean {
    const { size } = this.#threads
    return (
      this.#options.find !== undefined &&
      size > 1 &&
      size <= mostThreads &&
      [...this.#threads].every(({ execution }) => execution.planning.isOn)
    )
  }

  /** Makes the plan that is due. */
  async make(): Promise<void> {
    if (this.#isSearching || this.#reason === undefined) return
    const reason = this.#reason
    const { steps, scheduler, clock, hops, equipment, isVirtual } = this.#options
    this.#reason = undefined
    // Since the request threads may have come or ended.
    if (!this.#isWorthwhile) return scheduler.follow([])
    this.#isSearching = true
    this.#isDropped = false
    const release = steps.hold()
    try {
      const at_ms = clock.now()
      scheduler.advice.remember()
      const problem = benchProblem(this.#threads, { scheduler, hops, equipment, now: () => at_ms }, wishesOf(this.#threads))
      const schedule = problem ? await this.#found(problem) : null
      // Meanwhile threads may have come or ended.
      const isLive = new Set(this.#isWorthwhile ? [...this.#threads].map(({ thread_id }) => thread_id) : [])
      const visits = schedule && problem ? visitsOf(schedule, problem, at_ms).filter(({ thread_id }) => isLive.has(thread_id)) : []
      this.#stopWaiting()
      scheduler.follow(visits)
      if (schedule && isLive.size > 0) this.#adopted({ ...schedule, reason })
    } catch {
      // A journey that cannot be foretold: the run itself finds out why, and says so.
      scheduler.follow([])
    } finally {
      this.#isSearching = false
      this.#hasBegun = this.#threads.size > 0
      this.#made_ms = clock.now()
      release()
      if (this.#reason !== undefined && !isVirtual) steps.push(() => void this.make())
    }
    this.#watch()
    for (const { stall } of new Set([...this.#threads].map(({ execution }) => execution))) stall.suspect()
  }

  /** Resolves with the schedule of the search; null if it finds none, fails, or takes too long on the bench. */
  #found(problem: Problem): Promise<Schedule | null> {
    const { find, clock, isVirtual } = this.#options
    const found = find!(problem).catch(() => null)
    if (isVirtual) return found
    let cancel = () => {}
    const late = new Promise<null>((resolve) => {
      cancel = clock.after(longestSearch_ms, () => resolve(null))
    })
    return Promise.race([found, late]).finally(() => cancel())
  }

  #adopted(plan: MadePlan): void {
    this.first ??= plan
    for (const execution of new Set([...this.#threads].map(({ execution }) => execution))) execution.planning.adopted(plan)
  }

  /** Has a plan made anew if the next visit does not begin in time, or when the bench has gone on by the rule for a while. */
  #watch(): void {
    const { scheduler, clock } = this.#options
    const next = scheduler.advice.nextVisit()
    if (next) this.#setAlarm(next.start_ms + this.#slack_ms + 1 - clock.now(), 'off_time')
    else if (this.#isDropped) this.#setAlarm(this.#slack_ms, 'deadlock')
    else this.#cancelAlarm()
  }

  #setAlarm(ms: number, reason: PlanReason): void {
    this.#cancelAlarm()
    if (this.#alarms > mostDoublings) return
    this.#cancelAlarm = this.#options.clock.after(Math.max(1, ms, this.#alarms && this.#slack_ms * 2 ** this.#alarms), () => {
      this.#alarms++
      this.request(reason)
    })
  }

  get #slack_ms(): number {
    return slack_hops * this.#options.hops.longestHop() * 1000
  }
}

function visitsOf({ moves }: Schedule, { jobs, places }: Problem, at_ms: number): Visit[] {
  const ready = jobs.map(({ ready_s }) => ready_s)
  return moves.map(({ job, stop, from, to, start_s, end_s }, i) => {
    const ready_s = ready[job]!
    const { stops } = jobs[job]!
    const seconds = stop === null ? 0 : (stops[stop]!.options.find(({ place }) => place === to)?.seconds ?? 0)
    ready[job] = end_s + seconds
    const isStaged = stop === null && places[from]!.isStorage
    const later_s = isStaged ? latestStart(moves, i) : start_s
    return {
      thread_id: jobs[job]!.thread_id,
      place: places[to]!.name,
      isBuffer: stop === null,
      ready_ms: at_ms + ready_s * 1000,
      start_ms: at_ms + later_s * 1000,
      isTimed: isStaged || (stop !== null && (stops[stop + 1]?.within_s ?? null) !== null),
    }
  })
}

/** How many times longer than alone the way out of a storage may take, because transporters may be busy. */
const staging = 2

/** Returns when labware that waits for its device near it comes out of its storage, in s: not before the device is about to be free. */
function latestStart(moves: Schedule['moves'], index: number): number {
  const { job, start_s, end_s } = moves[index]!
  const next = moves.slice(index + 1).find((move) => move.job === job)
  return next ? Math.max(start_s, next.start_s - staging * (end_s - start_s)) : start_s
}
