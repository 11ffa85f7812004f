// The usual duration of an operation, and the time after which it is given up: from its driver, else from the table of operations.

import type { Margins, Typical } from './device.ts'
import { type Performable, type TaskName, tasks } from './operations.ts'

/** Returns seconds of the instrument, besides the requested `duration`. */
export function usualSeconds(name: TaskName, typical: Typical | undefined): number {
  return (name === 'initialize' ? typical?.initialize_s : undefined) ?? tasks[name].typical_seconds
}

/** Returns the seconds besides the requested `duration` after which the service gives the task up. A model may lengthen those of the table. */
export function marginSeconds(name: TaskName, margins: Margins | undefined): number {
  return Math.max(tasks[name].margin_seconds, margins?.[name as Performable] ?? 0)
}
