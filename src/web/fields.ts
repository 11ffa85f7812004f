// Makes forms from the capabilities of a device: a field for each parameter, with unit, limits and initial value.

import type { Capabilities, DeviceInfo, Reading } from '../clients/ts/benchd.ts'
import { parameterValue, typedText, typesOf } from '../clients/ts/parameter_value.ts'

export type Field = {
  name: string
  /** For example `speed (rpm)`. */
  label: string
  /** `json` is text that is parsed by the schema: an array, an object, or one of several types. */
  kind: 'number' | 'text' | 'boolean' | 'choice' | 'json'
  required: boolean
  min?: number
  max?: number
  step?: number
  choices?: string[]
  /** The values of the choices. */
  values?: unknown[]
  /** The initial value, as text. */
  initial: string
  hint?: string
  /** Parses what is typed into a `json` field. Throws a sentence. */
  parse?: (text: string) => unknown
}

type Schema = {
  /** The type, in a list with `null` if the parameter may be null. */
  type?: string | string[]
  enum?: unknown[]
  items?: Schema
  minItems?: number
  maxItems?: number
  minimum?: number
  maximum?: number
  multipleOf?: number
  default?: unknown
  description?: string
  unit?: string
  'x-unit'?: string
  properties?: Record<string, Schema>
  required?: string[]
}

/**
 * Makes the fields of an operation, in the order of its schema. A field begins with the value of the first of `known` that has one, else with the
 * default of the device, else empty: never with its minimum, which may be harmful.
 */
export function fieldsOf(
  { params }: Capabilities['operations'][number],
  limits: Capabilities['limits'],
  ...known: (Record<string, unknown> | undefined)[]
): Field[] {
  const { properties = {}, required = [] } = params as Schema
  return Object.entries(properties).map(([name, schema]) => {
    const {
      min = schema.minimum,
      max = schema.maximum,
      unit = schema.unit ?? schema['x-unit'],
      step = schema.multipleOf,
    } = limits[name] ?? {}
    const kind = kindOf(schema)
    const found = known.map((values) => values?.[name]).find((value) => value !== undefined && value !== null)
    const initial = found ?? schema.default ?? (kind === 'choice' ? schema.enum?.[0] : '')
    const range = min !== undefined && max !== undefined ? `${min} to ${max}${unit ? ` ${unit}` : ''}` : undefined
    return {
      name,
      label: unit ? `${name.replaceAll('_', ' ')} (${unit})` : name.replaceAll('_', ' '),
      kind,
      required: required.includes(name),
      ...(min !== undefined && { min }),
      ...(max !== undefined && { max }),
      ...(step !== undefined && { step }),
      ...(schema.enum && { choices: schema.enum.map(String), values: schema.enum }),
      initial: initial === undefined || initial === null ? '' : kind === 'json' ? typedText(initial) : String(initial),
      ...((range ?? schema.description) !== undefined && { hint: range ?? schema.description! }),
      ...(kind === 'json' && { hint: jsonHint(schema), parse: (text: string) => parsed(name, text, schema) }),
    }
  })
}

/** Returns the targets that are set on a device, by the name of the parameter that sets them. */
export function targetsOf({ heating }: Pick<DeviceInfo, 'heating'>, reading: Reading | undefined): Record<string, unknown> {
  const others = Object.entries(reading?.others ?? {}).map(([name, { target }]) => [name, target])
  return { temperature: reading?.target ?? heating?.target, ...Object.fromEntries(others) }
}

function kindOf({ type: types, enum: choices }: Schema): Field['kind'] {
  const all = [types].flat().filter((one) => one !== 'null')
  if (all.includes('array') || all.includes('object')) return 'json'
  if (choices) return 'choice'
  if (all.length > 1) return 'json'
  const [type] = all
  if (type === 'number' || type === 'integer') return 'number'
  return type === 'boolean' ? 'boolean' : 'text'
}

/** Makes the body of a request from the fields, without empty optional ones. Throws a sentence for an invalid number. */
export function bodyOf(fields: readonly Field[], values: Record<string, string>): Record<string, unknown> {
  const filled = fields.filter(({ name, required }) => required || (values[name] ?? '') !== '')
  return Object.fromEntries(filled.map((field) => [field.name, filledIn(field, values[field.name] ?? '')]))
}

/** Says how a value of several parts is typed. */
function jsonHint(schema: Schema): string {
  const { items, minItems, maxItems } = schema
  const types = typesOf(schema).filter((type) => type !== 'null')
  const isPlain = items && !typesOf(items).some((type) => type === 'array' || type === 'object')
  const range = minItems === undefined && maxItems === undefined ? '' : ` (${minItems ?? 0} to ${maxItems ?? 'any number of'} items)`
  const shape = isPlain ? 'With commas between, or as JSON' : `As JSON, such as ${JSON.stringify(exampleOf(schema))}`
  if (types.includes('array')) return `${shape}${range}`
  return types.includes('object') ? `As JSON, such as ${JSON.stringify(exampleOf(schema))}` : types.join(' or ')
}

/** Returns a value with the members that an object must have, or with all of them where it must have none: `{"stages":[{"repeats":1}]}`. */
function exampleOf(schema: Schema): unknown {
  const { enum: choices, items = {}, minimum = 1, properties = { name: { type: 'number' } }, required = [] } = schema
  const [type] = typesOf(schema).filter((one) => one !== 'null')
  if (choices) return choices[0]
  if (type === 'array') return [exampleOf(items)]
  if (type === 'string') return 'text'
  if (type !== 'object') return type === 'boolean' ? true : minimum
  const members = required.length > 0 ? required : Object.keys(properties)
  return Object.fromEntries(members.map((name) => [name, exampleOf(properties[name] ?? {})]))
}

function parsed(name: string, text: string, schema: Schema): unknown {
  try {
    return parameterValue(text, schema)
  } catch (error) {
    throw new Error(`${name.replaceAll('_', ' ')} ${error instanceof Error ? error.message : error}`)
  }
}

function filledIn({ label, kind, min, max, values, parse }: Field, text: string): unknown {
  if (parse) return parse(text)
  if (kind === 'choice') return values?.find((value) => String(value) === text) ?? text
  if (kind === 'boolean') return text === 'true'
  if (kind !== 'number') return text
  const value = Number(text.replace(',', '.'))
  if (text.trim() === '' || !Number.isFinite(value)) throw new Error(`${label} must be a number`)
  if ((min !== undefined && value < min) || (max !== undefined && value > max)) throw new Error(`${label} must be from ${min} to ${max}`)
  return value
}
