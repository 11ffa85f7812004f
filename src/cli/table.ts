// Formats text for people at a shell: columns, dates and spans of time.

import { randomInt } from 'node:crypto'
import { stripVTControlCharacters } from 'node:util'
import { asTyped } from '../kit/as_typed.ts'
import { withEscapes } from '../kit/invisible.ts'

export { localTime as date } from './local_time.ts'

/** Makes a table with the narrowest columns; colors have no width. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = withOneZone([head, ...rows]).map((row) => row.map((cell) => escapedForeign(cell).replaceAll('\n', '\\n')))
  const widths = head.map((_, column) => Math.max(...all.map((row) => widthOf(row[column]!))))
  return all
    .map((row) =>
      row
        .map((cell, column) => cell + ' '.repeat(widths[column]! - widthOf(cell)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

const zonedTime = /^(\d{4}-\d\d-\d\dT[\d:.]+)(Z|[+-]\d\d:\d\d)$/

/** Moves the zone of the times of a column into its head, unless they have several zones, as around the end of summer time. */
function withOneZone([head = [], ...rows]: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const zones = head.map((_, column) => {
    const found = new Set(rows.flatMap((row) => zonedTime.exec(row[column] ?? '')?.[2] ?? []))
    return found.size === 1 ? [...found][0]! : undefined
  })
  const named = head.map((name, column) => (zones[column] ? `${name} (${zones[column] === 'Z' ? 'UTC' : zones[column]})` : name))
  const plain = rows.map((row) => row.map((cell, column) => (zones[column] ? cell.replace(zonedTime, '$1') : cell)))
  return [named, ...plain]
}

/** Prints text for people, with commands as they are typed on this computer; JSON unchanged. */
export function print(text: string): void {
  process.stdout.write(`${forTerminal(asTyped(text))}\n`)
}

/** Prints a sentence on stderr after the name of the program, with commands as they are typed on this computer. */
export function tell(sentence: string): void {
  process.stderr.write(`benchd: ${forTerminal(asTyped(sentence))}\n`)
}

/** A random mark in this process's own color codes, which foreign text cannot know, so that its codes are never printed. */
const mark = randomInt(1e9, 1e12)
const ownCode = new RegExp(`\u001b\\[${mark};([\\d;]*m)`)

/** Marks the color codes of a text by this process as its own. */
export function ownColors(text: string): string {
  return text.replaceAll('\u001b[', `\u001b[${mark};`)
}

/** Escapes control characters for the terminal as JSON does, except this process's own color codes. JSON keeps its meaning. */
export function forTerminal(text: string): string {
  return piecewise(text, (code) => `\u001b[${code}`)
}

/** Does the same for a part of the output, and keeps the marks of own color codes. */
export function escapedForeign(text: string): string {
  return piecewise(text, (code) => ownColors(`\u001b[${code}`))
}

function piecewise(text: string, own: (code: string) => string): string {
  return text
    .split(ownCode)
    .map((part, i) => (i % 2 ? own(part) : withEscapes(part)))
    .join('')
}

function widthOf(cell: string): number {
  return stripVTControlCharacters(cell).length
}
