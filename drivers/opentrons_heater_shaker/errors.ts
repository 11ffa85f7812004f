// The error table of the Opentrons Heater-Shaker: number, meaning, remedy.

import { writtenError } from '../opentrons_lines.ts'
import type { ErrorTable, Meaning } from '../reported.ts'

const again = 'Initialize the device again, and switch the module off and on if the error comes back'
const restart = 'Remove whatever blocks the table, then switch the module off and on'
const service = 'Switch the module off and call its service'
const cool = 'Let the module cool down and clear its airways'
const latch = 'Remove whatever blocks the latch'
const still = 'Wait until the table stands still'
const value = 'Ask for a value within the limits of the device'

export const errorTable: ErrorTable = {
  codes: {
    1: ['it could not send all that it had to say', again],
    2: ['its queue is full', again],
    3: ['it does not know this command', 'Update the firmware of the module'],
    4: ['too many commands at once', again],
    5: ['its parts do not understand each other', 'Switch the module off and on'],
    111: ['the motor cannot move', restart],
    120: ['speed not allowed', value],
    121: ['acceleration not allowed', value],
    122: ['home was not found', restart],
    123: ['the table is not at home', still],
    124: ['the table does not stand still', still],
    125: ['the latch did not arrive in time', latch],
    126: ['the latch is not closed', 'Close the latch: lock the plate'],
    127: ['it is going home', still],
    201: ['thermistor A is disconnected', service],
    202: ['thermistor A is shorted', service],
    203: ['thermistor A is too hot', cool],
    205: ['thermistor B is disconnected', service],
    206: ['thermistor B is shorted', service],
    207: ['thermistor B is too hot', cool],
    208: ['the thermistor of the board is shorted', service],
    209: ['the board is too hot', cool],
    210: ['the thermistor of the board is disconnected', service],
    211: ['the heater was latched off by its own circuit', 'Let the module cool down, then switch it off and on'],
    212: ['a constant of the heater is out of range', service],
    213: ['temperature not allowed', value],
    214: ['the heat pad is shorted', service],
  },
  groups: [
    range(101, 110, ['the motor or its driver failed', restart]),
    range(128, 128, ['the motor or the latch failed', restart]),
    range(215, 216, ['the heater failed', service]),
    range(301, 305, ['its system failed', 'Switch the module off and on; call its service if the error comes back']),
  ],
  manual: 'the manual of the Heater-Shaker',
  write: writtenError,
}

function range(from: number, to: number, meaning: Meaning) {
  return { holds: (code: number) => code >= from && code <= to, meaning }
}
