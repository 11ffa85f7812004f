// The port expanders of this computer, one object for each chip.

import { LabError } from '../../src/errors.ts'
import type { I2cBus } from '../transports/i2c.ts'
import type { ExpanderPlace } from '../transports/wiring.ts'
import type { Expander } from './expander.ts'
import { Mcp23017 } from './mcp23017.ts'
import { Pcf8574 } from './pcf8574.ts'

const makers = { mcp23017: Mcp23017, pcf8574: Pcf8574 } as const

export class Expanders {
  readonly #bus: (number: number) => I2cBus
  readonly #chips = new Map<string, { part: ExpanderPlace['part']; chip: Expander }>()

  constructor(bus: (number: number) => I2cBus) {
    this.#bus = bus
  }

  /** Returns the chip at an address. Throws `config` if the configuration has two different parts there. */
  at({ part, bus, address }: Omit<ExpanderPlace, 'pin'>): Expander {
    const place = `${bus} ${address}`
    const known = this.#chips.get(place) ?? { part, chip: new makers[part](this.#bus(bus).device(address)) }
    this.#chips.set(place, known)
    if (known.part === part) return known.chip
    throw new LabError('config', `at address ${address} of I2C bus ${bus} is a ${known.part} and a ${part}; see which it is`)
  }
}
