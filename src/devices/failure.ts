// The errors of a device: which are faults, and how they are worded.

import { LabError, messageOf } from '../errors.ts'
import { inCamelCase } from '../kit/camel_case.ts'
import type { Fault } from './records.ts'

/** Codes that mean that nothing was done. After any other error the state of the instrument is unknown. */
const harmless = new Set(['invalid', 'interlock', 'busy', 'not_initialized', 'stopped', 'stopping', 'storage'])

export function isHarmless(error: unknown): error is LabError {
  return error instanceof LabError && harmless.has(error.code)
}

/** Whether an error of a driver means that nothing was done. */
export function isRefusal(error: unknown): boolean {
  return error instanceof LabError && ['invalid', 'interlock', 'busy'].includes(error.code)
}

/** Makes the error of a lost connection. */
export function connectionLost(reason: string, advice = 'see its cable and its power supply'): LabError {
  return new LabError('disconnected', `the connection was lost: ${reason}; ${advice}, then initialize`)
}

/** Makes the error of a write to a closed connection. */
export function notOpen(what: string): LabError {
  return new LabError('disconnected', `${what} is not open; see its cable and its power supply`)
}

/**
 * Returns the error with the device named, as the subject if the sentence begins with `it`; `internal` for an error that no driver
 * should throw.
 */
export function worded(device_id: string, error: unknown): LabError {
  if (!(error instanceof LabError)) return new LabError('internal', messageOf(error), { cause: error })
  if (error.message.startsWith(device_id)) return error
  const { code, message, retry_after_s } = error
  const sentence = message.startsWith('it ') ? `${device_id} ${message.slice(3)}` : `${device_id}: ${message}`
  return new LabError(code, sentence, { cause: error, ...(retry_after_s !== undefined && { retry_after_s }) })
}

export function faultOf(command: string, failure: LabError, may_still_be_moving: boolean): Omit<Fault, 'since'> {
  const { code, message: error } = failure
  return { command, outcome: code === 'device_failed' ? 'failed' : 'unknown', error, error_type: inCamelCase(code), may_still_be_moving }
}
