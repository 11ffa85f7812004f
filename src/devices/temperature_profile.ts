// The steps of a temperature profile, and the time that they take.

import * as v from 'valibot'
import { described } from '../kit/described.ts'

const Quantity = v.pipe(v.number(), v.finite())
const ProfileStep = v.strictObject({
  temperature: described(Quantity, 'Temperature of the block', '°C'),
  seconds: described(Quantity, 'Time at it', 's'),
})
export type ProfileStep = v.InferOutput<typeof ProfileStep>

/** The steps of a profile, as the body of an operation has them. */
export const ProfileSteps = described(
  v.pipe(v.array(ProfileStep), v.minLength(1), v.maxLength(100)),
  'Steps of the profile: [{"temperature": 95, "seconds": 30}]',
)
export type TemperatureProfile = { steps: readonly ProfileStep[]; repetitions?: number | undefined }

/** The seconds for one °C between two steps, as a usual block needs them. */
const ramp_s = 0.5

/**
 * Returns the seconds of a profile: the time at each step, and the usual ramps between the steps. The ramp to the first step is not counted, because
 * the temperature of the block is unknown. A value that is not known yet, such as a variable of a workflow, counts as 0.
 */
export function profileSeconds({ steps, repetitions = 1 }: TemperatureProfile): number {
  if (!Array.isArray(steps) || steps.length === 0) return 0
  const times = numberOr(repetitions, 1)
  const held = steps.reduce((sum, step) => sum + numberOr(Object(step).seconds, 0), 0)
  const degrees = steps.slice(1).reduce((sum, step, i) => sum + degreesBetween(steps[i]!, step), 0)
  const back = degreesBetween(steps.at(-1)!, steps[0]!)
  return Math.round((times * held + ramp_s * (times * degrees + (times - 1) * back)) * 1000) / 1000
}

function degreesBetween(one: ProfileStep, other: ProfileStep): number {
  return Math.abs(numberOr(Object(other).temperature, Number.NaN) - numberOr(Object(one).temperature, Number.NaN)) || 0
}

function numberOr(value: unknown, otherwise: number): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : otherwise
}
