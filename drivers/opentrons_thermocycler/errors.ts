// The error tables of the Opentrons Thermocycler: GEN2 reports numbers, GEN1 sentences.

import { writtenError } from '../opentrons_lines.ts'
import type { ErrorTable, Meaning } from '../reported.ts'

const again = 'Initialize the device again, and switch the thermocycler off and on if the error comes back'
const service = 'Switch the thermocycler off and call its service'
const cool = 'Let the thermocycler cool down and clear its airways, then switch it off and on'
const restart = 'Switch the thermocycler off and on'
const lid = 'Remove whatever blocks the lid, then switch the thermocycler off and on'
const wait = 'Wait until the lid stands still'
const value = 'Ask for a value within the limits of the device'

/** The sentences of GEN1, by the numbers that they have here. Those up to 9003 come without a question, every two seconds. */
export const sentences: Readonly<Record<number, string>> = {
  9001: 'System too hot.',
  9002: 'Found an invalid thermistor value.',
  9003: 'Plate temperature is not uniform.',
  9004: 'Lid_status: unknown',
  9005: 'Cannot set temperature when system is in error',
  9006: 'BUSY',
  9007: 'Arg error',
}

/** The thermistors of GEN2 in the order of their errors: disconnected, shorted, too hot. */
const thermistors = ['heat sink', ...['front right', 'front left', 'front center', 'back right', 'back left', 'back center'], 'lid']

function thermistorErrors(): Record<number, Meaning> {
  const ways: readonly Meaning[] = [
    ['is disconnected', service],
    ['is shorted', service],
    ['is too hot', cool],
  ]
  const rows = thermistors.flatMap((place, i) =>
    ways.map(([words, action], way) => [201 + 3 * i + way, [`the thermistor ${place} ${words}`, action]] as const),
  )
  return Object.fromEntries(rows)
}

export const errorTable: ErrorTable = {
  codes: {
    ...{ 1: ['it could not send all that it had to say', again], 2: ['its queue is full', again] },
    3: ['it does not know this command', 'Update the firmware of the thermocycler'],
    ...{ 4: ['too many commands at once', again], 5: ['its parts do not understand each other', restart] },
    ...thermistorErrors(),
    401: ['the block is busy', again],
    402: ['the Peltier elements do not start', service],
    403: ['the fan of the heat sink does not obey', service],
    404: ['the heater of the lid is busy', again],
    405: ['the heater of the lid does not obey', service],
    406: ['a constant of the regulator is out of range', value],
    407: ['temperature not allowed', value],
    408: ['the parts of the block differ by more than 4 °C', cool],
    501: ['the lid is moving', wait],
    502: ['the motor of the lid failed', lid],
    503: ['the driver of the seal does not answer', service],
    504: ['the seal is moving', wait],
    505: ['the motor of the seal failed', lid],
    506: ['the seal is stuck', lid],
    507: ['the lid is not open', 'Open the lid'],
    508: ['the switches of the seal contradict each other', service],
    509: ['the lid did not come to its end', lid],
    9001: ['the block or the heat sink was too hot, and everything stays off until the power is cycled', cool],
    9002: ['a thermistor shows an impossible value, and everything stays off until the power is cycled', service],
    9003: ['the parts of the block differ by more than 4 °C, and everything stays off until the power is cycled', cool],
    9004: ['the switches of the lid contradict each other', lid],
    9005: ['it has an error that stays until the power is cycled', restart],
    9006: ['it is busy', again],
    9007: ['a value is missing', again],
  },
  groups: [
    { holds: (code) => code >= 301 && code <= 303, meaning: ['its memory failed', `${restart}; call its service if the error comes back`] },
  ],
  manual: 'the manual of the Thermocycler',
  write: (code) => (sentences[code] ? `"${sentences[code]}"` : writtenError(code)),
}
