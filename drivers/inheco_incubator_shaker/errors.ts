// The error table of the Inheco incubator shaker: number, meaning, remedy.

import type { ErrorTable } from '../reported.ts'

const wrongDriver = 'Check the model and the settings of the device in the configuration'

export const errorTable: ErrorTable = {
  codes: {
    1: ['it was reset', 'Check that its power supply is sound'],
    2: ['it does not know the command', wrongDriver],
    3: ['a value is not allowed', wrongDriver],
    4: ['it did not understand the frame', 'Check the cable, away from motors and mains'],
    6: ['something inside took too long', 'Switch the unit off and on; call its service if the error comes back'],
    7: ['it is not initialized', 'Check that its power supply is sound'],
    8: ['it cannot do that now', 'Wait until it is at rest'],
    9: ['the drawer did not come to its end', 'Remove whatever blocks the drawer or the table'],
    10: ['the plate is missing, or one is there that should not be', 'Look into the drawer and put the plate right'],
    13: ['the drawer is not closed', 'Close the drawer'],
    14: ['the unit is not where it should be in the stack', 'Check the DIP switch and the number of the unit in its settings'],
    15: ['a part of it does not answer', 'Switch the stack off, check its connectors, and switch it on'],
  },
  manual: 'the manual of the Inheco incubator',
}
