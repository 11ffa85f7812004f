// NXP PCA9685: sixteen pulse widths of 12 bits, from 0x40 up. All of it [G]: check it against the data sheet before relying on it.
// Its pin OE switches all outputs off regardless of the bus: wire it to the enable relay's contact, or to ground.

import { LabError } from '../../src/errors.ts'
import type { I2cDevice, Write } from '../transports/i2c.ts'
import type { Throttle } from './throttle.ts'

export const pca9685Registers = { mode1: 0x00, mode2: 0x01, led0: 0x06, prescale: 0xfe } as const
export const pca9685Mode1 = { sleep: 0x10, autoIncrement: 0x20 } as const
/** The bit in the high byte of ON and OFF for a permanent level. */
export const pca9685Full = 0x10
const totemPole = 0x04
/** The frequency that suits the smoothing of a usual 0 to 10 V converter. */
const hertz = 1000
const prescale = Math.round(25e6 / (4096 * hertz)) - 1

export class Pca9685 implements Throttle {
  readonly #part: I2cDevice
  readonly #register: number
  /** The set value; undefined before `prepare`. */
  #wanted: Uint8Array | undefined

  constructor(part: I2cDevice, channel: number) {
    this.#part = part
    this.#register = pca9685Registers.led0 + 4 * channel
  }

  /** Prepares the chip. It accepts the frequency only in sleep mode. */
  async prepare(): Promise<void> {
    this.#wanted = off
    const { mode1, mode2, prescale: register } = pca9685Registers
    await this.#part.together(async (part) => {
      await part.write({ verb: 'write_byte', register: mode1, value: pca9685Mode1.sleep | pca9685Mode1.autoIncrement })
      await part.write(this.#write())
      await part.write({ verb: 'write_byte', register, value: prescale })
      await part.write({ verb: 'write_byte', register: mode2, value: totemPole })
      await part.write({ verb: 'write_byte', register: mode1, value: pca9685Mode1.autoIncrement })
    })
    await this.mustHold()
  }

  async set(fraction: number): Promise<void> {
    this.#wanted = pulse(fraction)
    await this.#part.together((part) => part.write(this.#write()))
  }

  offNow(): Promise<void> {
    this.#wanted = off
    return this.#part.writeNow(() => this.#write())
  }

  async mustHold(): Promise<void> {
    const [mode1, held] = await this.#part.together(async (part) => [
      await part.readByte(pca9685Registers.mode1),
      await part.readBlock(this.#register, 4),
    ])
    const wanted = this.#wanted
    if (!wanted || (!(mode1 & pca9685Mode1.sleep) && held.every((byte, i) => byte === wanted[i]))) return
    throw new LabError('device_failed', `the part ${this.#part.name} does not have what it was set to: it was reset; see its supply`)
  }

  #write(): Write {
    return { verb: 'write_block', register: this.#register, bytes: this.#wanted ?? off }
  }
}

const off = Uint8Array.of(0, 0, 0, pca9685Full)

/** Returns the four bytes of a channel: the counts at which it goes on and off. */
function pulse(fraction: number): Uint8Array {
  const steps = Math.round(fraction * 4096)
  if (steps <= 0) return off
  if (steps >= 4096) return Uint8Array.of(0, pca9685Full, 0, 0)
  return Uint8Array.of(0, 0, steps & 0xff, steps >> 8)
}
