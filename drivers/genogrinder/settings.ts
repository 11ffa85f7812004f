// The settings of a GenoGrinder.

import * as v from 'valibot'
import { described, Whole } from '../../src/kit/described.ts'

const Rpm = Whole(1, 9999)

export const settings = v.pipe(
  v.strictObject({
    min_speed: v.optional(described(Rpm, 'Slowest speed of the model, in rpm'), 500),
    max_speed: v.optional(described(Rpm, 'Fastest speed of the model, in rpm'), 1750),
    clamp: v.optional(described(v.boolean(), 'Whether the clamp is opened and closed by a motor'), true),
  }),
  v.check(({ min_speed, max_speed }) => min_speed < max_speed, 'min_speed has to be less than max_speed'),
)

export type Settings = v.InferOutput<typeof settings>
