// The schema of a value that a workflow gives to a parameter.

import * as v from 'valibot'
import { Name } from '../../kit/name.ts'

const notJson = 'must be JSON of at most 16 levels'

/** A value, or the name of a variable that gives it, which may also stand within an array or an object. */
export const Given = v.union(
  [
    v.strictObject({ variable: Name }),
    v.string(),
    v.number(),
    v.boolean(),
    v.null(),
    v.pipe(
      v.array(v.unknown()),
      v.check((value) => isJson(value), notJson),
    ),
    v.pipe(
      v.record(v.string(), v.unknown()),
      v.check((value) => isJson(value), notJson),
    ),
  ],
  'must be a text, a number, true, false, null, an array, an object, or {"variable": NAME}',
)

/** Whether a value is JSON of at most 16 levels; a module in TypeScript may give anything. */
function isJson(value: unknown, level = 1): boolean {
  if (typeof value !== 'object' || value === null) return ['string', 'number', 'boolean'].includes(typeof value) || value === null
  return level <= 16 && Object.values(value).every((member) => isJson(member, level + 1))
}
