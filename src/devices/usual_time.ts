// How long an operation usually takes: as its driver declares it, else as the table of operations says.

import type { Typical } from './device.ts'
import { type TaskName, tasks } from './operations.ts'

/** Returns seconds of the instrument, on top of the `duration` that is asked for. */
export function usualSeconds(name: TaskName, typical: Typical | undefined): number {
  return (name === 'initialize' ? typical?.initialize_s : undefined) ?? tasks[name].typical_seconds
}
