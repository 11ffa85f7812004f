// What a decision about an action comes to.

import type { ActionPlan } from '../plans/plan.ts'
import { type Decision, Leave, Unwind } from './recovery.ts'
import type { LabwareThread } from './thread.ts'

/** Lets the thread go on. Throws `Unwind` when it ends the thread. */
export function verdict(thread: LabwareThread, decision: Decision): Leave {
  if (decision === 'ABORT_THREAD') throw new Unwind('abort')
  thread.recovered()
  return leaveFor(decision)
}

export function leaveFor(decision: Exclude<Decision, 'ABORT_THREAD'>): Leave {
  if (decision === 'RETRY') return new Leave('again')
  if (decision === 'CONTINUE') return new Leave('done')
  return new Leave(decision === 'ABORT_METHOD' ? 'method' : 'action')
}

export function continued(thread: LabwareThread, { name }: ActionPlan): void {
  thread.execution.incident('ACTION_CONTINUED', `an operator says that ${name} of ${thread.name} is dealt with`, thread, {
    severity: 'INFO',
  })
}
