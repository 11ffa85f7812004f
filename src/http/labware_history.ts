// The route of the history of one labware, over the runs that had it.

import * as v from 'valibot'
import type { Runs } from '../bench/runs.ts'
import { LabError } from '../errors.ts'
import type { Hub } from '../events/hub.ts'
import { described } from '../kit/described.ts'
import { barcodeText } from '../kit/name.ts'
import { LabwareStep, labwareIdsIn, stepsOf } from '../workflow/records/labware_history.ts'
import type { ExecutionRow } from '../workflow/records/records.ts'
import { runModes } from '../workflow/state/modes.ts'
import { type Route, routesOf } from './contract.ts'
import { Limit } from './numeral.ts'
import type { Pacing } from './paced_body.ts'
import { answerPieces, recordOn } from './run_records.ts'
import { isWithin, mustBeSpan, type Span, spanOf } from './time_span.ts'

const Cursor = v.optional(
  described(
    v.pipe(v.string(), v.regex(/^[0-9a-f-]{36}\.\d{1,9}$/, 'it must be `next` of another page')),
    'Only steps behind those of the page before: its `next`',
  ),
)

type Rooms = { hub: Hub; runs: Runs } & Pacing

const route = routesOf<Rooms>('runs')

export const labwareHistoryRoutes: Route<Rooms>[] = [
  route('GET', '/api/labware/:barcode/history', {
    operation_id: 'getLabwareHistory',
    summary: 'Get where one labware was, over runs: its moves and actions',
    description:
      'By its barcode, or by its `labware_id`. From the records of the executions that are kept, the newest thousand; PURE_SIM executions keep none, and what people carry between ' +
      'executions is in the audit trail. Each answer has at most `limit` steps, and `limit` is at most 10,000; `before` goes on with the next ones.',
    scope: 'read',
    query: v.object({
      limit: Limit,
      before: Cursor,
      ...spanOf('Only steps that ended'),
      mode: v.optional(described(v.picklist(runModes), 'Only executions in this mode: LIVE leaves rehearsals out')),
    }),
    success: {
      description:
        'The execution that began last comes first, and of each execution the newest step. Steps of executions that were open at the same time are not merged: sort them by `at`.',
      schema: v.strictObject({
        labware: v.string(),
        steps: v.array(LabwareStep),
        runs: described(v.number(), 'The executions that had it, of those that are kept'),
        next: described(v.nullable(v.string()), 'The value of `before` for the next page; null on the last one'),
        damaged: described(v.number(), 'Lines of the records that are not as they were written'),
      }),
    },
    errors: [400, 404, 503],
    async handle({ rooms, c, param, query }) {
      const name = barcodeText(param('barcode'))
      const { limit, mode, before, ...span } = query()
      mustBeSpan(span)
      const known = rooms.runs.runtime.records.runsWith(name)
      if (known.length === 0) {
        const sentence = `no execution that is kept had labware with the barcode or the id ${JSON.stringify(name.slice(0, 128))}`
        throw new LabError('not_found', `${sentence}; /api/executions shows which are kept`)
      }
      // The rows of events that a client has seen must be in the answer.
      await rooms.hub.log.until()
      const runs = known.filter((run) => (mode === undefined || run.run_mode === mode) && mayHave(run, span))
      return answerPieces({ rooms, c, param }, pieces(rooms, { name, runs, limit, span, from: placeIn(runs, before) }))
    },
  }),
]

/** The place at which a page begins: the index of the run, and the number of its step behind which the page begins. */
type From = { run: number; step: number | undefined }
type Asked = { name: string; runs: readonly ExecutionRow[]; limit: number; span: Span; from: From }

/** Finds where the next page begins. Throws `invalid` for a run that is no longer kept. */
function placeIn(runs: readonly ExecutionRow[], before: string | undefined): From {
  if (before === undefined) return { run: 0, step: undefined }
  const [execution_id, step] = before.split('.')
  const run = runs.findIndex((one) => one.execution_id === execution_id)
  if (run < 0)
    throw new LabError(
      'invalid',
      'the query: before: the execution of that page is not among the others any more; begin again without before',
    )
  return { run, step: Number(step) }
}

/** Makes the answer run by run, so that the steps of one run are in memory at a time. */
async function* pieces(rooms: Rooms, { name, runs, limit, span, from }: Asked): AsyncGenerator<Uint8Array, undefined> {
  let [left, comma, damaged] = [limit, '', 0]
  let next: string | null = null
  yield Buffer.from(`{"labware":${JSON.stringify(name)},"steps":[`)
  for (const [i, run] of runs.entries()) {
    if (i < from.run) continue
    const record = recordOn(rooms, run.execution_id)
    if (!record) continue
    const labware = { name, ids: labwareIdsIn(rooms.runs.runtime.records, run, name) }
    // One more step than fits tells whether there are more.
    const before = i === from.run ? from.step : undefined
    const found = await stepsOf(record, run, labware, { most: left + 1, before, isWanted: (at) => isWithin(at, span) })
    damaged += found.damaged
    const steps = found.steps.slice(0, left)
    if (found.steps.length > left) next = `${run.execution_id}.${found.end - steps.length}`
    left -= steps.length
    if (steps.length > 0) yield Buffer.from(comma + steps.map((step) => JSON.stringify(step)).join(',\n'))
    if (steps.length > 0) comma = ',\n'
    if (next !== null) break
  }
  yield Buffer.from(`],"runs":${runs.length},"next":${JSON.stringify(next)},"damaged":${damaged}}\n`)
}

/** Whether a run can have steps within the time. */
function mayHave({ started_at, ended_at }: ExecutionRow, { since, until }: Span): boolean {
  return (until === undefined || started_at < until) && (since === undefined || ended_at === null || ended_at >= since)
}
