// The error of a chip that lost its settings in a dip of its supply.

import { LabError } from '../../src/errors.ts'

/** Reports the reset to the owner of the pin, and returns the error to throw. */
export function wasReset(name: string, lost: (reason: string) => void): LabError {
  const reason = `the expander ${name} does not have what it was set to: it was reset; see its supply`
  lost(reason)
  return new LabError('device_failed', reason)
}
