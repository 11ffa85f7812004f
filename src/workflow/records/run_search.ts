// Finds runs by what their records in memory say. No file is read.

import type { RunMode } from '../state/modes.ts'
import type { ExecutionRow, Records } from './records.ts'

export type RunQuery = {
  status?: ExecutionRow['status'] | undefined
  workflow?: string | undefined
  mode?: RunMode | undefined
  barcode?: string | undefined
  tag?: string | undefined
  project?: string | undefined
  text?: string | undefined
}

/** Makes the function that tells whether a run is one of those that are looked for. */
export function runsThat(
  { status, workflow, mode, barcode, tag, project, text }: RunQuery,
  records: Records,
): (run: ExecutionRow) => boolean {
  const had = barcode === undefined ? undefined : new Set(records.runsWith(barcode).map(({ execution_id }) => execution_id))
  const words = text?.toLowerCase()
  return (run) => {
    if (status !== undefined && run.status !== status) return false
    if (workflow !== undefined && run.workflow_name !== workflow) return false
    if (mode !== undefined && run.run_mode !== mode) return false
    if (had && !had.has(run.execution_id)) return false
    const submissions = () => records.submissionsOf(run.execution_id)
    if (tag !== undefined && !submissions().some(({ tags }) => tags?.includes(tag))) return false
    if (project !== undefined && !submissions().some((one) => one.project === project)) return false
    return words === undefined || textsOf(run, records).some((its) => its.toLowerCase().includes(words))
  }
}

/** Lists the texts of a run in which words are searched. */
function textsOf(run: ExecutionRow, records: Records): string[] {
  const { execution_id, workflow_name, reason } = run
  const submissions = records.submissionsOf(execution_id)
  const described = submissions.flatMap(({ project, tags, notes }) => [project, notes, ...(tags ?? [])])
  const asked = submissions.flatMap(({ submission_id, operator_id, group_ids }) => [submission_id, operator_id, ...group_ids])
  const carried = records.threads(execution_id).flatMap(({ thread_name, barcode }) => [thread_name, barcode])
  return [execution_id, workflow_name, reason, ...described, ...asked, ...carried].filter((its) => typeof its === 'string')
}
