// PCF8574 at 0x20 to 0x27, PCF8574A at 0x38 to 0x3f: eight pins without registers. All of it [G].
// After power-up all pins are weakly high, so relays that are active low are off.

import { LabError } from '../../src/errors.ts'
import type { I2cDevice, Write } from '../transports/i2c.ts'
import { type Pin, type PinUse, polled } from '../transports/pin.ts'
import type { Expander } from './expander.ts'
import { wasReset } from './reset.ts'

export class Pcf8574 implements Expander {
  readonly #part: I2cDevice
  /** The written byte; input pins must be one. */
  #wanted = 0xff
  #written = 0xff
  #owned = 0

  constructor(part: I2cDevice) {
    this.#part = part
  }

  /** Opens a pin; the other pins keep their levels. */
  async open(name: string, use: PinUse, lost: (reason: string) => void = () => {}): Promise<Pin> {
    if (use.pull === 'down') throw new LabError('config', `${this.#part.name} has no pull-down resistors; take "pull" out`)
    const bit = 1 << Number(name[1])
    await this.#part.together(async (part) => {
      const levels = await part.receiveByte()
      this.#wanted = (levels & ~this.#owned) | (this.#wanted & this.#owned)
      this.#owned |= bit
      this.#want(bit, use.mode === 'in' || (use.initial ?? false) !== use.active_low)
      await part.write(this.#port())
    })
    return this.#pin(bit, use, lost)
  }

  #pin(bit: number, { mode, active_low }: PinUse, lost: (reason: string) => void): Pin {
    const read = async () => {
      const levels = await this.#part.receiveByte()
      if (mode === 'out') this.#mustHold(levels, bit, lost)
      return ((levels & bit) !== 0) !== active_low
    }
    return {
      read,
      write: async (active) => {
        this.#want(bit, active !== active_low)
        await this.#part.together((part) => part.write(this.#port()))
      },
      writeNow: (active) => {
        this.#want(bit, active !== active_low)
        return this.#part.writeNow(() => this.#port())
      },
      onEdge: (listen) => polled(this.#part.bus.clock, read, listen),
      close: async () => {},
    }
  }

  #want(bit: number, high: boolean): void {
    this.#wanted = high ? this.#wanted | bit : this.#wanted & ~bit
  }

  #port(): Write {
    this.#written = this.#wanted
    return { verb: 'send_byte', value: this.#wanted }
  }

  /** Throws if a pin that was set low is high, which shows a reset. A high pin may be pulled low from outside. */
  #mustHold(levels: number, bit: number, lost: (reason: string) => void): void {
    if (this.#written & bit || !(levels & bit)) return
    throw wasReset(this.#part.name, lost)
  }
}
