// The operations that a run does once: those of `before`, for which its threads wait, and those of `after`. Each part is a thread without labware.

import { messageOf } from '../../errors.ts'
import type { OperationNotDone } from '../../events/contexts.ts'
import { type ActionPlan, itemKey, type StepPlan } from '../plans/plan.ts'
import { once } from '../scheduler/signal.ts'
import { act } from './action/owned_action.ts'
import { Fatal, Interrupt } from './recovery.ts'
import type { LabwareThread } from './thread.ts'

type ActionStep = Extract<StepPlan, { kind: 'action' }>

/** Waits until the operations of `before` have ended; undefined if they have. Rejects with what ends the thread if `before` was ended early. */
export function untilBeforeHasEnded(thread: LabwareThread): Promise<void> | undefined {
  const { before } = thread.execution.operations
  return before && !hasCompleted(before) ? waitFor(before, thread) : undefined
}

async function waitFor(before: LabwareThread, thread: LabwareThread): Promise<void> {
  const { changed } = thread.execution.operations
  await thread.control.pausable(() => {
    const awaits = () => (before.isOver ? [] : [before.thread_id])
    return thread.control.wait<true>(
      { kind: 'peer', what: 'the operations of "before" to end', awaits },
      once(changed, () => before.isOver || undefined),
    )
  })
  if (!hasCompleted(before)) throw new Interrupt('abort')
}

function hasCompleted({ status }: LabwareThread): boolean {
  return status.current === 'COMPLETED'
}

/** Does one operation. An error holds the thread until somebody decides; in a run that has failed or is being stopped, the operation is left out. */
export async function operate(thread: LabwareThread, step: ActionStep): Promise<void> {
  const { operations } = thread.execution
  if (operations.isUnattended(thread)) return operateUnattended(thread, step)
  const to = await act(thread, step.action, { method: null, key: itemKey(step) })
  if (to === 'done') return
  const frame = thread.frames.at(-1)!
  const left = to === 'method' ? frame.steps.slice(frame.next) : [step]
  for (const one of left) operations.leaveOut(thread, one, 'a person left it out')
  // The caller goes on to the next step.
  if (to === 'method') frame.goTo(frame.steps.length - 1)
}

async function operateUnattended(thread: LabwareThread, step: ActionStep): Promise<void> {
  const { operations } = thread.execution
  const { usable, reasons } = usableOf(thread, step.action)
  if (usable.length === 0) return operations.leaveOut(thread, step, reasons.join('; '))
  const action = { ...step.action.action, on_failure: 'ABORT' as const }
  const plan = { ...step.action, action, devices: usable, candidates: usable.map((device) => ({ device })) } as ActionPlan
  try {
    const to = await act(thread, plan, { method: null, key: itemKey(step) })
    if (to !== 'done') operations.leaveOut(thread, step, operations.stuckBecause(thread) ?? 'a person left it out')
  } catch (error) {
    if (!(error instanceof Fatal)) throw error
    operations.leaveOut(thread, step, messageOf(error.cause))
  }
}

/** Returns the devices of an action that are neither stopped nor faulted, and what is wrong with the others. */
function usableOf({ environment }: LabwareThread, { devices }: ActionPlan): { usable: string[]; reasons: string[] } {
  const faults = new Map(environment.equipment.faults?.().map((fault) => [fault.device_id, fault]))
  const reasons = devices.flatMap((device) => {
    const fault = faults.get(device)
    return fault ? [fault.isStop ? fault.error : `${device} has a fault: ${fault.error}`] : []
  })
  return { usable: devices.filter((device) => !faults.has(device)), reasons }
}

/** Describes an operation that is not done. */
export function notDone({ plan }: LabwareThread, step: StepPlan, reason: string): OperationNotDone[] {
  if (plan.part === undefined || step.kind !== 'action' || step.action.kind !== 'do') return []
  const { do: operation, on } = step.action.action
  return [{ part: plan.part, operation, on, reason }]
}
