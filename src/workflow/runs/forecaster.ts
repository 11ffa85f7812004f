// Foretells when the open runs of a bench end: anew after what changes them, at most every 10 seconds, beside the event loop.

import type { Clock } from '../../kit/clock.ts'
import type { StepQueue } from '../../kit/steps.ts'
import type { DispatchProblem, Foretold, StepToCome } from '../schedule/dispatch_problem.ts'
import type { Scheduler } from '../scheduler/scheduler.ts'
import type { RunForecast, StepForetold, ThreadForecast } from '../threads/run_environment.ts'
import type { PlannedBench } from './bench_problem.ts'
import type { Execution } from './execution.ts'
import { forecastProblem, type PosedForecast } from './forecast_problem.ts'
import { ForetoldRun } from './foretold_run.ts'

/** Resolves with what was foretold; null where that fails. */
export type Foretell = (problem: DispatchProblem) => Promise<Foretold | null>

export type ForecasterOptions = {
  scheduler: Scheduler
  clock: Clock
  steps: StepQueue
  bench: Omit<PlannedBench, 'now'>
  /** Lists the runs of the bench that have not ended. */
  open(): Execution[]
  /** Foretells beside the event loop. */
  foretell: Foretell
  /** Foretells what is left of one labware at once. */
  foretellAtOnce(problem: DispatchProblem): Foretold
}

/** The least time between two forecasts, in ms. */
const between_ms = 10_000
/** The time after a change before a forecast is made, in ms, because changes come together. */
const soon_ms = 200
/** While nothing changes, a forecast that is out of date is made anew, each time twice as late as before, so many times. */
const mostDoublings = 12

export class Forecaster {
  readonly #options: ForecasterOptions
  readonly #runs = new Map<string, RunForecast>()
  readonly #threads = new Map<string, ThreadForecast>()
  readonly #rows = new Map<string, ForetoldRun>()
  /** When a thread was first seen, Unix time, s. */
  readonly #began = new Map<string, number>()
  #cancel: (() => void) | undefined
  #isClosed = false
  /** The time of the first forecast, Unix time, s. */
  #opened_s: number | undefined
  #isMaking = false
  #isChanged = false
  #made_ms = Number.NEGATIVE_INFINITY
  #quiet = 0

  constructor(options: ForecasterOptions) {
    this.#options = options
  }

  run(execution_id: string): RunForecast | undefined {
    return this.#runs.get(execution_id)
  }

  thread(thread_id: string): ThreadForecast | undefined {
    return this.#threads.get(thread_id)
  }

