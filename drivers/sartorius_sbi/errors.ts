// The error numbers of Sartorius balances with SBI.

import type { ErrorTable } from '../reported.ts'

export const errorTable: ErrorTable = {
  codes: {
    2: ['it cannot be adjusted, because it was not at zero or was loaded', 'See that the pan is empty, and set the balance to zero'],
    10: ['it cannot be tared, because an application uses the tare memory', 'Clear the application at the balance'],
    11: ['it cannot be tared, because the value is zero or below', 'See that the pan is in place and loaded'],
    54: ['the load is below its range', 'See that the pan is in place and touches nothing'],
    55: ['the load is above its range', 'Clear the pan, and see that the load is less than the capacity'],
  },
  manual: 'the operating instructions of the balance',
  write: (code) => `ERR ${String(code).padStart(3, '0')}`,
}
