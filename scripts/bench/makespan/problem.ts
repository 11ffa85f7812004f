// The problem that a bench poses to the search for a plan.

import type { FindSchedule, Problem } from '../../../src/workflow/schedule/problem.ts'
import { randomShop, type Shape } from './shops.ts'
import { trial } from './trial.ts'

/** Returns the problem at the beginning of a run of a random shop. */
export async function problemOf(shape: Shape): Promise<Problem> {
  let first: Problem | undefined
  const search: FindSchedule = async (problem) => {
    first ??= problem
    return null
  }
  await trial(randomShop(1, shape), { search })
  return first!
}
