// A guess at the path that a request was meant for.

import { nearest } from '../kit/did_you_mean.ts'

/** Returns `; did you mean /api/devices?` where the path is that of a route but for its slashes or for one of its words, else nothing. */
export function nearPath(path: string, patterns: readonly string[]): string {
  const given = path.split('/').filter(Boolean)
  /** The words that routes have at an index, for each index at which alone a route differs from the path. */
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
