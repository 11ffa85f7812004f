// The readings of a device of one day, as columns of numbers, because a day of objects would take several megabytes.

import type { Reading } from './records.ts'

/** The interval of which one reading is kept. */
export const thinned_ms = 10_000
const day_ms = 86_400_000
/** The readings of a block. A block goes as a whole when all its readings are too old. */
const block_length = 360

type Column = { unit: string; values: Float64Array; targets: Float64Array }
/** `at` in Unix seconds. An absent value or target is NaN. */
type Block = { length: number; last_moment: number; at: Float64Array; columns: Map<string, Column> }

/**
 * Keeps one reading for each 10 s, for a day. A reading takes 8 bytes and 16 bytes for each of its values: 0.2 MB in a day for a temperature, 1.4 MB
 * for nine values.
 */
export class ReadingColumns {
  #blocks: Block[] = []
  #last_moment = Number.NEGATIVE_INFINITY

  /** Adds a reading that was taken at a monotonic moment in ms, unless another one was added less than 10 s before. */
  add(moment: number, reading: Reading): void {
    // A beat comes a little early or late.
    if (moment - this.#last_moment < thinned_ms * 0.9) return
    this.#last_moment = moment
    const values = valuesOf(reading)
    const block = this.#blockFor(values)
    const n = block.length++
    block.last_moment = moment
    block.at[n] = reading.at
    for (const [name, { value, target, unit }] of values) {
      const column = block.columns.get(name) ?? { unit, values: empty(), targets: empty() }
      block.columns.set(name, column)
      column.values[n] = value
      column.targets[n] = target ?? Number.NaN
    }
    this.#blocks = this.#blocks.filter(({ last_moment }) => last_moment > moment - day_ms)
  }

  /** Lists the readings of the last day from `since`, inclusive, until `until`, exclusive (Unix seconds); the oldest first. */
  between(since: number, until: number): Reading[] {
    return this.#blocks.flatMap((block) => {
      const found: Reading[] = []
      for (let n = 0; n < block.length; n++) if (block.at[n]! >= since && block.at[n]! < until) found.push(readingIn(block, n))
      return found
    })
  }

  #blockFor(values: readonly Value[]): Block {
    const last = this.#blocks.at(-1)
    const isOther = ([name, { unit }]: Value) => (last?.columns.get(name)?.unit ?? unit) !== unit
    if (last && last.length < block_length && !values.some(isOther)) return last
    const block: Block = { length: 0, last_moment: 0, at: empty(), columns: new Map() }
    this.#blocks.push(block)
    return block
  }
}

type Value = [name: string, value: { value: number; target: number | null; unit: string }]

/** Lists the values of a reading by name; the temperature first. */
export function valuesOf({ temperature, target, others = {} }: Reading): Value[] {
  const first: Value[] = temperature === null ? [] : [['temperature', { value: temperature, target, unit: '°C' }]]
  return [...first, ...Object.entries(others)]
}

function readingIn({ at, columns }: Block, n: number): Reading {
  const others: NonNullable<Reading['others']> = {}
  const reading: Reading = { at: at[n]!, temperature: null, target: null }
  for (const [name, { unit, values, targets }] of columns) {
    const value = values[n]!
    if (Number.isNaN(value)) continue
    const target = Number.isNaN(targets[n]!) ? null : targets[n]!
    if (name === 'temperature') Object.assign(reading, { temperature: value, target })
    else others[name] = { value, target, unit }
  }
  return Object.keys(others).length > 0 ? { ...reading, others } : reading
}

function empty(): Float64Array {
  return new Float64Array(block_length).fill(Number.NaN)
}

/**
 * Thins readings to at most `most`. Of each equal span of time, those are kept that hold the least or the greatest of a value, so that a peak stays
 * visible.
 */
export function thinned(readings: readonly Reading[], most: number): Reading[] {
  if (readings.length <= most) return [...readings]
  const names = new Set(readings.flatMap((reading) => valuesOf(reading).map(([name]) => name)))
  const spans = Math.max(1, Math.floor(most / (2 * names.size)))
  const from = readings[0]!.at
  const span_s = (readings.at(-1)!.at - from) / spans || 1
  const kept = new Set<Reading>()
  let extremes = new Map<string, { least: [number, Reading]; greatest: [number, Reading] }>()
  let span = 0
  const close = () => {
    for (const { least, greatest } of extremes.values()) kept.add(least[1]).add(greatest[1])
    extremes = new Map()
  }
  for (const reading of readings) {
    const its = Math.min(spans - 1, Math.floor((reading.at - from) / span_s))
    if (its !== span) close()
    span = its
    for (const [name, { value }] of valuesOf(reading)) {
      const known = extremes.get(name)
      if (!known) extremes.set(name, { least: [value, reading], greatest: [value, reading] })
      else if (value < known.least[0]) known.least = [value, reading]
      else if (value > known.greatest[0]) known.greatest = [value, reading]
    }
  }
  close()
  return readings.filter((reading) => kept.has(reading)).slice(-most)
}
