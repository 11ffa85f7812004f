// How a temperature changes, from the readings of the last minutes. Works without a browser.

import type { Reading } from '../clients/ts/benchd.ts'

/** The time in which a change is looked for, s. */
const span_s = 60
/** The least change that is one, °C. */
export const least_c = 0.5

type Warmth = Pick<Reading, 'at' | 'temperature'>

/** Returns the change of temperature within the last minute, °C; 0 without two readings. */
export function changeOf(readings: readonly Warmth[]): number {
  const last = readings.at(-1)
  const before = last && readings.find(({ at }) => at >= last.at - span_s)
  return typeof last?.temperature === 'number' && typeof before?.temperature === 'number' ? last.temperature - before.temperature : 0
}

/**
 * Returns the seconds until this temperature at the fastest rate up to now within the last minute, because the time before the temperature began to rise does
 * not count. 0 if that cannot be said.
 */
export function secondsUntil(target: number | null, readings: readonly Warmth[]): number {
  const { at = 0, temperature: warm = null } = readings.at(-1) ?? {}
  if (target === null || warm === null || warm >= target) return 0
  const rates = readings.map(({ at: then, temperature }) => {
    const change = warm - (temperature ?? warm)
    return change >= least_c && at - then <= span_s ? change / (at - then) : 0
  })
  const rate = Math.max(0, ...rates)
  return rate > 0 ? (target - warm) / rate : 0
}
