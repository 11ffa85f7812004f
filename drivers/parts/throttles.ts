// The parts that can set the speed of a motor.

import type { I2cDevice } from '../transports/i2c.ts'
import { Mcp4725 } from './mcp4725.ts'
import { Pca9685 } from './pca9685.ts'
import type { Throttle, ThrottleName } from './throttle.ts'

/** Makes the driver of a part. `channel` is an output of the PCA9685. */
export function throttle(name: ThrottleName, part: I2cDevice, channel: number): Throttle {
  return name === 'mcp4725' ? new Mcp4725(part) : new Pca9685(part, channel)
}
