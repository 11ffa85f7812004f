// The rows of steps that are neither actions nor moves: which way a thread took at a condition, and how long it waited. Call them in the same turn as the
// change of the thread, so that the row is in its transaction.

import { type Condition, valuesIn } from '../plans/conditions.ts'
import { stepKey } from '../plans/durations.ts'
import { scopeOf } from './channels.ts'
import { labwareIn } from './record_rows.ts'
import { Interrupt } from './recovery.ts'
import type { LabwareThread } from './thread.ts'

type Named = { name: string }

/** `text` is one sentence for a reader of the record. `side` is the way taken: `then`, `else`, a case; of a repeat `again` or `end`. */
type Taken = {
  of: 'if' | 'branch' | 'repeat'
  side: string
  text: string
  condition?: Condition | undefined
  event?: string
  value?: string | null
  round?: number
}

export function addConditionRow(thread: LabwareThread, { name }: Named, { condition, ...taken }: Taken): void {
  const { execution, environment } = thread
  const { of, side, round = 0 } = taken
  const way = of !== 'repeat' ? side : side === 'end' ? String(round) : undefined
  if (environment.mode !== 'PURE_SIM' && way !== undefined)
    environment.durations?.took(stepKey(execution.workflow.name, thread.plan.name, { name }), way)
  if (!execution.record.isKept) return
  const values = condition && Object.fromEntries(valuesIn(condition).flatMap((value) => savedIn(thread, value)))
  execution.record.add({ kind: 'condition', at: execution.now(), step: name, ...whose(thread), ...taken, ...(values && { values }) })
}

/** `began` is in Unix time, s. `error` is the error that ended the wait, if it did not reach its end. */
type Waited = { of: 'delay' | 'until_temperature'; began: number; error?: unknown; isLate?: boolean } & Readonly<Record<string, unknown>>

export function addWaitRow(thread: LabwareThread, { name }: Named, { error, isLate, ...waited }: Waited): void {
  const { execution } = thread
  if (!execution.record.isKept) return
  const outcome = isLate ? 'timeout' : outcomeOf(error)
  execution.record.add({ kind: 'wait', at: execution.now(), step: name, ...whose(thread), ...waited, ended: execution.now(), outcome })
}

function outcomeOf(error: unknown): 'reached' | 'skipped' | 'ended' | 'failed' {
  if (error === undefined) return 'reached'
  if (!(error instanceof Interrupt)) return 'failed'
  return error.kind === 'skip' ? 'skipped' : 'ended'
}

function whose(thread: LabwareThread) {
  return { thread_id: thread.thread_id, thread_name: thread.name, ...labwareIn(thread) }
}

/** Returns the value as a pair with its name; nothing for a value that was not saved, which the condition did not need. */
function savedIn({ execution, origin }: LabwareThread, name: string) {
  const saved = execution.values.find(name, scopeOf(origin))
  return saved === undefined ? [] : [[name, saved] as const]
}
