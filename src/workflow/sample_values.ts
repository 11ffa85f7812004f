// The values in the cells of a sheet of samples: numbers as spreadsheets of several languages write them, yes and no, lists, texts.

import type { Variable, VariableType } from './plans/variable_schema.ts'

/** The decimal separator of a sheet; `unknown` if no number shows it. */
export type Decimals = '.' | ',' | 'unknown'
/** A value, or why there is none. */
export type Read = { value: unknown } | { misfit: string }

type Of = { type: VariableType | undefined; declared: Variable; decimals: Decimals }

/** Returns the value of a cell that is not empty. */
export function valueOfCell(cell: unknown, { type, declared, decimals }: Of): Read {
  if (cell === 'null' && declared.nullable) return { value: null }
  if (typeof cell !== 'string') {
    const isForText = type === 'string' && (typeof cell === 'boolean' || Number.isSafeInteger(cell))
    return { value: isForText ? String(cell) : cell }
  }
  if (type === 'number' || type === 'integer') return numberIn(withoutUnit(cell, declared.unit), decimals)
  if (type === 'boolean') return booleanIn(cell)
  if (type === 'array') return listIn(cell)
  if (type === 'object') return jsonIn(cell)
  return { value: type === undefined ? plainValue(cell) : cell }
}

/** Finds the decimal separator in the numbers of a sheet that may have decimal commas. A number such as `1.500` may have a separator of thousands. */
export function decimalsIn(cells: Iterable<unknown>): Decimals {
  let found: Decimals = 'unknown'
  for (const cell of cells) {
    if (typeof cell !== 'string') continue
    const [, separator, digits = ''] = /^[+-]?\d*([.,])(\d+)(?:e[+-]?\d+)?(?:\s.*)?$/i.exec(cell) ?? []
    if (separator === undefined || (digits.length === 3 && /^[+-]?[1-9]\d{0,2}[.,]/.test(cell))) continue
    if (separator === ',') return ','
    found = '.'
  }
  return found
}

function numberIn(cell: string, decimals: Decimals): Read {
  const text = cell.replace(/^\u2212/, '-')
  if (/^[+-]?[1-9]\d{0,2}[.,]\d{3}$/.test(text) && decimals === 'unknown')
    return {
      misfit: `is ${cell}: nobody knows whether that is a thousand times as much; write it as ${text.replace(/[.,]/, '')}, or with other decimals`,
    }
  const other = decimals === ',' ? '.' : ','
  if (decimals !== 'unknown' && text.includes(other))
    return {
      misfit: `is ${cell}, and numbers of this sheet have ${decimals === ',' ? 'a decimal comma' : 'a decimal point'}; write it in the same way`,
    }
  const plain = text.replace(',', '.')
  const value = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(plain) ? Number(plain) : Number.NaN
  return Number.isFinite(value) ? { value } : { misfit: `must be a number, not ${JSON.stringify(cell)}` }
}

/** Removes the unit of the variable behind a number. */
function withoutUnit(cell: string, unit: string | undefined): string {
  return unit !== undefined && cell.endsWith(unit) ? cell.slice(0, -unit.length).trimEnd() : cell
}

/** The words of spreadsheets in English and German, and of people. */
const booleans = new Map<string, boolean>([
  ...['true', 'yes', '1', 'wahr', 'ja'].map((word) => [word, true] as const),
  ...['false', 'no', '0', 'falsch', 'nein'].map((word) => [word, false] as const),
])

function booleanIn(cell: string): Read {
  const value = booleans.get(cell.toLowerCase())
  return value === undefined ? { misfit: `must be true or false, not ${JSON.stringify(cell)}` } : { value }
}

function listIn(cell: string): Read {
  return cell.startsWith('[') ? jsonIn(cell) : { value: cell.split(/[,;]/).map((part) => plainValue(part.trim())) }
}

function jsonIn(cell: string): Read {
  try {
    return { value: JSON.parse(cell) as unknown }
  } catch {
    return { misfit: `must be JSON, not ${JSON.stringify(cell.slice(0, 60))}` }
  }
}

/** Returns the value of a text without a type: that of JSON, if JSON writes it back as it was. */
function plainValue(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value !== 'number' || String(value) === text ? value : text
  } catch {
    return text
  }
}
