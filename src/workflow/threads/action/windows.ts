// Windows: after some actions the labware's next action must begin within a time limit. An incident reports a missed window.

import { inSeconds } from '../../../kit/seconds.ts'
import type { ActionPlan } from '../../plans/plan.ts'
import type { WindowState } from '../../state/run.ts'
import type { Carrier } from '../carrier.ts'
import { addWindowRow } from '../record_rows.ts'
import type { LabwareThread } from '../thread.ts'
import type { ActionRun } from './action.ts'
import { windowAfter } from './claims.ts'

/** Opens the window of a completed action, if the action has one. */
export function openWindow(thread: LabwareThread, plan: ActionPlan): void {
  const allowed_s = windowAfter(plan, thread.labware.template)
  if (allowed_s === undefined) return
  const until = thread.execution.now() + allowed_s
  reopenWindow(thread, { after: plan.name, allowed_s, until, is_told: false }, allowed_s)
}

/** Opens a window again after a restart. `left_s` is negative if the window ended while the service was down. */
export function reopenWindow(thread: LabwareThread, state: WindowState, left_s: number): void {
  const { clock, scheduler } = thread.environment
  const since_ms = clock.now() - (state.allowed_s - left_s) * 1000
  // A missed window is reported at once: somebody may still save the labware.
  const forget = state.is_told ? () => {} : clock.after(Math.max(0, left_s * 1000 + 1), () => missed(thread, state))
  thread.window = { state, forget }
  scheduler.hurry(thread.thread_id, since_ms + state.allowed_s * 1000)
}

/** Closes the windows of all labware in an action that begins. */
export function beginIn(action: ActionRun): void {
  const { owner, device, arrived, plan } = action
  if (device !== null) owner.environment.scheduler.began(owner.thread_id, device)
  for (const thread of arrived.values()) closeWindow(thread, plan.name)
}

/** Closes the window: the action that was to begin in time has begun (`before`), or never will. */
export function closeWindow(thread: Carrier, before: string | null = null): void {
  if (!thread.window) return
  const { execution } = thread
  const { state } = thread.window
  if (state.is_told) addWindowRow(execution, state, thread, before)
  thread.window.forget()
  thread.window = null
  thread.environment.scheduler.hurry(thread.thread_id, null)
}

function missed(thread: LabwareThread, state: WindowState): void {
  const { execution, name, control, status } = thread
  const { after, allowed_s } = state
  thread.setIn('window', state, { is_told: true })
  execution.state.writeSoon()
  const { waiting } = control
  const doing = waiting ? `waits for ${waiting.what}` : `is ${status.current}`
  const what = `what comes after ${after} has not begun within ${inSeconds(allowed_s)}: ${name} ${doing}`
  execution.events.incident('WINDOW_MISSED', what, thread, { severity: 'WARNING', detail: { thread: name, after, allowed_s } })
}
