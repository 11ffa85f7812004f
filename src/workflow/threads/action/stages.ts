// The stages of an action, in order. Only the loop over them handles a pause, a skip, or an error that holds a stage.

import type { ActionStatus, ThreadStatus } from '../../state/statuses.ts'
import { Interrupt, isPause, type RetrySite } from '../recovery.ts'
import type { LabwareThread } from '../thread.ts'
import type { ActionRun } from './action.ts'
import { BodyRun } from './body.ts'
import { gather, missing, summon, transport } from './co_threads.ts'
import { reserve, reserveNext } from './device_reservation.ts'
import { reservePad } from './lid_action.ts'
import { beginIn } from './windows.ts'

interface Stage {
  /** Returns undefined if there is nothing to wait for. */
  run(thread: LabwareThread, action: ActionRun, more: { key: string; isRetry: boolean }): Promise<unknown> | undefined
  /** Returns the next stage; null ends the action. */
  next(action: ActionRun): StageName | null
  /** The status of the action in this stage. */
  status?: ActionStatus
  /** The status of the thread when a pause has interrupted the stage, which then restarts. Without it, a pause waits for the end of the stage. */
  pausedTo?: ThreadStatus
  /** Whether an operator may skip the action while the stage waits. */
  isSkippable?: true
  /** The site at which an error holds the thread; after the decision the stage runs again. Without it, an error ends the action. */
  heldAt?: RetrySite
}

type StageName = 'settle' | 'reserve_pad' | 'reserve' | 'summon' | 'transport' | 'gather' | 'reserve_next' | 'execute'

const stages: Record<StageName, Stage> = {
  settle: { run: () => undefined, next: () => 'execute', pausedTo: 'RESOLVING_ACTION_LOCATION', isSkippable: true },
  reserve_pad: {
    run: reservePad,
    next: () => 'execute',
    status: 'AWAITING_LOCATION_RESERVATION',
    pausedTo: 'RESOLVING_ACTION_LOCATION',
    isSkippable: true,
    heldAt: 'ACTION_RESOLUTION',
  },
  reserve: {
    run: reserve,
    next: () => 'summon',
    status: 'AWAITING_LOCATION_RESERVATION',
    pausedTo: 'RESOLVING_ACTION_LOCATION',
    isSkippable: true,
    heldAt: 'ACTION_RESOLUTION',
  },
  summon: { run: summon, next: () => 'transport', isSkippable: true, heldAt: 'SPAWN_CAPACITY' },
  transport: { run: transport, next: () => 'gather' },
  gather: { run: gather, next: () => 'reserve_next', pausedTo: 'AWAITING_CO_THREADS', isSkippable: true },
  reserve_next: {
    run: reserveNext,
    // Somebody may take labware away before the action begins.
    next: (action) => (missing(action).length > 0 ? 'transport' : 'execute'),
    pausedTo: 'AWAITING_CO_THREADS',
    isSkippable: true,
  },
  execute: { run: execute, next: () => null },
}

/** Takes the action from its first stage to the end of its body. An operator skips the action by `key`. */
export async function goThroughStages(thread: LabwareThread, action: ActionRun, key: string): Promise<void> {
  const { kind, devices } = action.plan
  let name: StageName | null = kind === 'remove_lid' ? 'reserve_pad' : devices.length > 0 ? 'reserve' : 'settle'
  while (name) {
    const stage: Stage = stages[name]
    if (stage.status) action.status.become(stage.status)
    await goThrough(stage, thread, action, key)
    name = stage.next(action)
  }
}

/** Runs a stage to its end, again after each pause and each decision. One function, to save memory: hundreds of threads may wait in it at once. */
async function goThrough(
  { run, pausedTo, isSkippable, heldAt }: Stage,
  thread: LabwareThread,
  action: ActionRun,
  key: string,
): Promise<void> {
  if (isSkippable) thread.control.setSkippable(key)
  try {
    for (let isRetry = false; ; isRetry = true) {
      try {
        if (pausedTo) await thread.control.safePoint(pausedTo)
        await run(thread, action, { key, isRetry })
        return
      } catch (error) {
        if (pausedTo && isPause(error)) continue
        if (!heldAt) throw error
        await thread.holdAt(heldAt, error)
      }
    }
  } finally {
    if (isSkippable) thread.control.setSkippable(null)
  }
}

function execute(thread: LabwareThread, action: ActionRun, { key }: { key: string }): Promise<void> {
  if (thread.isToSkip(key)) throw new Interrupt('skip')
  thread.become('EXECUTING_ACTION')
  action.status.become('AWAITING_CO_THREADS')
  action.begin()
  beginIn(action)
  return new BodyRun(thread, action).perform()
}
