// Takes the owner through one action, attempt by attempt, and decides where the owner continues.

import { messageOf } from '../../../errors.ts'
import { type ActionPlan, otherDevices } from '../../plans/plan.ts'
import type { MethodRun } from '../method.ts'
import { ActionExit, Fatal, Interrupt } from '../recovery.ts'
import type { LabwareThread } from '../thread.ts'
import { ActionRun } from './action.ts'
import { categoryOf } from './causes.ts'
import { goThroughStages } from './stages.ts'
import { useTips } from './tips.ts'
import { openWindow } from './windows.ts'

/** The point where the owner continues: at the next action (this one done or left out), or after the method. */
export type Outcome = Exclude<ActionExit['to'], 'again'>

/** Takes the owner through an action, in as many attempts as needed. Each attempt is a new `ActionRun`. */
export async function act(
  thread: LabwareThread,
  plan: ActionPlan,
  { method, key }: { method: MethodRun | null; key: string },
): Promise<Outcome> {
  for (;;) {
    thread.become('RESOLVING_ACTION_LOCATION')
    const left = thread.control.leftByRestart(plan.path)
    const isSkipped = thread.isToSkip(key)
    if (left && !isSkipped) {
      // Somebody has decided about the interrupted action. The thread continues even while its run is paused.
      if (left === 'done') {
        thread.dealtWith(plan)
        useTips(thread, plan, method ? [thread, ...method.participants] : [thread])
      }
      return passed(thread, method, left)
    }
    const action = new ActionRun(thread, plan, method)
    thread.action = action
    try {
      if (isSkipped) throw new Interrupt('skip')
      await goThroughStages(thread, action, key)
      action.end('COMPLETED', 'clean')
      openWindow(thread, plan)
      useTips(thread, plan, [...action.arrived.values()])
      return passed(thread, method, 'done')
    } catch (error) {
      const to = await leave(thread, action, error)
      if (to !== 'again') return passed(thread, method, to)
    } finally {
      thread.forgetSkip(key)
      thread.device.release()
      thread.action = null
    }
  }
}

/** Ends the action for its owner. */
function passed(thread: LabwareThread, method: MethodRun | null, to: Outcome): Outcome {
  thread.set({ retry_on: null })
  // In the same turn as the end of the action, so that no action can be inserted in between.
  method?.passed(to === 'done')
  return to
}

/** Ends the action because of `error`, and returns where the owner continues. An error holds the thread until somebody decides. Throws to end the thread. */
async function leave(thread: LabwareThread, action: ActionRun, error: unknown): Promise<ActionExit['to']> {
  const { plan } = action
  if (error instanceof Interrupt && error.kind === 'skip') {
    action.end('SKIPPED', 'left')
    // The thread no longer waits for a device.
    thread.become('RESOLVING_ACTION_LOCATION')
    return 'action'
  }
  if (error instanceof Interrupt) {
    action.end('ABORTED', thread.last_error !== null && error.kind === 'abort' ? 'thread_aborted' : 'left')
    throw error
  }
  if (error instanceof ActionExit) return errored(action, error.to)
  action.failure = messageOf(error instanceof Fatal ? error.cause : error)
  if (error instanceof Fatal || plan.action.on_failure === 'ABORT') {
    action.end('ERRORED', 'left')
    throw error instanceof Fatal ? error : new Fatal(error)
  }
  if (!action.status.isTerminal) action.status.become('ERRORED')
  action.hold(messageOf(error))
  const more = { recovery_action: 'THREAD_RECOVER_RETRY', error, detail: otherDevices(plan, action.device) } as const
  const what = `${plan.name} of ${thread.name} failed: ${messageOf(error)}`
  thread.execution.events.incident(categoryOf(error, 'ACTION_FAILED'), what, thread, more)
  try {
    const to = await thread.control.decisionAt('ACTION_BODY', error)
    if (to === 'done') thread.dealtWith(plan)
    thread.control.recovered()
    return errored(action, to)
  } catch (interrupt) {
    action.end('ABORTED', 'thread_aborted')
    throw interrupt
  }
}

function errored(action: ActionRun, to: ActionExit['to']): ActionExit['to'] {
  action.end('ERRORED', to === 'again' ? 'again' : 'left')
  return to
}
