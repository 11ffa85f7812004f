// A simulated I2C bus with simulated chips.

import { type Clock, sleep } from '../../src/kit/clock.ts'
import { I2cBus, type I2cPort, wireOf } from './i2c.ts'

export interface SimulatedChip {
  /** Receives the bytes after the address. */
  write(bytes: Uint8Array): void
  read(length: number): Uint8Array
}

export type SimulatedBus = {
  readonly bus: I2cBus
  put(address: number, chip: SimulatedChip): void
  /** Unplugs the bus, after which no chip answers. */
  setUnplugged(unplugged: boolean): void
}

/** The time of a byte with its acknowledgement at 100 kbit/s. */
const byte_ms = 9 / 100

export function simulatedI2c(number: number, clock: Clock): SimulatedBus {
  const chips = new Map<number, SimulatedChip>()
  let unplugged = false
  const chipAt = (address: number) => {
    const chip = chips.get(address)
    if (!chip || unplugged) throw Object.assign(new Error('Remote I/O error'), { errno: 121 })
    return chip
  }
  const port: I2cPort = {
    async transfer(address, transfer) {
      const { written, length } = wireOf(transfer)
      await sleep(clock, (1 + written.length + length) * byte_ms)
      const chip = chipAt(address)
      if (written.length) chip.write(written)
      return length ? chip.read(length) : new Uint8Array()
    },
    writeNow: (address, write) => chipAt(address).write(wireOf(write).written),
    close: async () => {},
  }
  return {
    bus: new I2cBus(`simulated I2C bus ${number}`, async () => port, clock),
    put(address, chip) {
      chips.set(address, chip)
    },
    setUnplugged(now) {
      unplugged = now
    },
  }
}

/** A chip of 256 registers: the first written byte selects one, and further bytes continue from there. */
export class RegisterChip implements SimulatedChip {
  readonly registers = new Uint8Array(256)
  readonly #changed: (register: number, value: number) => void
  #pointer = 0

  /** `changed` is called after the host has written a register. */
  constructor(powerUp: Readonly<Record<number, number>> = {}, changed: (register: number, value: number) => void = () => {}) {
    for (const [register, value] of Object.entries(powerUp)) this.registers[Number(register)] = value
    this.#changed = changed
  }

  write([register = 0, ...values]: Uint8Array): void {
    this.#pointer = register
    for (const value of values) {
      this.registers[this.#pointer] = value
      this.#changed(this.#pointer, value)
      this.#pointer = (this.#pointer + 1) & 0xff
    }
  }

  read(length: number): Uint8Array {
    const read = Uint8Array.from({ length }, (_, i) => this.registers[(this.#pointer + i) & 0xff]!)
    this.#pointer = (this.#pointer + length) & 0xff
    return read
  }
}
