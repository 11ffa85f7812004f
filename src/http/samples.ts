// The routes of samples: a sheet for a workflow is checked before it is submitted, and made to be filled in.

import * as v from 'valibot'
import type { Runs } from '../bench/runs.ts'
import { described } from '../kit/described.ts'
import { checkSamples, sampleTemplate } from '../workflow/samples.ts'
import { Group, Samples, SubmissionBody } from '../workflow/state/submission_request.ts'
import { json, type Route, routesOf } from './contract.ts'
import { csvType, wantsCsv } from './headers.ts'
import { answerHeaders } from './open_stream.ts'

type Rooms = { runs: Runs }

const route = routesOf<Rooms>('workflows')

const path = '/api/workflows/:workflow_name/samples'
/** A submission may hold the variables of a thousand groups, bytes. */
export const longestSubmission = 1024 * 1024

const MaybeText = v.nullable(v.string())

export const SampleMistake = v.strictObject({
  row: described(v.nullable(v.number()), 'As a spreadsheet counts: the header is row 1; null for the whole sheet'),
  column: described(MaybeText, 'The letter of the column; null for a whole row'),
  header: MaybeText,
  message: described(v.string(), 'A sentence with its place'),
})

const SampleColumn = v.strictObject({
  column: described(v.string(), 'Its letter'),
  header: v.string(),
  takes: described(
    v.nullable(v.picklist(['group', 'barcode', 'at', 'variable', 'nothing'])),
    '`at`: the place of the labware; nothing: an index, which is left out; null for a header that is not known',
  ),
  name: described(MaybeText, 'Of the thread or the variable'),
})

const CheckedSamples = v.strictObject({
  groups: described(v.array(Group), 'As they would be submitted; of use only without mistakes'),
  mistakes: v.array(SampleMistake),
  mistakes_left_out: described(v.number(), 'How many more there are'),
  columns: v.array(SampleColumn),
  rows: described(v.array(v.strictObject({ row: v.number(), cells: v.array(v.string()) })), 'The samples as text, to be shown'),
})

export const sampleRoutes: Route<Rooms>[] = [
  route('POST', path, {
    operation_id: 'checkSamples',
    summary: 'Check a sheet of samples',
    description:
      'Answers the groups and all mistakes of a sheet, as a submission with `samples` would have them. Nothing is submitted. ' +
      'Whether labware stands in the way, or an open run has a barcode, is found out by the submission alone.',
    scope: 'read',
    is_unrecorded: true,
    body: v.strictObject({ samples: Samples, variables: SubmissionBody.entries.variables }),
    body_limit: longestSubmission,
    success: { description: 'The groups, and what is wrong', schema: CheckedSamples },
    errors: [400, 404],
    handle({ rooms, param, body }) {
      const workflow = rooms.runs.runtime.workflow(param('workflow_name'))
      const { samples, variables } = body()
      const { sheet, columns, groups, mistakes } = checkSamples(workflow, samples, variables)
      const meaningOf = new Map(columns.map((column) => [column.index, column]))
      return json({
        groups,
        mistakes: mistakes.list,
        mistakes_left_out: mistakes.leftOut,
        columns: sheet.columns.map(({ index, letter, header }) => ({ column: letter, header, ...meaningWords(meaningOf.get(index)) })),
        rows: sheet.rows.map(({ row, cells }) => ({ row, cells: sheet.columns.map(({ index }) => textOf(cells[index])) })),
      } satisfies v.InferInput<typeof CheckedSamples>)
    },
  }),
  route('GET', path, {
    operation_id: 'getSampleSheet',
    summary: 'Get an empty sheet of samples',
    description:
      'The header for the workflow, and one row with examples, which you replace. As JSON, or with `Accept: text/csv` as a file.',
    scope: 'read',
    success: {
      description: 'The sheet',
      schema: v.strictObject({ text: described(v.string(), 'CSV') }),
      also_media_type: 'text/csv',
    },
    errors: [404],
    handle({ rooms, param, c }) {
      const text = sampleTemplate(rooms.runs.runtime.workflow(param('workflow_name')))
      if (!wantsCsv(c)) return json({ text })
      return new Response(text, { headers: answerHeaders(csvType) })
    },
  }),
]

type Meaning = ReturnType<typeof checkSamples>['columns'][number]

function meaningWords(column: Meaning | undefined): { takes: Meaning['takes'] | null; name: string | null } {
  if (!column) return { takes: null, name: null }
  const name = column.takes === 'variable' ? column.variable : column.takes === 'barcode' || column.takes === 'at' ? column.thread : null
  return { takes: column.takes, name }
}

function textOf(cell: unknown): string {
  return typeof cell === 'string' ? cell : cell === undefined ? '' : JSON.stringify(cell)
}
