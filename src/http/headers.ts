// The headers of a request, and those that an answer is given on its way out.

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
