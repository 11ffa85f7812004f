// Reserves the devices of an action: the one at which it is done, and those that the labware needs within a time limit after it.

import { messageOf } from '../../../errors.ts'
import { type ActionPlan, otherDevices } from '../../plans/plan.ts'
import { toGetReady } from '../clearance.ts'
import { request } from '../move/route.ts'
import { getReady } from '../preparation.ts'
import { Interrupt } from '../recovery.ts'
import type { LabwareThread } from '../thread.ts'
import type { ActionRun } from './action.ts'
import { categoryOf } from './causes.ts'
import { deviceFor, devicesAfter } from './claims.ts'

/** Reserves one of the devices of the action, and makes it ready. */
export async function reserve(thread: LabwareThread, action: ActionRun): Promise<void> {
  const asking = request(thread, {
    ...deviceFor(thread, action),
    guests: (thread.plan.part ? thread.execution.operations : thread.execution.backlogs).changed,
    onWait: () => {
      // The labware may come from a parking position.
      thread.become('RESOLVING_ACTION_LOCATION')
      thread.become('AWAITING_ACTION_RESERVATION')
    },
  })
  const candidate = await asking.catch((error) => {
    if (!(error instanceof Interrupt)) thread.cannotGoOn('MOVE_FAILED', error)
    throw error
  })
  thread.become('RESOLVING_ACTION_LOCATION')
  const { device } = candidate as { device: string }
  try {
    const clear = toGetReady(thread, device)
    if (clear) await clear
    try {
      const { control, execution } = thread
      await getReady(thread.environment, device, { signal: control.signal, beforeMotion: () => execution.gate.beforeMotion() })
    } finally {
      thread.environment.scheduler.access.endWork(device)
    }
  } catch (error) {
    throw refused(thread, action.plan, { device, error })
  }
  thread.device.take(device)
  action.status.become('RESOLVED')
  thread.become('ACTION_LOCATION_RESOLVED')
  action.bind(device)
}

/** Releases a device that could not be made ready. Returns the error to throw. */
function refused(thread: LabwareThread, plan: ActionPlan, { device, error }: { device: string; error: unknown }): unknown {
  thread.environment.scheduler.holds.release(thread.thread_id, device)
  if (error instanceof Interrupt) return error
  if (thread.control.signal.aborted) return new Interrupt('abort')
  thread.execution.events.incident(categoryOf(error, 'DEVICE_INIT_FAILED'), `${device} cannot be used: ${messageOf(error)}`, thread, {
    recovery_action: 'THREAD_RECOVER_RETRY',
    error,
    detail: otherDevices(plan, device),
  })
  return error
}

/** Waits until the devices that the labware needs within a time limit after the action can be reserved. */
export function reserveNext(thread: LabwareThread, action: ActionRun): Promise<unknown> | undefined {
  const claim = devicesAfter(thread, action)
  return claim && request(thread, { ...claim, mayPark: false })
}
