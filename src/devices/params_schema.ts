// The JSON Schema with which a program describes the parameters of an operation, and the valibot schema that checks them.

import * as v from 'valibot'
import { LabError } from '../errors.ts'
import { described, Whole } from '../kit/described.ts'
import { checked } from '../kit/schema.ts'
import { isMultiple } from './multiple.ts'

const kinds = ['number', 'integer', 'string', 'boolean', 'array', 'object'] as const
type Kind = (typeof kinds)[number]

const Types = v.union(
  [v.picklist(kinds), v.pipe(v.array(v.picklist([...kinds, 'null'])), v.minLength(1), v.maxLength(kinds.length + 1))],
  `must be ${kinds.slice(0, -1).join(', ')} or object, or a list of these, with "null" for one that may be null`,
)

/** A value that a choice may have. */
const Scalar = v.union([v.string(), v.pipe(v.number(), v.finite()), v.boolean(), v.null()], 'must be a text, a number, true, false or null')

const ParamName = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z][A-Za-z0-9_]{0,63}$/, 'the name of a parameter is a letter, then letters, digits and _, at most 64 in all'),
)
/** The schema of a member or an item: a `Property`, which is parsed when the schema around it is compiled. */
const Inner = v.record(v.string(), v.unknown())
const Length = Whole(0, 100_000)

/** The most parameters of an operation, and members of an object. */
const mostMembers = 128

const Required = v.pipe(v.array(v.string()), v.maxLength(mostMembers))

const members = {
  properties: v.optional(
    v.pipe(
      v.record(ParamName, Inner),
      v.check((all) => Object.keys(all).length <= mostMembers, `has more than ${mostMembers} members`),
    ),
  ),
  required: v.optional(Required),
  additionalProperties: v.optional(v.literal(false)),
}

/** A parameter, or a part of one. Other keywords of JSON Schema are refused. A keyword is about values of its own type, as in JSON Schema. */
const Property = v.strictObject({
  type: Types,
  description: v.optional(v.pipe(v.string(), v.maxLength(300))),
  unit: v.optional(v.pipe(v.string(), v.maxLength(20))),
  enum: v.optional(v.pipe(v.array(Scalar), v.minLength(1), v.maxLength(1000))),
  minimum: v.optional(v.pipe(v.number(), v.finite())),
  maximum: v.optional(v.pipe(v.number(), v.finite())),
  multipleOf: v.optional(v.pipe(v.number(), v.finite(), v.gtValue(0))),
  maxLength: v.optional(Whole(1, 10_000)),
  items: v.optional(described(Inner, 'The schema of each item of an array')),
  minItems: v.optional(Length),
  maxItems: v.optional(Length),
  ...members,
  default: v.optional(v.unknown()),
})
type Property = v.InferOutput<typeof Property>

/** The description of all parameters of an operation. */
export const ParamsDescription = v.strictObject({
  type: v.optional(v.literal('object')),
  properties: v.optional(
    v.pipe(
      v.record(ParamName, Property),
      v.check((all) => Object.keys(all).length <= mostMembers, `has more than ${mostMembers} parameters`),
    ),
    {},
  ),
  required: v.optional(Required, []),
  additionalProperties: members.additionalProperties,
})
export type ParamsDescription = v.InferOutput<typeof ParamsDescription>

/** The `maxLength` of a string that sets none. */
const usualLength = 1000
/** The most levels of a parameter: an array of numbers has two. */
const mostLevels = 8

export type ParamsSchema = v.StrictObjectSchema<Record<string, v.GenericSchema>, undefined>

/** Returns the types of a parameter without `null`. */
export function kindsOf({ type }: Pick<Property, 'type'>): Kind[] {
  const all = Array.isArray(type) ? type : [type]
  return all.filter((one) => one !== 'null')
}

/** Whether a parameter may be null. */
export function mayBeNull({ type }: Pick<Property, 'type'>): boolean {
  return Array.isArray(type) && type.includes('null')
}

