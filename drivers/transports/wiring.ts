// The wiring of parts to this computer in a configuration, and the plan that a driver makes of it.

import * as v from 'valibot'
import { described, Whole } from '../../src/kit/described.ts'
import type { GpioPlace, PinUse } from './pin.ts'

/** A 7-bit address; those below 8 and above 0x77 are reserved. JSON has it as a decimal number. */
const Address = described(Whole(0x08, 0x77), 'Address on the bus, as a decimal number: 32 is 0x20')
const Bus = v.optional(described(Whole(0, 255), 'The N of /dev/i2c-N'), 1)

const polarity = { active_low: v.optional(described(v.boolean(), 'The active state is the low level'), false) }
const Pull = v.optional(described(v.picklist(['up', 'down']), 'Resistor that holds the pin while nothing drives it'))

const Bcm = v.strictObject({ bcm: described(Whole(0, 57), 'Broadcom number, on the header'), ...polarity, pull: Pull })
const ChipLine = v.strictObject({
  chip: described(v.pipe(v.string(), v.nonEmpty()), 'Label or name of the chip'),
  line: described(Whole(0, 1023), 'Number of the line on the chip'),
  ...polarity,
  pull: Pull,
})
const Part = <const Name extends string>(name: Name) => described(v.literal(name), 'The chip on the bus')
const ExpanderPin = (pattern: RegExp) =>
  described(v.pipe(v.string(), v.regex(pattern)), 'Name of the pin: `A0` to `B7` of an MCP23017, `P0` to `P7` of a PCF8574')
const OnExpander = v.strictObject({
  expander: v.variant('part', [
    v.strictObject({ part: Part('mcp23017'), bus: Bus, address: Address, pin: ExpanderPin(/^[AB][0-7]$/) }),
    v.strictObject({ part: Part('pcf8574'), bus: Bus, address: Address, pin: ExpanderPin(/^P[0-7]$/) }),
  ]),
  ...polarity,
  pull: Pull,
})

/** A pin of this computer. */
export const GpioWiring = v.union([Bcm, ChipLine], 'must be {"bcm": 17} or {"chip": "gpiochip0", "line": 17}')
export type GpioWiring = v.InferOutput<typeof GpioWiring>

/** A pin of this computer whose pull cannot be configured. */
export const ContactWiring = v.union(
  [v.omit(Bcm, ['pull']), v.omit(ChipLine, ['pull'])],
  'must be {"bcm": 5} or {"chip": "gpiochip0", "line": 5}, and "active_low"',
)
export type ContactWiring = v.InferOutput<typeof ContactWiring>

/** A pin of this computer or of an expander. */
export const PinWiring = v.union(
  [Bcm, ChipLine, OnExpander],
  'must be {"bcm": 17}, {"chip", "line"} or {"expander": {"part", "address", "pin"}}',
)
export type PinWiring = v.InferOutput<typeof PinWiring>
export type ExpanderPlace = v.InferOutput<typeof OnExpander>['expander']

/** Makes the schema of a part on a bus, of the parts that the driver supports. */
export function PartWiring<const Parts extends readonly [string, ...string[]]>(
  parts: Parts,
  usual: { part: Parts[number]; address: number },
) {
  return v.strictObject({
    part: v.optional(described(v.picklist(parts), 'The chip on the bus'), usual.part),
    bus: Bus,
    address: v.optional(Address, usual.address),
  })
}
export type PartWiring = { part: string; bus: number; address: number }

/** `counted`: it has too many edges to show each. */
export type PinPlan = PinWiring & Pick<PinUse, 'mode' | 'initial'> & { counted?: boolean }

/** The pins and parts that a driver needs, by its own names. */
export type BoardPlan = {
  pins: Readonly<Record<string, PinPlan>>
  i2c: Readonly<Record<string, PartWiring>>
}

/** Returns a unique name of a pin's place. */
export function placeOf(wiring: GpioPlace | Pick<v.InferOutput<typeof OnExpander>, 'expander'>): string {
  if ('bcm' in wiring) return `GPIO ${wiring.bcm}`
  if ('chip' in wiring) return `line ${wiring.line} of ${wiring.chip}`
  const { part, bus, address, pin } = wiring.expander
  return `pin ${pin} of the ${part} at address ${address} of I2C bus ${bus}`
}
