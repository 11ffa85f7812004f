// The steps of a jog, for arms that have no word which ends a motion gently: each step is short, and begins after the last was seen to end.

/** The longest step, at the full speed of a jog, and the shortest, in mm or degrees. */
const longest = { mm: 2, '°': 1 }
const shortest = { mm: 0.5, '°': 0.25 }
const fullSpeed = 20

export type StepUnit = keyof typeof longest

/** Returns the length of a step at this percentage of full speed. Slow jogs have short steps, so that each step takes about as long. */
export function stepOf(unit: StepUnit, speed: number): number {
  return Math.max(shortest[unit], (longest[unit] * speed) / fullSpeed)
}
