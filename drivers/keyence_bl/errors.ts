// The errors of a Keyence BL reader, and of the N-410 and N-400 units through which it may be connected.

import type { ErrorTable } from '../reported.ts'

export const errorTable: ErrorTable = {
  codes: {
    0: ['it does not know the command', 'Check that the commands LON and LOFF were not changed in its setup software'],
    91: ['it does not know the command', 'Check that the commands LON and LOFF were not changed in its setup software'],
    92: ['it does not take the value of a setting', 'Check its settings with its setup software'],
    93: ['the command does not fit its mode', 'Switch it off and on, so that it leaves its setting mode'],
    94: ['its memory of settings may be damaged', 'Set it to its factory settings with its setup software'],
    95: ['it takes no commands in multi-head mode', 'Check the mode of the N-410 unit in front of it'],
    99: ['it could not carry the command out', 'Switch it off and on, and see that its lamp is on'],
  },
  manual: 'the manual of the BL reader',
  write: (code) => `ERR${String(code).padStart(2, '0')}`,
}
