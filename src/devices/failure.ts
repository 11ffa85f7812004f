// What went wrong with a device, in words and as a fault.

import { LabError, messageOf } from '../errors.ts'
import type { Fault } from './records.ts'

/** These mean that nothing was done; all else means that we no longer know the instrument. */
const harmless = new Set(['invalid', 'interlock', 'busy', 'not_initialized', 'stopped', 'stopping', 'storage'])

export function isHarmless(error: unknown): error is LabError {
  return error instanceof LabError && harmless.has(error.code)
}

/** What a driver says when it has done nothing of what it was asked. */
export function isRefusal(error: unknown): boolean {
  return error instanceof LabError && (error.code === 'invalid' || error.code === 'interlock')
}

/** The same error with the device named; `internal` for what no driver should throw. */
export function worded(device_id: string, error: unknown): LabError {
  if (!(error instanceof LabError)) return new LabError('internal', messageOf(error), { cause: error })
  if (error.message.startsWith(device_id)) return error
  const { code, message, retry_after_s } = error
  return new LabError(code, `${device_id}: ${message}`, { cause: error, ...(retry_after_s !== undefined && { retry_after_s }) })
}

export function faultOf(command: string, failure: LabError, may_still_be_moving: boolean): Omit<Fault, 'since'> {
  const { code, message: error } = failure
  return { command, outcome: code === 'device_failed' ? 'failed' : 'unknown', error, error_type: typeName(code), may_still_be_moving }
}

/** `no_reply` as events name it: NoReply. */
function typeName(code: string): string {
  return code.replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase())
}
