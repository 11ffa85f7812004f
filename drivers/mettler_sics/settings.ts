// The settings of a METTLER TOLEDO balance.

import * as v from 'valibot'
import { described, Whole } from '../../src/kit/described.ts'
import { portChoice } from '../port_choice.ts'

export const settings = v.strictObject({
  ...portChoice({ baud: 9600, framing: '8N1' }),
  stable_s: v.optional(described(Whole(1, 50), 'Time for which weighing waits for a stable value, in s'), 30),
  load_g: v.optional(described(v.pipe(v.number(), v.minValue(-1000), v.maxValue(1000)), 'The load of the simulated balance, in g'), 3.2165),
})

export type Settings = v.InferOutput<typeof settings>
