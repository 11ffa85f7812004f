// The schemas of the variables of a workflow, and of the values that its actions save.

import * as v from 'valibot'
import { described } from '../../kit/described.ts'
import { Scalar } from '../state/saved_value.ts'

/** A value that actions save. */
export const Value = v.strictObject({
  example: described(Scalar, 'Stands for the value in dry runs, and in simulations that do not measure it'),
  description: v.optional(v.string()),
})

export const Variable = v.strictObject({
  default: v.optional(v.unknown()),
  description: v.optional(v.string()),
  nullable: described(
    v.optional(v.boolean()),
    'Whether it may be null where null has a meaning: as a temperature, null switches the heater off',
  ),
})