  /** A thread or a run has changed: has a forecast made, when enough time has passed since the last one. */
  changed(): void {
    this.#quiet = 0
    if (this.#isChanged) return
    this.#isChanged = true
    this.#setAlarm(Math.max(soon_ms, this.#made_ms + between_ms - this.#options.clock.now()))
  }

  /** Ends the forecasts, because nobody uses the bench any more. Leaves no timer behind. */
  close(): void {
    this.#isClosed = true
    this.#cancel?.()
  }

  #setAlarm(ms: number): void {
    if (this.#isClosed) return
    this.#cancel?.()
    this.#cancel = this.#options.clock.after(ms, () => {
      this.#cancel = undefined
      void this.make()
    })
  }

  /** Makes the forecast of the bench. Never rejects. */
  async make(): Promise<void> {
    if (this.#isMaking) return
    const { open, clock } = this.#options
    this.#isMaking = true
    this.#isChanged = false
    try {
      const executions = open()
      if (executions.length > 0) await this.#foretell(executions)
      this.#forget()
    } catch {
      // A journey that cannot be foretold: the run itself finds out why, and says so.
    } finally {
      this.#made_ms = clock.now()
      this.#isMaking = false
      this.#goOn()
    }
  }

  /** Has another forecast made: after a change meanwhile, and when the next step that was foretold should have begun. */
  #goOn(): void {
    if (this.#isChanged) this.#setAlarm(between_ms)
    if (this.#isChanged || this.#options.open().length === 0 || this.#quiet > mostDoublings) return
    const now = this.#options.open()[0]!.now()
    const steps = [...this.#threads.values()].flatMap(({ next, eta }) => next[0]?.to ?? eta ?? [])
    const due_s = Math.min(...steps.filter((at) => at > now)) - now
    const late_ms = between_ms * 2 ** this.#quiet++
    this.#setAlarm(late_ms + (Number.isFinite(due_s) && due_s > 0 ? due_s * 1000 : 0))
  }

  async #foretell(executions: readonly Execution[]): Promise<void> {
    const { clock, steps, bench, foretell, foretellAtOnce } = this.#options
    const at_ms = clock.now()
    const posed = await forecastProblem(executions, { ...bench, now: () => at_ms }, () => steps.turn())
    const { lanes, seeds, order } = posed.problem
    const isAlone = lanes.length <= 1 && Object.keys(seeds).length === 0
    const foretold = isAlone ? foretellAtOnce(posed.problem) : await foretell(posed.problem)
    if (!foretold) return
    const by = isAlone ? 'sum' : Object.keys(order).length > 0 ? 'plan' : 'dispatch'
    for (const [run, execution] of executions.entries())
      this.#take(execution, run, { posed, foretold, by, passed_s: (clock.now() - at_ms) / 1000 })
  }

  #take(
    execution: Execution,
    run: number,
    made: { posed: PosedForecast; foretold: Foretold; by: 'sum' | 'plan' | 'dispatch'; passed_s: number },
  ): void {
    const { posed, foretold, by, passed_s } = made
    if (execution.isOver) return
    const made_at = execution.now() - passed_s
    const its = foretold.runs[run]!
    const share = posed.shares[run]!
    const left_s = its.left_s * share
    const more =
      share > 1
        ? [
            `of ${execution.liveCount} labware the first ${Math.round(execution.liveCount / share)} were looked at; the rest counts by proportion`,
          ]
        : []
    const took_s = Math.max(0, made_at - execution.started_at)
    const forecast: RunForecast = {
      made_at,
      eta: steady(its.end_s === null ? null : made_at + left_s, this.#runs.get(execution.execution_id)?.eta, left_s),
      left_s,
      progress: shareOf(took_s, left_s),
      reason: foretold.isBrokenOff ? 'the simulation does not come to an end' : its.why,
      basis: posed.basis[run]!.toJSON(by, more),
    }
    this.#runs.set(execution.execution_id, forecast)
    const rows = this.#rows.get(execution.execution_id) ?? new ForetoldRun(execution)
    this.#rows.set(execution.execution_id, rows)
    rows.note(forecast)
    const place = ({ name, place, from_s, to_s }: StepToCome, isSure: boolean): StepForetold => ({
      name,
      at: place === null ? null : posed.names(place),
      from: isSure ? made_at + from_s : null,
      to: isSure ? made_at + to_s : null,
    })
    for (const [i, { run: own }] of posed.problem.lanes.entries()) {
      if (own !== run) continue
      const { id, end_s, left_s: lane_s, why, next } = foretold.lanes[i]!
      const began = this.#began.get(id) ?? this.#firstSeen(execution, made_at)
      this.#began.set(id, began)
      this.#threads.set(id, {
        made_at,
        eta: steady(end_s === null ? null : made_at + end_s, this.#threads.get(id)?.eta, lane_s),
        left_s: lane_s,
        progress: shareOf(made_at - began, lane_s),
        reason: why,
        next: next.map((step) => place(step, end_s !== null)),
      })
    }
  }

  /** Returns when a thread began that is seen for the first time: right after the start of its run, or of the service, with the run. */
  #firstSeen({ started_at }: Execution, now: number): number {
    this.#opened_s ??= now
    return Math.min(now - started_at, now - this.#opened_s) < (2 * between_ms) / 1000 ? started_at : now
  }

  /** Forgets the threads and runs that have ended. */
  #forget(): void {
    const open = this.#options.open()
    const runs = new Set(open.map(({ execution_id }) => execution_id))
    const threads = new Set(open.flatMap((execution) => execution.live().map(({ thread_id }) => thread_id)))
    for (const known of [this.#runs, this.#rows]) for (const id of known.keys()) if (!runs.has(id)) known.delete(id)
    for (const known of [this.#threads, this.#began]) for (const id of known.keys()) if (!threads.has(id)) known.delete(id)
  }
}

/** Keeps the end that was foretold before, if it is nearly the same, so that readers are not told of noise. */
function steady(eta: number | null, before: number | null | undefined, left_s: number): number | null {
  if (eta === null || before === null || before === undefined) return eta === null ? null : Math.round(eta)
  return Math.abs(eta - before) < Math.max(2, left_s / 100) ? before : Math.round(eta)
}

function shareOf(took_s: number, left_s: number): number {
  return took_s + left_s <= 0 ? 0 : Math.round((Math.max(0, took_s) / (Math.max(0, took_s) + left_s)) * 1000) / 1000
}
