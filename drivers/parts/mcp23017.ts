// Microchip MCP23017: sixteen pins at 0x20 to 0x27, in two ports. Registers [M], with IOCON.BANK = 0 as after a reset.
// The data sheet's revision D wants A7 and B7 used as outputs only [G].

import type { I2cDevice, Write } from '../transports/i2c.ts'
import { type Pin, type PinUse, polled } from '../transports/pin.ts'
import type { Expander } from './expander.ts'
import { wasReset } from './reset.ts'

/** The registers of port A; those of port B are one higher. */
export const mcp23017Registers = { iodir: 0x00, gppu: 0x0c, gpio: 0x12, olat: 0x14 } as const

/** The desired state of a port, the pins that are in use, and the last written value. */
type Port = { owned: number; outputs: number; olat: number; written: number }

export class Mcp23017 implements Expander {
  readonly #part: I2cDevice
  readonly #ports: [Port, Port] = [
    { owned: 0, outputs: 0, olat: 0, written: 0 },
    { owned: 0, outputs: 0, olat: 0, written: 0 },
  ]

  constructor(part: I2cDevice) {
    this.#part = part
  }

  /** Opens a pin. Writes the latch before the direction, so that a relay does not click on for a moment. */
  async open(name: string, use: PinUse, lost: (reason: string) => void = () => {}): Promise<Pin> {
    const at = name.startsWith('B') ? 1 : 0
    const bit = 1 << Number(name[1])
    const port = this.#ports[at]
    const { iodir, gppu, olat } = mcp23017Registers
    const output = use.mode === 'out'
    await this.#part.together(async (part) => {
      const latched = await part.readByte(olat + at)
      port.olat = (latched & ~port.owned) | (port.olat & port.owned)
      port.owned |= bit
      this.#want(port, bit, (use.initial ?? false) !== use.active_low)
      await part.write(this.#latch(at))
      const pulls = await part.readByte(gppu + at)
      await part.write({ verb: 'write_byte', register: gppu + at, value: use.pull === 'up' ? pulls | bit : pulls & ~bit })
      const inputs = await part.readByte(iodir + at)
      port.outputs = output ? port.outputs | bit : port.outputs & ~bit
      await part.write({ verb: 'write_byte', register: iodir + at, value: output ? inputs & ~bit : inputs | bit })
    })
    return this.#pin(at, bit, use, lost)
  }

  #pin(at: 0 | 1, bit: number, { mode, active_low, pull }: PinUse, lost: (reason: string) => void): Pin {
    const port = this.#ports[at]
    const read = async () => {
      if (mode === 'out') await this.#mustHold(at, lost)
      if (pull === 'up') await this.#mustPull(at, bit, lost)
      const level = mode === 'out' ? port.olat & bit : (await this.#part.readByte(mcp23017Registers.gpio + at)) & bit
      return (level !== 0) !== active_low
    }
    return {
      read,
      write: async (active) => {
        this.#want(port, bit, active !== active_low)
        await this.#part.together((part) => part.write(this.#latch(at)))
      },
      writeNow: (active) => {
        this.#want(port, bit, active !== active_low)
        return this.#part.writeNow(() => this.#latch(at))
      },
      onEdge: (listen) => polled(this.#part.bus.clock, read, listen),
      close: async () => {},
    }
  }

  #want(port: Port, bit: number, high: boolean): void {
    port.olat = high ? port.olat | bit : port.olat & ~bit
  }

  /** Makes the write of the latch. It takes the levels at the moment of the write, so that a waiting write does not undo a stop. */
  #latch(at: 0 | 1): Write {
    const port = this.#ports[at]
    port.written = port.olat
    return { verb: 'write_byte', register: mcp23017Registers.olat + at, value: port.olat }
  }

  /** Throws if the pull-up is gone after a dip of the supply, since a cut wire could then read as a closed contact. */
  async #mustPull(at: 0 | 1, bit: number, lost: (reason: string) => void): Promise<void> {
    if (!((await this.#part.readByte(mcp23017Registers.gppu + at)) & bit)) throw wasReset(this.#part.name, lost)
  }

  /** Throws if the outputs are gone: after a dip of the supply all pins are inputs, and the latch is empty. */
  async #mustHold(at: 0 | 1, lost: (reason: string) => void): Promise<void> {
    const port = this.#ports[at]
    const [before, inputs, latched, after] = await this.#part.together(async (part) => [
      port.written,
      await part.readByte(mcp23017Registers.iodir + at),
      await part.readByte(mcp23017Registers.olat + at),
      port.written,
    ])
    // A stop may have written in between.
    const differs = before === after ? latched ^ after : 0
    if (((inputs | differs) & port.outputs) === 0) return
    throw wasReset(this.#part.name, lost)
  }
}
