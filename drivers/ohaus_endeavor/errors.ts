// The errors of an Endeavor 5000. The meanings of its numbers are not known.

import type { ErrorTable } from '../reported.ts'

export const errorTable: ErrorTable = {
  codes: {
    0: ['it names no cause', 'Read the display of the shaker, remove the plate and whatever blocks the platform'],
  },
  manual: 'the manual of the Endeavor 5000',
}
