// The search for a schedule: a pure function of the problem and of an effort that is counted in states, so that the same input gives the
// same schedule on every computer.

import { Beam, type Progress, type Step } from './beam.ts'
import { Rater } from './bound.ts'
import { type Model, modelOf } from './model.ts'
import type { PlannedMove, Problem, Schedule } from './problem.ts'
import { Hop, States } from './state.ts'

const weights = { pools: 0.3, jobs: 0.1, arms: 0.1 }

/** The states that a problem of this size is worth. */
export function defaultBudget(_problem: Problem): number {
  return 100_000
}

export function findSchedule(problem: Problem, budget: { readonly states: number }): Schedule | null {
  const model = modelOf(problem)
  const bound = boundOf(model)
  const progress: Progress = { states: 0, budget: budget.states, cost: Number.POSITIVE_INFINITY, steps: null, bound }
  for (const width of [1, 5, 10, 20, 50]) {
    if (progress.states >= progress.budget) break
    new Beam(model, { keepsOrder: true, everything: false }, weights, width).run(progress)
  }
  return progress.steps && scheduleOf(model, progress.steps, bound, progress.states)
}

function boundOf(model: Model): number {
  const states = new States(model, 1)
  states.begin(0)
  const rater = new Rater(states, weights)
  rater.prepare(0)
  return rater.bound()
}

/** Makes all hops once more, and writes them down. */
function scheduleOf(model: Model, steps: readonly Step[], bound: number, effort: number): Schedule {
  const states = new States(model, 1)
  const hop = new Hop()
  const moves: PlannedMove[] = []
  states.begin(0)
  for (const { job, to, option, earliest } of steps) {
    hop.job = job
    hop.from = states.at[job]!
    hop.to = to
    hop.option = option
    states.time(0, hop, earliest)
    const stop = option < 0 ? null : states.stop[job]! - model.firstStop[job]!
    moves.push({ job, stop, from: hop.from, to, start_s: hop.start, end_s: hop.end, arm: hop.legs > 0 ? hop.arm[0]! : -1 })
    states.apply(0, hop)
  }
  const order = moves.map((_, index) => index).sort((a, b) => moves[a]!.start_s - moves[b]!.start_s || a - b)
  return { moves: order.map((index) => moves[index]!), makespan_s: states.end[0]!, bound_s: bound, states: effort }
}
