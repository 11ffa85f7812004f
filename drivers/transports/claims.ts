// The resources of this computer that a configuration gives to devices, and the conflicts between them.

import { type GpioPlace, headerChips } from './pin.ts'
import { type BoardPlan, type ExpanderPlace, type PartWiring, placeOf } from './wiring.ts'

type Line = { kind: 'line'; chip: string; line: number }
/** A part on I2C, with the `pin` of an expander, whose pins can belong to several devices. */
type Part = { kind: 'part'; part: string; bus: number; address: number; pin?: string }
export type Claim = { words: string; on: Line | Part }

/** The common name of the header's chip, whose label depends on the model. */
const header = 'header'
/** The header lines of each bus of a Raspberry Pi. */
const busLines: Readonly<Record<number, readonly number[]>> = { 0: [0, 1], 1: [2, 3] }

export function claimsOf({ pins, i2c }: BoardPlan): Claim[] {
  return [
    ...Object.values(pins).map((pin) => ('expander' in pin ? expanderClaim(pin.expander) : lineClaim(pin))),
    ...Object.values(i2c).map(partClaim),
  ]
}

export function lineClaim(place: GpioPlace): Claim {
  const on: Line =
    'bcm' in place ? { kind: 'line', chip: header, line: place.bcm } : { kind: 'line', chip: chipOf(place.chip), line: place.line }
  return { words: placeOf(place), on }
}

/** Returns why two claims conflict, as the end of a sentence; undefined if they do not. */
export function atOdds({ on: one }: Claim, { on: other }: Claim): string | undefined {
  if (one.kind === 'line' && other.kind === 'line') return sameLine(one, other)
  if (one.kind === 'part' && other.kind === 'part') return samePart(one, other)
  const [line, part] = one.kind === 'line' ? [one, other as Part] : [other as Line, one]
  const isOfBus = line.chip === header && busLines[part.bus]?.includes(line.line)
  return isOfBus ? `I2C bus ${part.bus} runs on that pin; take another` : undefined
}

function expanderClaim(expander: ExpanderPlace): Claim {
  return { words: placeOf({ expander }), on: { kind: 'part', ...expander } }
}

function partClaim({ part, bus, address }: PartWiring): Claim {
  return { words: `address ${address} of I2C bus ${bus}`, on: { kind: 'part', part, bus, address } }
}

function chipOf(chip: string): string {
  return headerChips.includes(chip) ? header : chip
}

/** Compares two lines. A chip's name does not reveal its label, and may belong to another chip after a restart. */
function sameLine(one: Line, other: Line): string | undefined {
  if (one.line !== other.line) return undefined
  if (one.chip === other.chip) return 'that is one line; see which of them is there'
  if (isName(one.chip) === isName(other.chip)) return undefined
  return 'that may be one line; call both chips by their label, or both by their name'
}

function isName(chip: string): boolean {
  return /^gpiochip\d+$/.test(chip)
}

function samePart(one: Part, other: Part): string | undefined {
  if (one.bus !== other.bus || one.address !== other.address) return undefined
  const areTwoPins = one.part === other.part && one.pin !== undefined && other.pin !== undefined && one.pin !== other.pin
  return areTwoPins ? undefined : 'only one part can be at an address; see which of them is there'
}
