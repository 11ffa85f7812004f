// The search for a schedule: a pure function of the problem and of an effort that is counted in states, so that the same input gives the
// same schedule on every computer.

import { Beam } from './beam.ts'
import { Rater, type Weights } from './bound.ts'
import { findAny } from './depth_first.ts'
import type { Progress } from './extend.ts'
import { type Model, modelOf } from './model.ts'
import { pipelinesOf } from './pipeline.ts'
import type { PlannedMove, Problem, Schedule } from './problem.ts'
import { retimed } from './retime.ts'
import { Hop, missed, States } from './state.ts'

/** The passes of a search: how states are rated, and the share of the budget that is left. One rating finds what another misses. The first pass is narrow. */
const passes: readonly { readonly weights: Weights; readonly share: number }[] = [
  { weights: { pools: 0.5, jobs: 0.3, arms: 0.3 }, share: 0 },
  { weights: { pools: 0.5, jobs: 0.3, arms: 0.3 }, share: 0.3 },
  { weights: { pools: 0.5, jobs: 0, arms: 0.3 }, share: 0.5 },
  { weights: { pools: 0.5, jobs: 0.3, arms: 1 }, share: 1 },
]

/** The share of the budget for each pipeline. */
const shareOfPipeline = 0.1

/** The bytes that the states of a beam may take. */
const bytesAtMost = 8 << 20

/** The usual budget for each stop that is left, and at most. */
const statesForStop = 1400
const statesAtMost = 1_200_000

/** The states that are worth looking at in a problem of this size. */
export function defaultBudget(problem: Problem): number {
  const stops = problem.jobs.reduce((sum, { stops }) => sum + stops.length, 0)
  return Math.min(statesAtMost, variantsOf(problem).length * statesForStop * (stops + 10))
}

/** Returns the best schedule that was found with so many states; null if no schedule was found. */
export function findSchedule(problem: Problem, budget: { readonly states: number }): Schedule | null {
  const model = modelOf(problem)
  const bound = boundOf(model)
  const variants = variantsOf(problem)
  let [best, used] = [null as Found | null, 0]
  for (const [index, variant] of variants.entries()) {
    const share = Math.floor((budget.states - used) / (variants.length - index))
    const found = search(variant.arm === null ? model : modelOf(withArm(problem, variant.arm)), variant, bound, share)
    used += found.progress.states
    if (isBetter(problem, found, best)) best = found
  }
  return best && scheduleOf(best, bound, used)
}

type Found = { readonly model: Model; readonly variant: Variant; readonly progress: Progress }

/** Kinds of schedules that are looked for: with one arm or with all, with labware of one kind in order or not. */
type Variant = { readonly arm: number | null; readonly keepsOrder: boolean }

/** Each arm that reaches everything is tried alone: a schedule with two arms must never be worse. */
function variantsOf(problem: Problem): Variant[] {
  const arms = [...loneArms(problem), null]
  const kinds = new Set(problem.jobs.map(({ kind }) => kind))
  const mayOvertake = problem.overtaking !== null && kinds.size < problem.jobs.length
  return (mayOvertake ? [true, false] : [true]).flatMap((keepsOrder) => arms.map((arm) => ({ arm, keepsOrder })))
}

/** The arms that reach everything, if there are several arms; of those that are alike the one that is free first. */
function loneArms(problem: Problem): number[] {
  if (problem.arms.length < 2) return []
  const legs = problem.ways.flatMap((way) => way ?? [])
  const known = new Map<string, number>()
  for (const arm of problem.arms.keys()) {
    const seconds = legs.map((leg) => leg.by.find((by) => by.arm === arm)?.seconds)
    if (seconds.includes(undefined)) continue
    const twin = known.get(seconds.join())
    if (twin === undefined || problem.arm_free_s[arm]! < problem.arm_free_s[twin]!) known.set(seconds.join(), arm)
  }
  return [...known.values()]
}

/** The problem as it is for one arm alone. */
const withArm = (problem: Problem, arm: number): Problem => ({
  ...problem,
  arms: [problem.arms[arm]!],
  arm_free_s: [problem.arm_free_s[arm]!],
  ways: problem.ways.map(
    (way) => way?.map(({ by, via }) => ({ via, by: by.filter((one) => one.arm === arm).map((one) => ({ ...one, arm: 0 })) })) ?? null,
  ),
})

/** Labware overtakes only if that shortens the schedule enough. */
function isBetter({ overtaking }: Problem, { variant, progress }: Found, best: Found | null): boolean {
  if (progress.steps === null || best === null) return progress.steps !== null
  const share = best.variant.keepsOrder && !variant.keepsOrder ? overtaking! : 0
  return progress.cost < best.progress.cost * (1 - share)
}

