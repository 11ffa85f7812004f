// The tables of an exported run: which rows of its record they hold, and their columns with units.

import { csvHead, csvLine } from '../../../kit/csv.ts'
import { leftOutWords } from '../report/facts.ts'
import type { ZonedTime } from '../report/time.ts'

export type Row = Readonly<Record<string, unknown>>

/** The facts that a table needs beside its rows. `unitOf`: the unit of a reading of a device. `fileOf`: the file of a long value. */
export type Around = { time: ZonedTime; unitOf(device_id: string, name: string): string | null; fileOf(sha256: string): string | null }

export type Column = { name: string; unit: string | null; description: string }

export type Table = { description: string; kinds: readonly string[]; columns: readonly Column[]; lines(row: Row, around: Around): Row[] }

const column = (name: string, description: string, unit: string | null = null): Column => ({ name, unit, description })

const at = [column('at', 'When: Unix time', 's'), column('time', 'When, in the time zone of the bench: ISO 8601')]
const whose = [
  column('labware', 'Name of the labware'),
  column('barcode', 'Its barcode'),
  column('group_id', 'Its group in the submission'),
  column('thread_name', 'Its thread in the workflow'),
]
const part = column('part', 'before or after: of an operation of the run itself, without labware')
const ids = ['labware_id', 'thread_id', 'submission_id', 'action_id'].map((name) => column(name, 'Id in the record'))

