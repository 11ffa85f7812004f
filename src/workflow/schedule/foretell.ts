// Foretells when labware will be where, by a simulation of dispatch on the compact model: a pure function of numbers, as the search is. It is not
// exact: labware that waits does not block its place, and no deadlock is foretold.

import { Simulation } from './dispatch.ts'
import type { DispatchProblem, Foretold, LaneForetold } from './dispatch_problem.ts'
import type { Runner } from './dispatch_runner.ts'

/** Simulates the problem: as it is, and where something stands also as if all went on now. */
export function foretell(problem: DispatchProblem): Foretold {
  const asIs = new Simulation(problem, false)
  asIs.run()
  const stands = asIs.runners.some(({ end_s }) => end_s === null)
  const goesOn = stands ? new Simulation(problem, true) : asIs
  if (stands) goesOn.run()
  const lanes = problem.lanes.map((lane, i): LaneForetold => {
    const { end_s } = asIs.runners[i]!
    const why = end_s === null ? asIs.whyStands(asIs.runners[i]!) : null
    return { id: lane.id, end_s, why, left_s: goesOn.runners[i]!.end_s ?? goesOn.now_s, next: goesOn.runners[i]!.next }
  })
  const runs = Array.from({ length: problem.runs }, (_, run) => {
    const own = ({ lane }: Runner) => lane.run === run
    const first = asIs.runners.filter(own).find(({ end_s }) => end_s === null)
    const latest = (runners: Runner[]) => Math.max(0, ...runners.filter(own).map(({ end_s }) => end_s ?? goesOn.now_s))
    const left_s = latest(goesOn.runners)
    return { end_s: first ? null : left_s, left_s, why: first ? `${first.lane.name} ${asIs.whyStands(first)}` : null }
  })
  return { lanes, runs, isBrokenOff: asIs.isBrokenOff || goesOn.isBrokenOff }
}
