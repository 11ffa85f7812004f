// Checks the variables of a submission: the workflow knows them, none is missing, and the devices accept the resulting parameters.

import { LabError } from '../../errors.ts'
import { didYouMean } from '../../kit/did_you_mean.ts'
import { checkValues, entriesOf } from './check_actions.ts'
import { filledIn, type VariablePlace, variablesIn } from './params.ts'
import { actionsOf, type Workflow } from './plan.ts'

/** Throws `invalid`. Variables that only code reads are not checked. */
export function checkVariables(workflow: Workflow, given: Readonly<Record<string, unknown>>): void {
  const { variables } = workflow.document
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(variables, name)) throw unfit(workflow, `has no variable ${name}${didYouMean(name, Object.keys(variables))}`)
  }
  const valueGiven = (name: string) => {
    const value = Object.hasOwn(given, name) ? given[name] : variables[name]?.default
    if (value === undefined) throw unfit(workflow, `wants a value for ${name}, which has no default`)
    return value
  }
  for (const action of actionsOf(workflow)) {
    if (action.kind !== 'do') continue
    const values = filledIn(action.action.with, valueGiven)
    checkValues(
      action,
      { values, devices: workflow.topology.devices, variables },
      `variables: workflow ${workflow.name}: ${action.path}.with`,
    )
  }
}

/** The types of parameters. */
export const parameterTypes = ['string', 'number', 'boolean', 'array', 'object'] as const
type ParameterType = (typeof parameterTypes)[number]

/**
 * Returns the type of each variable from the parameters that use it, so that `1E5` stays text for a text parameter. A variable
 * without a parameter of a known type, or with parameters of different types, has the type of its default, if that is one of these.
 */
export function variableTypes(workflow: Workflow): Map<string, ParameterType> {
  const { document, topology } = workflow
  const found = new Map<string, Set<ParameterType | undefined>>()
  for (const one of actionsOf(workflow)) {
    if (one.kind !== 'do') continue
    const { action, devices } = one
    for (const device_id of devices) {
      const entries = entriesOf(action.do, topology.devices.get(device_id)) ?? {}
      for (const { variable, keys } of variablesIn(action.with)) {
        const types = found.get(variable) ?? new Set()
        found.set(variable, types.add(typeOf(schemaAt(entries, keys))))
      }
    }
  }
  const names = Object.entries(document.variables)
  return new Map(
    names.flatMap(([name, { default: initial }]) => {
      const known = [...(found.get(name) ?? [])].filter((type) => type !== undefined)
      const type =
        known.length === 1
          ? known[0]
          : parameterTypes.find((one) => one === (Array.isArray(initial) ? 'array' : initial === null ? 'null' : typeof initial))
      return type === undefined ? [] : [[name, type] as const]
    }),
  )
}

/** The parts of a valibot schema that lead to the type of a value. */
type Shape = { type?: string; wrapped?: Shape; options?: readonly unknown[]; item?: Shape; entries?: Readonly<Record<string, Shape>> }

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

function unfit({ name }: Workflow, why: string): LabError {
  return new LabError('invalid', `variables: workflow ${name} ${why}`)
}
