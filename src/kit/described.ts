// Schemas that many records are made of.

import * as v from 'valibot'

/** Adds a sentence to a schema, and the unit of its value, for the documents that are made from schemas. */
export function described<Schema extends v.GenericSchema>(schema: Schema, sentence: string, unit?: string) {
  const its = v.pipe(schema, v.description(sentence))
  return (unit === undefined ? its : v.pipe(its, v.metadata({ unit }))) as typeof its
}

/** A whole number from `least` to `most`. */
export function Whole(least: number, most: number) {
  return v.pipe(v.number(), v.integer(), v.minValue(least), v.maxValue(most))
}
