// Changes single values of a JSON text with comments, and keeps all other bytes.

import { findNodeAtLocation, type Node, parseTree } from 'jsonc-parser'
import { parseJsonWithComments } from './json.ts'

/** A path of member names and array indexes. */
type Path = readonly (string | number)[]

/**
 * Returns the text with this value at the path: it replaces the old value, or is added at the end of its object or array, which
 * must exist. Throws `invalid` for text that is not JSON.
 */
export function withValue(text: string, path: Path, value: unknown): string {
  const root = read(text)
  const old = findNodeAtLocation(root, [...path])
  if (old) return withBreaksOf(text, spliced(text, old.offset, endOf(old), written(value, indentAt(text, old.offset))))
  const parent = findNodeAtLocation(root, path.slice(0, -1))
  if (!parent) throw new Error(`there is no ${path.slice(0, -1).join('.')}`)
  return withBreaksOf(text, added(text, parent, parent.type === 'object' ? `${JSON.stringify(path.at(-1))}: ` : '', value))
}

/** Returns the text without the value at the path and the comment beside it; the same text if there is no value. */
export function withoutValue(text: string, path: Path): string {
  const value = findNodeAtLocation(read(text), [...path])
  if (!value) return text
  const entry = value.parent!.type === 'property' ? value.parent! : value
  const entries = entry.parent!.children!
  const start = entry.offset
  const end = endOf(entry)
  const comma = afterBlank(text, end)
  const hasComma = text[comma] === ','
  const to = endOfLine(text, hasComma ? comma + 1 : end)
  const endsLine = isLineBreak(text, to)
  const isOnLinesOfItsOwn = endsLine && /^\s*(\/\*((?!\*\/).)*\*\/\s*)*$/.test(text.slice(lineStart(text, start), start))
  const from = isOnLinesOfItsOwn ? lineStart(text, start) : start
  const behind = hasComma ? afterSpaces(text, comma + 1) : end
  const cut = spliced(text, from, isOnLinesOfItsOwn ? afterLineBreak(text, to) : endsLine ? to : behind, '')
  const before = entries[entries.indexOf(entry) - 1]
  if (hasComma || before === undefined) return cut
  // Removes the comma after the previous entry.
  const left = afterBlank(text, endOf(before))
  const isBlankBetween = text.slice(left + 1, start).trim() === ''
  return spliced(cut, left, isBlankBetween && !isOnLinesOfItsOwn ? start : left + 1, '')
}

/** Keeps the kind of line breaks of the file. */
function withBreaksOf(text: string, changed: string): string {
  return /\r\n/.test(text) && !/[^\r]\n/.test(text) ? changed.replace(/\r?\n/g, '\r\n') : changed
}

function read(text: string): Node {
  parseJsonWithComments(text, 'the text')
  return parseTree(text.replace(/^\uFEFF/, ' '), [], { allowTrailingComma: true })!
}

function endOf({ offset, length }: Node): number {
  return offset + length
}

/** Adds a value after the last entry and the comment beside it. */
function added(text: string, parent: Node, name: string, value: unknown): string {
  const last = parent.children?.at(-1)
  const isSpread = text.slice(parent.offset, endOf(parent)).includes('\n')
  const outer = indentAt(text, parent.offset)
  if (!last) {
    const inner = `${outer}  `
    // Keeps a comment in an empty object.
    const open = text.slice(0, endOf(parent) - 1).trimEnd()
    return `${open}\n${inner}${name}${written(value, inner)}\n${outer}${text.slice(endOf(parent) - 1)}`
  }
  const end = endOf(last)
  const comma = afterBlank(text, end)
  const hasComma = text[comma] === ','
  const withComma = hasComma ? text : spliced(text, end, end, ',')
  const behind = hasComma ? comma + 1 : end + 1
  if (!isSpread) return spliced(withComma, behind, behind, ` ${name}${JSON.stringify(value)}`)
  const inner = indentAt(text, last.offset)
  const at = endOfLine(withComma, behind)
  return spliced(withComma, at, at, `\n${inner}${name}${written(value, inner)}${hasComma ? ',' : ''}`)
}

/** Writes a value over several lines, a short one on one line. */
function written(value: unknown, indent: string): string {
  const short = spaced(value)
  if (indent.length + short.length <= longest) return short
  return JSON.stringify(value, null, 2).replaceAll('\n', `\n${indent}`)
}

const longest = 100

/** Writes a value on one line, with spaces. */
function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${spaced(member)}`)
  return members.length ? `{ ${members.join(', ')} }` : '{}'
}

/** Finds the next place that is neither white space nor in a comment. */
function afterBlank(text: string, from: number): number {
  const blank = /(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y
  blank.lastIndex = from
  return from + (blank.exec(text)?.[0].length ?? 0)
}

/** Finds the end of a comment that ends the line; the place itself if more follows. */
function endOfLine(text: string, from: number): number {
  const rest = /[ \t]*(?:\/\/[^\n]*|\/\*[^\n]*?\*\/)?[ \t]*(?=\r?\n|$)/y
  rest.lastIndex = from
  const found = rest.exec(text)
  return found ? from + found[0].length : from
}

function afterSpaces(text: string, from: number): number {
  const spaces = /[ \t]*/y
  spaces.lastIndex = from
  return from + (spaces.exec(text)?.[0].length ?? 0)
}

function lineStart(text: string, at: number): number {
  return text.lastIndexOf('\n', at - 1) + 1
}

function isLineBreak(text: string, at: number): boolean {
  return text[at] === '\n' || text.startsWith('\r\n', at)
}

function afterLineBreak(text: string, at: number): number {
  return text.indexOf('\n', at) + 1
}

function indentAt(text: string, at: number): string {
  return /^[ \t]*/.exec(text.slice(lineStart(text, at)))?.[0] ?? ''
}

function spliced(text: string, from: number, to: number, into: string): string {
  return text.slice(0, from) + into + text.slice(to)
}
