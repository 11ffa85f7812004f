// The incident category of an error. The cause of an error decides, and only without a known cause the place where it happened.

import { LabError } from '../../../errors.ts'
import type { IncidentCategory } from '../../../events/incidents.ts'

const known = new WeakMap<Error, IncidentCategory>()

/** Marks the error with this category, and returns it. */
export function caused<Thrown>(category: IncidentCategory, error: Thrown): Thrown {
  if (error instanceof Error) known.set(error, category)
  return error
}

/** Runs `work`, and marks what it throws with this category. */
export function causing<Value>(category: IncidentCategory, work: () => Value): Value {
  try {
    return work()
  } catch (error) {
    throw caused(category, error)
  }
}

/** Returns the category of an error: by its code, else by its mark, else `usual`. */
export function categoryOf(error: unknown, usual: IncidentCategory): IncidentCategory {
  if (error instanceof LabError && error.code === 'busy') return 'DEVICE_BUSY_EXHAUSTED'
  return (error instanceof Error && known.get(error)) || usual
}
