// Comma-separated values by RFC 4180: a cell with a comma, a quote or a line break is quoted, and a quote in it doubled. The variants
// of Excel with semicolons or tabs, for decimal commas, are read too. A spreadsheet takes a cell that begins with = + - @
// for a formula, so such text gets an apostrophe before it, as OWASP advises, which is removed when the cell is read.

import { withEscapes } from '../kit/invisible.ts'
import { CliError } from './exit.ts'

/** Writes a line with its line break. Control and invisible characters are escaped as in JSON; line breaks stay, in quotes. */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map((cell) => quoted(asText(visible(cell)))).join(',')}\r\n`
}

function visible(cell: string): string {
  return cell.split('\r').map(withEscapes).join('\r')
}

/** Matches text that a spreadsheet may compute, also in full-width characters, and text whose own apostrophe would be removed. */
const formula = /^'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/
const number = /^[+-]?\d+(\.\d+)?(e[+-]?\d+)?$/i

function asText(cell: string): string {
  return formula.test(cell) && !number.test(cell) ? `'${cell}` : cell
}

function withoutApostrophe(cell: string): string {
  return cell.startsWith("'") && formula.test(cell) ? cell.slice(1) : cell
}

function quoted(cell: string): string {
  return /[",;\t\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}

/** A row, with the number of its first line. */
export type CsvRow = { line: number; cells: string[] }

const separators = [',', ';', '\t'] as const
type Separator = (typeof separators)[number]

/** Matches the beginning of Excel's files: a byte order mark, and a line that names the separator. */
const opening = /^\uFEFF?(?:"?sep=([,;\t])"?(?:\r\n|\r|\n))?/

/** Returns the separator that the text names, else the most frequent one in its first line outside of quotes. */
export function separatorOf(text: string): Separator {
  const [all = '', said] = opening.exec(text) ?? []
  if (said) return said as Separator
  const [first = ''] = /^(?:"[^"]*"?|[^"\r\n])*/.exec(text.slice(all.length)) ?? []
  const plain = first.replace(/"[^"]*"?/g, '')
  const times = (separator: string) => plain.split(separator).length
  return separators.reduce((best, one) => (times(one) > times(best) ? one : best))
}

/** Parses the rows, without empty ones, with the line breaks of any system. Throws a usage error with line and column. */
export function parseCsv(text: string, what: string): CsvRow[] {
  const rows: CsvRow[] = []
  const separator = separatorOf(text)
  const [head = ''] = opening.exec(text) ?? []
  const line = /sep=/.test(head) ? 2 : 1
  let row: CsvRow = { line, cells: [] }
  const plain = separator === ',' ? /[^,\r\n]*/y : separator === ';' ? /[^;\r\n]*/y : /[^\t\r\n]*/y
  const scanner = { text: text.slice(head.length), at: 0, line, what, separator, plain }
  while (scanner.at < scanner.text.length) {
    row.cells.push(withoutApostrophe(cell(scanner)))
    if (scanner.text[scanner.at] === separator) {
      scanner.at += 1
      if (scanner.at === scanner.text.length) row.cells.push('')
      continue
    }
    scanner.at += scanner.text.startsWith('\r\n', scanner.at) ? 2 : 1
    scanner.line += 1
    rows.push(row)
    row = { line: scanner.line, cells: [] }
  }
  if (row.cells.length) rows.push(row)
  return rows.filter(({ cells }) => cells.length > 1 || cells[0] !== '')
}

type Scanner = { readonly text: string; at: number; line: number; what: string; separator: Separator; plain: RegExp }

/** Reads a cell, and leaves the scanner at the separator, line break or end after it. */
function cell(scanner: Scanner): string {
  const { text, at } = scanner
  if (text[at] !== '"') {
    scanner.plain.lastIndex = at
    const [plain = ''] = scanner.plain.exec(text) ?? []
    if (plain.includes('"')) refuse(scanner, 'a quote stands in a cell that does not begin with one')
    scanner.at += plain.length
    return plain
  }
  const begun = scanner.line
  const end = closing(text, at + 1)
  if (end < 0) refuse({ ...scanner, line: begun }, 'a quote is not closed')
  const inside = text.slice(at + 1, end)
  scanner.at = end + 1
  scanner.line += inside.split(/\r\n|\r|\n/).length - 1
  if (scanner.at < text.length && ![scanner.separator, '\r', '\n'].includes(text[scanner.at]!))
    refuse(scanner, 'something stands behind a closing quote')
  return inside.replaceAll('""', '"')
}

function closing(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 2)) if (text[at + 1] !== '"') return at
  return -1
}

function refuse({ line, what }: Scanner, sentence: string): never {
  throw new CliError('usage', `${what}: line ${line}: ${sentence}`)
}
