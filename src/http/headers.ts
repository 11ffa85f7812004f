// The headers of requests, the request id of answers, and the headers of content from elsewhere.

import { LabError } from '../errors.ts'
import { withoutSecrets } from '../keys/secret.ts'
import { flatId } from '../kit/flat_id.ts'
import type { Exchange } from './contract.ts'

/** The headers of answers with content from elsewhere: no browser guesses another kind of content, or runs anything in it. */
export const harmless = {
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; sandbox",
  'Cross-Origin-Resource-Policy': 'same-origin',
}

/**
 * The most headers or trailers of one request. Node 20 keeps no more than the next multiple of 31 and silently drops the others, so they
 * have to be counted; newer versions refuse such a request themselves.
 */
export const mostHeaders = 100
export const tooManyHeaders = new LabError(
  'headers_too_large',
  `a request has at most ${mostHeaders} headers and ${mostHeaders} trailers, of 16 KiB together; send fewer of them`,
)

/** Whether there are too many headers or trailers in the parser's list of names and values. */
export function areTooMany(raw: readonly string[]): boolean {
  return raw.length > mostHeaders * 2
}

/** Reads a header as `Headers` would, without copying all of them, because a stop waits for this. `name` is in lower case. */
export function headerOf({ env, req }: Pick<Exchange, 'env' | 'req'>, name: string): string | undefined {
  const raw = env?.incoming?.rawHeaders
  return raw ? rawHeaderOf(raw, name) : (req.raw?.headers.get(name) ?? undefined)
}

/** Reads a header from the parser's list. */
export function rawHeaderOf(raw: readonly string[], name: string): string | undefined {
  let found: string | undefined
  for (let i = 0; i < raw.length; i += 2) {
    const its = raw[i]!
    if (its.length === name.length && its.toLowerCase() === name) found = found === undefined ? raw[i + 1] : `${found}, ${raw[i + 1]}`
  }
  return found
}

/**
 * Returns the client's id of the request, or a new one; answer, log and audit trail have the same. It is
 * computed at its first use, so that a stop does not wait for it.
 */
export function requestIdOf(c: Exchange): string {
  const found = c.get('request_id') ?? idFor(c)
  c.set('request_id', found)
  return found
}

function idFor(c: Exchange): string {
  const asked = headerOf(c, 'x-request-id')
  return asked !== undefined && /^[\w.:@+=-]{1,64}$/.test(asked) && withoutSecrets(asked) === asked ? asked : flatId()
}

export const csvType = 'text/csv; charset=utf-8'

/** Whether the client wants CSV rather than JSON. */
export function wantsCsv(c: Exchange): boolean {
  const accepts = headerOf(c, 'accept') ?? ''
  return accepts.includes('text/csv') && !accepts.includes('application/json')
}
