// The conditions of steps: comparisons of saved values, without code.

import * as v from 'valibot'
import { described } from '../../kit/described.ts'
import { Name } from '../../kit/name.ts'
import { Scalar } from '../state/saved_value.ts'

const Finite = v.pipe(v.number(), v.finite())

const comparisons = {
  above: v.optional(Finite),
  below: v.optional(Finite),
  at_least: v.optional(Finite),
  at_most: v.optional(Finite),
  equals: v.optional(Scalar),
  one_of: v.optional(v.pipe(v.array(Scalar), v.minLength(1))),
}
type Operator = keyof typeof comparisons
const operators = Object.keys(comparisons) as Operator[]

const Comparison = v.pipe(
  v.strictObject({ value: described(Name, 'A value that an action saves'), ...comparisons }),
  v.check((comparison) => operators.some((name) => comparison[name] !== undefined), `must have one of ${operators.join(', ')}`),
)
export type Comparison = v.InferOutput<typeof Comparison>
export type Condition = Comparison | { all: Condition[] } | { any: Condition[] }

let shapes: ReturnType<typeof shapesOf> | undefined

/** A condition on saved values. Several comparisons of one value must all hold. A mistake is reported for the shape that is meant. */
export const Condition: v.LazySchema<v.GenericSchema<unknown, Condition>> = v.lazy((input) => {
  shapes ??= shapesOf()
  const word = Object.keys(shapes.byWord).find((name) => typeof input === 'object' && input !== null && name in input)
  return shapes.byWord[word as 'value'] ?? shapes.any
})

/** Made at the first use, because conditions contain conditions. */
function shapesOf() {
  const inner = v.pipe(v.array(Condition), v.minLength(1))
  const byWord = { value: Comparison, all: v.strictObject({ all: inner }), any: v.strictObject({ any: inner }) }
  return { byWord, any: v.union(Object.values(byWord), 'must be a comparison of a value, {"all": […]} or {"any": […]}') }
}

/** Returns the names of the values in a condition. */
export function valuesIn(condition: Condition): string[] {
  if ('all' in condition) return condition.all.flatMap(valuesIn)
  return 'any' in condition ? condition.any.flatMap(valuesIn) : [condition.value]
}

/** Returns the name of each value in a condition, with each operand that it is compared with. */
export function operandsIn(condition: Condition): [string, Scalar][] {
  if ('all' in condition) return condition.all.flatMap(operandsIn)
  if ('any' in condition) return condition.any.flatMap(operandsIn)
  return operators.flatMap((name) => [condition[name] ?? []].flat().map((operand): [string, Scalar] => [condition.value, operand]))
}

/** Whether a condition holds. `lookUp` throws for a value that is not known. Throws `TypeError` when a text is compared with a number. */
export function holds(condition: Condition, lookUp: (name: string) => Scalar): boolean {
  if ('all' in condition) return condition.all.every((inner) => holds(inner, lookUp))
  if ('any' in condition) return condition.any.some((inner) => holds(inner, lookUp))
  const value = lookUp(condition.value)
  const number = (limit: number, isSo: (value: number) => boolean) => {
    if (typeof value !== 'number')
      throw new TypeError(`${condition.value} is ${JSON.stringify(value)}, which cannot be compared with ${limit}`)
    return isSo(value)
  }
  const { above, below, at_least, at_most, equals, one_of } = condition
  return (
    (above === undefined || number(above, (its) => its > above)) &&
    (below === undefined || number(below, (its) => its < below)) &&
    (at_least === undefined || number(at_least, (its) => its >= at_least)) &&
    (at_most === undefined || number(at_most, (its) => its <= at_most)) &&
    (equals === undefined || value === equals) &&
    (one_of === undefined || one_of.includes(value))
  )
}

/** Formats a condition: `od above 0.5 and od below 2`. */
export function wordsOf(condition: Condition): string {
  if ('all' in condition) return condition.all.map(inParentheses).join(' and ')
  if ('any' in condition) return condition.any.map(inParentheses).join(' or ')
  return operators
    .filter((name) => condition[name] !== undefined)
    .map(
      (name) =>
        `${condition.value} ${name.replace('_', ' ')} ${[condition[name]]
          .flat()
          .map((one) => JSON.stringify(one))
          .join(', ')}`,
    )
    .join(' and ')
}

function inParentheses(condition: Condition): string {
  const words = wordsOf(condition)
  return 'value' in condition ? words : `(${words})`
}
