// Rows that are added to the record of a run from outside of it, while it is open and after it has ended.

import type { Incident } from '../../events/incidents.ts'
import { appendRow } from '../../events/run_record_append.ts'
import { type RecordRow, recordPath } from '../../events/run_record_file.ts'
import { rowsOfRecord } from '../../events/run_record_reader.ts'
import type { Execution } from '../runs/execution.ts'
import type { Records } from './records.ts'

/** The places to which rows of a run go. */
export type RowTarget = {
  /** The run, if it is in memory. */
  execution: Execution | undefined
  /** The folder of the states of runs. */
  folder: string
  /** Resolves when the state of all runs is on the disk. Rejects with `storage`. */
  persist(): Promise<void>
}

/**
 * Adds a row to the record of a run. Resolves when the row is on the disk: true, or false for a run without a record. Rejects with `storage`; the row of an open run
 * may be written later then. So a caller that repeats itself gives `isSame`, which finds its row among those that still wait for the disk: it is not added twice.
 */
export async function addRow(
  execution_id: string,
  row: RecordRow,
  { execution, folder, persist }: RowTarget,
  isSame: (other: RecordRow) => boolean = () => false,
): Promise<boolean> {
  if (execution && !execution.isOver) {
    const { record } = execution
    if (!record.isKept) return false
    if (!record.waiting(row.kind).some(isSame)) record.add(row)
    await persist()
    return true
  }
  // Until the state of an ended run is removed, its own writer has the file.
  if (execution?.state.isWritten) {
    await persist()
    await execution.state.removed
  }
  await persist()
  return appendRow(recordPath(folder, execution_id), row)
}

/** Adds the rows of a run that was not restored: the incident that says why, if there is one, and its end. */
export async function addEndRows(
  records: Records,
  execution_id: string,
  { incident, folder }: { incident: Incident | undefined; folder: string },
): Promise<void> {
  const path = recordPath(folder, execution_id)
  // A kill may come after these rows, before the end is in the list of runs.
  for await (const { rows } of rowsOfRecord(path, { kinds: ['ended'] })) if (rows.length > 0) return
  const { status, reason, ended_at: at } = records.execution(execution_id)!
  const threads: Record<string, number> = {}
  for (const thread of records.threads(execution_id)) threads[thread.status] = (threads[thread.status] ?? 0) + 1
  if (incident) {
    const { incident_id, category, severity, message, thread_id, timestamp } = incident
    await appendRow(path, { kind: 'incident', at: timestamp, incident_id, category, severity, message, thread_id })
  }
  await appendRow(path, { kind: 'ended', at, status, reason, threads })
}
