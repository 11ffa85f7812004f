// Which labware a step sends for: by the methods it owns, and by the threads that come because of it.

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

/** Directly. */
function sentForBy({ labware, template }: ThreadPlan, steps: readonly StepPlan[]): Set<string> {
  const wanted = [...allSteps(steps)].flatMap((step) => (step.kind === 'method' ? [...step.method.labware] : []))
  return new Set([...wanted, ...template.contributes_to].filter((name) => name !== labware))
}

/** All that comes because these come. */
function reached(first: ReadonlySet<string>, whole: ReadonlyMap<string, ReadonlySet<string>>): Set<string> {
  const all = new Set(first)
  // A set takes in what is added while it is gone through.
  for (const labware of all) for (const next of whole.get(labware) ?? []) all.add(next)
  return all
}
