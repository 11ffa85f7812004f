// The schemas of the variables of a workflow, and of the values that its actions save.

import * as v from 'valibot'
import { described } from '../../kit/described.ts'
import { Scalar } from '../state/saved_value.ts'

/** A value that actions save. */
export const Value = v.strictObject({
  example: described(Scalar, 'Stands for the value in dry runs, and in simulations that do not measure it'),
  description: v.optional(v.string()),
})

/** The types of parameters. */
export const parameterTypes = ['string', 'number', 'boolean', 'array', 'object'] as const
export type ParameterType = (typeof parameterTypes)[number]

/** The types of variables: those of parameters, and whole numbers. */
export const variableTypes = [...parameterTypes, 'integer'] as const
export type VariableType = (typeof variableTypes)[number]

const limit = v.pipe(v.number(), v.finite())

export const Variable = v.strictObject({
  type: described(v.optional(v.picklist(variableTypes)), 'By default that of the parameters that take its value'),
  unit: described(v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(32))), 'For people, such as rpm; no value is converted'),
  minimum: described(v.optional(limit), 'The lowest value of a number'),
  maximum: described(v.optional(limit), 'The highest value of a number'),
  one_of: described(v.optional(v.pipe(v.array(Scalar), v.minLength(1), v.maxLength(100))), 'The values from which people choose'),
  default: v.optional(v.unknown()),
  example: described(v.optional(v.unknown()), 'A value as people would give it, for forms and sample sheets'),
  description: v.optional(v.string()),
  nullable: described(
    v.optional(v.boolean()),
    'Whether it may be null where null has a meaning: as a temperature, null switches the heater off',
  ),
})
export type Variable = v.InferOutput<typeof Variable>
