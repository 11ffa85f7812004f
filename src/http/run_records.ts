// The routes of the records of runs: the rows that a run leaves on the disk, and its values and readings as JSON or CSV.

import * as v from 'valibot'
import type { Runs } from '../bench/runs.ts'
import { OperationResult } from '../devices/records.ts'
import { LabError } from '../errors.ts'
import type { Hub } from '../events/hub.ts'
import { longValueOf, rowsOfRecord, startOfNewest } from '../events/run_record_reader.ts'
import { csvHead, csvLine } from '../kit/csv.ts'
import { described } from '../kit/described.ts'
import { RecordedReading, RecordedValue, RecordRow, rowKinds } from '../workflow/records/record_schema.ts'
import { recordOf } from '../workflow/records/run_records.ts'
import { Note, Tags } from '../workflow/state/submission_request.ts'
import { authorOf } from './author.ts'
import { type Call, json, type Route, routesOf } from './contract.ts'
import { goneSignal } from './events.ts'
import { csvType, wantsCsv } from './headers.ts'
import { knownBy } from './known_execution.ts'
import { Numeral, whole } from './numeral.ts'
import { answerHeaders } from './open_stream.ts'
import { type Pacing, pacedBody } from './paced_body.ts'

export type Rooms = { hub: Hub; runs: Runs } & Pacing
export type Asked = Pick<Call<Rooms, unknown, unknown>, 'rooms' | 'c' | 'param'>

const route = routesOf<Rooms>('runs')

const path = '/api/executions/:execution_id'
/** The most bytes of the newest rows. */
const mostNewest_bytes = 1_000_000
const Damaged = described(v.number(), 'Lines that are not as they were written; 0 for a whole record')

