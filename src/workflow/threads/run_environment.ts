// The environment that the runs of one run mode share: the positions, the instruments, and the clock.

import type { Clock } from '../../kit/clock.ts'
import type { StepQueue } from '../../kit/steps.ts'
import type { Equipment } from '../equipment/equipment.ts'
import type { Durations } from '../plans/durations.ts'
import type { MadePlan } from '../schedule/made_plan.ts'
import type { DecisionLog } from '../scheduler/decision_log.ts'
import type { Scheduler } from '../scheduler/scheduler.ts'
import type { SharedSpace } from '../scheduler/shared_space.ts'
import type { LabwareOnDeck } from '../state/labware.ts'
import type { RunMode } from '../state/modes.ts'

/** A step of a thread that is to come. `at` is null for a wait. Unix time, s; null where the thread does not go on by itself. */
export type StepForetold = { name: string; at: string | null; from: number | null; to: number | null }

/** `eta`: Unix time, s; null with a reason where the end cannot be foretold. `left_s`: what is left, also as if it went on now. `progress`: from 0 to 1. */
type Forecast = { made_at: number; eta: number | null; left_s: number; progress: number; reason: string | null }
export type ThreadForecast = Forecast & { next: StepForetold[] }
export type RunForecast = Forecast & {
  basis: { by: 'sum' | 'plan' | 'dispatch'; learned: number; declared: number; usual: number; assumed: string[] }
}

export type Trial = 'dry_run' | 'forecast'

/** Returns the mode that the code of a workflow sees. */
export function modeForCode({ mode, trial }: Pick<RunEnvironment, 'mode' | 'trial'>): RunMode | 'dry_run' {
  return trial === undefined ? mode : 'dry_run'
}

type PlannedThread = { readonly thread_id: string }

export type RunEnvironment = {
  readonly mode: RunMode
  /** Whether it is a trial on simulated time: a dry run that a person asks for, or a forecast, which executes no code of the workflow. */
  readonly trial?: Trial | undefined
  readonly clock: Clock
  readonly steps: StepQueue
  readonly scheduler: Scheduler
  /** Keeps people and moving transporters apart. */
  readonly space: SharedSpace
  readonly decisions: DecisionLog
  readonly equipment: Equipment
  readonly labware: LabwareOnDeck
  /** The learned durations. Environments with drivers add to them. */
  readonly durations?: Durations | undefined
  /** Plans the threads of the bench together. */
  readonly planner: {
    join(thread: PlannedThread): void
    leave(thread: PlannedThread): void
    /** Has a plan made, because the priority of a run has changed. */
    request(reason: 'priority'): void
    /** Whether a plan is being made. */
    readonly isDue: boolean
    /** The first plan since the bench was empty. */
    readonly first?: MadePlan | undefined
  }
  /** Foretells when runs and threads end; absent where time is simulated. */
  readonly forecaster?: {
    changed(): void
    close(): void
    run(execution_id: string): RunForecast | undefined
    thread(thread_id: string): ThreadForecast | undefined
  }
  /** For each transporter whose last pick failed: a setter for whether the labware of that pick may be in the gripper. */
  readonly failedPicks: Map<string, (mayBeIn: boolean) => void>
  newId(): string
}

/** Returns the seconds of the device's own time since a moment of the environment's clock (ms). A simulated device may run faster. */
export function secondsAt(device_id: string, since_ms: number, { clock, equipment }: Pick<RunEnvironment, 'clock' | 'equipment'>): number {
  return ((clock.now() - since_ms) / 1000) * (equipment.timeScale?.(device_id) ?? 1)
}

/** Calls `call` after this many seconds; never for 0, which means no limit. The returned function cancels it. */
export function timer(clock: Clock, seconds: number, call: () => void): () => void {
  return seconds === 0 ? () => {} : clock.after(seconds * 1000, call)
}
