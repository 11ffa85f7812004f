// The bench against which plans are checked: its devices, their operations, and the points that were taught.

import type { OwnOperation } from '../../devices/description.ts'
import type { Limits } from '../../devices/device.ts'
import type { Instrument } from '../../devices/instrument.ts'
import type { Teachpoints } from '../../teachpoints/store.ts'

export type BenchDevice = {
  device_id: string
  type: string
  /** Whether there is a driver behind it. */
  driven: boolean
  operations: readonly string[]
  limits: Limits
  simulated: boolean
  /** The operations that a program behind it describes, with their parameters. */
  own?: ReadonlyMap<string, OwnOperation>
  /** Whether a program stands behind it that has never run. */
  isUndescribed?: boolean
}

export type Bench = {
  devices: readonly BenchDevice[]
  hasTeachpoint(device_id: string, name: string): boolean
}

/** The bench as it is at this moment; the points are looked up when they are asked for. */
export function benchOf(instruments: readonly Instrument[], teachpoints: Pick<Teachpoints, 'list'>): Bench {
  return {
    devices: instruments.map(benchDevice),
    hasTeachpoint: (device_id, name) => teachpoints.list(device_id).some((point) => point.name === name),
  }
}

function benchDevice(instrument: Instrument): BenchDevice {
  const { device_id, driven, simulated } = instrument
  const { names, own, isUndescribed } = instrument.abilities
  const { type, limits } = instrument.capabilities()
  return { device_id, type, driven, simulated, limits, operations: names, own, isUndescribed }
}
