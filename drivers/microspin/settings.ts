// The settings of a MicroSpin, and what follows from them.

import * as v from 'valibot'
import type { Profile } from '../../src/devices/device.ts'
import { described, Whole } from '../../src/kit/described.ts'

const percent = (description: string) => v.optional(described(Whole(10, 100), description, '%'), 50)

export const settings = v.strictObject({
  acceleration: percent('Acceleration, 10 to 100 % of the fastest'),
  deceleration: percent('Deceleration, 10 to 100 % of the fastest; below 40 % the rotor needs many minutes to come to rest'),
  bucket: v.optional(described(v.picklist([1, 2]), 'Bucket that `open` presents'), 1),
})
export type Settings = v.InferOutput<typeof settings>

/** The seconds that a gentle brake may take besides the run. The longest that was seen was 17 min. */
function braking_s({ deceleration }: Settings): number {
  if (deceleration >= 40) return 300
  return deceleration >= 20 ? 900 : 1800
}

export function profile(settings: Settings): Profile {
  return {
    model: 'MicroSpin',
    limits: {
      g: { min: 30, max: 3000, unit: '×g', step: 1 },
      duration: { min: 1, max: 3600, unit: 's', step: 1 },
    },
    features: { door: true, autonomous_timer: true },
    margin_seconds: { centrifuge: braking_s(settings), open: 60, close: 120 },
  }
}
