// Shared by the drivers of balances: units of mass, the refusals of a pan that cannot be weighed, and the wait for a stable value.

import { LabError } from '../src/errors.ts'
import { type Clock, sleep } from '../src/kit/clock.ts'

/** A value that a balance shows. */
export type Shown = { value: number; unit: string; stable: boolean }

/** A weight in g. */
export type Weight = { weight: number; stable: boolean }

const gramsIn: Readonly<Record<string, number>> = {
  g: 1,
  kg: 1000,
  mg: 0.001,
  µg: 1e-6,
  ug: 1e-6,
  t: 1e6,
  ct: 0.2,
  lb: 453.592_37,
  oz: 28.349_523_125,
  ozt: 31.103_476_8,
}

const look_ms = 300

/** Converts a value that the balance shows into g. Throws `interlock` for a unit that is none of mass, such as pieces. */
export function inGrams({ value, unit, stable }: Shown): Weight {
  const grams = Object.hasOwn(gramsIn, unit) ? gramsIn[unit] : undefined
  if (grams === undefined) throw new LabError('interlock', `it weighs in ${unit || 'no unit'}; set its unit to g, then weigh again`)
  return { weight: Number((value * grams).toPrecision(12)), stable }
}

export function overloaded(): LabError {
  return new LabError('interlock', 'it is overloaded; take the load off, and see that it is less than the capacity, then weigh again')
}

export function underloaded(): LabError {
  return new LabError('interlock', 'it is underloaded; see that its pan is in place and touches nothing, then weigh again')
}

/** Nothing was done: the value moved all the time. */
export function unstable(within_s: number): LabError {
  return new LabError(
    'interlock',
    `it was not stable within ${within_s} s; close its draft shield, and see that nothing touches the pan or shakes the table, then weigh again`,
  )
}

type Waiting = { clock: Clock; going: AbortSignal; within_s: number }

type Wanted<Seen> = {
  /** Whether a stable value is the awaited one. */
  passes(shown: Seen): boolean
  /** Makes the error for a stable value that is not. */
  late(shown: Seen): LabError
}

/** Asks until the value is stable, and the wanted one. `look` returns undefined while the balance is busy. Throws `interlock` after `within_s`. */
export async function untilStable<Seen extends Shown>(
  { clock, going, within_s }: Waiting,
  look: () => Promise<Seen | undefined>,
  wanted?: Wanted<Seen>,
): Promise<Weight> {
  const end = clock.now() + within_s * 1000
  for (;;) {
    const shown = await look()
    if (shown?.stable && (wanted?.passes(shown) ?? true)) return inGrams(shown)
    if (clock.now() >= end) throw shown?.stable && wanted ? wanted.late(shown) : unstable(within_s)
    await sleep(clock, look_ms, going)
  }
}
