// What a decision about an action comes to.

import type { ActionPlan } from '../plans/plan.ts'
import { ActionExit, type Decision, Interrupt } from './recovery.ts'
import type { LabwareThread } from './thread.ts'

/** The other devices at which an action can be done that failed at `device`, for the detail of an incident; empty where there are none. */
export function elsewhere({ devices }: ActionPlan, device: string | null): { retry_on?: readonly string[] } {
  return devices.length > 1 ? { retry_on: devices.filter((one) => one !== device) } : {}
}

/** Lets the thread go on. Throws `Unwind` when it ends the thread. */
export function verdict(thread: LabwareThread, decision: Decision): ActionExit {
  if (decision === 'ABORT_THREAD') throw new Interrupt('abort')
  thread.recovered()
  return leaveFor(decision)
}

export function leaveFor(decision: Exclude<Decision, 'ABORT_THREAD'>): ActionExit {
  if (decision === 'RETRY') return new ActionExit('again')
  if (decision === 'CONTINUE') return new ActionExit('done')
  return new ActionExit(decision === 'ABORT_METHOD' ? 'method' : 'action')
}

export function continued(thread: LabwareThread, { name }: ActionPlan): void {
  thread.execution.incident('ACTION_CONTINUED', `an operator says that ${name} of ${thread.name} is dealt with`, thread, {
    severity: 'INFO',
  })
}
