/**
 * Returns how many of the trials of a test are made: `few`, which the tests of every change make, in CI too; `all` with `THOROUGH=1 npm test`. The few are
 * of all kinds, so that they find what the test is for.
 */
export function trials(all: number, few: number): number {
  return process.env.THOROUGH === '1' ? all : few
}