export const runRecordRoutes: Route<Rooms>[] = [
  route('GET', `${path}/record`, {
    operation_id: 'getRecord',
    summary: 'Get the record of an execution: its submissions, actions, moves, values and incidents',
    description:
      'Rows in the order in which they were written, each with a `kind`. They are written in the transactions of the run, and kept until the execution is deleted. ' +
      'Times are Unix time in seconds. PURE_SIM executions have no record.',
    scope: 'read',
    query: v.object({
      kind: v.optional(described(v.picklist(rowKinds), 'Only rows of this kind')),
      after: v.optional(described(Numeral(whole, 'it must be a whole number'), 'Only rows behind the `next` of an earlier answer')),
      newest_bytes: v.optional(
        described(
          v.pipe(Numeral(whole, 'it must be a whole number'), v.maxValue(mostNewest_bytes)),
          'Only the newest rows, of so many bytes of the record together',
          'bytes',
        ),
      ),
    }),
    success: {
      description: 'The rows',
      schema: v.strictObject({
        execution_id: v.string(),
        started_at: described(v.number(), 'Unix time', 's'),
        rows: v.array(RecordRow),
        damaged: Damaged,
        next: described(v.number(), 'For `after` of the next request, which gets the rows that have come since'),
      }),
    },
    errors: [400, 404, 503],
    async handle(call) {
      const { execution_id, started_at } = knownBy(call.rooms, call.param('execution_id')).row
      const { kind, after, newest_bytes } = call.query()
      const head = `{"execution_id":${JSON.stringify(execution_id)},"started_at":${started_at},"rows":[`
      const record = await recordFor(call)
      const newest = newest_bytes === undefined ? 0 : await startOfNewest(record.path, record.length, newest_bytes)
      // A record that lost its last rows at a power cut is shorter than an earlier answer said.
      const end = after === undefined ? 0 : await startOfNewest(record.path, record.length, 0)
      const start = Math.max(Math.min(after ?? 0, end), newest)
      return answerPieces(call, jsonPieces(record, { head, kinds: kind && [kind], start, hasNext: true }))
    },
  }),
  route('POST', `${path}/notes`, {
    operation_id: 'addNote',
    summary: 'Add a note to the record of an execution, open or ended',
    description:
      'The note is on the disk when this answers. It stays as it is: a correction is another note. An execution has 1,000 notes at most.',
    scope: 'operate',
    body: v.strictObject({
      text: described(Note, '4,000 characters at most'),
      tags: v.optional(described(Tags, 'Words by which it is found; 32 at most'), []),
    }),
    success: { description: 'The note is in the record', schema: OperationResult },
    errors: [400, 404, 409, 503],
    async handle(call) {
      const { rooms, c, param, body } = call
      const { path } = await recordFor(call)
      const execution_id = param('execution_id')
      await rooms.runs.notes.add({ execution_id, path }, { ...authorOf(c), ...body() })
      return json({ success: true, message: `the note is in the record of execution ${execution_id}` })
    },
  }),
  route('GET', `${path}/values`, {
    operation_id: 'listValues',
    summary: 'Get the values that the operations of an execution gave',
    description:
      'Each member of the `data` of an operation is a value, with the labware on which it was taken. As JSON, or with `Accept: text/csv` as CSV. ' +
      'A value of more than 4 KiB has `sha256` and `bytes` instead of `value`; it is at `/api/executions/{execution_id}/values/{sha256}`.',
    scope: 'read',
    success: {
      description: 'The values, in the order in which they were taken',
      schema: v.strictObject({ values: v.array(RecordedValue), damaged: Damaged }),
      also_media_type: 'text/csv',
    },
    errors: [404, 503],
    async handle(call) {
      const record = await recordFor(call)
      if (!wantsCsv(call.c)) return answerPieces(call, jsonPieces(record, { head: '{"values":[', kinds: ['value'] }))
      return answerPieces(call, csvPieces(record, valuesTable), csvType)
    },
  }),
  route('GET', `${path}/readings`, {
    operation_id: 'listReadingsOfExecution',
    summary: 'Get the readings of the devices that an execution used',
    description:
      'Of each device from its first use to the end of the execution: each 10 s, and at the beginning and the end of each action. At most 60 kB for a device and hour: ' +
      'further readings are left out. As JSON, or with `Accept: text/csv` as CSV, with a line for each value.',
    scope: 'read',
    success: {
      description: 'The readings, in the order in which they were taken',
      schema: v.strictObject({ readings: v.array(RecordedReading), damaged: Damaged }),
      also_media_type: 'text/csv',
    },
    errors: [404, 503],
    async handle(call) {
      const record = await recordFor(call)
      if (!wantsCsv(call.c)) return answerPieces(call, jsonPieces(record, { head: '{"readings":[', kinds: ['readings'] }))
      return answerPieces(call, csvPieces(record, readingsTable()), csvType)
    },
  }),
  route('GET', `${path}/values/:sha256`, {
    operation_id: 'getLongValue',
    summary: 'Get a value of more than 4 KiB, by its hash',
    scope: 'read',
    success: { description: 'The value', schema: v.strictObject({ value: v.unknown() }) },
    errors: [404, 503],
    async handle(call) {
      const sha256 = call.param('sha256')
      const record = await recordFor(call)
      const value = /^[0-9a-f]{64}$/.test(sha256) ? await longValueOf(record.path, sha256) : undefined
      if (value === undefined)
        throw new LabError('not_found', `the execution has no value ${sha256.slice(0, 64)}; /values lists the hashes of its long values`)
      return json({ value: JSON.parse(value) })
    },
  }),
]

/** Returns where the record of an execution lies; undefined if it has none. */
export function recordOn({ hub, runs }: Pick<Rooms, 'hub' | 'runs'>, execution_id: string): RecordOnDisk | undefined {
  return recordOf(execution_id, { execution: runs.runtime.runs.get(execution_id), folder: hub.states.folder })
}

type RecordOnDisk = { path: string; length?: number | undefined }

