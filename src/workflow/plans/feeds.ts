// Finds the labware that a step sends for: through its own methods, and through the threads that these bring.

import { allSteps, type StepPlan, type ThreadPlan } from './plan.ts'

/** Fills in `feeds` of every step. */
export function fillFeeds(threads: ReadonlyMap<string, ThreadPlan>): void {
  const whole = new Map([...threads.values()].map((thread) => [thread.labware, sentForBy(thread, thread.steps)]))
  for (const thread of threads.values()) {
    for (const step of allSteps(thread.steps)) {
      for (const labware of reached(sentForBy(thread, [step]), whole)) (step.feeds as Set<string>).add(labware)
    }
  }
}

/** Returns the labware that the steps send for directly. */
function sentForBy({ labware, template }: ThreadPlan, steps: readonly StepPlan[]): Set<string> {
  const wanted = [...allSteps(steps)].flatMap((step) => (step.kind === 'method' ? [...step.method.labware] : []))
  return new Set([...wanted, ...template.contributes_to].filter((name) => name !== labware))
}

/** Returns the labware that follows from the first ones, transitively. */
function reached(first: ReadonlySet<string>, whole: ReadonlyMap<string, ReadonlySet<string>>): Set<string> {
  const all = new Set(first)
  // The iteration of a Set also visits elements that are added meanwhile.
  for (const labware of all) for (const next of whole.get(labware) ?? []) all.add(next)
  return all
}
