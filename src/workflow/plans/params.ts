// Resolves the variables in the parameters of an operation, at any depth.

import type { Do } from './action_schema.ts'

/** A variable in the parameters, and the members that lead to it: the name of the parameter, then those within its value. */
export type VariablePlace = { variable: string; keys: readonly [param: string, ...(string | number)[]] }

export function namesVariable(params: Do['with']): boolean {
  return Object.values(params).some(holdsVariable)
}

/** Returns the parameters with the values of their variables. A parameter in which a variable has no value is undefined. */
export function filledIn(params: Do['with'], variable: (name: string) => unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, filled(value, variable)]))
}

function filled(value: unknown, variable: (name: string) => unknown): unknown {
  if (isVariable(value)) return variable(value.variable)
  if (!holdsVariable(value)) return value
  const members = Object.entries(value as object).map(([key, member]) => [key, filled(member, variable)] as const)
  if (members.some(([, member]) => member === undefined)) return undefined
  return Array.isArray(value) ? members.map(([, member]) => member) : Object.fromEntries(members)
}

/** Lists the variables in the parameters. */
export function variablesIn(params: Do['with']): VariablePlace[] {
  return Object.entries(params).flatMap(([name, value]) => placesIn(value, [name]))
}

function placesIn(value: unknown, keys: VariablePlace['keys']): VariablePlace[] {
  if (isVariable(value)) return [{ variable: value.variable, keys }]
  if (typeof value !== 'object' || value === null) return []
  const isArray = Array.isArray(value)
  return Object.entries(value).flatMap(([key, member]) => placesIn(member, [...keys, isArray ? Number(key) : key]))
}

/** Writes a place as `wells[2]` or `plate.rows`. */
export function placeText([param, ...keys]: VariablePlace['keys']): string {
  return keys.reduce<string>((path, key) => (typeof key === 'number' ? `${path}[${key}]` : `${path}.${key}`), param)
}

/** Whether a value stands for a variable. An object that has only the member `variable` cannot be given otherwise. */
export function isVariable(value: unknown): value is { variable: string } {
  if (typeof value !== 'object' || value === null || !('variable' in value)) return false
  return typeof value.variable === 'string' && Object.keys(value).length === 1
}

function holdsVariable(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return isVariable(value) || Object.values(value).some(holdsVariable)
}
