// The way from a run to its files, which may arrive after its end.

import type { RunFiles } from '../../events/run_files.ts'
import type { RecordRow } from '../../events/run_record_file.ts'

/** The files of runs, and what adds a row to a run that may have ended: false if its record is gone. */
export type Attachments = { files: RunFiles; addRow(execution_id: string, row: RecordRow): Promise<boolean> }
