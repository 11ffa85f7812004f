// Waits for the evidence that a stop has arrived.

import { LabError, messageOf } from '../errors.ts'
import type { Clock } from '../kit/clock.ts'
import { patient } from '../kit/patient.ts'
import type { Device } from './device.ts'
import type { OperationResult } from './records.ts'

/** The longest that the answer to a stop waits for the instrument. */
export const acknowledge_ms = 400
/** The additional time for which that answer waits for the link to be opened. */
const opening_ms = 2000
/** The time for a failed device to acknowledge its halt, while a caller waits for the answer. */
const patience_ms = 2000
/** The time for a device that was left on to come to rest, as some go home first. A silent device is reported sooner, by its driver. */
export const standing_ms = 10_000

/**
 * Resolves with true when the device has acknowledged, with false when the time is up; rejects with the driver's error. A time in which this
 * process was suspended counts as half of `ms` at most.
 */
export function inTime(clock: Clock, acknowledged: Promise<void>, ms = patience_ms): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const cancel = patient(clock).after(ms, () => resolve(false))
    acknowledged.then(() => resolve(true), reject).finally(cancel)
  })
}

/** Calls `halt`, and turns an error that it throws into a rejection. */
export function promised(halt: () => Promise<void>): Promise<void> {
  try {
    const sent: unknown = halt()
    if (sent instanceof Promise) return sent
    return Promise.reject(new LabError('device_failed', 'its driver returned no promise from halt, so nothing shows that it was heard'))
  } catch (error) {
    return Promise.reject(error)
  }
}

/** Sends a stop again that could not be sent while the link was being opened. Rejects with the reason if it cannot be opened. */
export async function onceOpen(opening: Promise<void>, reason: unknown, halt: () => Promise<void>): Promise<void> {
  await opening.catch(() => Promise.reject(reason))
  return promised(halt)
}

/** The sentence for a device that was left on, and that nobody has seen off since. */
export function mayStillBeOn(device_id: string, why: string): string {
  return `${device_id} may still be on: use its red button (${why})`
}

type Stopping = {
  acknowledged: Promise<void>
  /** While the link is being opened. */
  opening: Promise<void> | undefined
  /** The effect that no halt of the device ends. */
  unhaltable: Device['unhaltable']
  isPerson?: boolean
}

/** Makes the answer to a stop. Rejects with `stop_not_sent` if the bytes could not be written, or not yet. */
export async function answerToStop(
  device_id: string,
  clock: Clock,
  { acknowledged, opening, unhaltable, isPerson }: Stopping,
): Promise<OperationResult> {
  const unconfirmed = (why: string) => ({
    success: false,
    message: unhaltable ? mayStillBeOn(device_id, why) : `${device_id}: stop sent, not confirmed`,
  })
  const stopped = isPerson ? `${device_id}: open tasks are withdrawn; a person may still hold labware` : `${device_id} stopped`
  const confirmed = unhaltable === 'all' ? `${device_id}: no stop ends what it does, and it does nothing` : stopped
  acknowledged.catch(() => undefined)
  if (opening && !(await inTime(clock, Promise.race([opening, acknowledged]), opening_ms).catch(() => true))) {
    const why = 'its connection is only being opened; it is sent as soon as that is open'
    throw new LabError('stop_not_sent', `${device_id} may still be moving: use its red button. The stop is not sent yet: ${why}`)
  }
  try {
    if (await inTime(clock, acknowledged, acknowledge_ms)) return { success: true, message: confirmed }
    return unconfirmed('no stop ends what it does, and it has not ended yet')
  } catch (error) {
    if (error instanceof LabError && error.code !== 'stop_not_sent') return unconfirmed(error.message)
    const sentence = `${device_id} may still be moving: use its red button; ${messageOf(error)}`
    throw new LabError('stop_not_sent', sentence, { cause: error })
  }
}
