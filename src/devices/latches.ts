// The latches of all devices, in a file that survives a restart.

import * as v from 'valibot'
import type { Clock } from '../kit/clock.ts'
import type { Report } from '../kit/json_file.ts'
import { ValuesFile } from '../kit/values_file.ts'
import { Fault, StopRequest } from './records.ts'

/**
 * `stopped` holds until `initialize`, whatever else is cleared. `stop` says who stopped the device first, and in `again` who did last; it is absent in
 * files of earlier versions. Without a second stop there is no `again`, which version 0.2.0 would take for damage.
 */
export const Latch = v.strictObject({
  fault: Fault,
  stopped: v.boolean(),
  stop: v.optional(v.strictObject({ ...StopRequest.entries, again: v.optional(v.nullable(StopRequest)) })),
})
export type Latch = v.InferOutput<typeof Latch>

export type Latches = ValuesFile<Latch>
/** The store of a device's latch. Its writes are never awaited before the bytes of a stop. */
export type LatchStore = Pick<Latches, 'get' | 'set'>

export function openLatches(folder: string, around: { clock: Clock; report: Report }): Promise<Latches> {
  return ValuesFile.open({ path: `${folder}/latches.json`, member: 'latches', schema: Latch, ...around })
}
