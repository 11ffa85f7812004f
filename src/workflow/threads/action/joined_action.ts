// Takes part in a method that another thread owns: brings the labware when the owner has its device, and follows the owner.

import { once } from '../../scheduler/signal.ts'
import type { MethodRun } from '../method.ts'
import { goTo, idle } from '../move/route.ts'
import { Interrupt } from '../recovery.ts'
import type { LabwareThread } from '../thread.ts'
import type { ActionRun } from './action.ts'

/** Takes part in the next method that the step allows. Returns false if no more will come. */
export async function join(thread: LabwareThread, allows: readonly string[], key: string): Promise<boolean> {
  // A method that was taken before a restart is continued.
  const method = thread.joining ?? (await thread.control.skippable(key, () => nextMethod(thread, allows)))
  if (method === 'closed') return false
  method.enter(thread)
  try {
    await takePart(thread, method)
    // Not in `finally`: a thread that is cut off keeps the method, so that another receiver can take it.
    thread.joining = null
  } finally {
    method.leave(thread)
    thread.following = null
  }
  return true
}

async function nextMethod(thread: LabwareThread, allows: readonly string[]): Promise<MethodRun | 'closed'> {
  const { backlogs } = thread.execution
  const method = await thread.control.pausable(async () => {
    thread.become('AWAITING_CO_THREADS')
    const isHere = backlogs.waits(thread)
    try {
      backlogs.settle()
      const what = `work: one of ${allows.join(', ')}`
      return await idle<MethodRun | 'closed'>(
        thread,
        { kind: 'peer', what },
        once(backlogs.changed, () => backlogs.next(thread, allows)),
      )
    } finally {
      isHere()
    }
  })
  if (method === 'closed') return method
  backlogs.take(thread, method)
  thread.joining = method
  return method
}

async function takePart(thread: LabwareThread, method: MethodRun): Promise<void> {
  const awaits = () => [method.owner.thread_id]
  let done: ActionRun | undefined
  for (;;) {
    const action = await thread.control.pausable(() => {
      thread.become('AWAITING_CO_THREADS')
      const waiting = { kind: 'peer', what: `${method.owner.name} to begin an action of ${method.plan.name}`, awaits } as const
      return idle<ActionRun | 'over'>(
        thread,
        waiting,
        once(method.changed, () => nextFor(thread, method, done)),
      )
    })
    if (action === 'over') return
    done = action
    if (action.ending !== null) continue
    do await bring(thread, action)
    while ((await follow(thread, action)) === 'taken away')
  }
}

function nextFor(thread: LabwareThread, method: MethodRun, done: ActionRun | undefined): ActionRun | 'over' | undefined {
  if (method.isOver) return 'over'
  const { action } = method
  if (!action || action === done || action.device === null || action.ending !== null) return undefined
  return action.inputs.includes(thread.labware.template) ? action : undefined
}

async function bring(thread: LabwareThread, action: ActionRun): Promise<void> {
  if (!action.hasSiteFor(thread)) await thread.control.pausable(() => untilRoom(thread, action), 'AWAITING_CO_THREADS')
  if (action.ending !== null) return
  await goTo(thread, () => action.positionFor(thread))
  action.arrive(thread)
  thread.become('AWAITING_CO_THREADS')
}

/**
 * Waits until the device has a free site for the labware, or the action is over. Resolves at once if no thread will move the labware that stands
 * there: reserving the site then fails, and the error holds the thread until a person decides.
 */
async function untilRoom(thread: LabwareThread, action: ActionRun): Promise<void> {
  const { scheduler } = thread.environment
  const { device, method } = action
  if (device === null) return
  const awaits = () => scheduler.holds.threadsAt(device).filter((id) => !method?.threadIds().includes(id))
  const isOver = () => action.ending !== null || action.hasSiteFor(thread) || awaits().length === 0
  if (isOver()) return
  await idle<void>(thread, { kind: 'peer', what: `a free site at ${device}`, awaits }, (resolve) => {
    const look = () => {
      if (!isOver()) return
      end()
      resolve()
    }
    const ends = [scheduler.onFreed(look), action.changed.watch(look)]
    const end = () => {
      for (const one of ends) one()
    }
    // The site may have become free while this labware was being parked.
    look()
    return end
  })
}

/** Follows the owner until the action has ended, or the labware was taken away before the action began. The owner's errors hold this thread too. */
async function follow(thread: LabwareThread, action: ActionRun): Promise<'ended' | 'taken away'> {
  const { owner } = action
  for (;;) {
    const state = await thread.control.wait<News>(
      { kind: 'peer', what: `${owner.name} to end ${action.plan.name}`, interruptedBy: 'abort', awaits: () => [owner.thread_id] },
      once(action.changed, () => news(thread, action)),
    )
    if (state === 'began') thread.become('EXECUTING_ACTION')
    // Somebody may have decided about the error before this thread continues.
    if (state === 'held' && action.heldBy !== null) hold(thread, action)
    if (state === 'released' || state === 'ended') release(thread)
    if (state === 'taken away') return state
    if (state === 'ended') break
  }
  if (action.ending === 'thread_aborted') {
    thread.set({ last_error: thread.last_error ?? owner.last_error })
    throw new Interrupt('abort')
  }
  return 'ended'
}

type News = 'began' | 'held' | 'released' | 'ended' | 'taken away'

/** Returns the change of the action that the thread has not reacted to yet; undefined if there is none. */
function news(thread: LabwareThread, { ending, heldBy, status, arrived }: ActionRun): News | undefined {
  if (ending !== null) return 'ended'
  if (heldBy !== null) return thread.following ? undefined : 'held'
  if (thread.following) return 'released'
  if (!arrived.has(thread.labware.template)) return 'taken away'
  return status.current === 'EXECUTING_ACTION' && thread.status.current === 'AWAITING_CO_THREADS' ? 'began' : undefined
}

function hold(thread: LabwareThread, { owner, heldBy }: ActionRun): void {
  thread.following = thread.execution.find(owner.thread_id) ?? null
  thread.control.pause_reason = 'error'
  thread.set({ last_error: `${owner.name}: ${heldBy}` })
  thread.become('PAUSED')
}

function release(thread: LabwareThread): void {
  if (!thread.following) return
  thread.following = null
  thread.control.pause_reason = null
  thread.control.recovered('EXECUTING_ACTION')
}
