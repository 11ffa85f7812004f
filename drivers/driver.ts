// What each folder beside this file exports as `driver`.

import type * as v from 'valibot'
import type { Device, DeviceType, Profile } from '../src/devices/device.ts'
import type { Clock } from '../src/kit/clock.ts'
import type { Line, SerialSettings } from './transports/line.ts'
import type { Simulate } from './transports/simulator.ts'

export interface Driver<Settings = unknown> {
  readonly type: DeviceType
  /** A strict object; every member has a default, so that `{}` is a device out of the box. */
  readonly settings: v.GenericSchema<unknown, Settings>
  readonly serial: SerialSettings
  /** What this model can do, before it has been asked. */
  profile(settings: Settings): Profile
  /** The device at the far end of a line. Opens nothing and writes nothing by itself. */
  open(at: { line: Line; clock: Clock; settings: Settings }): Device
  /** An instrument that speaks the same protocol, to be put at the far end of a line. */
  readonly simulate: Simulate<Settings>
}
