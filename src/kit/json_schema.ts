// Converts valibot schemas to JSON Schema (draft 2020-12). Only the generator and tests use it: the
// converter is a development dependency, so the service must not import this file.

import { type ConversionConfig, toJsonSchema, toJsonSchemaDefs } from '@valibot/to-json-schema'
import type * as v from 'valibot'

export type JsonSchema = { [keyword: string]: unknown }
type Named = Readonly<Record<string, v.GenericSchema>>

type JsonSchemaOptions = {
  /** Schemas that are referenced instead of repeated. */
  named?: Named
  /** The prefix of the reference to a named schema. */
  at?: string
  /** Chooses between the type that the schema accepts and the type that it returns. */
  side?: 'input' | 'output'
}

/** Returns the JSON Schema of one schema; units are in `x-unit` and in the description. */
export function jsonSchema(schema: v.GenericSchema, options: JsonSchemaOptions = {}): JsonSchema {
  const { $schema: _, $defs: __, ...converted } = toJsonSchema(schema, { ...conversion(options), definitions: { ...options.named } })
  return tidy(converted)
}

/** Returns the JSON Schema of each named schema. */
export function jsonSchemas(named: Named, options: Omit<JsonSchemaOptions, 'named'> = {}): Record<string, JsonSchema> {
  return mapped(toJsonSchemaDefs(named, conversion(options)) as Record<string, JsonSchema>, tidy)
}

/** Makes a schema of all options of a choice, by which it can be named. */
export function anyOf(choice: v.LazySchema<v.GenericSchema>): v.GenericSchema {
  return choice.getter(undefined)
}

function conversion({ at = '#/$defs/', side = 'input' }: JsonSchemaOptions): ConversionConfig {
  return {
    target: 'draft-2020-12',
    typeMode: side,
    // The type expresses the same, or only words can.
    ignoreActions: ['finite', 'check', 'readonly', 'trim'],
    overrideRef: ({ referenceId }) => `${at}${referenceId}`,
    overrideAction({ valibotAction, jsonSchema }) {
      if (valibotAction.type === 'metadata') return withUnit(jsonSchema as JsonSchema)
      if (valibotAction.type === 'regex')
        return withoutFlags(jsonSchema as JsonSchema, (valibotAction as unknown as { requirement: RegExp }).requirement)
      if (valibotAction.type === 'transform') return asNumber(jsonSchema as JsonSchema, valibotAction as unknown as { operation: unknown })
      return undefined
    },
    overrideSchema({ valibotSchema, jsonSchema }) {
      if (valibotSchema.type !== 'variant') return undefined
      return { ...jsonSchema, ...discriminator(valibotSchema as unknown as Variant, jsonSchema as JsonSchema) }
    },
  }
}

function withUnit({ unit, ...schema }: JsonSchema): JsonSchema {
  return { ...schema, 'x-unit': unit }
}

/** Replaces a pattern with flags, which languages interpret differently, by a length and the description. */
function withoutFlags(schema: JsonSchema, { flags, source }: RegExp): JsonSchema | undefined {
  if (!flags) return undefined
  const { pattern: _, ...rest } = schema
  const [, least, most] = /^\^(?:\(\?![^)]*\))?(?:\[(?:[^\]\\]|\\.)*\]|\.)\{(\d+),(\d+)\}\$$/.exec(source) ?? []
  return { ...rest, ...(least && { minLength: Number(least), maxLength: Number(most) }) }
}

/** Describes a text that is parsed as a number as a number; as an integer if it has only digits. */
function asNumber({ pattern, ...schema }: JsonSchema, { operation }: { operation: unknown }): JsonSchema | undefined {
  if (operation !== Number) return { pattern, ...schema }
  return { ...schema, type: String(pattern).includes('.') ? 'number' : 'integer' }
}

type Variant = { key: string; options: { entries: Record<string, { literal?: unknown }> }[] }

/** Adds a discriminator if every alternative is a reference, as OpenAPI requires. */
function discriminator({ key, options }: Variant, { oneOf }: JsonSchema): JsonSchema {
  const refs = (oneOf as JsonSchema[]).map(({ $ref }) => $ref)
  if (refs.includes(undefined)) return {}
  return {
    discriminator: { propertyName: key, mapping: Object.fromEntries(options.map(({ entries }, i) => [entries[key]?.literal, refs[i]])) },
  }
}

const holdSchema = ['items', 'additionalProperties', 'propertyNames', 'not']
const holdSchemas = ['anyOf', 'oneOf', 'allOf', 'prefixItems']

/** Cleans the converter's output, and adds units in words. */
function tidy(schema: JsonSchema): JsonSchema {
  const inner = Object.entries(schema).map(([key, value]) => {
    if (key === 'properties') return [key, mapped(value as Record<string, JsonSchema>, tidy)]
    if (holdSchemas.includes(key)) return [key, (value as JsonSchema[]).map(tidy)]
    if (holdSchema.includes(key) && typeof value === 'object') return [key, tidy(value as JsonSchema)]
    return [key, value]
  })
  return withUnitInWords(withType(withNumber(withoutNoise(withNull(Object.fromEntries(inner))))))
}

/** Merges a type and null into one schema. */
function withNull(schema: JsonSchema): JsonSchema {
  const { anyOf, ...rest } = schema
  const [one, other] = (anyOf ?? []) as JsonSchema[]
  if (typeof one?.type !== 'string' || other?.type !== 'null') return schema
  const { type, enum: values, ...inner } = one
  return { ...inner, type: [type, 'null'], ...(Array.isArray(values) && { enum: [...values, null] }), ...rest }
}

function withoutNoise({ required, propertyNames, ...schema }: JsonSchema): JsonSchema {
  const needed = required as string[] | undefined
  const anyName = JSON.stringify(propertyNames) === '{"type":"string"}'
  return { ...schema, ...(needed?.length && { required }), ...(propertyNames !== undefined && !anyName && { propertyNames }) }
}

function withType(schema: JsonSchema): JsonSchema {
  return typeof schema.const === 'string' ? { type: 'string', ...schema } : schema
}

/** Converts the default of a text that is parsed as a number. */
function withNumber(schema: JsonSchema): JsonSchema {
  const isNumber = schema.type === 'integer' || schema.type === 'number'
  return isNumber && typeof schema.default === 'string' ? { ...schema, default: Number(schema.default) } : schema
}

function withUnitInWords(schema: JsonSchema): JsonSchema {
  const { 'x-unit': unit, description } = schema
  const words = `in ${unit}`
  // The description of a nullable schema already has the unit.
  const isSaid = String(description).toLowerCase().endsWith(words.toLowerCase()) || (unit === 's' && /seconds/i.test(String(description)))
  if (unit === undefined || isSaid) return schema
  return { ...schema, description: description ? `${description}, ${words}` : `In ${unit}` }
}

function mapped<A, B>(record: Record<string, A>, change: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]))
}
