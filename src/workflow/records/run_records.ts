// Reads and continues the records of runs.

import { type RecordRow, type RunRecordFile, recordPath } from '../../events/run_record_file.ts'
import { hasRecord, rowsOfRecord } from '../../events/run_record_reader.ts'
import type { Execution } from '../runs/execution.ts'
import type { RecordState } from '../state/run.ts'
import { timelineRowOf } from '../threads/record_rows.ts'
import { mostKept, type TimelineRow } from '../threads/timeline.ts'

const kinds = ['action', 'move'] as const
const others = ['device', 'teachpoint'] as const
const isOther = /^\{"kind":"(device|teachpoint)"/

type Reading = { length?: number; other?(row: RecordRow): void }

/**
 * Reads the newest rows of the timeline, in the order of their ends, and counts the earlier ones. `started_at`: when the run began, Unix time, s.
 * `other` is called with the rows about devices and teachpoints.
 */
export async function readTimeline(
  path: string,
  started_at: number,
  { length, other }: Reading = {},
): Promise<{ rows: TimelineRow[]; dropped: number; damaged: number }> {
  const texts: string[] = []
  let [dropped, damaged] = [0, 0]
  for await (const piece of rowsOfRecord(path, { kinds: other ? [...kinds, ...others] : kinds, length })) {
    damaged += piece.damaged
    for (const text of piece.rows) {
      if (other && isOther.test(text)) other(JSON.parse(text))
      else texts.push(text)
    }
    const over = texts.length - mostKept
    if (over <= 0) continue
    dropped += over
    texts.splice(0, over)
  }
  return { rows: texts.map((text) => timelineRowOf(JSON.parse(text), started_at)), dropped, damaged }
}

/** Reads the timeline of a run that has ended: the newest rows, in the order they began. */
export async function wholeTimeline(path: string, started_at: number): Promise<{ rows: TimelineRow[]; dropped: number }> {
  const { rows, dropped } = await readTimeline(path, started_at)
  return { rows: rows.sort((one, other) => one.created - other.created), dropped }
}

/**
 * Continues the record of a restored run at the length in its state, and reads its timeline. A record that the disk cannot read does not keep the run from
 * being restored: without its file the run goes on without a record, and without its rows the timeline begins now, with a row that says so.
 */
export async function restoreRecord(execution: Execution, file: RunRecordFile | undefined, saved: RecordState | undefined): Promise<void> {
  if (!file) return
  const { record, timeline, started_at } = execution
  const missing_bytes = await file.reopen(saved?.bytes).catch(() => undefined)
  if (missing_bytes === undefined) return
  record.writeTo(file, saved)
  const other = (row: RecordRow) => execution.used.restore(row)
  const read = saved && (await readTimeline(file.path, started_at, { length: file.length, other }).catch(() => undefined))
  if (saved && read) timeline.restore(read.rows, saved)
  if (!read || missing_bytes > 0) record.add({ kind: 'gap', at: execution.now(), missing_bytes: saved ? missing_bytes : null })
}

/** Returns where the record of a run lies, and how much of it may be read while the run is known; undefined if it has none. */
export function recordOf(
  execution_id: string,
  { execution, folder }: { execution: Execution | undefined; folder: string },
): { path: string; length?: number } | undefined {
  // The rows that are added after the end of the run are in the file alone.
  if (execution?.state.isWritten) return execution.record.readable
  const path = recordPath(folder, execution_id)
  return hasRecord(path) ? { path } : undefined
}
