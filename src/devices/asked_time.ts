// The time that a caller asks for with the parameters of an operation of the table.

import { rowOf } from './operations.ts'

/** Returns the seconds that the parameters ask for: those that the row of the operation computes, else `duration`; 0 without either. */
export function askedSeconds(operation: string, params: Readonly<Record<string, unknown>>): number {
  const { asked_seconds } = rowOf(operation) ?? {}
  if (asked_seconds) return asked_seconds(params as never)
  return typeof params.duration === 'number' ? params.duration : 0
}
