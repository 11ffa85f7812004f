// Formats text for people at a shell: columns, dates and spans of time.

import { randomInt } from 'node:crypto'
import { stripVTControlCharacters } from 'node:util'
import { asTyped } from '../kit/as_typed.ts'
import { withEscapes } from '../kit/invisible.ts'

export { localTime as date } from './local_time.ts'

/** Each column as wide as it must be; colors take no room. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows].map((row) => row.map((cell) => escapedForeign(cell).replaceAll('\n', '\\n')))
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

/** `1:02:03`, and `2:03` under an hour. */
export function clock(seconds: number): string {
  const whole = Math.round(seconds)
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60), whole % 60]
  const two = (value: number) => String(value).padStart(2, '0')
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`
}

/** For people: commands in it are named as they are typed here. JSON is printed as it is. */
export function print(text: string): void {
  process.stdout.write(`${forTerminal(asTyped(text))}\n`)
}

/** Prints a sentence on stderr, under the name of the program; commands in it are named as they are typed here. */
export function tell(sentence: string): void {
  process.stderr.write(`benchd: ${forTerminal(asTyped(sentence))}\n`)
}

/** Stands in the color codes of this process until they are printed: text of others cannot know the number, so its codes are never taken for ours. */
const mark = randomInt(1e9, 1e12)
const ownCode = new RegExp(`\u001b\\[${mark};([\\d;]*m)`)

/** Marks the color codes of a text that nobody else wrote as ours. */
export function ownColors(text: string): string {
  return text.replaceAll('\u001b[', `\u001b[${mark};`)
}

/** Makes text of others harmless to the terminal: everything but our own color codes is escaped as JSON escapes it, so that JSON says the same as before. */
export function forTerminal(text: string): string {
  return piecewise(text, (code) => `\u001b[${code}`)
}

/** Does the same to a part of what will be printed: our color codes keep their mark. */
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
