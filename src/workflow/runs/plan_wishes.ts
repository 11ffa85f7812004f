// The wishes of the people who submitted the runs of a bench, which its plan follows: what to minimize, what is important, and whether labware of one
// kind may overtake.

import type { Objective } from '../state/objective.ts'
import type { LabwareThread } from '../threads/thread.ts'

export type PlanWishes = { readonly objective: Objective; readonly overtaking: number | null; priorityOf(thread: LabwareThread): number }

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
  return { objective, overtaking, priorityOf }
}

/** Returns the priority of the submission of a thread; 0 is usual, and the higher number is more important. */
export function priorityOf({ execution, origin }: LabwareThread): number {
  return execution.planning.requestOf(origin.submission_id)?.priority ?? 0
}
