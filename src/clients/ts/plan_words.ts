// Words the figures of a plan, for the shell and the page.

/** A dry run that has a plan. Times in seconds. `dispatch_s`: by the rule alone; null where that does not complete, or is not known. */
export type PlannedRun = {
  verdict: string
  makespan_s: number
  plan: { planned_s: number; dispatch_s: number | null; bound_s: number }
}

/**
 * Words the figures of a plan: `planned 41:10, by dispatch alone 52:30, cannot be under 39:05 (bound)`. The first is the makespan of the dry run, in which the plan
 * was followed and made anew like in a run; of a dry run that does not complete, that of its first plan. `words` formats seconds.
 */
export function planWords({ verdict, makespan_s, plan }: PlannedRun, words: (seconds: number) => string): string {
  const { planned_s, dispatch_s, bound_s } = plan
  const dispatch = dispatch_s === null ? '' : `, by dispatch alone ${words(dispatch_s)}`
  return `planned ${words(verdict === 'completes' ? makespan_s : planned_s)}${dispatch}, cannot be under ${words(bound_s)} (bound)`
}

/** Returns the parts of the message of a blocker that say that labware waits because of the plan. */
export function waitsOfPlan(message: string): string[] {
  return message.split('; ').filter((part) => part.startsWith('it waits because the plan '))
}
