// The row that a run leaves at its end, and its status on the wire.

import type { RecordRow } from '../../events/run_record_file.ts'
import { Status, statusAlone, type WorkflowStatus, workflowTransitions } from '../state/statuses.ts'
import type { RunEvents } from '../threads/carrier.ts'

type EndedRun = {
  readonly ended_at: number | null
  readonly reason: string | null
  readonly threads: ReadonlyMap<string, { readonly status: { readonly current: string }; readonly plan: { readonly part?: string } }>
}

/** Returns the row of the end of a run, with the number of its threads in each status. */
export function endedRow({ ended_at, threads, reason }: EndedRun, status: string): RecordRow {
  const counts: Record<string, number> = {}
  // The operations of the run itself are no labware.
  for (const { status, plan } of threads.values()) if (!plan.part) counts[status.current] = (counts[status.current] ?? 0) + 1
  return { kind: 'ended', at: ended_at, status, reason, threads: counts }
}

/** Returns the status of a run, which publishes its changes. */
export function workflowStatus(
  { execution_id, events }: { readonly execution_id: string; readonly events: RunEvents },
  published?: WorkflowStatus,
): Status<WorkflowStatus> {
  const publish = (status: WorkflowStatus) => events.emit('WORKFLOW', execution_id, status, events.context())
  return new Status<WorkflowStatus>(workflowTransitions, statusAlone(published ?? 'CREATED'), publish, {
    isPublished: published !== undefined,
  })
}
