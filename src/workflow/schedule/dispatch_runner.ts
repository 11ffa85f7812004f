// One labware in the simulation of dispatch.

import type { Lane, StepToCome, Work } from './dispatch_problem.ts'

export type Visit = Work & { kind: 'visit' }

/** A labware in the simulation. */
export class Runner {
  readonly lane: Lane
  readonly stack: { works: readonly Work[]; index: number; isLoop: boolean }[]
  readonly next: StepToCome[] = []
  at: number
  end_s: number | null = null
  tips: number
  /** The number of methods that it has taken on. */
  taken = 0
  /** The methods that wait for it, by their owners. */
  queue: { owner: Runner; method: string }[] = []
  /** The owner of the method in which it takes part. */
  serves: Runner | null = null
  /** The labware that takes part in its method. */
  readonly helpers = new Map<string, Runner>()
  /** For labware that its method has sent for, what is done when that takes part. */
  readonly calls = new Map<string, (helper: Runner) => void>()
  /** The place that it holds for its work, and how much labware has yet to come there. */
  place: number | null = null
  awaited = 0
  waits: { kind: 'place'; visit: Visit } | { kind: 'event'; wait: Work & { kind: 'wait' } } | { kind: 'work' } | null = null

  constructor(lane: Lane) {
    this.lane = lane
    this.at = lane.at
    this.tips = lane.tips ?? Number.POSITIVE_INFINITY
    this.stack = [{ works: lane.works, index: 0, isLoop: false }]
  }

  get work(): Work | undefined {
    const top = this.stack.at(-1)
    return top?.works[top.index]
  }
}

/** Whether a wait hears an event. */
export const hears = (wait: Work & { kind: 'wait' }, { event, scope }: Work & { kind: 'emit' }): boolean =>
  wait.event === event && (scope === null || wait.scope === null || wait.scope === scope)

/** Whether labware may take part in methods of that name. */
export const serving = (works: readonly Work[], method: string): boolean => joins(works, method) > 0

/** Returns the number of methods of that name in which labware can still take part. */
export function joins(works: readonly Work[], method: string): number {
  return works.reduce((sum, work) => {
    if (work.kind === 'serve') return sum + (work.methods.includes(method) ? 1 : 0)
    return work.kind === 'loop' && serving(work.body, method) ? Number.POSITIVE_INFINITY : sum
  }, 0)
}
