// The flat JSON Schema with which a program describes the parameters of an operation, and the valibot schema that checks them.

import * as v from 'valibot'
import { LabError } from '../errors.ts'
import { Whole } from '../kit/described.ts'
import { isMultiple } from './multiple.ts'

const Value = v.union([v.string(), v.number(), v.boolean()])

/** A parameter. Other keywords of JSON Schema are refused. */
const Property = v.strictObject({
  type: v.union(
    [v.picklist(['number', 'integer', 'string', 'boolean']), v.strictTuple([v.picklist(['number', 'integer']), v.literal('null')])],
    'must be number, integer, string or boolean, or ["number", "null"] or ["integer", "null"] for one that may be null',
  ),
  description: v.optional(v.pipe(v.string(), v.maxLength(300))),
  unit: v.optional(v.pipe(v.string(), v.maxLength(20))),
  enum: v.optional(v.pipe(v.array(Value), v.minLength(1), v.maxLength(100))),
  minimum: v.optional(v.pipe(v.number(), v.finite())),
  maximum: v.optional(v.pipe(v.number(), v.finite())),
  multipleOf: v.optional(v.pipe(v.number(), v.finite(), v.gtValue(0))),
  maxLength: v.optional(Whole(1, 10_000)),
  default: v.optional(Value),
})
type Property = v.InferOutput<typeof Property>
type PropertyType = 'number' | 'integer' | 'string' | 'boolean'

/** Returns the type of a parameter without a `null` beside it. */
export function typeOf({ type }: Pick<Property, 'type'>): PropertyType {
  return Array.isArray(type) ? type[0] : type
}

const ParamName = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z][A-Za-z0-9_]{0,31}$/, 'the name of a parameter is a letter, then letters, digits and _'),
)

export const FlatSchema = v.strictObject({
  type: v.optional(v.literal('object')),
  properties: v.optional(
    v.pipe(
      v.record(ParamName, Property),
      v.check((all) => Object.keys(all).length <= 32, 'has more than 32 parameters'),
    ),
    {},
  ),
  required: v.optional(v.array(v.string()), []),
  additionalProperties: v.optional(v.literal(false)),
})
export type FlatSchema = v.InferOutput<typeof FlatSchema>

/** The `maxLength` of a string that sets none. */
const usualLength = 1000

export type ParamsSchema = v.StrictObjectSchema<Record<string, v.GenericSchema>, undefined>

/** Makes the schema of the parameters. Throws `invalid`, naming a parameter with a mistake. `where` begins the sentence. */
export function paramsSchema({ properties, required }: FlatSchema, where: string): ParamsSchema {
  for (const name of required) {
    if (!Object.hasOwn(properties, name)) throw new LabError('invalid', `${where}: ${name} is required, and is not among the properties`)
  }
  const entries = Object.entries(properties).map(([name, property]) => {
    const at = `${where}.${name}`
    const schema = valueSchema(property, at)
    mustFit(property, schema, at)
    const isRequired = required.includes(name) && property.default === undefined
    return [name, isRequired ? schema : v.optional(schema, property.default as never)] as const
  })
  return v.strictObject(Object.fromEntries(entries))
}

/** Returns the same schema as a JSON Schema for people and forms. */
export function shownSchema({ properties, required }: FlatSchema): Record<string, unknown> {
  return { type: 'object', properties, required, additionalProperties: false }
}

function valueSchema(property: Property, at: string): v.GenericSchema {
  const { minimum, maximum } = property
  const type = typeOf(property)
  for (const keyword of keywordsOf(property)) {
    if (!takes[type].includes(keyword)) throw new LabError('invalid', `${at}: ${keyword} means nothing for a ${type}`)
  }
  if (minimum !== undefined && maximum !== undefined && minimum > maximum)
    throw new LabError('invalid', `${at}: minimum ${minimum} is above maximum ${maximum}`)
  const number = bases[type](property)
  const base = Array.isArray(property.type) ? v.nullable(number) : number
  const { enum: choices } = property
  if (!choices) return base
  const wrong = choices.find((choice) => !v.is(base, choice))
  if (wrong !== undefined) throw new LabError('invalid', `${at}: ${JSON.stringify(wrong)} of enum is no ${type} that it may be`)
  return v.picklist(choices as string[])
}

function keywordsOf({ type: _type, description: _d, unit: _u, enum: _e, default: _default, ...rest }: Property): string[] {
  return Object.entries(rest).flatMap(([keyword, value]) => (value === undefined ? [] : [keyword]))
}

const takes: Record<PropertyType, readonly string[]> = {
  number: ['minimum', 'maximum', 'multipleOf'],
  integer: ['minimum', 'maximum', 'multipleOf'],
  string: ['maxLength'],
  boolean: [],
}

const bases: Record<PropertyType, (property: Property) => v.GenericSchema> = {
  number: inRange,
  integer: (property) => v.pipe(v.number(), v.integer(), inRange(property)),
  string: ({ maxLength = usualLength }) => v.pipe(v.string(), v.maxLength(maxLength)),
  boolean: () => v.boolean(),
}

function inRange({ minimum, maximum, multipleOf }: Property) {
  return v.pipe(
    v.number(),
    v.finite(),
    v.minValue(minimum ?? -Number.MAX_VALUE),
    v.maxValue(maximum ?? Number.MAX_VALUE),
    v.check((value) => multipleOf === undefined || isMultiple(value, multipleOf), `must be a multiple of ${multipleOf}`),
  )
}

function mustFit(property: Property, schema: v.GenericSchema, at: string): void {
  if (property.default === undefined || v.is(schema, property.default)) return
  throw new LabError('invalid', `${at}: its default ${JSON.stringify(property.default)} is no value that it may have`)
}
