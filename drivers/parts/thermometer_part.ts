// A temperature sensor on I2C, as its data sheet describes it.

import type { I2cDevice } from '../transports/i2c.ts'

/** Temperatures are in °C. */
export type ThermometerPart = {
  /** What it can measure; anything else is a fault of the sensor. */
  range: { min: number; max: number }
  /** Throws `device_failed` unless the part at that address says that it is this one. */
  mustBeThere(part: I2cDevice): Promise<void>
  /** What it says, whether that can be or not. */
  read(part: I2cDevice): Promise<number>
}
