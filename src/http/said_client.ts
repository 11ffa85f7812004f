// The headers X-Client and X-Confirmation: what a program calls itself, and how it says that a person confirmed. Nobody has checked them, so that
// they decide nothing.

import { withoutSecrets } from '../keys/secret.ts'
import type { Exchange } from './contract.ts'
import { headerOf } from './headers.ts'

const longest = 128
/** Control characters, and characters that nobody sees or that change the direction of the text beside them. */
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u

/** The part of a line of the audit trail. */
export type SaidClient = { client?: string; confirmation?: string }

/** Returns the name of the program; undefined without one, and for one that cannot be shown. */
export function clientOf(c: Exchange): string | undefined {
  return wordIn(headerOf(c, 'x-client'))
}

/** Returns both for the audit trail. */
export function saidClientOf(c: Exchange): SaidClient | undefined {
  const client = clientOf(c)
  const confirmation = wordIn(headerOf(c, 'x-confirmation'))
  if (client === undefined && confirmation === undefined) return undefined
  return { ...(client !== undefined && { client }), ...(confirmation !== undefined && { confirmation }) }
}

function wordIn(header: string | undefined): string | undefined {
  if (header === undefined || !/^[\x20-\x7e]{1,768}$/.test(header)) return undefined
  try {
    const word = decodeURIComponent(header).trim()
    return word === '' || [...word].length > longest || hidden.test(word) ? undefined : withoutSecrets(word)
  } catch {
    return undefined
  }
}
