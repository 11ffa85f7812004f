// JSON from people and from the network: nothing deeper, larger or stranger than can be written down again.

import { LabError, messageOf } from '../errors.ts'

/** Levels of a value that people, programs or other computers send. */
export const deepest = 32
/** Levels of what the service itself wrote, which holds such values. */
export const deepestWritten = 64
/** JavaScript keeps them for itself, and what holds values against a schema passes over them: they would be lost without a word. */
const reserved = new Set(['__proto__', 'constructor', 'prototype'])

/**
 * The value of a JSON text. Throws `invalid` for what is malformed, deeper than 32, or holds a number that no double can hold, or text that
 * is none, or a member called `__proto__`, `constructor` or `prototype`.
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

/** Tells whether a value of JSON has more levels than that. The parser takes any number, but most other code fails on many thousands. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1))
}

/** Writes JSON for people: a file of its own, with an end of line. */
export function indented(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`
}

/** Not every version of Node says on which line it stumbled; on a first line the position is enough. */
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

/** Refuses text with half a surrogate pair: programs that read our files and answers, for example jq, stop there. */
function mustBeWellFormed(text: string, what: string): void {
  if (!text.isWellFormed()) throw new LabError('invalid', `${what} holds half a surrogate pair, which is no text`)
}

/** JSON as people write it: comments, a comma too many and the mark that Notepad begins with are blanked, so that positions stay true. */
export function parseJsonWithComments(text: string, what: string): unknown {
  const blank = (found: string) => found.replace(/[^\n]/g, ' ')
  const plain = text
    .replace(/^\uFEFF/, ' ')
    .replace(/"(?:[^"\\\n]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (found) => (found.startsWith('"') ? found : blank(found)))
    .replace(/"(?:[^"\\\n]|\\.)*"|,(?=\s*[}\]])/g, (found) => (found.startsWith('"') ? found : ' '))
  return parseJson(plain, what)
}
