// The range of a parameter: that of the model, narrowed by the configuration and the instrument.

import { LabError } from '../errors.ts'
import type { Limit, Limits } from './device.ts'
import { isMultiple } from './multiple.ts'

/** The bounds that a configuration may set for a parameter. */
export type Bounds = Record<string, { min?: number | undefined; max?: number | undefined }>

/** Returns the limits narrowed by the configured bounds. A bound outside the limits has no effect. */
export function narrowed(limits: Limits, bounds: Bounds): Limits {
  return Object.fromEntries(
    Object.entries(limits).map(([name, limit]) => {
      const { min = limit.min, max = limit.max } = bounds[name] ?? {}
      return [name, { ...limit, min: Math.max(limit.min, min), max: Math.min(limit.max, max) }]
    }),
  )
}

/** Throws `invalid`, naming field, value and range, for a parameter outside its limits. */
export function checkLimits(device_id: string, params: Readonly<Record<string, unknown>>, limits: Limits): void {
  for (const [name, value] of Object.entries(params)) {
    const limit = limits[name]
    if (!limit || typeof value !== 'number') continue
    if (value < limit.min || value > limit.max) {
      throw new LabError('invalid', `${name} ${quantity(value, limit)} is outside what ${device_id} takes: ${range(limit)}`)
    }
    if (limit.step && !isMultiple(value, limit.step)) {
      throw new LabError(
        'invalid',
        `${name} ${quantity(value, limit)} is finer than ${device_id} knows: give a multiple of ${limit.step}, ${range(limit)}`,
      )
    }
  }
}

function range(limit: Limit): string {
  return `${limit.min} to ${quantity(limit.max, limit)}`
}

function quantity(value: number, { unit }: Limit): string {
  return unit ? `${value} ${unit}` : String(value)
}
