// A chip that forgot what it was set to, after a dip of its supply.

import { LabError } from '../../src/errors.ts'

/** Tells it to whoever has the pin, and returns what is to be thrown. */
export function wasReset(name: string, lost: (reason: string) => void): LabError {
  const reason = `the expander ${name} does not have what it was set to: it was reset; see its supply`
  lost(reason)
  return new LabError('device_failed', reason)
}
