// Keeps arms and devices clear of each other: an arm reaches only into a device at rest, and a device works only when no arm reaches in.

import type { Hop } from '../plans/graph.ts'
import type { AccessHandle } from '../scheduler/device_access.ts'
import type { Obstacle } from '../scheduler/request.ts'
import type { Use } from '../scheduler/shared_space.ts'
import type { Labware } from '../state/labware.ts'
import type { ThreadStatus } from '../state/statuses.ts'
import { isPause } from './recovery.ts'
import type { RunEnvironment } from './run_environment.ts'

/** The part of a thread that this file uses. */
interface ClearanceThread {
  readonly thread_id: string
  readonly environment: RunEnvironment
  readonly labware: Pick<Labware, 'held_by'>
  readonly state: { readonly move: { readonly has_failed_pick: boolean } | null }
  readonly control: {
    wait(waiting: Waiting, begin: (resolve: () => void) => () => void): Promise<void>
    safePoint(then: ThreadStatus): Promise<void> | undefined
  }
}

type Waiting = {
  kind: 'reservation' | 'device'
  what: string
  interruptedBy: 'pause' | 'stop' | 'abort'
  obstacles(): Obstacle[]
  awaits?(): readonly string[]
}

/** Waits for the transporter. Returns undefined if the thread already has it, because its labware is in the gripper. */
export function take(thread: ClearanceThread, transporter: string): Promise<void> | undefined {
  const { scheduler } = thread.environment
  if (scheduler.transporters.holder(transporter) === thread.thread_id) return undefined
  const obstacles = (): Obstacle[] => [
    { wanted: transporter, reason: 'held', thread_id: scheduler.transporters.holder(transporter) ?? null, labware_id: null },
  ]
  const waiting = { kind: 'reservation', what: `transporter ${transporter}`, interruptedBy: 'abort', obstacles } as const
  return thread.control.wait(waiting, (resolve) => scheduler.take(transporter, thread.thread_id, () => resolve()).withdraw)
}

/**
 * Lets the thread's transporter reach into the devices of a hop. Returns undefined if it may at once. Otherwise gives the transporter back,
 * unless the labware is in its gripper, and resolves when the devices are at rest. The caller then takes the transporter and tries again.
 */
export function reachIn(thread: ClearanceThread, { from, to, transporter }: Hop): Promise<void> | undefined {
  const { environment, labware, thread_id } = thread
  const { scheduler } = environment
  const isFull = labware.held_by === transporter
  const positions = isFull ? [to] : [from, to]
  if (scheduler.access.reachIn(thread_id, positions)) return undefined
  if (!isFull) scheduler.transporters.giveBack(transporter, thread_id)
  const devices = new Set(positions.flatMap((position) => scheduler.graph.positions.get(position)?.device ?? []))
  const what = `${[...devices].join(' and ')} to end the work, so that ${transporter} can reach in`
  let access: AccessHandle | undefined
  const obstacles = () => access?.explain() ?? []
  const waiting = { kind: 'reservation', what, interruptedBy: 'abort', obstacles, awaits: () => threadsOf(obstacles()) } as const
  return thread.control.wait(waiting, (resolve) => {
    access = scheduler.access.awaitRest(thread_id, positions, () => resolve())
    return access.withdraw
  })
}

/**
 * Enters the space for a move that has its transporter. Undefined when it may at once. Otherwise it resolves when it has entered, and whether its devices
 * are at rest is to be tried anew. It keeps the transporter meanwhile: those inside need nothing of it, and no other move of it could enter either.
 */
export function enterSpace(thread: ClearanceThread, use: Use): Promise<void> | undefined {
  const { environment, labware, thread_id } = thread
  const { space, scheduler } = environment
  if (space.enter(use)) return undefined
  const isFull = labware.held_by === use.transporter
  // An arm that stopped in the midst of a motion may still be in the device.
  if (labware.held_by === null && !thread.state.move?.has_failed_pick) scheduler.access.reachedIn(thread_id)
  const wanted = use.hands === null ? use.transporter : use.hands.join(' and ')
  const what = use.hands === null ? `a person to be out of the reach of ${use.transporter}` : `the arms that reach ${wanted} to stand`
  const obstacles = (): Obstacle[] =>
    space.obstacles(use).map(({ thread_id, transporter, mayMove }) => ({
      wanted: mayMove ? transporter : wanted,
      reason: mayMove ? 'may_move' : 'reached_into',
      thread_id: thread_id || null,
      labware_id: null,
    }))
  // A motion that belongs to no thread ends by itself, or a person ends it: the run does not stall.
  const kind = obstacles().some(({ thread_id }) => thread_id === null) ? 'device' : 'reservation'
  const waiting = { kind, what, interruptedBy: 'abort', obstacles, awaits: () => threadsOf(obstacles()) } as const
  return thread.control.wait(waiting, (resolve) => {
    space.await(use, () => resolve())
    return () => {
      space.leave(use)
      if (!isFull) scheduler.transporters.giveBack(use.transporter, thread_id)
    }
  })
}

/**
 * Lets a device call begin as soon as no arm reaches in. Returns undefined if it may begin at once. Labware that is about to leave the device or
 * to arrive there goes first, because it would have to wait for the whole call. The caller ends the work with `scheduler.access.endWork`.
 */
export function toWork(thread: ClearanceThread, device: string): Promise<void> | undefined {
  return beginsAtOnce(thread, device, true) ? undefined : clearToWork(thread, device)
}

async function clearToWork(thread: ClearanceThread, device: string): Promise<void> {
  for (;;) {
    try {
      await untilClear(thread, device, { yields: true, interruptedBy: 'pause' })
      return
    } catch (error) {
      if (!isPause(error)) throw error
      await thread.control.safePoint('EXECUTING_ACTION')
    }
  }
}

/** Lets a device get ready, as `toWork` does for a call. Only arms that already reach in go first: arriving and leaving labware waits. */
export function toGetReady(thread: ClearanceThread, device: string): Promise<void> | undefined {
  return beginsAtOnce(thread, device, false) ? undefined : untilClear(thread, device, { yields: false, interruptedBy: 'stop' })
}

function beginsAtOnce({ environment, thread_id }: ClearanceThread, device: string, yields: boolean): boolean {
  let isBegun = false
  const granted = () => {
    isBegun = true
  }
  const access = environment.scheduler.access.work(thread_id, device, { yields, granted })
  if (!isBegun) access.withdraw()
  return isBegun
}

function untilClear(
  thread: ClearanceThread,
  device: string,
  { yields, interruptedBy }: { yields: boolean; interruptedBy: 'pause' | 'stop' },
): Promise<void> {
  let access: AccessHandle | undefined
  const obstacles = () => access?.explain() ?? []
  const what = `all arms to be out of ${device}`
  const waiting = { kind: 'reservation', what, interruptedBy, obstacles, awaits: () => threadsOf(obstacles()) } as const
  return thread.control.wait(waiting, (resolve) => {
    access = thread.environment.scheduler.access.work(thread.thread_id, device, { yields, granted: () => resolve() })
    return access.withdraw
  })
}

function threadsOf(obstacles: readonly Obstacle[]): string[] {
  return obstacles.flatMap(({ thread_id }) => thread_id ?? [])
}
