// Simulated port expanders, and the wires at their pins.

import { RegisterChip, type SimulatedChip } from '../transports/simulated_i2c.ts'
import { mcp23017Registers } from './mcp23017.ts'

/** The other end of a pin, in levels; see `Wire` in `simulated_board.ts`. */
type Wire = { readonly level: boolean; drive(level: boolean | undefined, weakly?: boolean): void }

export function simulatedExpander(part: 'mcp23017' | 'pcf8574', wireAt: (pin: string) => Wire): SimulatedChip {
  return part === 'mcp23017' ? new SimulatedMcp23017(wireAt) : new SimulatedPcf8574(wireAt)
}

/** A simulated MCP23017, whose pins are inputs after power-up. */
class SimulatedMcp23017 extends RegisterChip {
  readonly #wireAt: (pin: string) => Wire

  constructor(wireAt: (pin: string) => Wire) {
    super({ [mcp23017Registers.iodir]: 0xff, [mcp23017Registers.iodir + 1]: 0xff }, () => this.#drive())
    this.#wireAt = wireAt
  }

  override read(length: number): Uint8Array {
    for (const at of [0, 1]) this.registers[mcp23017Registers.gpio + at] = levels((bit) => this.#wire(at, bit).level)
    return super.read(length)
  }

  #drive(): void {
    const { iodir, olat } = mcp23017Registers
    for (const at of [0, 1]) {
      for (let bit = 0; bit < 8; bit++) {
        const isInput = has(this.registers[iodir + at]!, bit)
        this.#wire(at, bit).drive(isInput ? undefined : has(this.registers[olat + at]!, bit))
      }
    }
  }

  #wire(at: number, bit: number): Wire {
    return this.#wireAt(`${at ? 'B' : 'A'}${bit}`)
  }
}

/** A simulated PCF8574, whose high pins are weak and can be pulled low from outside. */
class SimulatedPcf8574 implements SimulatedChip {
  readonly #wireAt: (pin: string) => Wire

  constructor(wireAt: (pin: string) => Wire) {
    this.#wireAt = wireAt
  }

  write(bytes: Uint8Array): void {
    for (const byte of bytes) for (let bit = 0; bit < 8; bit++) this.#wireAt(`P${bit}`).drive(has(byte, bit), has(byte, bit))
  }

  read(length: number): Uint8Array {
    return new Uint8Array(length).fill(levels((bit) => this.#wireAt(`P${bit}`).level))
  }
}

function has(byte: number, bit: number): boolean {
  return (byte & (1 << bit)) !== 0
}

function levels(levelOf: (bit: number) => boolean): number {
  let byte = 0
  for (let bit = 0; bit < 8; bit++) if (levelOf(bit)) byte |= 1 << bit
  return byte
}
