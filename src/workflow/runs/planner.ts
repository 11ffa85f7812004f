// Makes the plan of a bench: has a search find it, gives it to the scheduler as advice, and makes it anew when the runs go otherwise.

import type { Clock } from '../../kit/clock.ts'
import type { StepQueue } from '../../kit/steps.ts'
import type { Hops } from '../plans/timing.ts'
import type { Problem, Schedule } from '../schedule/problem.ts'
import type { Visit } from '../scheduler/advice.ts'
import type { Scheduler } from '../scheduler/scheduler.ts'
import type { LabwareThread } from '../threads/thread.ts'
import { benchProblem } from './bench_problem.ts'

export type PlannerOptions = {
  scheduler: Scheduler
  clock: Clock
  steps: StepQueue
  hops: Hops
  /** Whether simulated time stands still while a plan is made. */
  isVirtual: boolean
  find(problem: Problem): Promise<Schedule | null>
  /** Called with each plan that is adopted. */
  adopted?: (schedule: Schedule, problem: Problem, at_ms: number) => void
}

/** A visit that begins so many hops later or earlier than planned makes the plan out of date. */
const slack_hops = Number(process.env.SLACK ?? 4)

export class Planner {
  readonly #options: PlannerOptions
  /** The threads of the bench that have not ended, in the order in which they came. */
  readonly threads = new Set<LabwareThread>()
  #isDue = false
  #isSearching = false
  #cancelAlarm = () => {}

  constructor(options: PlannerOptions) {
    this.#options = options
    options.scheduler.advice.events = {
      stranger: () => this.request(),
      ready: (late_ms) => {
        if (Math.abs(late_ms) > this.#slack_ms) this.request()
      },
      began: () => this.#watch(),
      dropped: () => this.#cancelAlarm(),
    }
  }

  /** Whether a plan is to be made before time goes on. */
  get isDue(): boolean {
    return this.#isDue || this.#isSearching
  }

  join(thread: LabwareThread): void {
    this.threads.add(thread)
    this.request()
  }

  leave(thread: LabwareThread): void {
    this.threads.delete(thread)
    this.#options.scheduler.advice.forget(thread.thread_id)
  }

  /** Has a plan made: in simulated time before the clock goes on, else soon. */
  request(): void {
    if (this.#isDue || !this.#isWorthwhile) return
    this.#isDue = true
    const { scheduler, steps, isVirtual } = this.#options
    if (isVirtual || !scheduler.advice.isInForce) scheduler.setPlanDue(true)
    if (!isVirtual) steps.push(() => void this.make())
  }

  get #isWorthwhile(): boolean {
    return this.threads.size > 1 && [...this.threads].every(({ execution }) => execution.isPlanned)
  }

  /** Makes the plan that is due. */
  async make(): Promise<void> {
    if (this.#isSearching || !this.#isDue) return
    this.#isSearching = true
    this.#isDue = false
    const { steps, scheduler, clock, hops, find, adopted } = this.#options
    const release = steps.hold()
    try {
      const at_ms = clock.now()
      const bench = { scheduler, hops, now: () => at_ms }
      const problem = benchProblem(this.threads, bench, { objective: 'makespan', overtaking: 0.02, priorityOf: () => 0 })
      const schedule = problem ? await find(problem) : null
      scheduler.follow(schedule && problem ? visitsOf(schedule, problem, at_ms) : [])
      if (schedule && problem) adopted?.(schedule, problem, at_ms)
      this.#watch()
    } finally {
      this.#isSearching = false
      release()
      if (this.#isDue && !this.#options.isVirtual) steps.push(() => void this.make())
    }
  }

  /** Has a plan made anew if the next visit does not begin in time. */
  #watch(): void {
    this.#cancelAlarm()
    const { scheduler, clock } = this.#options
    const next = scheduler.advice.nextVisit()
    if (!next) return
    const ms = next.start_ms + this.#slack_ms - clock.now()
    this.#cancelAlarm = clock.after(Math.max(1, ms + 1), () => this.request())
  }

  get #slack_ms(): number {
    return slack_hops * this.#options.hops.longestHop() * 1000
  }
}

function visitsOf({ moves }: Schedule, { jobs, places }: Problem, at_ms: number): Visit[] {
  const ready = jobs.map(({ ready_s }) => ready_s)
  return moves.map(({ job, stop, to, start_s, end_s }) => {
    const ready_s = ready[job]!
    const seconds = stop === null ? 0 : (jobs[job]!.stops[stop]!.options.find(({ place }) => place === to)?.seconds ?? 0)
    ready[job] = end_s + seconds
    return {
      thread_id: jobs[job]!.thread_id,
      place: places[to]!.name,
      isBuffer: stop === null,
      ready_ms: at_ms + ready_s * 1000,
      start_ms: at_ms + start_s * 1000,
    }
  })
}
