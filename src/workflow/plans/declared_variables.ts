// The declarations of variables: type, unit, limits and choices. They are checked with the document, values with a submission.

import { entriesOf } from './check_actions.ts'
import { wrong } from './mistakes.ts'
import type { Draft } from './outline.ts'
import { type VariablePlace, variablesIn } from './params.ts'
import { actionsOf, type Workflow } from './plan.ts'
import type { KnownDevice } from './topology.ts'
import { type ParameterType, parameterTypes, type Variable, type VariableType } from './variable_schema.ts'

/** Throws `invalid` for a declaration that contradicts itself, or the parameters that take the variable. */
export function checkDeclarations(draft: Draft): void {
  const taken = takersOf(draft)
  for (const [name, variable] of Object.entries(draft.document.variables)) {
    const at = `${draft.where}: variables.${name}`
    const contradiction = contradictionIn(variable, taken.get(name) ?? [])
    if (contradiction) throw wrong(at, contradiction)
    for (const member of ['default', 'example'] as const) {
      const value = variable[member]
      const misfit = value === undefined || value === null ? undefined : misfitOf(value, variable)
      if (misfit) throw wrong(`${at}.${member}`, misfit)
    }
    for (const [i, value] of (variable.one_of ?? []).entries()) {
      const misfit = misfitOf(value, { ...variable, one_of: undefined })
      if (misfit) throw wrong(`${at}.one_of[${i}]`, misfit)
    }
  }
}

function contradictionIn({ type, unit, minimum, maximum, nullable, example }: Variable, takers: readonly Taker[]): string | undefined {
  const isNumeric = type === undefined ? takers.every((taker) => taker.type === 'number') : type === 'number' || type === 'integer'
  if ((minimum !== undefined || maximum !== undefined) && !isNumeric)
    return `only numbers have a minimum and a maximum; give it "type": "number", not ${type ?? 'that of its parameters'}`
  if (minimum !== undefined && maximum !== undefined && minimum > maximum) return `its minimum ${minimum} is above its maximum ${maximum}`
  if (example === null && !nullable) return 'its example is null, and it is not "nullable"'
  for (const taker of takers) {
    const what = `${taker.param} of ${taker.operation} at ${taker.path}`
    if (type !== undefined && taker.type !== undefined && parameterTypeOf(type) !== taker.type)
      return `its type is ${type}, and ${what} takes ${taker.type}`
    if (unit !== undefined && taker.unit !== undefined && unit !== taker.unit) return `its unit is ${unit}, and ${what} takes ${taker.unit}`
  }
  return undefined
}

function parameterTypeOf(type: VariableType): ParameterType {
  return type === 'integer' ? 'number' : type
}

/** Returns why a value does not fit the declaration, as what follows the name of the variable; undefined if it fits. Null is not judged. */
export function misfitOf(value: unknown, { type, unit, minimum, maximum, one_of }: Variable): string | undefined {
  if (type !== undefined && !isOf(type, value)) return `must be ${typeWords[type]}, not ${shown(value)}`
  const number = typeof value === 'number' ? value : undefined
  const inUnit = (amount: unknown) => (unit === undefined ? shown(amount) : `${shown(amount)} ${unit}`)
  if ((minimum !== undefined || maximum !== undefined) && number === undefined) return `must be a number, not ${shown(value)}`
  if (number !== undefined && minimum !== undefined && number < minimum)
    return `is ${inUnit(number)}, and must be at least ${inUnit(minimum)}`
  if (number !== undefined && maximum !== undefined && number > maximum)
    return `is ${inUnit(number)}, and must be at most ${inUnit(maximum)}`
  if (one_of && !one_of.some((choice) => choice === value))
    return `is ${inUnit(value)}, and must be one of ${one_of.map(shown).join(', ')}${unit === undefined ? '' : ` ${unit}`}`
  return undefined
}

