// A sheet of samples as people send it, CSV text or rows of an object each, read as columns and rows of cells. Their meaning is not known here.

import { LabError } from '../errors.ts'
import { parseCsv, separatorOf } from '../kit/csv_reader.ts'

/** `row` counts as in a spreadsheet, in which the header is row 1; `column` is the letter. Null where a mistake is about the whole row, or the whole sheet. */
export type SheetMistake = { row: number | null; column: string | null; header: string | null; message: string }

const mostMistakes = 100
/** The most rows of a sheet are the most groups of a submission. */
export const mostRows = 1000
const mostColumns = 100

/** Collects the mistakes of a sheet, so that a person sees all of them at once. */
export class SheetMistakes {
  readonly list: SheetMistake[] = []
  /** The number of mistakes beyond those in the list. */
  leftOut = 0

  /** `message` says what is wrong, without its place. */
  add(message: string, row: SheetRow | null = null, column: SheetColumn | null = null): void {
    if (this.list.length === mostMistakes) this.leftOut++
    else {
      const where = placeWords(row, column)
      const header = column?.header ?? null
      this.list.push({ row: row?.row ?? null, column: column?.letter ?? null, header, message: where ? `${where}: ${message}` : message })
    }
  }

  /** Puts them into the order in which a person goes through the sheet. */
  sort(): void {
    const columnOf = ({ column }: SheetMistake) => (column ?? '').padStart(3)
    this.list.sort((a, b) => (a.row ?? 0) - (b.row ?? 0) || (columnOf(a) < columnOf(b) ? -1 : 1))
  }

  get isEmpty(): boolean {
    return this.list.length === 0
  }
}

export type SheetColumn = { header: string; letter: string; index: number }
/** `item` is the index of a row that came as an object; undefined for a row of a text. */
export type SheetRow = { row: number; item?: number; cells: readonly unknown[] }

export type Sheet = {
  columns: readonly SheetColumn[]
  rows: readonly SheetRow[]
  /** Whether a comma may be the decimal separator: the cells are separated by semicolons or tabs. */
  hasDecimalComma: boolean
  /** Whether the text could not be read as rows, so that nothing is known of its columns. */
  isUnreadable?: boolean
}

/** Whether it begins as a zip file does, which an Excel or LibreOffice file is. */
function isArchive(text: string): boolean {
  return text.startsWith('PK\u0003\u0004')
}

function placeWords(row: SheetRow | null, column: SheetColumn | null): string {
  const ofRow = row === null ? '' : row.item === undefined ? `row ${row.row}` : `samples[${row.item}]`
  const named = column && (row?.item === undefined ? `column ${column.letter}${column.header ? ` (${column.header})` : ''}` : column.header)
  return [ofRow, named].filter(Boolean).join(', ')
}

/** Reads a sheet. Rows without any value are left out, and columns without header and value. */
export function readSheet(samples: string | readonly Readonly<Record<string, unknown>>[], mistakes: SheetMistakes): Sheet {
  const sheet = typeof samples === 'string' ? sheetOfText(samples, mistakes) : sheetOfRows(samples)
  const rows = sheet.rows.filter(({ cells }) => cells.some((cell) => cell !== ''))
  const columns = sheet.columns.filter(({ header, index }) => header !== '' || rows.some(({ cells }) => (cells[index] ?? '') !== ''))
  if (mistakes.isEmpty && rows.length === 0)
    mistakes.add('there is no row with a sample; the first row is the header, and each further row a sample')
  if (rows.length > mostRows)
    mistakes.add(`there are ${rows.length} rows, and a submission takes ${mostRows}; submit the others in another sheet`)
  if (columns.length > mostColumns) mistakes.add(`there are ${columns.length} columns, and a sheet has ${mostColumns} at most`)
  const seen = new Map<string, SheetColumn>()
  for (const column of columns) {
    const key = column.header.toLowerCase()
    const before = seen.get(key)
    if (before && key !== '') mistakes.add(`this header is that of column ${before.letter} too; leave one of them out`, headerRow, column)
    seen.set(key, column)
  }
  return { ...sheet, columns: columns.slice(0, mostColumns), rows: rows.slice(0, mostRows) }
}

/** Stands for the header in mistakes. */
export const headerRow: SheetRow = { row: 1, cells: [] }

function sheetOfText(text: string, mistakes: SheetMistakes): Sheet {
  // The first line with content shows the separator.
  const [blank = ''] = /^\uFEFF?(?:[ \t]*(?:\r\n|\r|\n))*/.exec(text) ?? []
  const content = text.slice(blank.length)
  const before = blank.split(/\r\n|\r|\n/).length - 1
  const hasDecimalComma = separatorOf(content) !== ','
  const nothing = { columns: [], rows: [], hasDecimalComma, isUnreadable: true }
  if (isArchive(text)) {
    mistakes.add('this is a workbook or an archive, and no text; save the sheet as CSV UTF-8, or copy its cells')
    return nothing
  }
  let all: ReturnType<typeof parseCsv>
  try {
    all = parseCsv(content, 'samples')
  } catch (error) {
    if (!(error instanceof LabError)) throw error
    mistakes.add(error.message.replace(/^samples: /, ''))
    return nothing
  }
  const trimmed = all.map(({ row, cells }) => ({ row: row + before, cells: cells.map(withoutSpace) }))
  const [head, ...rows] = trimmed.filter(({ cells }) => cells.some((cell) => cell !== ''))
  const width = Math.max(head?.cells.length ?? 0, ...rows.map(({ cells }) => cells.length))
  const columns = Array.from({ length: width }, (_, index) => ({ header: head?.cells[index] ?? '', letter: letterOf(index), index }))
  return { columns, rows, hasDecimalComma }
}

/** Removes white space at the ends, also what is not broken and what is not seen, which web pages and word processors put there. */
function withoutSpace(cell: string): string {
  return cell.replace(/^[\s\u200b\u2060\ufeff]+|[\s\u200b\u2060\ufeff]+$/g, '')
}

function sheetOfRows(samples: readonly Readonly<Record<string, unknown>>[]): Sheet {
  const headers = [...new Set(samples.flatMap((sample) => Object.keys(sample)))]
  const columns = headers.map((header, index) => ({ header: withoutSpace(header), letter: letterOf(index), index }))
  const rows = samples.map((sample, item) => ({
    row: item + 2,
    item,
    cells: headers.map((header) => {
      const value = Object.hasOwn(sample, header) ? (sample[header] ?? '') : ''
      return typeof value === 'string' ? withoutSpace(value) : value
    }),
  }))
  return { columns, rows, hasDecimalComma: false }
}

/** Returns the letters of a column as spreadsheets show them: A to Z, AA, AB. */
export function letterOf(index: number): string {
  const rest = Math.floor(index / 26) - 1
  return (rest >= 0 ? letterOf(rest) : '') + String.fromCharCode(65 + (index % 26))
}
