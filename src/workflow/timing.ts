// How long an operation takes where nothing is driven.

import { operations } from '../devices/operations.ts'
import type { KnownDevice } from './topology.ts'

type Given = Readonly<Record<string, unknown>>

/**
 * Seconds: what the action says is all of it. Else what the topology says, or the table of operations, and the `duration`
 * asked for on top.
 */
export function secondsOf(operation: string, device: KnownDevice, { params, said }: { params: Given; said?: number | undefined }): number {
  if (said !== undefined) return said
  const duration = typeof params.duration === 'number' ? params.duration : 0
  return (device.operations.get(operation)?.seconds ?? usual(operation)) + duration
}

/** What the table says; nothing for what it does not know, and for readings. */
function usual(operation: string): number {
  return Object.hasOwn(operations, operation) ? operations[operation as keyof typeof operations].typical_seconds : 0
}
