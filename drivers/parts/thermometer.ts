// The supported temperature sensors on I2C, and their common part.

import { LabError } from '../../src/errors.ts'
import type { I2cDevice } from '../transports/i2c.ts'
import { mcp9808 } from './mcp9808.ts'
import type { ThermometerPart } from './thermometer_part.ts'
import { tmp117 } from './tmp117.ts'

export const thermometerParts = { tmp117, mcp9808 } as const satisfies Record<string, ThermometerPart>
export type ThermometerName = keyof typeof thermometerParts
export const thermometerNames = ['tmp117', 'mcp9808'] as const satisfies readonly ThermometerName[]

export class Thermometer {
  readonly #part: ThermometerPart
  readonly #device: I2cDevice

  constructor(name: ThermometerName, device: I2cDevice) {
    this.#part = thermometerParts[name]
    this.#device = device
  }

  mustBeThere(): Promise<void> {
    return this.#part.mustBeThere(this.#device)
  }

  /** Reads the temperature in °C. Rejects with `no_reply`, or with `device_failed` for a value outside the part's range. */
  async read(): Promise<number> {
    const { min, max } = this.#part.range
    const temperature = await this.#part.read(this.#device)
    if (temperature >= min && temperature <= max) return temperature
    throw new LabError('device_failed', `the sensor ${this.#device.name} says ${temperature} °C, which it cannot measure; see to it`)
  }
}
