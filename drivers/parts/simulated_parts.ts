// Simulated parts on I2C, in their state after power-up.

import { RegisterChip, type SimulatedChip } from '../transports/simulated_i2c.ts'
import { mcp4725Full } from './mcp4725.ts'
import { mcp9808Identity, mcp9808Registers } from './mcp9808.ts'
import { pca9685Full, pca9685Mode1, pca9685Registers } from './pca9685.ts'
import type { ThermometerName } from './thermometer.ts'
import type { ThrottleName } from './throttle.ts'
import { celsiusPerStep, tmp117Identity, tmp117Registers } from './tmp117.ts'

/** Makes a thermometer that calls `celsius` at each reading. */
export function simulatedThermometer(name: ThermometerName, celsius: () => number): SimulatedChip {
  return name === 'tmp117' ? simulatedTmp117(celsius) : simulatedMcp9808(celsius)
}

function simulatedTmp117(celsius: () => number): SimulatedChip {
  return new WordChip({
    [tmp117Registers.temperature]: () => Math.round(celsius() / celsiusPerStep),
    [tmp117Registers.identity]: () => tmp117Identity,
  })
}

function simulatedMcp9808(celsius: () => number): SimulatedChip {
  return new WordChip({
    [mcp9808Registers.temperature]: () => Math.round(celsius() * 16) & 0x1fff,
    [mcp9808Registers.manufacturer]: () => mcp9808Identity.manufacturer,
    [mcp9808Registers.identity]: () => mcp9808Identity.device << 8,
  })
}

/** A chip with registers of two bytes, the high one first. */
class WordChip implements SimulatedChip {
  readonly #words: Readonly<Record<number, () => number>>
  #register = 0

  constructor(words: Readonly<Record<number, () => number>>) {
    this.#words = words
  }

  write([register = 0]: Uint8Array): void {
    this.#register = register
  }

  read(): Uint8Array {
    const word = this.#words[this.#register]?.() ?? 0
    return Uint8Array.of((word >> 8) & 0xff, word & 0xff)
  }
}

/** A simulated converter; `fraction` is its output, from 0 to 1. */
type SimulatedThrottle = SimulatedChip & { readonly fraction: number }

/** Makes a throttle that calls `changed` after each write. */
export function simulatedThrottle(name: ThrottleName, channel: number, changed: () => void): SimulatedThrottle {
  return name === 'mcp4725' ? new SimulatedMcp4725(changed) : new SimulatedPca9685(channel, changed)
}

/** A simulated MCP4725, at half its supply after power-up. */
class SimulatedMcp4725 implements SimulatedThrottle {
  readonly #changed: () => void
  #value = 0x800

  constructor(changed: () => void) {
    this.#changed = changed
  }

  get fraction(): number {
    return this.#value / mcp4725Full
  }

  write(bytes: Uint8Array): void {
    const [high, low] = bytes
    if (high === undefined || low === undefined || high > 0x0f) return
    this.#value = (high << 8) | low
    this.#changed()
  }

  read(length: number): Uint8Array {
    return Uint8Array.of(0xc0, this.#value >> 4, (this.#value & 0x0f) << 4, 0, 0).subarray(0, length)
  }
}

/** A simulated PCA9685, asleep with all outputs off after power-up. */
class SimulatedPca9685 extends RegisterChip implements SimulatedThrottle {
  readonly #at: number

  constructor(channel: number, changed: () => void) {
    const at = pca9685Registers.led0 + 4 * channel
    super({ [pca9685Registers.mode1]: pca9685Mode1.sleep, [at + 3]: pca9685Full }, () => changed())
    this.#at = at
  }

  get fraction(): number {
    const [onLow = 0, onHigh = 0, offLow = 0, offHigh = 0] = this.registers.subarray(this.#at, this.#at + 4)
    if (this.registers[pca9685Registers.mode1]! & pca9685Mode1.sleep || offHigh & pca9685Full) return 0
    if (onHigh & pca9685Full) return 1
    return ((offHigh << 8) + offLow - (onHigh << 8) - onLow) / 4096
  }
}
