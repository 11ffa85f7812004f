// The story of the plan of a run: foretold, planned, made anew, and how long the run took.

import { clock } from '../../kit/seconds.ts'

/** A row of the kind `plan`; rows of other versions may lack members. */
export type PlanRow = Readonly<Record<string, unknown>>

type Times = {
  /** The makespan of the forecast; undefined where none was made. */
  foretold_s: number | undefined
  /** How long the run took, or has taken so far. */
  took_s: number
  isOver: boolean
}

/** The reasons for which a plan is made anew, in words. */
const reasons: Readonly<Record<string, string>> = {
  came: 'labware came',
  off_time: 'labware was early or late',
  held: 'labware was held or went on',
  deadlock: 'labware waited for each other',
  priority: 'a run got another priority',
}

/** Words the plans of a run, the first of them first: `foretold 41:10, planned 40:50, made anew once (labware was early or late), took 42:02`; empty without a plan. */
export function planStory(rows: readonly PlanRow[], { foretold_s, took_s, isOver }: Times): string {
  const [first, ...anew] = rows
  if (!first) return ''
  const { makespan_s, bound_s } = first
  const words = [
    foretold_s === undefined ? '' : `foretold ${clock(foretold_s)}`,
    typeof makespan_s === 'number' ? `planned ${clock(makespan_s)}` : 'planned',
    typeof bound_s === 'number' ? `cannot be under ${clock(bound_s)} (bound)` : '',
    anewWords(anew),
    isOver ? `took ${clock(took_s)}` : '',
  ]
  return words.filter(Boolean).join(', ')
}

function anewWords(rows: readonly PlanRow[]): string {
  const counts = new Map<string, number>()
  for (const { reason } of rows) counts.set(String(reason), (counts.get(String(reason)) ?? 0) + 1)
  const each = [...counts].map(([reason, count]) => `${counts.size > 1 ? `${count} × ` : ''}${reasons[reason] ?? reason}`)
  if (rows.length === 0) return 'never made anew'
  return `made anew ${rows.length === 1 ? 'once' : `${rows.length} times`} (${each.join(', ')})`
}
