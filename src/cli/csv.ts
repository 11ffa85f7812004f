// Writes comma-separated values by RFC 4180: a cell with a comma, a quote or a line break is quoted, and a quote in it doubled. A spreadsheet takes a cell that begins with = + - @
// for a formula, so such text gets an apostrophe before it, as OWASP advises, which is removed when the cell is read.

import { formula } from '../kit/csv_reader.ts'
import { withEscapes } from '../kit/invisible.ts'

/** Writes a line with its line break. Control and invisible characters are escaped as in JSON; line breaks stay, in quotes. */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map((cell) => quoted(asText(visible(cell)))).join(',')}\r\n`
}

function visible(cell: string): string {
  return cell.split('\r').map(withEscapes).join('\r')
}

const number = /^[+-]?\d+(\.\d+)?(e[+-]?\d+)?$/i

function asText(cell: string): string {
  return formula.test(cell) && !number.test(cell) ? `'${cell}` : cell
}

function quoted(cell: string): string {
  return /[",;\t\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}
