// Texas Instruments TMP117: a thermometer of 0.1 °C at 0x48 to 0x4b. Registers [M, from several headers].

import { LabError } from '../../src/errors.ts'
import { readSwapped } from '../transports/i2c.ts'
import type { ThermometerPart } from './thermometer_part.ts'

/** The registers, with the high byte first, unlike SMBus. */
export const tmp117Registers = { temperature: 0x00, identity: 0x0f } as const
/** The device id; the high four bits of the register are the revision. */
export const tmp117Identity = 0x117
/** °C of one step. Before its first conversion, 125 ms after power-up, the part reports a value outside its range. */
export const celsiusPerStep = 0.0078125

export const tmp117: ThermometerPart = {
  range: { min: -55, max: 150 },
  async mustBeThere(part) {
    const identity = await readSwapped(part, tmp117Registers.identity)
    if ((identity & 0xfff) === tmp117Identity) return
    throw new LabError('device_failed', `${part.name} is no TMP117: it says 0x${identity.toString(16)}; see the configuration`)
  },
  async read(part) {
    return asSigned(await readSwapped(part, tmp117Registers.temperature)) * celsiusPerStep
  },
}

function asSigned(word: number): number {
  return (word << 16) >> 16
}
