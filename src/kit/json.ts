// Parses JSON from people and the network, and refuses values that cannot be stored again.

import { LabError, messageOf } from '../errors.ts'

/** The most levels of a received value. */
export const deepest = 32
/** The most levels of a value by the service itself, which contains received ones. */
export const deepestWritten = 64
/** Member names that are special in JavaScript, and would be lost silently when a value is checked against a schema. */
const reserved = new Set(['__proto__', 'constructor', 'prototype'])

/**
 * Parses a JSON text. Throws `invalid` for malformed JSON, more than 32 levels, a number that no double can hold, malformed
 * text, or a member called `__proto__`, `constructor` or `prototype`.
 */
export function parseJson(text: string, what: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new LabError('invalid', `${what} is not JSON: ${messageOf(error).replaceAll(/\s+/g, ' ')}${placeIn(text, messageOf(error))}`, {
      cause: error,
    })
  }
  checkDepth(value, what, 1)
  return value
}

/** Whether a JSON value has more levels. The parser accepts any number, but most other code fails on many thousands. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1))
}

/** Writes indented JSON with a line end. */
export function indented(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`
}

/** Returns the place of a parse error, since not every version of Node names the line; on the first line the position is enough. */
function placeIn(text: string, message: string): string {
  const [, position] = /at position (\d+)/.exec(message) ?? []
  if (position === undefined || / line \d+ column/.test(message)) return ''
  const before = text.slice(0, Number(position)).split('\n')
  return before.length === 1 ? '' : ` (line ${before.length} column ${before.at(-1)!.length + 1})`
}

function checkDepth(value: unknown, what: string, depth: number): void {
  if (typeof value === 'number' && !Number.isFinite(value)) throw new LabError('invalid', `${what} holds a number that is too large`)
  if (typeof value === 'string') mustBeWellFormed(value, what)
  if (typeof value !== 'object' || value === null) return
  if (depth > deepest) throw new LabError('invalid', `${what} is nested deeper than ${deepest}`)
  for (const key of Object.keys(value)) {
    if (reserved.has(key)) throw new LabError('invalid', `${what} has a member called ${key}, which no member may be; give it another name`)
    mustBeWellFormed(key, what)
    checkDepth((value as Record<string, unknown>)[key], what, depth + 1)
  }
}

/** Refuses text with a lone surrogate, at which other programs, such as jq, fail. */
function mustBeWellFormed(text: string, what: string): void {
  if (!text.isWellFormed()) throw new LabError('invalid', `${what} holds half a surrogate pair, which is no text`)
}

/** Parses JSON with comments, trailing commas and a byte order mark, which are replaced by blanks, so that positions stay right. */
export function parseJsonWithComments(text: string, what: string): unknown {
  const blank = (found: string) => found.replace(/[^\n]/g, ' ')
  const plain = text
    .replace(/^\uFEFF/, ' ')
    .replace(/"(?:[^"\\\n]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (found) => (found.startsWith('"') ? found : blank(found)))
    .replace(/"(?:[^"\\\n]|\\.)*"|,(?=\s*[}\]])/g, (found) => (found.startsWith('"') ? found : ' '))
  return parseJson(plain, what)
}
