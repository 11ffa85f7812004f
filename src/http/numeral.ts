// Schemas of numbers in a query, which are text.

import * as v from 'valibot'
import { described } from '../kit/described.ts'

export const Numeral = (rule: RegExp, words: string) => v.pipe(v.string(), v.regex(rule, words), v.transform(Number))
export const whole = /^\d{1,15}$/
export const decimal = /^\d+(\.\d*)?([eE][+-]?\d{1,2})?$/

/** The `limit` of a list with the newest first. */
export const Limit = v.optional(
  described(
    v.pipe(Numeral(whole, 'it must be a whole number'), v.minValue(1), v.maxValue(10_000)),
    'The largest number of entries in the answer; 100 by default',
  ),
  '100',
)
