// What an execution has done and when: a row for each action and each hop, the newest ten thousand of them.

import type { ActionRun } from './action.ts'
import type { MoveRun } from './moving.ts'
import { type ActionStatus, actionTransitions, isTerminal } from './statuses.ts'
import type { LabwareThread } from './thread.ts'

export type TimelineRow = {
  action_id: string
  thread_id: string
  thread_name: string
  /** `move` is one hop. */
  kind: 'action' | 'move'
  name: string | null
  method_id: string | null
  method_name: string | null
  /** Of an action; a move has `from`, `to` and `transporter`. */
  device: string | null
  from: string | null
  to: string | null
  transporter: string | null
  status: ActionStatus
  /** Seconds since the execution began, on its own clock; null while it is not so far. */
  created: number
  started: number | null
  ended: number | null
}

const mostKept = 10_000

export class Timeline {
  readonly #now: () => number
  readonly #rows = new Map<string, TimelineRow>()
  /** Rows that are no longer kept. */
  dropped = 0
  actions = 0
  moves = 0

  /** `now` is in seconds since the execution began. */
  constructor(now: () => number) {
    this.#now = now
  }

  rows(): TimelineRow[] {
    return [...this.#rows.values()]
  }

  action(run: ActionRun, status: ActionStatus): void {
    const row = this.#rows.get(run.action_id) ?? this.#begin(run.action_id, run.owner, 'action', () => this.actions++)
    row.name = run.plan.name
    row.device = run.device
    row.method_id = run.method?.method_id ?? null
    row.method_name = run.method?.plan.name ?? null
    this.#note(row, status, 'EXECUTING_ACTION')
  }

  move(run: MoveRun, status: ActionStatus): void {
    const row = this.#rows.get(run.action_id) ?? this.#begin(run.action_id, run.thread, 'move', () => this.moves++)
    Object.assign(row, run.hop)
    this.#note(row, status, 'PREPARING_TO_MOVE')
  }

  #note(row: TimelineRow, status: ActionStatus, starts: ActionStatus): void {
    row.status = status
    if (status === starts) row.started = this.#now()
    if (isTerminal(actionTransitions, status)) row.ended = this.#now()
  }

  #begin(action_id: string, thread: LabwareThread, kind: TimelineRow['kind'], count: () => void): TimelineRow {
    const nothing = { name: null, method_id: null, method_name: null, device: null, from: null, to: null, transporter: null }
    const times = { created: this.#now(), started: null, ended: null }
    const row: TimelineRow = {
      action_id,
      thread_id: thread.thread_id,
      thread_name: thread.name,
      kind,
      ...nothing,
      status: 'CREATED',
      ...times,
    }
    count()
    this.#rows.set(action_id, row)
    if (this.#rows.size > mostKept) {
      this.#rows.delete(this.#rows.keys().next().value!)
      this.dropped++
    }
    return row
  }
}
