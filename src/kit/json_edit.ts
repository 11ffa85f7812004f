// Changes a JSON text that people keep, with its comments: only the bytes of what changes are touched.

import { parseJsonWithComments } from './json.ts'

/** A step down: the name of a member, or the place in an array. */
type Path = readonly (string | number)[]
type Node = { start: number; end: number; value: unknown; members?: Member[]; items?: Node[] }
type Member = { name: string; start: number; node: Node }

/**
 * The text with this value at that place: in place of the old one, or added at the end of its object or array. What lies above must
 * be there. Throws `invalid` when the text is not JSON.
 */
export function withValue(text: string, path: Path, value: unknown): string {
  const parent = nodeAt(read(text), path.slice(0, -1))
  const step = path.at(-1)
  const old = parent && childOf(parent, step)
  if (old) return withBreaksOf(text, spliced(text, old.start, old.end, written(value, indentAt(text, old.start))))
  if (!parent) throw new Error(`there is no ${path.slice(0, -1).join('.')}`)
  const longer = added(text, parent, typeof step === 'string' && parent.members ? `${JSON.stringify(step)}: ` : '', value)
  return withBreaksOf(text, longer)
}

/** The text without what is at that place, and without the comment beside that; the same text when nothing is there. */
export function withoutValue(text: string, path: Path): string {
  const parent = nodeAt(read(text), path.slice(0, -1))
  const entries = parent ? entriesOf(parent) : []
  const place = entries.findIndex(({ key }) => key === path.at(-1))
  if (place < 0) return text
  const { start, end } = entries[place]!
  const comma = afterBlank(text, end)
  const hasComma = text[comma] === ','
  const to = endOfLine(text, hasComma ? comma + 1 : end)
  const endsLine = isLineBreak(text, to)
  const isOnLinesOfItsOwn = endsLine && /^\s*(\/\*((?!\*\/).)*\*\/\s*)*$/.test(text.slice(lineStart(text, start), start))
  const from = isOnLinesOfItsOwn ? lineStart(text, start) : start
  const behind = hasComma ? afterSpaces(text, comma + 1) : end
  const cut = spliced(text, from, isOnLinesOfItsOwn ? afterLineBreak(text, to) : endsLine ? to : behind, '')
  const before = entries[place - 1]
  if (hasComma || before === undefined) return cut
  // The comma before the last one has nothing to part any more.
  const left = afterBlank(text, before.end)
  const isBlankBetween = text.slice(left + 1, start).trim() === ''
  return spliced(cut, left, isBlankBetween && !isOnLinesOfItsOwn ? start : left + 1, '')
}

/** A file keeps the line breaks that it has. */
function withBreaksOf(text: string, changed: string): string {
  return /\r\n/.test(text) && !/[^\r]\n/.test(text) ? changed.replace(/\r?\n/g, '\r\n') : changed
}

function read(text: string): Node {
  parseJsonWithComments(text, 'the text')
  return new Reader(text).value(0)
}

/** Of a text that is known to be right. */
class Reader {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  value(from: number): Node {
    const start = afterBlank(this.#text, from)
    const first = this.#text[start]
    if (first === '{') return this.#object(start)
    if (first === '[') return this.#array(start)
    const length = /^(?:"(?:[^"\\\n]|\\.)*"|[^\s,\]}/]+)/.exec(this.#text.slice(start))?.[0].length ?? 0
    return { start, end: start + length, value: JSON.parse(this.#text.slice(start, start + length)) }
  }

  #object(start: number): Node {
    const members: Member[] = []
    let at = afterBlank(this.#text, start + 1)
    while (this.#text[at] !== '}') {
      const name = this.value(at)
      const node = this.value(afterBlank(this.#text, name.end) + 1)
      members.push({ name: String(name.value), start: name.start, node })
      at = this.#pastComma(node.end)
    }
    return { start, end: at + 1, value: undefined, members }
  }

  #array(start: number): Node {
    const items: Node[] = []
    let at = afterBlank(this.#text, start + 1)
    while (this.#text[at] !== ']') {
      const node = this.value(at)
      items.push(node)
      at = this.#pastComma(node.end)
    }
    return { start, end: at + 1, value: undefined, items }
  }

  #pastComma(end: number): number {
    const at = afterBlank(this.#text, end)
    return this.#text[at] === ',' ? afterBlank(this.#text, at + 1) : at
  }
}

type Entry = { key: string | number; start: number; end: number; node: Node }

function entriesOf({ members, items }: Node): Entry[] {
  if (members) return members.map(({ name, start, node }) => ({ key: name, start, end: node.end, node }))
  return (items ?? []).map((node, key) => ({ key, start: node.start, end: node.end, node }))
}

function childOf(node: Node, key: string | number | undefined): Node | undefined {
  return entriesOf(node).find((entry) => entry.key === key)?.node
}

function nodeAt(node: Node | undefined, path: Path): Node | undefined {
  return path.reduce<Node | undefined>((at, step) => at && childOf(at, step), node)
}

/** Behind the last entry, and behind the comment that stands beside that. */
function added(text: string, parent: Node, name: string, value: unknown): string {
  const last = entriesOf(parent).at(-1)
  const isSpread = text.slice(parent.start, parent.end).includes('\n')
  const outer = indentAt(text, parent.start)
  if (!last) {
    const inner = `${outer}  `
    // A comment in an empty object stays where it is.
    const open = text.slice(0, parent.end - 1).trimEnd()
    return `${open}\n${inner}${name}${written(value, inner)}\n${outer}${text.slice(parent.end - 1)}`
  }
  const comma = afterBlank(text, last.end)
  const hasComma = text[comma] === ','
  const withComma = hasComma ? text : spliced(text, last.end, last.end, ',')
  const behind = hasComma ? comma + 1 : last.end + 1
  if (!isSpread) return spliced(withComma, behind, behind, ` ${name}${JSON.stringify(value)}`)
  const inner = indentAt(text, last.start)
  const at = endOfLine(withComma, behind)
  return spliced(withComma, at, at, `\n${inner}${name}${written(value, inner)}${hasComma ? ',' : ''}`)
}

/** A value over several lines, the first of which is where it is put; short ones on one line. */
function written(value: unknown, indent: string): string {
  const short = spaced(value)
  if (indent.length + short.length <= longest) return short
  return JSON.stringify(value, null, 2).replaceAll('\n', `\n${indent}`)
}

const longest = 100

/** On one line, as people write it. */
function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${spaced(member)}`)
  return members.length ? `{ ${members.join(', ')} }` : '{}'
}

/** The next place that is neither white space nor in a comment. */
function afterBlank(text: string, from: number): number {
  const blank = /(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y
  blank.lastIndex = from
  return from + (blank.exec(text)?.[0].length ?? 0)
}

/** The end of the comment beside it, where that ends its line; the place itself where more follows. */
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
