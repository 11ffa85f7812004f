// Rows about the devices that people stop, initialize and clear by hand, in the records of the open runs that use them.

import type { Author } from '../../kit/author.ts'
import { addDecision } from './decision.ts'
import type { Execution } from './execution.ts'

const texts = {
  stop: 'Stopped',
  stop_all: 'Stopped all devices',
  initialize: 'Initialized',
  clear_fault: 'Cleared the fault of',
} as const

/** Without a `device_id`, it is about all devices. */
export type ByHand = Author & { decision: keyof typeof texts; device_id?: string | undefined }

/**
 * Adds a decision about a device to the record of each open run that has used the device; without a device, of each open run. Never throws, because a stop
 * does not depend on records. Call it after the bytes of a stop are written.
 */
export function addByHand(open: readonly Execution[], { decision, device_id, ...author }: ByHand, warn: (message: string) => void): void {
  const params = device_id === undefined ? {} : { device_id }
  const words = [texts[decision], device_id].filter((word) => word !== undefined).join(' ')
  for (const run of open) {
    try {
      if (!run.record.isKept || (device_id !== undefined && !run.used.has(device_id))) continue
      // The devices of a DEVICE_SIM run are simulators of its own.
      const text = run.environment.mode === 'LIVE' ? words : `${words} on the bench, which does nothing to this simulation`
      addDecision(run, { ...author, decision, text, params, device_id })
    } catch (error) {
      warn(`the record of ${run.execution_id} lacks "${words}": ${error}`)
    }
  }
}
