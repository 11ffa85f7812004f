// The error table of the a4S: number, meaning, remedy. The vendor's list is not public, so the numbers are those of our simulator [G].

import type { ErrorTable } from '../reported.ts'

/** Each sentence refers to the display, because a number may mean something else on a real sealer. */
export const errorTable: ErrorTable = {
  codes: {
    0: ['it names no cause', 'Read the display of the sealer and remove the cause'],
    3: ['clean door open', 'Close the clean door'],
    12: ['shuttle jammed', 'Read the display of the sealer, remove the plate and whatever blocks the shuttle'],
  },
  manual: 'the manual of the a4S',
  write: (code) => `error ${String(code).padStart(2, '0')}`,
}

/** The table while a sensor shows an open door: every number means that. */
export const errorTableWithOpenDoor: ErrorTable = {
  ...errorTable,
  codes: {},
  groups: [{ holds: () => true, meaning: ['clean door open', 'Close the clean door'] }],
}
