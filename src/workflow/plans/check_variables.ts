// Checks the variables of a submission: the workflow knows them, none is missing, and the devices accept the resulting parameters.

import { LabError } from '../../errors.ts'
import { didYouMean } from '../../kit/did_you_mean.ts'
import { checkValues, entriesOf } from './check_actions.ts'
import { filledIn, isVariable } from './params.ts'
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
export const parameterTypes = ['string', 'number', 'boolean'] as const
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
      for (const [name, value] of Object.entries(action.with)) {
        if (!isVariable(value)) continue
        const types = found.get(value.variable) ?? new Set()
        found.set(value.variable, types.add(typeOf(entries[name])))
      }
    }
  }
  const names = Object.entries(document.variables)
  return new Map(
    names.flatMap(([name, { default: initial }]) => {
      const known = [...(found.get(name) ?? [])].filter((type) => type !== undefined)
      const type = known.length === 1 ? known[0] : parameterTypes.find((one) => one === typeof initial)
      return type === undefined ? [] : [[name, type] as const]
    }),
  )
}

function typeOf(schema: unknown): ParameterType | undefined {
  if (typeof schema !== 'object' || schema === null) return undefined
  const { type, wrapped, options } = schema as { type?: string; wrapped?: unknown; options?: readonly unknown[] }
  if (wrapped !== undefined) return typeOf(wrapped)
  return parameterTypes.find((one) => one === type || one === typeof options?.[0])
}

function unfit({ name }: Workflow, why: string): LabError {
  return new LabError('invalid', `variables: workflow ${name} ${why}`)
}
