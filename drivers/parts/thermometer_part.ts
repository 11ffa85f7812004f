// The type of a temperature sensor on I2C, after its data sheet.

import type { I2cDevice } from '../transports/i2c.ts'

/** Temperatures are in °C. */
export type ThermometerPart = {
  /** The measuring range in °C. A reading outside it is a fault of the sensor. */
  range: { min: number; max: number }
  /** Throws `device_failed` unless the part at that address identifies itself as this one. */
  mustBeThere(part: I2cDevice): Promise<void>
  /** Reads the temperature in °C, also one outside the range. */
  read(part: I2cDevice): Promise<number>
}
