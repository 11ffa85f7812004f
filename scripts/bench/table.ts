// Rows as a person reads them.

import { meets, type Row } from './bench.ts'

export function table(rows: readonly Row[], limit = ''): string {
  const cells = [['', '', 'unit', limit, 'ratio', 'target', ''], ...rows.map(cellsOf)]
  const widths = cells[0]!.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)))
  return cells
    .map((row) =>
      row
        .map((cell, column) => (isFigure(column) ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function cellsOf(row: Row): string[] {
  const { what, unit, value, limit, ratio, target } = row
  const bound = target?.most !== undefined ? `<= ${target.most}` : target?.least !== undefined ? `>= ${target.least}` : ''
  const aim = target ? `${bound}${target.of === 'ratio' ? ' x' : ` ${unit}`}` : ''
  return [what, figure(value), unit, figure(limit), ratio === undefined ? '' : `${ratio.toFixed(2)} x`, aim, verdict(meets(row))]
}

function isFigure(column: number): boolean {
  return column === 1 || column === 3 || column === 4
}

function figure(value: number | undefined): string {
  if (value === undefined) return ''
  return value >= 1000 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)))
}

function verdict(met: boolean | undefined): string {
  return met === undefined ? '' : met ? 'met' : 'MISSED'
}
