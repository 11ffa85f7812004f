// What the tests of drivers on real lines have in common: the operation that they disturb, and the pace of the instruments.

import type { DriverName } from '../../../drivers/index.ts'
import type { DeviceType } from '../../devices/device.ts'
import type { Name } from './conformance.ts'

/** The operation that is halted and unplugged on a real line, by the type of device (all operations are tried in virtual time). */
export const operationOf: Record<DeviceType, Name> = {
  shaker: 'shake',
  sealer: 'seal',
  peeler: 'peel',
  centrifuge: 'centrifuge',
  transporter: 'initialize',
}

const usual = 20
/**
 * A short run of these would be over before it is looked at. Two modules of a VSpin have one address where the answer of the first is later than
 * its 200 ms, 10 in our time at the usual pace.
 */
const slower: Partial<Record<DriverName, number>> = { ohaus_endeavor: 10, arm: 5, vspin: 5 }

/**
 * How many times as fast as ours the instrument's time goes. Faster than this, and on a busy machine the question whether it has
 * stopped takes longer than its stopping may. The drivers' gaps between frames and deadlines for answers are in our time, as they are in
 * earnest.
 */
export function paceOf(name: DriverName): number {
  return slower[name] ?? usual
}
