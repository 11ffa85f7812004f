// The common parts of the tests of drivers on real lines: the operation that they disturb, and the speed of the instruments.

import type { DriverName } from '../../../drivers/index.ts'
import type { DeviceType } from '../../devices/device.ts'
import type { Name } from './conformance.ts'

/** The operation that the tests halt and unplug on a real line, by device type. Virtual time covers all operations. */
export const operationOf: Record<DeviceType, Name> = {
  shaker: 'shake',
  sealer: 'seal',
  peeler: 'peel',
  centrifuge: 'centrifuge',
  storage: 'retrieve',
  scanner: 'scan',
  balance: 'tare',
  thermocycler: 'close',
  temperature_controller: 'set_temperature',
  transporter: 'initialize',
}

const usual = 20
/**
 * The drivers with a slower pace. Their short operations would be over before the test looks. Two modules of a VSpin get the same address if the first
 * answers later than 200 ms, which is 10 ms of real time at the usual pace.
 */
const slower: Partial<Record<DriverName, number>> = { ohaus_endeavor: 10, arm: 5, vspin: 5 }

/**
 * Returns how many times faster than real time the instrument runs. If it ran faster, the driver on a busy computer could not check in time whether it has
 * stopped. The drivers' gaps between frames and deadlines for answers stay in real time.
 */
export function paceOf(name: DriverName): number {
  return slower[name] ?? usual
}
