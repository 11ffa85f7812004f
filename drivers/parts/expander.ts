// Port expanders on I2C, whose pins can stand wherever a pin of this computer can. One object for one chip: its pins share a port.

import { LabError } from '../../src/errors.ts'
import type { I2cBus } from '../transports/i2c.ts'
import type { Pin, PinUse } from '../transports/pin.ts'
import type { ExpanderPlace } from '../transports/wiring.ts'
import { Mcp23017 } from './mcp23017.ts'
import { Pcf8574 } from './pcf8574.ts'

export interface Expander {
  /**
   * The pin of that name, `A0` to `B7` or `P0` to `P7`. Rejects with `no_reply` when the chip does not answer. `lost` is called when
   * it is found that the chip was reset: its pins have to be opened again.
   */
  open(name: string, use: PinUse, lost?: (reason: string) => void): Promise<Pin>
}

const makers = { mcp23017: Mcp23017, pcf8574: Pcf8574 } as const

export class Expanders {
  readonly #bus: (number: number) => I2cBus
  readonly #chips = new Map<string, { part: ExpanderPlace['part']; chip: Expander }>()

  constructor(bus: (number: number) => I2cBus) {
    this.#bus = bus
  }

  /** Throws `config` when two different parts are said to be at one address. */
  at({ part, bus, address }: Omit<ExpanderPlace, 'pin'>): Expander {
    const place = `${bus} ${address}`
    const known = this.#chips.get(place) ?? { part, chip: new makers[part](this.#bus(bus).device(address)) }
    this.#chips.set(place, known)
    if (known.part === part) return known.chip
    throw new LabError('config', `at address ${address} of I2C bus ${bus} is a ${known.part} and a ${part}; see which it is`)
  }
}
