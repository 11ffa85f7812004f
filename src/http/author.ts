// The header X-Operator: the name of the person at a shared key. Nobody has checked the name, so that it decides nothing.

import { LabError } from '../errors.ts'
import { withoutSecrets } from '../keys/secret.ts'
import type { Author } from '../kit/author.ts'
import { lookOf } from '../kit/name.ts'
import type { Exchange, Route } from './contract.ts'
import { headerOf } from './headers.ts'

export const operatorHeader = 'X-Operator'
/** The limit of a name in characters. */
export const longestOperator = 64
/** Control characters, line and paragraph separators, and marks that change the direction of the text beside them. */
const hidden = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u

/** Returns the author of a request. */
export function authorOf(c: Exchange): Author & { by: string } {
  const operator = c.get('operator')
  return { by: c.get('principal').name, ...(operator !== undefined && { operator }) }
}

/** Reads the name of the person; undefined without one. Throws `invalid` for a bad one, except from a stop, which is never refused for it. */
export function operatorOf({ scope }: Pick<Route, 'scope'>, c: Exchange): string | undefined {
  const header = headerOf(c, operatorHeader.toLowerCase())
  if (header === undefined) return undefined
  const name = decoded(header)
  if (name !== undefined && lookOf(name) === '') return undefined
  if (name !== undefined && [...name].length <= longestOperator && !hidden.test(name)) return withoutSecrets(name)
  if (scope === 'any') return undefined
  throw new LabError(
    'invalid',
    `the header ${operatorHeader} must hold a name of at most ${longestOperator} characters without control characters, percent-encoded as UTF-8`,
  )
}

/** Returns undefined for what is not percent-encoded as UTF-8. */
function decoded(header: string): string | undefined {
  if (!/^[\x20-\x7e]*$/.test(header)) return undefined
  try {
    return decodeURIComponent(header).trim()
  } catch {
    return undefined
  }
}
