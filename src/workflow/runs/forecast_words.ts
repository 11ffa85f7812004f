// Why the end of a run or a thread cannot be foretold, in words.

import type { LabwareThread } from '../threads/thread.ts'

/** Returns why a thread does not go on by itself, as a clause after its name; null if it does. */
export function heldWords(thread: LabwareThread, execution: { readonly paused: object | null }): string | null {
  const { control, status, state } = thread
  const { waiting } = control
  if (execution.paused) return 'waits until somebody resumes the run, which is paused'
  if (status.current === 'AWAITING_MANUAL_PLACE') return `waits for a person to put its labware at ${state.starts_at}`
  const isHeld = control.pausedAt || thread.environment.scheduler.present.isHeld(thread.thread_id)
  if (isHeld && thread.last_error !== null) return `is held by an error: ${thread.last_error}`
  if (waiting?.kind === 'operator') return `waits for ${waiting.what}`
  return isHeld ? 'is paused' : null
}
