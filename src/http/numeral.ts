// Numbers as they stand in a query: text of digits.

import * as v from 'valibot'

export const Numeral = (rule: RegExp, words: string) => v.pipe(v.string(), v.regex(rule, words), v.transform(Number))
export const whole = /^\d{1,15}$/
export const decimal = /^\d+(\.\d*)?([eE][+-]?\d{1,2})?$/

/** Of a list that is answered the newest first. */
export const Limit = v.optional(
  v.pipe(Numeral(whole, 'it is a whole number'), v.minValue(1), v.maxValue(10_000), v.description('At most so many; 100 unless said')),
  '100',
)
