// The timeline of a run: one row for each action and each hop. Only the newest ten thousand are kept.

import type { Hop } from '../plans/graph.ts'
import { type ActionStatus, actionTransitions, isTerminal } from '../state/statuses.ts'

export type TimelineRow = {
  action_id: string
  thread_id: string
  thread_name: string
  /** `move` is one hop. */
  kind: 'action' | 'move'
  name: string | null
  method_id: string | null
  method_name: string | null
  /** The device of an action; a move has `from`, `to` and `transporter`. */
  device: string | null
  from: string | null
  to: string | null
  transporter: string | null
  status: ActionStatus
  /** Seconds since the run began, on its own clock; `started` and `ended` are null until they happen. */
  created: number
  started: number | null
  ended: number | null
}

type Named = { readonly name: string }
type Thread = Named & { readonly thread_id: string }
type TimedAction = {
  readonly action_id: string
  readonly owner: Thread
  readonly plan: Named
  readonly method: { readonly method_id: string; readonly plan: Named } | null
  readonly device: string | null
}
type TimedMove = { readonly action_id: string; readonly thread: Thread; readonly hop: Hop }

/** The most rows that are kept in memory. */
export const mostKept = 10_000

export class Timeline {
  readonly #now: () => number
  /** Seconds by which a restored run is ahead of the system clock, which may have been set back. */
  #ahead = 0
  readonly #rows = new Map<string, TimelineRow>()
  /** Whether rows that a restart has interrupted stand behind younger ones. */
  #isMixed = false
  /** The number of rows that are no longer kept. */
  dropped = 0
  actions = 0
  moves = 0

  /** `now` returns seconds since the run began. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Returns seconds since the run began. */
  now(): number {
    return Math.round((this.#now() + this.#ahead) * 1000) / 1000
  }

  get size(): number {
    return this.#rows.size
  }

  rows(): TimelineRow[] {
    if (this.#isMixed) {
      const rows = [...this.#rows].sort(([, one], [, other]) => one.created - other.created)
      this.#rows.clear()
      for (const [action_id, row] of rows) this.#rows.set(action_id, row)
      this.#isMixed = false
    }
    return [...this.#rows.values()]
  }

  row(action_id: string): TimelineRow | undefined {
    return this.#rows.get(action_id)
  }

  /** Returns the row with the status. */
  action(run: TimedAction, status: ActionStatus): TimelineRow {
    const row = this.#rows.get(run.action_id) ?? this.#begin(rowOf(run, this.now()))
    row.device = run.device
    return this.#note(row, status, 'EXECUTING_ACTION')
  }

  /** Returns the row with the status. */
  move(run: TimedMove, status: ActionStatus): TimelineRow {
    const row = this.#rows.get(run.action_id) ?? this.#begin(rowOf(run, this.now()))
    return this.#note(row, status, 'PREPARING_TO_MOVE')
  }

  /** Adds the rows of a restored run, which are in the order of their ends; `before` counts the earlier ones. */
  restore(rows: readonly TimelineRow[], before: { actions: number; moves: number }): void {
    this.actions = before.actions
    this.moves = before.moves
    for (const { ended, created } of rows) this.#ahead = Math.max(this.#ahead, (ended ?? created) - this.#now())
    for (const row of [...rows].sort((one, other) => one.created - other.created)) this.#begin(row)
    this.dropped = this.actions + this.moves - this.#rows.size
  }

  /** Ends the action or move that a restart has interrupted. Returns its row. */
  interrupted(row: Omit<TimelineRow, 'ended'>): TimelineRow {
    this.#isMixed = true
    return this.#begin({ ...row, ended: Math.max(this.now(), row.started ?? row.created) })
  }

  #note(row: TimelineRow, status: ActionStatus, starts: ActionStatus): TimelineRow {
    row.status = status
    if (status === starts) row.started = this.now()
    if (isTerminal(actionTransitions, status)) row.ended = this.now()
    return row
  }

  /** Drops the oldest row that has ended: what is under way still needs its times. */
  #dropOldest(): void {
    for (const [id, { ended }] of this.#rows) {
      if (ended === null) continue
      this.#rows.delete(id)
      this.dropped++
      return
    }
  }

  #begin(row: TimelineRow): TimelineRow {
    if (row.kind === 'action') this.actions++
    else this.moves++
    this.#rows.set(row.action_id, row)
    if (this.#rows.size > mostKept) this.#dropOldest()
    return row
  }
}

function rowOf(run: TimedAction | TimedMove, created: number): TimelineRow {
  const isMove = 'hop' in run
  const { thread_id, name } = isMove ? run.thread : run.owner
  const { plan, method } = isMove ? { plan: null, method: null } : run
  const { from, to, transporter } = isMove ? run.hop : nowhere
  return {
    action_id: run.action_id,
    thread_id,
    thread_name: name,
    kind: isMove ? 'move' : 'action',
    name: plan?.name ?? null,
    method_id: method?.method_id ?? null,
    method_name: method?.plan.name ?? null,
    device: null,
    from,
    to,
    transporter,
    status: 'CREATED',
    created,
    started: null,
    ended: null,
  }
}

const nowhere = { from: null, to: null, transporter: null }