/** Whether each value of a parameter is a number, or null where it may be. */
export function isNumeric(property: Pick<Property, 'type'>): boolean {
  return kindsOf(property).every((kind) => kind === 'number' || kind === 'integer')
}

/** Makes the schema of the parameters. Throws `invalid`, naming a parameter with a mistake. `where` begins the sentence. */
export function paramsSchema({ properties, required }: ParamsDescription, where: string): ParamsSchema {
  return v.strictObject(entriesOf(properties, { required, where, level: 1 }))
}

/** Returns the same schema as a JSON Schema for people and forms. */
export function shownSchema({ properties, required }: ParamsDescription): Record<string, unknown> {
  return { type: 'object', properties, required, additionalProperties: false }
}

type Around = { required: readonly string[]; where: string; level: number }

function entriesOf(properties: Readonly<Record<string, Property>>, { required, where, level }: Around): Record<string, v.GenericSchema> {
  for (const name of required) {
    if (!Object.hasOwn(properties, name)) throw new LabError('invalid', `${where}: ${name} is required, and is not among the properties`)
  }
  const entries = Object.entries(properties).map(([name, property]) => {
    const at = `${where}.${name}`
    const schema = valueSchema(property, at, level)
    mustFit(property, schema, at)
    const isRequired = required.includes(name) && property.default === undefined
    return [name, isRequired ? schema : v.optional(schema, property.default as never)] as const
  })
  return Object.fromEntries(entries)
}

/** Compiles the schema of a part, which has not been parsed yet. */
function innerSchema(inner: Readonly<Record<string, unknown>>, at: string, level: number): v.GenericSchema {
  return valueSchema(innerProperty(inner, at, level), at, level)
}

function innerProperty(inner: Readonly<Record<string, unknown>>, at: string, level: number): Property {
  if (level > mostLevels) throw new LabError('invalid', `${at}: it is nested deeper than ${mostLevels} levels; describe it as text`)
  return checked(Property, inner, at)
}

function valueSchema(property: Property, at: string, level: number): v.GenericSchema {
  const types = kindsOf(property)
  if (types.length === 0) throw new LabError('invalid', `${at}: its type is null alone; add the type of its other values`)
  const { minimum, maximum, minItems, maxItems } = property
  for (const keyword of keywordsOf(property)) {
    if (!types.some((type) => takes[type].includes(keyword)))
      throw new LabError('invalid', `${at}: ${keyword} means nothing for a ${types.join(' or a ')}`)
  }
  mustRise(at, { minimum, maximum })
  mustRise(at, { minItems, maxItems })
  const branches = Object.fromEntries(types.map((type) => [valueTypes[type], bases[type](property, at, level)]))
  const base = oneOf(branches, types)
  return mayBeNull(property) ? v.nullable(chosen(property, base, at)) : chosen(property, base, at)
}

/** Throws `invalid` for a least value above the greatest. */
function mustRise(at: string, bounds: Readonly<Record<string, number | undefined>>): void {
  const [[least, from], [most, to]] = Object.entries(bounds) as [[string, number | undefined], [string, number | undefined]]
  if (from !== undefined && to !== undefined && from > to) throw new LabError('invalid', `${at}: ${least} ${from} is above ${most} ${to}`)
}

/** Makes the schema of a value of one of several types, whose mistakes are those of the type that it has. */
function oneOf(branches: Readonly<Record<string, v.GenericSchema>>, types: readonly Kind[]): v.GenericSchema {
  const [only, ...others] = Object.values(branches)
  if (others.length === 0) return only!
  const none = v.union(Object.values(branches), `must be ${types.map((type) => kindWords[type]).join(' or ')}`)
  return v.lazy((input) => branches[valueTypeOf(input)] ?? none)
}

