// The headers of a request, and those that an answer is given on its way out.

import { withoutSecrets } from '../keys/secret.ts'
import { flatId } from '../kit/flat_id.ts'
import type { Exchange } from './contract.ts'

/** Reads a header as the web's `Headers` do, but without copying all of them: a stop waits for what is done here. `name` in small letters. */
export function headerOf({ env, req }: Pick<Exchange, 'env' | 'req'>, name: string): string | undefined {
  const raw = env?.incoming?.rawHeaders
  if (!raw) return req.raw?.headers.get(name) ?? undefined
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
