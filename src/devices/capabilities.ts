// The capabilities of a device as a document, made from the table of operations and the present limits.

import * as v from 'valibot'
import { askedSeconds } from './asked_time.ts'
import type { OwnOperation } from './description.ts'
import type { Limits, Margins, Typical } from './device.ts'
import { heldOf, isList, isNullable, isOptional, isText, type OperationName, operations, optionsOf, rowOf } from './operations.ts'
import { type ReadingName, readings } from './reading_table.ts'
import type { Capabilities } from './records.ts'
import { marginSeconds, usualSeconds } from './usual_time.ts'

const safety =
  'The stop of this service is not a safety function: it can be late or lost. Keep a hard-wired red button within reach, and use that one first.'

type Known = {
  ends_early: readonly string[]
  typical: Typical | undefined
  margins?: Margins | undefined
  own: ReadonlyMap<string, OwnOperation>
  readings: Readonly<Record<string, { unit: string }>>
  choices: Readonly<Record<string, readonly string[]>>
}

export function capabilities(
  device: Pick<Capabilities, 'device_id' | 'type' | 'driver' | 'model' | 'simulated' | 'source' | 'limits' | 'features'>,
  can: readonly string[],
  { ends_early, typical, margins, own, readings: described, choices }: Known,
): Capabilities {
  const entryOf = (name: string) => {
    const described = own.get(name)
    return described
      ? ownEntry(name, described)
      : entry(name as OperationName | ReadingName, { limits: device.limits, choices, typical, margins })
  }
  const readings = Object.entries(described).map(([name, { unit }]) => ({ name, unit }))
  const operations = can.map((name) => ({ ...entryOf(name), can_end_early: ends_early.includes(name) }))
  return { ...device, operations, ...(readings.length > 0 && { readings }), safety }
}

function ownEntry(name: string, { schema, summary, usual_s, longest_s, margin_s, labware_sites, returns }: OwnOperation) {
  const told = { ...(labware_sites !== undefined && { labware_sites }), ...(Object.keys(returns).length > 0 && { returns }) }
  const words = { ...(summary !== undefined && { summary }), ...told }
  return { name, method: 'POST' as const, ...words, params: schema, typical_seconds: usual_s, max_seconds: longest_s + margin_s }
}

type Bounds = Pick<Known, 'choices'> & { limits: Limits }

function entry(
  name: OperationName | ReadingName,
  { limits, choices, typical, margins }: Bounds & Pick<Known, 'typical' | 'margins'>,
): Omit<Capabilities['operations'][number], 'can_end_early'> {
  if (name in readings) return { name, method: 'GET', params: paramsSchema({}, noBounds), typical_seconds: 1, max_seconds: 5 }
  const { params } = operations[name as OperationName]
  const held = heldOf(name)
  const returns = unitsOf(rowOf(name)?.returns)
  const longest = askedSeconds(name, mostOf(params.entries, limits))
  return {
    name,
    method: 'POST',
    params: paramsSchema(params.entries, { limits, choices }),
    ...(returns && { returns }),
    ...(held && { renewed_within_ms: held.renewed_within_ms }),
    typical_seconds: usualSeconds(name as OperationName, typical),
    max_seconds: longest + marginSeconds(name as OperationName, margins),
  }
}

/** Returns the greatest parameters that a device takes, by which the longest time of an operation is computed. */
function mostOf(entries: Record<string, v.GenericSchema>, limits: Limits): Record<string, unknown> {
  const values = Object.entries(entries).map(([name, schema]) => {
    const inner = isOptional(schema) ? schema.wrapped : schema
    if (!isList(inner)) return [name, limits[name]?.max ?? rangeOf(inner).maximum]
    return [name, Array(lengthOf(inner).maxItems ?? 1).fill(mostOf((inner as List).item.entries, limits))]
  })
  return Object.fromEntries(values)
}

/** Returns the units of the values that an operation gives, by their names; undefined where it gives none. */
function unitsOf(returns: v.GenericSchema | undefined): Record<string, string> | undefined {
  if (!returns) return undefined
  const { entries } = returns as v.StrictObjectSchema<Record<string, v.GenericSchema>, undefined>
  return Object.fromEntries(Object.entries(entries).map(([name, schema]) => [name, String(v.getMetadata(schema).unit ?? '')]))
}

const noBounds: Bounds = { limits: {}, choices: {} }

/** The JSON Schema of a body. */
function paramsSchema(entries: Record<string, v.GenericSchema>, bounds: Bounds) {
  const properties = Object.entries(entries).map(([name, schema]) => [name, paramSchema(schema, name, bounds)])
  const required = Object.keys(entries).filter((name) => !isOptional(entries[name]!))
  return { type: 'object', properties: Object.fromEntries(properties), required, additionalProperties: false }
}

function paramSchema(schema: v.GenericSchema, name: string, bounds: Bounds) {
  const [limit, taken] = [bounds.limits[name], bounds.choices[name]]
  const inner = isOptional(schema) ? schema.wrapped : schema
  if (isList(inner)) return listSchema(inner as List, bounds)
  const options = optionsOf(inner)
  const type = limit?.step && Number.isInteger(limit.step) ? 'integer' : isText(inner) ? 'string' : 'number'
  return {
    type: isNullable(inner) ? [type, 'null'] : type,
    description: v.getDescription(inner),
    unit: v.getMetadata(inner).unit,
    ...(options && { enum: options.filter((option) => taken?.includes(option) ?? true) }),
    ...(isOptional(schema) && { default: schema.default }),
    ...(!limit && rangeOf(inner)),
    ...(limit && { minimum: limit.min, maximum: limit.max }),
    ...(limit?.step && { step: limit.step }),
  }
}

type List = v.ArraySchema<v.StrictObjectSchema<Record<string, v.GenericSchema>, undefined>, undefined>

/** The JSON Schema of a list of records, whose members have the limits of their names. */
function listSchema(list: List, bounds: Bounds): object {
  return { type: 'array', description: v.getDescription(list), items: paramsSchema(list.item.entries, bounds), ...lengthOf(list) }
}

/** Returns the bounds of the length of a list. */
function lengthOf(schema: v.GenericSchema): { minItems?: number; maxItems?: number } {
  const steps = stepsOf(schema as Step)
  const [min, max] = ['min_length', 'max_length'].map((type) => steps.find((step) => step.type === type)?.requirement)
  return { ...(min !== undefined && { minItems: min }), ...(max !== undefined && { maxItems: max }) }
}

/** Returns the range that the schema of a number itself has. */
function rangeOf(schema: v.GenericSchema): { minimum?: number; maximum?: number } {
  const steps = stepsOf(schema as Step)
  const [min, max] = ['min_value', 'max_value'].map((type) => steps.find((step) => step.type === type)?.requirement)
  return { ...(min !== undefined && { minimum: min }), ...(max !== undefined && { maximum: max }) }
}

type Step = { type: string; requirement?: number; pipe?: readonly Step[] }

/** Returns the steps of a schema, of whose pipes one may stand in another. */
function stepsOf(step: Step): Step[] {
  return step.pipe ? step.pipe.flatMap((inner) => (inner === step ? [] : stepsOf(inner))) : [step]
}
