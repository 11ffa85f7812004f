// Goes through what a thread has left to do. No code of the workflow is executed.

import type { ActionPlan, MethodPlan, StepPlan } from '../plans/plan.ts'
import type { LabwareThread } from './thread.ts'

/** Hears what a thread has left to do, in its order. */
export interface Walker {
  /** The present action, which has a device. */
  begun(plan: ActionPlan): void
  act(plan: ActionPlan): void
  take(step: StepPlan): void
  /** Time that passes where the labware is. */
  pass(seconds: number): void
  /** The present method ends. */
  over?(method: MethodPlan): void
  /** A repeat of which so many rounds have begun; the rest of the present round has been told. */
  roundsLeft(step: Extract<StepPlan, { kind: 'repeat' }>, begun: number): void
  /** A loop, of which the rest of the present round has been told, may begin again. */
  again(steps: readonly StepPlan[]): void
}

/** Tells a walker what a thread has left to do after its present action. */
export function goThrough(thread: LabwareThread, walker: Walker): void {
  const { action, method, frames } = thread
  if (action && action.device !== null) walker.begun(action.plan)
  else if (action) walker.act(action.plan)
  for (const plan of method?.actions.slice(method.next + (action ? 1 : 0)) ?? []) walker.act(plan)
  if (method) walker.over?.(method.plan)
  for (let depth = frames.length - 1; depth >= 0; depth--) {
    const { steps, next, isLoop } = frames[depth]!
    // The innermost step is the one that the thread is in, of which the rest of its method is already counted.
    const isCounted = depth < frames.length - 1 || method !== null || action !== null
    if (!isCounted && thread.state.delay) walker.pass(Math.max(0, thread.delayEnds_ms - thread.environment.clock.now()) / 1000)
    else if (!isCounted && steps[next]) walker.take(steps[next])
    const around = depth < frames.length - 1 ? steps[next] : undefined
    if (around?.kind === 'repeat') walker.roundsLeft(around, roundsBegun(thread, around))
    for (const step of steps.slice(next + 1)) walker.take(step)
    if (isLoop) walker.again(steps)
  }
}

function roundsBegun(thread: LabwareThread, { path, rounds }: Extract<StepPlan, { kind: 'repeat' }>): number {
  return thread.state.rounds.find((one) => one.path === path)?.count ?? rounds
}
