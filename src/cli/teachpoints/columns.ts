// Teachpoints as CSV: a line for each, with millimetres and degrees named in the header.

import { type CsvRow, parseCsv, separatorOf } from '../../kit/csv_reader.ts'
import { didYouMeanAmong } from '../../kit/did_you_mean.ts'
import { withEscapes } from '../../kit/invisible.ts'
import type { Teachpoint } from '../../teachpoints/teachpoint.ts'
import { csvLine } from '../csv.ts'
import { CliError } from '../exit.ts'
import { decimal } from '../numbers.ts'
import { converted, isLength, type Units } from './units.ts'

const cartesian = { x: 'x_mm', y: 'y_mm', z: 'z_mm', yaw: 'yaw_deg', pitch: 'pitch_deg', roll: 'roll_deg' }
const joint = {
  base: 'base_deg',
  shoulder: 'shoulder_deg',
  elbow: 'elbow_deg',
  wrist: 'wrist_deg',
  rail: 'rail_mm',
  gripper: 'gripper_deg',
}

/** Keyed by type of coordinates: the columns of their members. */
export const coordColumns: Record<string, Record<string, string>> = { cartesian, joint }

const place = ['device_id', 'name', 'coord_type']
const advice = ['orientation', 'access', 'gateway']
/** Columns without a unit, as other programs write them: `x` for `x_mm`. */
const unitless: Record<string, string> = { ...cartesian, ...joint }
const columns = [...place, ...Object.values(cartesian), ...Object.values(joint), ...advice]

export function csvOf(points: readonly Teachpoint[]): string {
  return csvLine(columns) + points.map((point) => csvLine(columns.map((column) => cellOf(point, column)))).join('')
}

/** A point that is not checked yet, with a function that names the place of a member in the file. */
export type Written = { point: Record<string, unknown>; place(path: readonly string[]): string }

/**
 * Parses the points of a text. Throws a usage error that names line and column. `device_id` is the default without such a column, and `units` are
 * those of columns without a unit. Without a column `coord_type`, the columns determine the type.
 */
export function pointsOfCsv(text: string, what: string, { device_id, units }: { device_id: string; units: Units }): Written[] {
  const [first, ...all] = parseCsv(text, what)
  const factors = new Map<string, number>()
  const head = first && { ...first, cells: first.cells.map((column) => named(column, factors, units)) }
  // Excel keeps emptied rows.
  const rows = all.filter(({ cells }) => cells.some((cell) => cell.trim() !== ''))
  if (!head) throw new CliError('usage', `${what}: line 1: there is no header`)
  for (const [i, column] of head.cells.entries()) {
    const named = `${what}: line 1: the column ${JSON.stringify(column)}`
    if (!columns.includes(column)) throw new CliError('usage', `${named} is not known${didYouMeanAmong(column, columns)}`)
    if (head.cells.indexOf(column) < i) throw new CliError('usage', `${named} is there twice`)
  }
  if (factors.size === 0 && (units.mm !== 1 || units.deg !== 1))
    throw new CliError('usage', `${what}: line 1: its columns name their units, and --units says others; leave --units out`)
  const coord_type = typeIn(head.cells)
  for (const column of coord_type ? ['name'] : ['name', 'coord_type']) {
    if (!head.cells.includes(column)) throw new CliError('usage', `${what}: line 1: the column ${column} is missing`)
  }
  const has_commas =
    separatorOf(text) !== ',' && rows.some(({ cells }) => cells.some((cell, i) => isDecimal(cell) && isNumeric(head.cells[i])))
  return rows.map((row) => pointOf(row, head.cells, { what, device_id, has_commas, coord_type, factors }))
}

