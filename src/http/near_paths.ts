// Guesses the intended path of a request.

import { nearest } from '../kit/did_you_mean.ts'

/** Returns `; did you mean /api/devices?` if the path differs from a route only in slashes or one word, else nothing. */
export function nearPath(path: string, patterns: readonly string[]): string {
  const given = path.split('/').filter(Boolean)
  /** Keyed by index at which alone a route differs from the path: the routes' words. */
  const words = new Map<number, string[]>()
  for (const pattern of patterns) {
    const parts = pattern.split('/').filter(Boolean)
    if (parts.length !== given.length) continue
    const [i, ...others] = parts.flatMap((part, at) => (part.startsWith(':') || part === given[at] ? [] : [at]))
    if (i === undefined) return meaning(given)
    if (others.length === 0) words.set(i, [...(words.get(i) ?? []), parts[i]!])
  }
  for (const [i, known] of words) {
    const word = nearest(given[i]!, known)
    if (word !== undefined) return meaning(given.with(i, word))
  }
  return ''
}

function meaning(parts: readonly string[]): string {
  return `; did you mean /${parts.join('/')}?`
}