/** Narrows the scalars that a schema takes to the choices of a property. */
function chosen({ enum: choices, ...property }: Property, base: v.GenericSchema, at: string): v.GenericSchema {
  if (!choices) return base
  const values = choices.filter((choice) => choice !== null)
  const wrong = values.find((choice) => !v.is(base, choice))
  if (wrong !== undefined || values.length === 0)
    throw new LabError('invalid', `${at}: ${JSON.stringify(wrong ?? null)} of enum is no ${kindsOf(property).join(' or ')} that it may be`)
  const choice = v.picklist(values as string[])
  const hasOthers = kindsOf(property).some((kind) => kind === 'array' || kind === 'object')
  return hasOthers ? v.lazy((input) => (typeof input === 'object' && input !== null ? base : choice)) : choice
}

function keywordsOf({ type: _type, description: _d, unit: _u, enum: _e, default: _default, ...rest }: Property): string[] {
  return Object.entries(rest).flatMap(([keyword, value]) => (value === undefined ? [] : [keyword]))
}

const takes: Record<Kind, readonly string[]> = {
  number: ['minimum', 'maximum', 'multipleOf'],
  integer: ['minimum', 'maximum', 'multipleOf'],
  string: ['maxLength'],
  boolean: [],
  array: ['items', 'minItems', 'maxItems'],
  object: ['properties', 'required', 'additionalProperties'],
}

const kindWords: Record<Kind, string> = {
  number: 'a number',
  integer: 'a whole number',
  string: 'a text',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
}

/** The types of values, by which one of several schemas is taken. */
const valueTypes: Record<Kind, string> = { ...keyed(kinds), integer: 'number' }

function keyed(names: readonly Kind[]): Record<Kind, string> {
  return Object.fromEntries(names.map((name) => [name, name])) as Record<Kind, string>
}

function valueTypeOf(value: unknown): string {
  return Array.isArray(value) ? 'array' : typeof value
}

const bases: Record<Kind, (property: Property, at: string, level: number) => v.GenericSchema> = {
  number: inRange,
  // With both types, a number may have decimals.
  integer: (property) => (kindsOf(property).includes('number') ? inRange(property) : v.pipe(v.number(), v.integer(), inRange(property))),
  string: ({ maxLength = usualLength }) => v.pipe(v.string(), v.maxLength(maxLength)),
  boolean: () => v.boolean(),
  array: ({ items, minItems = 0, maxItems = Number.MAX_SAFE_INTEGER }, at, level) =>
    v.pipe(v.array(items ? innerSchema(items, `${at}.items`, level + 1) : v.unknown()), v.minLength(minItems), v.maxLength(maxItems)),
  object: objectSchema,
}

/** Makes the schema of an object; without `additionalProperties: false` it takes any further members, as in JSON Schema. */
function objectSchema({ properties = {}, required = [], additionalProperties }: Property, at: string, level: number): v.GenericSchema {
  const parsed = Object.fromEntries(
    Object.entries(properties).map(([name, inner]) => [name, innerProperty(inner, `${at}.${name}`, level + 1)]),
  )
  const entries = entriesOf(parsed, { required, where: at, level: level + 1 })
  return additionalProperties === false ? v.strictObject(entries) : v.looseObject(entries)
}

function inRange({ minimum, maximum, multipleOf }: Property) {
  // A description may have thousands of parameters, so that each of them has no more steps than it needs.
  const steps: v.GenericPipeAction<number, number, v.BaseIssue<unknown>>[] = [v.finite()]
  if (minimum !== undefined) steps.push(v.minValue(minimum))
  if (maximum !== undefined) steps.push(v.maxValue(maximum))
  if (multipleOf !== undefined) steps.push(v.check((value) => isMultiple(value, multipleOf), `must be a multiple of ${multipleOf}`))
  return v.pipe(v.number(), ...steps)
}

function mustFit(property: Property, schema: v.GenericSchema, at: string): void {
  if (property.default === undefined || v.is(schema, property.default)) return
  throw new LabError('invalid', `${at}: its default ${JSON.stringify(property.default)} is no value that it may have`)
}
