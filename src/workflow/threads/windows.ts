// Windows: after some actions the labware's next action must begin within a time. An incident reports that it has not.

import type { ActionPlan } from '../plans/plan.ts'
import type { ActionRun } from './action.ts'
import type { Carrier, Window } from './carrier.ts'
import { windowAfter } from './claims.ts'
import type { LabwareThread } from './thread.ts'

/** Opens the window of an action that is completed, if it has one. */
export function openWindow(thread: LabwareThread, plan: ActionPlan): void {
  const allowed_s = windowAfter(plan, thread.labware.template)
  if (allowed_s !== undefined) reopenWindow(thread, { after: plan.name, allowed_s, left_s: allowed_s })
}

type Reopened = Pick<Window, 'after' | 'allowed_s'> & { left_s: number; is_told?: boolean }

/** Opens a window of which `left_s` seconds are left; negative, if it ended while the service was away. */
export function reopenWindow(thread: LabwareThread, { after, allowed_s, left_s, is_told: isReported = false }: Reopened): void {
  const { clock } = thread.environment
  const since_ms = clock.now() - (allowed_s - left_s) * 1000
  // A missed window is reported at once: somebody may still save the labware.
  const forget = isReported ? () => {} : clock.after(Math.max(0, left_s * 1000 + 1), () => missed(thread, { after, allowed_s }))
  thread.touch()
  thread.window = { after, allowed_s, since_ms, until: thread.execution.now() + left_s, isReported, forget }
  thread.environment.scheduler.hurry(thread.thread_id, since_ms + allowed_s * 1000)
}

/** Closes the windows of all labware in an action that begins. */
export function beginIn(action: ActionRun): void {
  const { owner, device, arrived } = action
  if (device !== null) owner.environment.scheduler.began(owner.thread_id, device)
  for (const thread of arrived.values()) closeWindow(thread)
}

/** Closes the window: the action that was to begin in time has begun, or never will. */
export function closeWindow(thread: Carrier): void {
  if (!thread.window) return
  thread.window.forget()
  thread.window = null
  thread.touch()
  thread.environment.scheduler.hurry(thread.thread_id, null)
}

function missed(thread: LabwareThread, { after, allowed_s }: Pick<Window, 'after' | 'allowed_s'>): void {
  const { execution, name, waiting, status, window } = thread
  if (window) window.isReported = true
  thread.touch()
  execution.journal?.changed()
  const doing = waiting ? `waits for ${waiting.what}` : `is ${status.current}`
  execution.incident('WINDOW_MISSED', `what comes after ${after} has not begun within ${allowed_s} s: ${name} ${doing}`, thread, {
    severity: 'WARNING',
    detail: { thread: name, after, allowed_s },
  })
}
