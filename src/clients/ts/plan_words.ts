// Words the figures of a plan, for the shell and the page.

/** In seconds. `dispatch_s`: by the rule alone; null where that does not complete, or is not known. */
export type PlanFigures = { planned_s: number; dispatch_s: number | null; bound_s: number }

/** Words the figures: `planned 41:10, by dispatch alone 52:30, cannot be under 39:05 (bound)`. `words` formats seconds. */
export function planWords({ planned_s, dispatch_s, bound_s }: PlanFigures, words: (seconds: number) => string): string {
  const dispatch = dispatch_s === null ? '' : `, by dispatch alone ${words(dispatch_s)}`
  return `planned ${words(planned_s)}${dispatch}, cannot be under ${words(bound_s)} (bound)`
}

/** Returns the parts of the message of a blocker that say that labware waits because of the plan. */
export function waitsOfPlan(message: string): string[] {
  return message.split('; ').filter((part) => part.startsWith('it waits because the plan '))
}
