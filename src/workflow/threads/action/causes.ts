// Which category of incident tells of an error: what it is says more than where it happened.

import { LabError } from '../../../errors.ts'
import type { IncidentCategory } from '../../../events/incidents.ts'

const known = new WeakMap<Error, IncidentCategory>()

/** The error, which is of this category from now on. */
export function caused<Thrown>(category: IncidentCategory, error: Thrown): Thrown {
  if (error instanceof Error) known.set(error, category)
  return error
}

/** Does it; what it throws is of this category. */
export function causing<Value>(category: IncidentCategory, work: () => Value): Value {
  try {
    return work()
  } catch (error) {
    throw caused(category, error)
  }
}

/** `usual` is the one of the place, for what nobody knows more of. */
export function categoryOf(error: unknown, usual: IncidentCategory): IncidentCategory {
  if (error instanceof LabError && error.code === 'busy') return 'DEVICE_BUSY_EXHAUSTED'
  return (error instanceof Error && known.get(error)) || usual
}
