// The environment that the executions of one run mode share: the places, the instruments, and the time they go by.

import type { Clock } from '../../kit/clock.ts'
import type { StepQueue } from '../../kit/steps.ts'
import type { Equipment } from '../equipment/equipment.ts'
import type { Durations } from '../plans/durations.ts'
import type { DecisionLog } from '../scheduler/decision_log.ts'
import type { Scheduler } from '../scheduler/scheduler.ts'
import type { SharedSpace } from '../scheduler/shared_space.ts'
import type { LabwareOnDeck } from '../state/labware.ts'
import type { RunMode } from '../state/modes.ts'

export type RunEnvironment = {
  readonly mode: RunMode
  readonly clock: Clock
  readonly steps: StepQueue
  readonly scheduler: Scheduler
  /** Keeps people and moving transporters apart. */
  readonly space: SharedSpace
  readonly decisions: DecisionLog
  readonly equipment: Equipment
  readonly labware: LabwareOnDeck
  /** The durations learned so far; learned further where something is driven. */
  readonly durations?: Durations | undefined
  /** For each transporter whose last pick failed: a function that notes whether the labware of that pick may be in its gripper. */
  readonly failedPicks: Map<string, (mayBeIn: boolean) => void>
  newId(): string
}

/** How long a device has been at something since a moment of the environment's clock (ms), in its own seconds: a simulated one may be faster. */
export function secondsAt(device_id: string, since_ms: number, { clock, equipment }: Pick<RunEnvironment, 'clock' | 'equipment'>): number {
  return ((clock.now() - since_ms) / 1000) * (equipment.timeScale?.(device_id) ?? 1)
}

/** Calls `call` after so many seconds; never for 0, which is no limit. The returned function calls it off. */
export function timer(clock: Clock, seconds: number, call: () => void): () => void {
  return seconds === 0 ? () => {} : clock.after(seconds * 1000, call)
}
