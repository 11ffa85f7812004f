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
  /** The schema of a `json` field. */
  schema?: Schema
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

/** Makes a title of a name: `Lock plate` of `lock_plate`. */
export function titled(name: string): string {
  const words = name.replaceAll('_', ' ').replaceAll('-', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
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
      ...(kind === 'json' ? { hint: jsonHint(schema), schema } : range && { hint: range }),
    }
  })
}

/** Returns the targets that are set on a device, by the name of the parameter that sets them. */
export function targetsOf({ heating }: Pick<DeviceInfo, 'heating'>, reading: Reading | undefined): Record<string, unknown> {
  const others = Object.entries(reading?.others ?? {}).map(([name, { target }]) => [name, target])
  return { temperature: reading?.target ?? heating?.target, ...Object.fromEntries(others) }
}

/** The main operations of instruments. */
const usual = ['shake', 'seal', 'peel', 'centrifuge']

/** Sorts operations: the main one first, which has its place for good, then by how often each was done on the device, then as the device lists them. */
export function mostUsedFirst<Operation extends { name: string }>(
  operations: readonly Operation[],
  usage: readonly { operation: string; times: number }[],
): Operation[] {
  const times = (name: string) => usage.find(({ operation }) => operation === name)?.times ?? 0
  const isUsual = (name: string) => Number(usual.includes(name))
  return [...operations].sort((a, b) => isUsual(b.name) - isUsual(a.name) || times(b.name) - times(a.name))
}

/** Returns the operation without parameters that a refusal or a failure names as its remedy, such as `lock_plate`; undefined if it names none. */
export function remedyIn<Operation extends Capabilities['operations'][number]>(
  sentence: string,
  operations: readonly Operation[],
): Operation | undefined {
  return operations.find(
    ({ name, params }) =>
      name.includes('_') && ((params as Schema).required ?? []).length === 0 && new RegExp(`\\b${name}\\b`).test(sentence),
  )
}

/** Whether an operation takes null for a parameter. */
export function takesNull({ params }: Capabilities['operations'][number], name: string): boolean {
  const { type } = (params as Schema).properties?.[name] ?? {}
  return Array.isArray(type) && type.includes('null')
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

/** Returns the mistake in what is typed into a field of JSON or of a list; undefined without one, and while the field is empty. */
export function mistakeIn(field: Field, text: string): string | undefined {
  if (field.kind !== 'json' || text.trim() === '') return undefined
  try {
    void filledIn(field, text)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** Says how a value of several parts is typed. */
function jsonHint(schema: Schema): string {
  const { items, minItems, maxItems } = schema
  const types = typesOf(schema).filter((type) => type !== 'null')
  const isPlain = items && !typesOf(items).some((type) => type === 'array' || type === 'object')
  const range = minItems === undefined && maxItems === undefined ? '' : ` (${minItems ?? 0} to ${maxItems ?? 'any number of'} items)`
  if (types.includes('array')) return `${isPlain ? 'With commas between, or as JSON' : 'As JSON, such as [[1,2],[3,4]]'}${range}`
  return types.includes('object') ? 'As JSON, such as {"name":1}' : types.join(' or ')
}

function filledIn({ label, kind, min, max, values, schema = {} }: Field, text: string): unknown {
  if (kind === 'json') {
    try {
      return parameterValue(text, schema)
    } catch (error) {
      throw new Error(`${label} ${error instanceof Error ? error.message : error}`)
    }
  }
  if (kind === 'choice') return values?.find((value) => String(value) === text) ?? text
  if (kind === 'boolean') return text === 'true'
  if (kind !== 'number') return text
  const value = Number(text.replace(',', '.'))
  if (text.trim() === '' || !Number.isFinite(value)) throw new Error(`${label} must be a number`)
  if ((min !== undefined && value < min) || (max !== undefined && value > max)) throw new Error(`${label} must be from ${min} to ${max}`)
  return value
}

/** Returns what is typed after a step down or up, within the limits: the least value where no number is typed. */
export function stepped(typed: string, sign: 1 | -1, { min, max, step = stepFor(min, max) }: Pick<Field, 'min' | 'max' | 'step'>): string {
  const value = typed.trim() === '' ? Number.NaN : Number(typed.replace(',', '.'))
  const from = Number.isFinite(value) ? value + sign * step : (min ?? 0)
  const next = Math.min(max ?? Number.POSITIVE_INFINITY, Math.max(min ?? Number.NEGATIVE_INFINITY, from))
  return String(Number(next.toFixed(6)))
}

/** Returns a step that divides the range by about fifty. */
function stepFor(min: number | undefined, max: number | undefined): number {
  if (min === undefined || max === undefined) return 1
  const rough = (max - min) / 50
  const power = 10 ** Math.floor(Math.log10(rough || 1))
  return [1, 2, 5, 10].map((n) => n * power).find((one) => one >= rough) ?? 1
}

/** Makes the label of a variable, with the unit at the end of its description, as in `Of the shaker, in rpm`. */
export function variableLabel(name: string, description: string | undefined): string {
  const [, unit] = /,? in ([^\s,.]{1,8})\.?$/.exec(description ?? '') ?? []
  return unit ? `${titled(name)} (${unit})` : titled(name)
}