/** Finds the record of the execution. Rejects with `not_found`. */
export async function recordFor({ rooms, param }: Asked): Promise<RecordOnDisk> {
  const { row } = knownBy(rooms, param('execution_id'))
  // The rows of events that a client has seen, and of its own decisions, must be in the answer.
  await rooms.hub.log.until()
  const execution = rooms.runs.runtime.runs.get(row.execution_id)
  if (execution?.record.hasWaiting) await execution.state.persisted()?.catch(() => undefined)
  const record = recordOn(rooms, row.execution_id)
  if (record) return record
  const why = row.run_mode === 'PURE_SIM' ? 'PURE_SIM executions keep none' : 'it ran with a version that kept none'
  throw new LabError(
    'not_found',
    `execution ${row.execution_id} has no record: ${why}; its events are at /events?execution_id=${row.execution_id}`,
  )
}

/** Answers JSON, CSV or HTML piece by piece. At most two large answers are made at a time. */
export async function answerPieces(
  { rooms, c }: Asked,
  pieces: AsyncGenerator<Uint8Array, undefined>,
  media_type = 'application/json',
  more: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const headers = { ...answerHeaders(media_type), ...more }
  if (c.req.method === 'HEAD') return new Response(null, { headers })
  const leave = await rooms.hub.wholeAnswers.acquire(goneSignal(c))
  const response = c.env?.outgoing
  return new Response(pacedBody(rooms, { pieces, response, onEnd: leave }).body, { headers })
}

/** `hasNext`: the answer says from where the next one goes on. */
type Shape = { head: string; kinds: readonly string[] | undefined; start?: number; hasNext?: boolean }

async function* jsonPieces(
  { path, length }: RecordOnDisk,
  { head, kinds, start = 0, hasNext }: Shape,
): AsyncGenerator<Uint8Array, undefined> {
  let comma = ''
  let damaged = 0
  let next = start
  yield Buffer.from(head)
  for await (const piece of rowsOfRecord(path, { length, kinds, start })) {
    damaged += piece.damaged
    next = Math.max(next, piece.end)
    if (piece.rows.length === 0) continue
    yield Buffer.from(`${comma}${piece.rows.join(',\n')}`)
    comma = ',\n'
  }
  yield Buffer.from(`],"damaged":${damaged}${hasNext ? `,"next":${next}` : ''}}\n`)
}

/** A table of CSV: its columns, the kinds of rows that it is made from, and the lines of each of them. */
type Table = { columns: readonly string[]; kinds: readonly string[]; lines(row: Row): readonly Row[] }
type Row = Readonly<Record<string, unknown>>

async function* csvPieces({ path, length }: RecordOnDisk, { columns, kinds, lines }: Table): AsyncGenerator<Uint8Array, undefined> {
  yield Buffer.from(csvHead(columns))
  for await (const { rows } of rowsOfRecord(path, { length, kinds })) {
    const text = rows.flatMap((row) => lines(JSON.parse(row)).map((line) => csvLine(columns, line))).join('')
    if (text !== '') yield Buffer.from(text)
  }
}

const valuesTable: Table = {
  columns: Object.keys(RecordedValue.entries).filter((name) => name !== 'kind'),
  kinds: ['value'],
  lines: (row) => [row],
}

/** Returns the table of readings, which has a line for each value. The units come from the rows of the devices before. */
function readingsTable(): Table {
  const units = new Map<string, Record<string, string>>()
  return {
    columns: ['at', 'device_id', 'name', 'value', 'target', 'unit', 'why', 'action_id'],
    kinds: ['device', 'readings'],
    lines(row) {
      if (row.kind === 'device') {
        units.set(row.device_id as string, row.units as Record<string, string>)
        return []
      }
      const { values, targets = {}, ...about } = row as v.InferOutput<typeof RecordedReading>
      const unitsOf = units.get(about.device_id)
      return Object.entries(values).map(([name, value]) => ({ ...about, name, value, target: targets[name], unit: unitsOf?.[name] }))
    },
  }
}
