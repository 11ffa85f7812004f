// The data of charts: readings as columns for each unit, and CSV. Works without a browser.

import type { Reading } from '../clients/ts/benchd.ts'

/** The values of one unit: `at` in Unix seconds, rising; null is a gap in the line. Each list of `values` and of `targets` is as long as `at`. */
export type Lines = {
  unit: string
  names: string[]
  at: number[]
  values: (number | null)[][]
  targets: (number | null)[][]
}

/** An operation or an event on the axis of time, Unix seconds. `to` is null for a moment, and for what still goes on. */
export type Mark = { from: number; to: number | null; isBad: boolean; text: string }

type Value = { value: number; target: number | null; unit: string }

/** Lists the values of a reading by name, the temperature first. */
export function valuesOf({ temperature, target, others = {} }: Reading): [name: string, value: Value][] {
  const first: [string, Value][] = temperature === null ? [] : [['temperature', { value: temperature, target, unit: '°C' }]]
  return [...first, ...Object.entries(others)]
}

/**
 * Makes the lines of a chart for each unit. A pause of more than `gap_s` interrupts them. A number that is not finite becomes a gap, because one of
 * them would spoil the scale of a chart.
 */
export function linesOf(readings: readonly Reading[], gap_s: number): Lines[] {
  const rows = readings.map(valuesOf)
  const names = new Map<string, string>()
  for (const row of rows) for (const [name, { unit }] of row) names.set(name, unit)
  return [...new Set(names.values())].map((unit) => {
    const its = [...names].flatMap(([name, of]) => (of === unit ? [name] : []))
    const lines: Lines = { unit, names: its, at: [], values: its.map(() => []), targets: its.map(() => []) }
    for (const [n, { at }] of readings.entries()) {
      const last = readings[n - 1]?.at ?? at
      if (at - last > gap_s) add(lines, (last + at) / 2, [])
      add(lines, at, rows[n]!)
    }
    return lines
  })
}

function add({ names, at, values, targets }: Lines, moment: number, row: readonly [string, Value][]): void {
  const n = at.push(moment) - 1
  for (const one of [...values, ...targets]) one.push(null)
  for (const [name, { value, target }] of row) {
    const its = names.indexOf(name)
    if (its < 0) continue
    values[its]![n] = finite(value)
    targets[its]![n] = finite(target)
  }
}

function finite(value: number | null | undefined): number | null {
  return Number.isFinite(value) ? (value as number) : null
}

/** Makes a file of CSV with a line for each value: time in UTC, name, value, target, unit. */
export function csvOf(readings: readonly Reading[]): string {
  const rows = readings.flatMap((reading) =>
    valuesOf(reading).map(([name, { value, target, unit }]) => [
      new Date(reading.at * 1000).toISOString(),
      name,
      value,
      target ?? '',
      unit,
    ]),
  )
  const cell = (value: unknown) => (/[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value))
  return [['at', 'name', 'value', 'target', 'unit'], ...rows].map((row) => `${row.map(cell).join(',')}\r\n`).join('')
}

/** A span of time in Unix seconds. */
export type Span = { min: number; max: number }

/** The shortest span of a chart. */
const shortest_s = 10

/** Enlarges (`factor` below 1) around a moment, or shows more. The result lies within `whole`. */
export function zoomed({ min, max }: Span, factor: number, whole: Span, around = (min + max) / 2): Span {
  const width = Math.min(whole.max - whole.min, Math.max(shortest_s, (max - min) * factor))
  const share = (around - min) / (max - min)
  return within({ min: around - share * width, max: around + (1 - share) * width }, whole)
}

/** Moves a span by seconds, but not out of `whole`. */
export function moved({ min, max }: Span, by_s: number, whole: Span): Span {
  return within({ min: min + by_s, max: max + by_s }, whole)
}

function within({ min, max }: Span, whole: Span): Span {
  const by = Math.max(whole.min - min, 0) + Math.min(whole.max - max, 0)
  return { min: Math.max(whole.min, min + by), max: Math.min(whole.max, max + by) }
}

/** Says in a sentence what a chart shows, for those who do not see it. */
export function summaryOf({ names, values, unit }: Lines): string {
  return names
    .map((name, n) => {
      const its = values[n]!.filter((value) => value !== null)
      if (its.length === 0) return `${name}: no value`
      const [least, most] = its.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity] as [
        number,
        number,
      ])
      return `${name}: from ${least} to ${most} ${unit}, last ${its.at(-1)} ${unit}`
    })
    .join('; ')
}
