// Reads comma-separated values by RFC 4180, also the variants of spreadsheets: with semicolons or tabs, for decimal commas.

import { LabError } from '../errors.ts'

/** Matches text that a spreadsheet may compute, also in full-width characters, and text whose own apostrophe would be removed. */
export const formula = /^'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/

function withoutApostrophe(cell: string): string {
  return cell.startsWith("'") && formula.test(cell) ? cell.slice(1) : cell
}

/** A row, with the number of its first line in the file, and its number in a spreadsheet, which counts empty rows too. */
export type CsvRow = { line: number; row: number; cells: string[] }

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

/** Parses the rows, without empty ones, with the line breaks of any system. Throws `invalid` with the line. */
export function parseCsv(text: string, what: string): CsvRow[] {
  const rows: CsvRow[] = []
  const separator = separatorOf(text)
  const [head = ''] = opening.exec(text) ?? []
  const line = /sep=/.test(head) ? 2 : 1
  let row: CsvRow = { line, row: 1, cells: [] }
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
    row = { line: scanner.line, row: row.row + 1, cells: [] }
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
    // Spreadsheets copy such a cell as it is.
    if (plain.includes('"') && scanner.separator !== '\t') refuse(scanner, 'a quote stands in a cell that does not begin with one')
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
  throw new LabError('invalid', `${what}: line ${line}: ${sentence}`)
}
