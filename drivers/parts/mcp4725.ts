// Microchip MCP4725: a 12-bit converter at 0x60 or 0x61, 0x62 or 0x63 on some boards. Commands [G], names of the registers [M].
//
// By its factory setting it powers up at half its supply: a motor without an enable relay in series would start at half speed.

import { LabError } from '../../src/errors.ts'
import type { I2cDevice, Write } from '../transports/i2c.ts'
import type { Throttle } from './throttle.ts'

export const mcp4725Full = 4095

export class Mcp4725 implements Throttle {
  readonly #part: I2cDevice
  /** The set value; undefined before `prepare`, as its value at power-up is unknown. */
  #wanted: number | undefined

  constructor(part: I2cDevice) {
    this.#part = part
  }

  async prepare(): Promise<void> {
    await this.set(0)
    await this.mustHold()
  }

  async set(fraction: number): Promise<void> {
    this.#wanted = Math.round(fraction * mcp4725Full)
    await this.#part.together((part) => part.write(this.#fastWrite()))
  }

  offNow(): Promise<void> {
    this.#wanted = 0
    return this.#part.writeNow(() => this.#fastWrite())
  }

  async mustHold(): Promise<void> {
    const [, high = 0, low = 0] = await this.#part.receive(3)
    const held = (high << 4) | (low >> 4)
    if (this.#wanted === undefined || held === this.#wanted) return
    throw new LabError('device_failed', `the converter ${this.#part.name} has ${held}, not ${this.#wanted}: it was reset; see its supply`)
  }

  /** Makes the two bytes of a fast write, with the power-down bits zero. */
  #fastWrite(): Write {
    const wanted = this.#wanted ?? 0
    return { verb: 'write_byte', register: wanted >> 8, value: wanted & 0xff }
  }
}