function cellOf(point: Teachpoint, column: string): string {
  for (const [member, its] of Object.entries(coordColumns[point.coord_type] ?? {})) {
    if (its === column) return String(point.coords[member as never])
  }
  const value = (point as Record<string, unknown>)[column]
  if (value === undefined) return ''
  // An access pattern is JSON, as is a name that looks like JSON or has characters that are escaped in the file.
  const isPlain = typeof value === 'string' && !/^[{"]/.test(value) && withEscapes(value) === value
  return isPlain ? value : JSON.stringify(value)
}

function isDecimal(cell: string): boolean {
  return /^\s*[+-]?\d+,\d+\s*$/.test(cell)
}

function isNumeric(column = ''): boolean {
  return Object.values(coordColumns).some((its) => Object.values(its).includes(column))
}

/** Returns the name of a column with its unit, and notes the factor of a column without one. */
function named(column: string, factors: Map<string, number>, { mm, deg }: Units): string {
  const its = Object.hasOwn(unitless, column) ? unitless[column]! : undefined
  if (its !== undefined) factors.set(its, isLength(column) ? mm : deg)
  return its ?? column
}

/** Returns the type of coordinates of a table without a column for it, if it has all columns of one type and none of the other. */
function typeIn(head: readonly string[]): string | undefined {
  if (head.includes('coord_type')) return undefined
  const has = (columns: readonly string[]) => columns.filter((column) => head.includes(column)).length
  const needed = Object.values(joint).slice(0, 4)
  if (has(Object.values(cartesian)) === 6 && has(Object.values(joint)) === 0) return 'cartesian'
  return has(needed) === 4 && has(Object.values(cartesian)) === 0 ? 'joint' : undefined
}

/** `has_commas`: its numbers have a decimal comma. `coord_type` is the default without such a column. */
type Of = {
  what: string
  device_id: string
  has_commas: boolean
  coord_type: string | undefined
  factors: ReadonlyMap<string, number>
}

function pointOf({ line, cells }: CsvRow, head: readonly string[], { what, device_id, has_commas, factors, ...of }: Of): Written {
  const at = (column: string) => `${what}: line ${line}, column ${column}`
  if (cells.length !== head.length) {
    const last = head[Math.min(cells.length, head.length) - 1]!
    throw new CliError('usage', `${at(last)}: the line has ${cells.length} cells, the header ${head.length}`)
  }
  const given = new Map(head.map((column, i) => [column, cells[i]!]))
  const coord_type = of.coord_type ?? given.get('coord_type') ?? ''
  const its = coordColumns[coord_type]
  if (!its) throw new CliError('usage', `${at('coord_type')}: it must be cartesian or joint, not ${JSON.stringify(coord_type)}`)
  refuseStrangers(given, coord_type, at)
  const coords = Object.entries(its).flatMap(([member, column]) => {
    const cell = given.get(column) ?? ''
    return cell === '' ? [] : [[member, converted(number(cell, at(column), has_commas), factors.get(column) ?? 1)]]
  })
  const more = advice.flatMap((column) => {
    const cell = given.get(column) ?? ''
    return cell === '' ? [] : [[column, column === 'access' && cell.startsWith('{') ? json(cell, at(column)) : nameOf(cell, at(column))]]
  })
  const name = nameOf(given.get('name') ?? '', at('name'))
  const named = { device_id: given.get('device_id') || device_id, name, coord_type }
  const point = { ...named, coords: Object.fromEntries(coords), ...Object.fromEntries(more) }
  return { point, place: ([first = 'name', second = '']) => at(first === 'coords' ? (its[second] ?? first) : first) }
}

/** Refuses a filled cell of the other type of coordinates. */
function refuseStrangers(given: ReadonlyMap<string, string>, coord_type: string, at: (column: string) => string): void {
  for (const [type, its] of Object.entries(coordColumns)) {
    const stranger = type === coord_type ? undefined : Object.values(its).find((column) => given.get(column))
    if (stranger) throw new CliError('usage', `${at(stranger)}: a ${coord_type} point has none; leave the cell empty`)
  }
}

/** Parses a number. Refuses a point in a table with decimal commas, which may separate thousands or be a mistake. */
function number(cell: string, place: string, has_commas: boolean): number {
  if (has_commas && cell.includes('.'))
    throw new CliError(
      'usage',
      `${place}: ${JSON.stringify(cell)} has a point, other numbers of the table a comma; write all of them alike`,
    )
  const value = decimal(has_commas && isDecimal(cell) ? cell.replace(',', '.') : cell)
  if (Number.isFinite(value)) return value
  throw new CliError('usage', `${place}: ${JSON.stringify(cell)} is not a number; write 12.5, with a point`)
}

/** Parses a name, which is JSON if it begins with a quote. */
function nameOf(cell: string, place: string): unknown {
  return cell.startsWith('"') ? json(cell, place) : cell
}

function json(cell: string, place: string): unknown {
  try {
    return JSON.parse(cell)
  } catch {
    throw new CliError('usage', `${place}: ${cell} is not JSON`)
  }
}
