// The faults that a METTLER TOLEDO balance reports in place of a weight.

import type { ErrorTable } from '../reported.ts'

export const errorTable: ErrorTable = {
  codes: {
    1: ['it did not start properly', 'Switch the balance off and on'],
    2: ['its parts are of different makes', 'Call the service of METTLER TOLEDO'],
    3: [
      'the checksum of its memory is wrong',
      'Switch the balance off and on; if the error comes again, call the service of METTLER TOLEDO',
    ],
    9: ['one of its options has failed', 'See that its options are plugged in, and switch the balance off and on'],
    10: ['its memory of settings has failed', 'Call the service of METTLER TOLEDO'],
    11: ['its parts do not fit one another', 'Call the service of METTLER TOLEDO'],
    12: ['a part was unplugged while it was on', 'Plug the part in, and switch the balance off and on'],
    14: ['its weigh module and its electronics do not belong together', 'Call the service of METTLER TOLEDO'],
    15: ['it has to be adjusted', 'See that the pan is empty, and adjust the balance'],
  },
  manual: 'the MT-SICS reference manual of the balance',
}
