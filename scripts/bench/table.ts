// Rows as a person reads them.

import { meets, type Row } from './bench.ts'

export type Column<One> = { title: string; of: (row: One) => string /** Figures stand at the right. */; isFigure?: true }

export function laidOut<One>(columns: readonly Column<One>[], rows: readonly One[]): string {
  const cells = [columns.map(({ title }) => title), ...rows.map((row) => columns.map(({ of }) => of(row)))]
  const widths = columns.map((_, at) => Math.max(...cells.map((row) => row[at]!.length)))
  const padded = (cell: string, at: number) => (columns[at]!.isFigure ? cell.padStart(widths[at]!) : cell.padEnd(widths[at]!))
  return cells.map((row) => row.map(padded).join('  ').trimEnd()).join('\n')
}

const columns: readonly Column<Row>[] = [
  { title: '', of: ({ what }) => what },
  { title: '', of: ({ value }) => figure(value), isFigure: true },
  { title: 'unit', of: ({ unit }) => unit },
  { title: '', of: ({ limit }) => figure(limit), isFigure: true },
  { title: 'ratio', of: ({ ratio }) => (ratio === undefined ? '' : `${ratio.toFixed(2)} x`), isFigure: true },
  { title: 'target', of: aim },
  { title: '', of: (row) => verdict(meets(row)) },
]

/** The title of the column of limits is `limit`. */
export function table(rows: readonly Row[], limit = ''): string {
  return laidOut(
    columns.map((column, at) => (at === 3 ? { ...column, title: limit } : column)),
    rows,
  )
}

function aim({ target, unit }: Row): string {
  if (!target) return ''
  const { most, least, of } = target
  const bound = most === least ? `= ${figure(most)}` : most !== undefined ? `<= ${figure(most)}` : `>= ${figure(least)}`
  return `${bound}${of === 'ratio' ? ' x' : ` ${unit}`}`
}

export function figure(value: number | undefined): string {
  if (value === undefined) return ''
  return value >= 1000 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)))
}

function verdict(met: boolean | undefined): string {
  return met === undefined ? '' : met ? 'met' : 'MISSED'
}
