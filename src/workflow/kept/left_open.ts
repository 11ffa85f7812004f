// Executions that were open when the service ended: nothing of them runs any more, and that is said.

import type { Context } from '../../events/event.ts'
import { isTerminal, threadTransitions } from '../statuses.ts'
import type { Records } from './records.ts'
import { restarted } from './restoring.ts'

type Around = {
  isTakenUp(execution_id: string): boolean
  /** Why one cannot be, where there is more to say than that the service restarted. */
  reasons?: ReadonlyMap<string, string>
  emit(event_name: string, context: Context, execution_id: string): unknown
}

/** Fires their ends, in the order of any end; whoever keeps records hears of it. Answers how many there were. */
export function abortLeftOpen(records: Records, { isTakenUp, reasons, emit }: Around): number {
  const open = records.executions().filter(({ ended_at, execution_id }) => ended_at === null && !isTakenUp(execution_id))
  for (const { execution_id, workflow_name } of open.reverse()) {
    const reason = reasons?.get(execution_id) ?? restarted
    const context = () => ({ execution_id, workflow_name })
    const groups = records.groups(execution_id).filter(({ open }) => open > 0)
    for (const { thread_id, thread_name, template_name, status } of records.threads(execution_id)) {
      if (isTerminal(threadTransitions, status)) continue
      const its = { ...context(), thread_id, thread_name, template_name, pause_reason: null, last_error: reason }
      emit(`THREAD.${thread_id}.ABORTED`, its, execution_id)
    }
    for (const { submission_id, group_id } of groups)
      emit(`GROUP.${group_id}.COMPLETED`, { ...context(), submission_id, group_id }, execution_id)
    emit(`WORKFLOW.${execution_id}.ERRORED`, context(), execution_id)
    for (const { submission_id, group_ids, ended_at } of records.submissionsOf(execution_id)) {
      if (ended_at !== null) continue
      emit(`SUBMISSION.${submission_id}.ABORTED`, { ...context(), submission_id, group_count: group_ids.length, reason }, execution_id)
    }
    emit(`EXECUTION.${execution_id}.ABORTED`, { ...context(), reason }, execution_id)
  }
  return open.length
}
