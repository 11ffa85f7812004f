// What people read at a shell: columns, dates and spans of time.

import { stripVTControlCharacters } from 'node:util'

/** Each column as wide as it must be; colors take no room. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows]
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

/** `2026-01-31T08:00`, of Unix time. */
export function date(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 16)
}

/** `1:02:03`, and `2:03` under an hour. */
export function clock(seconds: number): string {
  const whole = Math.round(seconds)
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60), whole % 60]
  const two = (value: number) => String(value).padStart(2, '0')
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`
}

export function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

function widthOf(cell: string): number {
  return stripVTControlCharacters(cell).length
}
