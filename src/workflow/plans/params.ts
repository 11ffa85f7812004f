// Resolves the variables in the parameters of an operation.

import type { Do } from './documents.ts'

export function namesVariable(params: Do['with']): boolean {
  return Object.values(params).some(isVariable)
}

export function filledIn(params: Do['with'], variable: (name: string) => unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, isVariable(value) ? variable(value.variable) : value]))
}

/** Lists the parameters that are given by variables. */
export function variablesIn(params: Do['with']): [param: string, variable: string][] {
  return Object.entries(params).flatMap(([name, value]) => (isVariable(value) ? [[name, value.variable] as [string, string]] : []))
}

export function isVariable(value: Do['with'][string]): value is { variable: string } {
  return typeof value === 'object' && value !== null
}
