// The names that things may have.

import * as v from 'valibot'
import { described } from './described.ts'

/** An id that becomes part of a path or of an event's name: no dot, no slash. */
export const Id = described(
  v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, hyphens and underscores')),
  '1 to 64 letters, digits, hyphens and underscores',
)

/** A name that people give: any Unicode without control characters and halves of surrogate pairs, compared byte for byte. */
export const Name = v.pipe(
  v.string(),
  // A client folds `/..` and `/%2e%2e` away (WHATWG URL), so that such a thing could never be reached.
  v.regex(/^(?!\.{1,2}$)[^\p{Cc}\p{Cs}]{1,128}$/u, 'must be 1 to 128 characters, none of them a control character, and not . or ..'),
  v.description('1 to 128 characters, none of them a control character; not . or ..'),
)

/** Orders by code points, as bytes of UTF-8 are ordered; `<` orders by halves of surrogate pairs. */
export function byCodePoint(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const difference = rank(a.charCodeAt(i)) - rank(b.charCodeAt(i))
    if (difference !== 0) return difference
  }
  return a.length - b.length
}

/** A surrogate belongs to a code point above all that need none. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit
}
