// Canonical JSON text, independent of the order of members.

import { byCodePoint } from './name.ts'

/** The replacer for `JSON.stringify` that sorts the members of objects by their names. */
export function sortedMembers(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => byCodePoint(a, b)))
}
