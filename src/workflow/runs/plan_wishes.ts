// The wishes of the people who submitted the runs of a bench, which its plan follows: what to minimize, and whether labware of one kind may overtake.

import type { Objective } from '../state/objective.ts'
import type { LabwareThread } from '../threads/thread.ts'

export type PlanWishes = { readonly objective: Objective; readonly overtaking: number | null }

/** Returns the wishes. Where runs differ, the plan is made for the shortest makespan, and labware overtakes only where all allow it. */
export function wishesOf(threads: Iterable<LabwareThread>): PlanWishes {
  const objectives = new Set<Objective>()
  const overtakings = new Set<number | null>()
  for (const { execution, origin } of threads) {
    const { document } = execution.workflow
    objectives.add(execution.planning.requestOf(origin.submission_id)?.objective ?? document.objective ?? 'makespan')
    overtakings.add(document.overtaking ?? null)
  }
  const [objective = 'makespan'] = objectives.size === 1 ? objectives : []
  const overtaking = [...overtakings].reduce((least, one) => (least === null || one === null ? null : Math.max(least, one)), 0)
  return { objective, overtaking }
}
