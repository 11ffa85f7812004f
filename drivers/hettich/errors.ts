// The errors of a Hettich centrifuge: the meaning of its numbers is in the operating instructions of each model.

import type { ErrorTable } from '../reported.ts'

export const errorTable: ErrorTable = { codes: {}, manual: 'the operating instructions of the centrifuge' }