export const tables: Readonly<Record<string, Table>> = {
  'timeline.csv': {
    description: 'Actions and moves: which labware was where, when, by what, with which outcome',
    kinds: ['action', 'move'],
    columns: [
      column('kind', 'action, or move'),
      ...whose,
      column('name', 'Name of the action'),
      column('method_name', 'Method of the action'),
      column('device_id', 'Device of the action'),
      column('from', 'Position where the move began'),
      column('to', 'Position where the move ended'),
      column('transporter', 'Arm, or other transporter, of the move'),
      column('operations', 'Operations of the device with their parameters: JSON'),
      column('created', 'When it was wanted: Unix time', 's'),
      column('started', 'When it began: Unix time', 's'),
      column('ended', 'When it ended: Unix time', 's'),
      column('started_time', 'When it began, in the time zone of the bench: ISO 8601'),
      column('ended_time', 'When it ended, in the time zone of the bench: ISO 8601'),
      column('outcome', 'COMPLETED, ERRORED, ABORTED or SKIPPED'),
      column('error', 'Why it did not complete'),
      column('others', 'Other labware in the action: JSON'),
      column('position', 'Position at the device of the action where the labware stood'),
      ...ids,
      part,
    ],
    lines: (row, { time }) => [{ ...row, started_time: isoOf(time, row.started), ended_time: isoOf(time, row.ended) }],
  },
  'values.csv': {
    description: 'Values that the operations gave, each with its labware',
    kinds: ['value'],
    columns: [
      ...at,
      column('name', 'Name of the value'),
      column('value', 'The value; JSON, if it is no number and no text'),
      column('unit', 'Its unit'),
      column('shape', 'Lengths of nested arrays, of the outermost first'),
      ...whose,
      column('method_name', 'Method of the action'),
      column('action_name', 'Action that gave it'),
      column('operation', 'Operation that gave it'),
      column('device_id', 'Device that gave it'),
      column('file', 'File of a value of more than 4 KiB: JSON'),
      column('sha256', 'SHA-256 of that file'),
      ...ids,
      column('operation_id', 'Id of the operation'),
      part,
    ],
    lines: (row, { time, fileOf }) => [
      { ...row, time: isoOf(time, row.at), file: typeof row.sha256 === 'string' ? fileOf(row.sha256) : null },
    ],
  },
  'readings.csv': {
    description: 'Readings of the devices while the run used them: a line for each value',
    kinds: ['readings'],
    columns: [
      ...at,
      column('device_id', 'The device'),
      column('name', 'The reading'),
      column('value', 'Its value'),
      column('unit', 'Its unit'),
      column('target', 'Its target at that time, in the same unit'),
      column('why', 'start or end of an action, or interval'),
      column('action_id', 'Id of that action'),
    ],
    lines: readingLines,
  },
  'conditions.csv': {
    description: 'The ways that labware took at conditions and rounds, and its waits',
    kinds: ['condition', 'wait'],
    columns: [
      ...at,
      column('kind', 'condition, or wait'),
      column('of', 'if, branch, repeat, delay or until_temperature'),
      column('step', 'Name of the step'),
      ...whose,
      column('side', 'then, else, or a case; of a repeat again or end'),
      column('text', 'The reason in words'),
      column('values', 'The saved values in the condition: JSON'),
      column('round', 'Rounds that were done before'),
      column('began', 'When the wait began: Unix time', 's'),
      column('ended', 'When the wait ended: Unix time', 's'),
      column('outcome', 'reached, timeout, skipped, failed or ended'),
      column('device_id', 'Device whose temperature was waited for'),
      column('target', 'Its target temperature', '°C'),
      column('labware_id', 'Id in the record'),
      column('thread_id', 'Id in the record'),
    ],
    lines: (row, { time }) => [{ ...row, time: isoOf(time, row.at) }],
  },
  'decisions.csv': {
    description: 'What people decided and noted, and what did not go as planned',
    kinds: ['decision', 'note', 'incident', 'window_missed', 'not_done', 'gap', 'values_left_out', 'rows_left_out'],
    columns: [
      ...at,
      column('kind', 'decision, note, incident, window_missed, not_done, or what the record lacks'),
      column('by', 'Who: name of the key or the user'),
      column('decision', 'The decision as a verb'),
      column('text', 'The decision, the note, the incident, the operation that was not done, or what the record lacks in words'),
      column('params', 'Parameters of the decision: JSON'),
      column('category', 'Category of the incident'),
      column('severity', 'Severity of the incident'),
      ...whose,
      column('device_id', 'Device that it is about'),
      column('after', 'Action after which the window began'),
      column('before', 'Action that had to begin in the window'),
      column('allowed_s', 'Length of the window', 's'),
      column('took_s', 'Time until that action began; empty if it never began', 's'),
      ...ids,
      column('incident_id', 'Id of the incident'),
      part,
    ],
    lines: (row, { time }) => [{ ...row, time: isoOf(time, row.at), text: row.text ?? row.message ?? lackOf(row) }],
  },
}

function lackOf(row: Row): string | undefined {
  if (row.kind === 'not_done') return `${row.operation} of ${row.on} was not done: ${row.reason}`
  return row.kind === 'rows_left_out' || row.kind === 'values_left_out' ? leftOutWords(row) : undefined
}

function readingLines({ at, device_id, values, targets, why, action_id }: Row, { time, unitOf }: Around): Row[] {
  if (typeof values !== 'object' || values === null) return []
  const wanted = typeof targets === 'object' && targets !== null ? (targets as Row) : {}
  const same = { at, time: isoOf(time, at), device_id, why, action_id }
  return Object.entries(values).map(([name, value]) => ({
    ...same,
    name,
    value,
    unit: unitOf(String(device_id), name),
    target: wanted[name],
  }))
}

function isoOf(time: ZonedTime, at: unknown): string {
  return typeof at === 'number' ? time.iso(at) : ''
}

/** Yields the text of a table from pieces of rows. */
export async function* csvOf({ columns, lines }: Table, pieces: AsyncIterable<{ rows: string[] }>, around: Around): AsyncGenerator<string> {
  const names = columns.map(({ name }) => name)
  yield csvHead(names)
  for await (const { rows } of pieces) {
    const text = rows.flatMap((row) => lines(JSON.parse(row), around).map((line) => csvLine(names, line))).join('')
    if (text !== '') yield text
  }
}
