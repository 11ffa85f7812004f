// The parameters of an operation, with the values of variables where these are named.

import type { Do } from './documents.ts'

export function filledIn(params: Do['with'], variable: (name: string) => unknown): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(params).map(([name, value]) => [name, typeof value === 'object' && value !== null ? variable(value.variable) : value]),
  )
}
