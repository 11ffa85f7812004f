// Formats text for people at a shell: columns, dates and spans of time.

import { stripVTControlCharacters } from 'node:util'
import { asTyped } from '../kit/as_typed.ts'

export { localTime as date } from './local_time.ts'

/** Each column as wide as it must be; colors take no room. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows].map((row) => row.map((cell) => forTerminal(cell).replaceAll('\n', '\\n')))
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

/** Colors, what moves the cursor and what turns the direction of writing, in this order; line breaks and tabs are none of them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is looked for
const commanding = /(\u001b\[[\d;]*m)|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

/**
 * Makes text of others harmless to the terminal: control characters but colors are written as JSON writes them, so that JSON says the same
 * as before.
 */
export function forTerminal(text: string): string {
  return text.replace(commanding, (found, color) => color ?? `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function widthOf(cell: string): number {
  return stripVTControlCharacters(cell).length
}