function search(model: Model, variant: Variant, bound: number, budget: number): Found {
  const progress: Progress = { states: 0, budget, cost: Number.POSITIVE_INFINITY, steps: null }
  // No beam is wider than the budget. All wide ones have the same memory: to get some more takes as long as a small search.
  const widest = Math.max(1, Math.min(budget, Math.floor(bytesAtMost / (2 * bytesOf(model)))))
  let memory: States | undefined
  const wide = () => {
    memory ??= new States(model, 2 * widest)
    return memory
  }
  const turns = variant.keepsOrder ? [model.turnOfKind] : []
  for (const { weights, share } of passes) {
    if (progress.states >= budget || isBest(model, progress, bound)) break
    const beam = new Beam(share === 0 ? new States(model, 2) : wide(), { turns, everything: false }, weights)
    beam.run(progress, (budget - progress.states) * share)
    if (share === 0 && variant.keepsOrder && hasWindows(model)) runPipelines(model, progress, wide)
    if (hasWindows(model)) holdWindows(model, progress)
  }
  if (progress.steps === null) findAny(model, turns, passes[0]!.weights, progress)
  return { model, variant, progress }
}

/** Searches with labware under way in step, and holds the windows that are missed then. */
function runPipelines(model: Model, progress: Progress, wide: () => States): void {
  const states = new States(model, 1)
  for (const { turn, arrivals, end } of pipelinesOf(states)) {
    if (end >= progress.cost || progress.states >= progress.budget) return
    const own: Progress = { states: progress.states, budget: progress.budget, cost: Number.POSITIVE_INFINITY, steps: null }
    const beam = new Beam(wide(), { turns: [model.turnOfKind, turn], soonest: arrivals, everything: false }, passes[0]!.weights)
    beam.run(own, (own.budget - own.states) * shareOfPipeline)
    progress.states = own.states
    if (own.steps) holdWindows(model, own)
    if (own.cost >= progress.cost) continue
    progress.cost = own.cost
    progress.steps = own.steps
  }
}

/** Begins hops later, if windows are missed. */
function holdWindows(model: Model, progress: Progress): void {
  if (progress.steps === null || progress.cost < missed * 1e-3) return
  const { cost, steps } = retimed(new States(model, 1), progress.steps)
  if (cost >= progress.cost) return
  progress.cost = cost
  progress.steps = steps
}

const hasWindows = ({ within }: Model) => within.some((seconds) => seconds < Number.POSITIVE_INFINITY)

const bytesOf = ({ jobs, places, arms, pools }: Model) => 22 * jobs + 10 * places + 16 * arms + 8 * pools.length + 52

/** A schedule as short as the bound cannot be improved, unless some labware is more important. */
function isBest({ problem, weight }: Model, { cost, steps }: Progress, bound: number): boolean {
  return problem.objective === 'makespan' && steps !== null && Math.floor(cost) <= bound && weight.every((each) => each === weight[0])
}

function boundOf(model: Model): number {
  const states = new States(model, 1)
  states.begin(0)
  const rater = new Rater(states, passes[0]!.weights)
  rater.prepare(0)
  return rater.bound()
}

/** Makes all hops once more, and writes them down. */
function scheduleOf({ model, variant, progress }: Found, bound: number, effort: number): Schedule {
  const armOf = (arm: number) => variant.arm ?? arm
  const states = new States(model, 1)
  const hop = new Hop()
  const moves: PlannedMove[] = []
  states.begin(0)
  for (const { job, to, option, earliest } of progress.steps!) {
    hop.job = job
    hop.from = states.at[job]!
    hop.to = to
    hop.option = option
    states.time(0, hop, earliest)
    const stop = option < 0 ? null : states.stop[job]! - model.firstStop[job]!
    const legs = Array.from({ length: hop.legs }, (_, leg) => ({
      arm: armOf(hop.arm[leg]!),
      start_s: hop.legStart[leg]!,
      end_s: hop.legEnd[leg]!,
    }))
    moves.push({ job, stop, from: hop.from, to, start_s: hop.start, end_s: hop.end, arm: legs[0]?.arm ?? -1, legs })
    states.apply(0, hop)
  }
  const order = moves.map((_, index) => index).sort((a, b) => moves[a]!.start_s - moves[b]!.start_s || a - b)
  return { moves: order.map((index) => moves[index]!), makespan_s: states.end[0]!, bound_s: bound, states: effort }
}
