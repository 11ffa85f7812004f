// The parameters by which runs are found, and the page of runs that they find.

import * as v from 'valibot'
import { described } from '../kit/described.ts'
import { Barcode } from '../kit/name.ts'
import { type ExecutionRow, type Records, recordStatuses } from '../workflow/records/records.ts'
import { runsThat } from '../workflow/records/run_search.ts'
import { runModes } from '../workflow/state/modes.ts'
import { Limit } from './numeral.ts'
import { Before, isWithin, mustBeSpan, pageOf, spanOf } from './time_span.ts'

const Text = v.pipe(v.string(), v.minLength(1, 'it must not be empty'), v.maxLength(200, 'it has more than 200 characters'))

export const RunSearch = v.object({
  limit: Limit,
  before: Before,
  status: v.optional(described(v.picklist(recordStatuses), 'Only executions of this status')),
  ...spanOf('Only executions that began'),
  workflow: v.optional(described(v.string(), 'Only executions of this workflow')),
  mode: v.optional(described(v.picklist(runModes), 'Only executions in this mode')),
  barcode: v.optional(described(Barcode, 'Only executions that had labware with this barcode')),
  tag: v.optional(described(v.string(), 'Only executions with this tag')),
  project: v.optional(described(v.string(), 'Only executions of this project')),
  text: v.optional(
    described(
      Text,
      'Only executions that have this text, in any case, in their id, workflow, reason, project, tags, notes, operator, groups, threads or barcodes',
    ),
  ),
})

/** Returns the page of runs that the query asks for. Throws `invalid`. */
export function foundRuns(records: Records, asked: v.InferOutput<typeof RunSearch>): { items: ExecutionRow[]; next: string | null } {
  mustBeSpan(asked)
  const matches = runsThat(asked, records)
  return pageOf(records.executions(), {
    limit: asked.limit,
    before: asked.before,
    idOf: ({ execution_id }) => execution_id,
    matches: (run) => isWithin(run.started_at, asked) && matches(run),
  })
}
