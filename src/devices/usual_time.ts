// The usual duration of an operation: from its driver, else from the table of operations.

import type { Typical } from './device.ts'
import { type TaskName, tasks } from './operations.ts'

/** Returns seconds of the instrument, besides the requested `duration`. */
export function usualSeconds(name: TaskName, typical: Typical | undefined): number {
  return (name === 'initialize' ? typical?.initialize_s : undefined) ?? tasks[name].typical_seconds
}
