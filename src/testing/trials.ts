// How often tests repeat what they try.

/** Set by BENCHD_TRIALS=all in the environment. Without it, tests try a sample of each kind. */
export const hasAllTrials = process.env.BENCHD_TRIALS === 'all'

/** Returns `few`, as `npm test` and `.ci/run` repeat it, or `all`. */
export function trials(all: number, few: number): number {
  return hasAllTrials ? all : few
}