const typeWords: Readonly<Record<VariableType, string>> = {
  ...{ string: 'a text', number: 'a number', integer: 'a whole number', boolean: 'true or false', array: 'a list', object: 'an object' },
}

function isOf(type: VariableType, value: unknown): boolean {
  if (type === 'integer') return Number.isInteger(value)
  if (type === 'number') return Number.isFinite(value)
  return type === (Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value)
}

function shown(value: unknown): string {
  const text = typeof value === 'object' || typeof value === 'string' ? JSON.stringify(value) : String(value)
  return text.length > 60 ? `${text.slice(0, 59)}…` : text
}

/** A parameter that takes a variable. `unit` is that of the table of operations; a described operation may write its units in another way. */
type Taker = { path: string; operation: string; param: string; type: ParameterType | undefined; unit: string | undefined }

function takersOf(workflow: Pick<Workflow, 'methods' | 'threads' | 'topology'>): Map<string, Taker[]> {
  const found = new Map<string, Taker[]>()
  for (const { kind, action, devices, path } of actionsOf(workflow)) {
    if (kind !== 'do') continue
    const places = variablesIn(action.with)
    for (const device_id of places.length > 0 ? devices : []) {
      const device = workflow.topology.devices.get(device_id)
      const entries: Readonly<Record<string, Shape>> = entriesOf(action.do, device) ?? {}
      for (const { variable, keys } of places) {
        const schema = schemaAt(entries, keys)
        const taker = { path, operation: action.do, param: String(keys[0]), type: typeOf(schema), unit: unitOf(schema, action.do, device) }
        found.set(variable, [...(found.get(variable) ?? []), taker])
      }
    }
  }
  return found
}

/**
 * Returns the type of each variable: as it is declared, else that of the parameters that use it, so that `1E5` stays text for a text parameter. A
 * variable without a parameter of a known type, or with parameters of different types, has the type of its default, if that is one of these.
 */
export function typesOfVariables(workflow: Workflow): Map<string, VariableType> {
  const taken = takersOf(workflow)
  return new Map(
    Object.entries(workflow.document.variables).flatMap(([name, { type: declared, default: initial }]) => {
      const known = [...new Set((taken.get(name) ?? []).map(({ type }) => type))].filter((type) => type !== undefined)
      const ofDefault = parameterTypes.find((one) => isOf(one, initial))
      const type = declared ?? (known.length === 1 ? known[0] : ofDefault)
      return type === undefined ? [] : [[name, type] as const]
    }),
  )
}

/** The parts of a valibot schema that lead to the type of a value. */
type Shape = {
  type?: string
  wrapped?: Shape
  options?: readonly unknown[]
  item?: Shape
  entries?: Readonly<Record<string, Shape>>
  pipe?: readonly { type?: string; metadata?: { unit?: unknown } }[]
}

/** Returns the schema of a part of a parameter; undefined where that depends on the value. */
function schemaAt(entries: Readonly<Record<string, Shape>>, [param, ...keys]: VariablePlace['keys']): Shape | undefined {
  return keys.reduce<Shape | undefined>((schema, key) => {
    const plain = plainOf(schema)
    return typeof key === 'number' ? plain?.item : plain?.entries?.[key]
  }, entries[param])
}

function plainOf(schema: Shape | undefined): Shape | undefined {
  return schema?.wrapped ? plainOf(schema.wrapped) : schema
}

function typeOf(schema: Shape | undefined): ParameterType | undefined {
  const { type, options } = plainOf(schema) ?? {}
  if (type?.endsWith('_object')) return 'object'
  return parameterTypes.find((one) => one === type || one === typeof options?.[0])
}

function unitOf(schema: Shape | undefined, operation: string, device: KnownDevice | undefined): string | undefined {
  if (device?.own.has(operation)) return undefined
  const inner = schema?.wrapped ? unitOf(schema.wrapped, operation, device) : undefined
  const unit = schema?.pipe?.find(({ type }) => type === 'metadata')?.metadata?.unit
  return typeof unit === 'string' ? unit : inner
}
