// The time axis that all drawings of a report share, and the marks on an axis of values.

import type { ZonedTime } from './time.ts'

/** The width of a drawing, and of the column with its labels, in units of the drawing. */
export const width = 760
export const label_width = 130
const right = 12

export type Axis = { from: number; to: number; time: ZonedTime }

/** Returns where a time is drawn. */
export function placeOf({ from, to }: Axis, at: number): number {
  const share = (Math.min(Math.max(at, from), to) - from) / Math.max(to - from, 1e-6)
  return rounded(label_width + share * (width - label_width - right))
}

const minute = 60
const hour = 3600
const steps = [1, 2, 5, 10, 15, 30, minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute]
const longSteps = [hour, 2 * hour, 4 * hour, 6 * hour, 12 * hour, 24 * hour, 48 * hour, 7 * 24 * hour, 28 * 24 * hour]
const mostMarks = 8

/** Returns the marks of the axis at round times of the zone, with their words. */
export function timeMarks(axis: Axis): { at: number; words: string }[] {
  const { from, to, time } = axis
  const step = [...steps, ...longSteps].find((one) => (to - from) / one <= mostMarks) ?? (to - from) / mostMarks
  const shift = time.local(from) - from
  const marks: { at: number; words: string }[] = []
  for (let local = Math.ceil((from + shift) / step) * step; local - shift <= to && marks.length <= mostMarks; local += step) {
    const words = time.words(local - shift)
    marks.push({ at: local - shift, words: step >= 24 * hour ? words.slice(5, 10) : words.slice(11, step < minute ? 19 : 16) })
  }
  return marks
}

/** Returns round values from the lowest to the highest. */
export function valueMarks(lowest: number, highest: number, count = 4): number[] {
  const raw = (highest - lowest) / count
  const power = 10 ** Math.floor(Math.log10(raw))
  const step = ([1, 2, 5, 10].find((one) => one * power >= raw) ?? 10) * power
  const marks: number[] = []
  for (let value = Math.ceil(lowest / step) * step; value <= highest + step / 1000 && marks.length <= 2 * count; value += step)
    marks.push(Number(value.toPrecision(6)))
  return marks
}

export function rounded(value: number): number {
  return Math.round(value * 10) / 10
}
