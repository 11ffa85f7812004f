// Microchip MCP9808: a thermometer of 0.25 °C at 0x18 to 0x1f. All of it [G]: check it against the data sheet before relying on it.

import { LabError } from '../../src/errors.ts'
import { readSwapped } from '../transports/i2c.ts'
import type { ThermometerPart } from './thermometer_part.ts'

/** The registers, with the high byte first, unlike SMBus. */
export const mcp9808Registers = { temperature: 0x05, manufacturer: 0x06, identity: 0x07 } as const
export const mcp9808Identity = { manufacturer: 0x0054, device: 0x04 } as const
const sign = 0x1000

export const mcp9808: ThermometerPart = {
  range: { min: -40, max: 125 },
  async mustBeThere(part) {
    const manufacturer = await readSwapped(part, mcp9808Registers.manufacturer)
    const identity = await readSwapped(part, mcp9808Registers.identity)
    if (manufacturer === mcp9808Identity.manufacturer && identity >> 8 === mcp9808Identity.device) return
    const said = `0x${manufacturer.toString(16)} and 0x${identity.toString(16)}`
    throw new LabError('device_failed', `${part.name} is no MCP9808: it says ${said}; see the configuration`)
  },
  async read(part) {
    const raw = await readSwapped(part, mcp9808Registers.temperature)
    return (raw & 0x0fff) / 16 - (raw & sign ? 256 : 0)
  },
}
