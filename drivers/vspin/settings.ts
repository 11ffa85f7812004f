// The settings of a VSpin, and its abilities.

import * as v from 'valibot'
import type { Profile } from '../../src/devices/device.ts'
import { described, Whole } from '../../src/kit/described.ts'

const Fraction = v.pipe(v.number(), v.minValue(0.01), v.maxValue(1))

export const Settings = v.strictObject({
  acceleration: v.optional(described(Fraction, 'Of the fastest, 0.01 to 1'), 0.8),
  deceleration: v.optional(described(Fraction, 'Of the fastest, 0.01 to 1'), 0.8),
  remainder: v.optional(
    described(Whole(-7999, 7999), 'From bucket 1 at the door back to the index, in counts; each unit has its own'),
    -5337,
  ),
  bucket: v.optional(described(v.picklist([1, 2]), 'The bucket that stands at the door'), 1),
})
export type Settings = v.InferOutput<typeof Settings>

export function profile(): Profile {
  return {
    model: 'VSpin',
    limits: {
      g: { min: 1, max: 1000, unit: '×g', step: 1 },
      duration: { min: 1, max: 10_800, unit: 's', step: 1 },
    },
    features: { door: true },
    ends_early: ['centrifuge'],
  }
}
