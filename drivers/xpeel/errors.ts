// The error table of the XPeel: code, meaning, remedy.

import type { ErrorTable } from '../reported.ts'

export const errorTable: ErrorTable = {
  codes: {
    1: ['the conveyor stalled', 'Remove the plate and whatever blocks the conveyor'],
    2: ['the elevator stalled', 'Remove the plate and whatever blocks the elevator'],
    3: ['the take-up spool stalled', 'Open the cover and free the take-up spool'],
    4: ['the seal was not removed', 'Remove the plate, and peel it by hand or load it again'],
    5: ['it does not know the command', 'Check that its firmware is one that the README of the driver names'],
    6: ['it found no plate', 'Put a plate on the conveyor'],
    7: ['the tape is out or broken', 'Load new tape'],
    8: ['its parameters are not saved', 'Switch the peeler off and on; call its service if the error comes back'],
    9: ['its stop button was pressed', 'Find out who pressed it, and see that the peeler is safe'],
    10: ['its seal sensor is unplugged or broken', 'Plug the seal sensor in, or call the service'],
    51: ['emergency stop: its cover is open, or its hardware failed', 'Close the cover; call its service if that does not help'],
    52: ['its circuitry failed', 'Remove its power and call its service'],
  },
  manual: 'the manual of the XPeel',
  write: (code) => `code ${String(code).padStart(2, '0')}`,
}
