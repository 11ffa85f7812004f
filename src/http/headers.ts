// The headers of a request, and those that an answer is given on its way out.

import { LabError } from '../errors.ts'
import { withoutSecrets } from '../keys/secret.ts'
import { flatId } from '../kit/flat_id.ts'
import type { Exchange } from './contract.ts'

/**
 * Headers of one request, and trailers. Node 20 keeps no more than the next multiple of 31 and drops the others without a word, so that they
 * have to be counted; a newer one refuses such a request by itself.
 */
export const mostHeaders = 100
export const tooManyHeaders = new LabError(
  'headers_too_large',
  `a request has at most ${mostHeaders} headers and ${mostHeaders} trailers, of 16 KiB together; send fewer of them`,
)

/** Whether these are too many headers or trailers, as Node's parser gives them: names and values in turn. */
export function areTooMany(raw: readonly string[]): boolean {
  return raw.length > mostHeaders * 2
}

/** Reads a header as the web's `Headers` do, but without copying all of them: a stop waits for what is done here. `name` in small letters. */
export function headerOf({ env, req }: Pick<Exchange, 'env' | 'req'>, name: string): string | undefined {
  const raw = env?.incoming?.rawHeaders
  return raw ? rawHeaderOf(raw, name) : (req.raw?.headers.get(name) ?? undefined)
}

/** Reads a header of a request as Node's parser gives its headers. */
export function rawHeaderOf(raw: readonly string[], name: string): string | undefined {
  let found: string | undefined
  for (let i = 0; i < raw.length; i += 2) {
    const its = raw[i]!
    if (its.length === name.length && its.toLowerCase() === name) found = found === undefined ? raw[i + 1] : `${found}, ${raw[i + 1]}`
  }
  return found
}

/**
 * Returns the id that the client has for the request, or else one of ours: in its answer, the log and the audit trail it is the same. It is
 * found when it is first asked for, since a stop does not wait for it.
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
