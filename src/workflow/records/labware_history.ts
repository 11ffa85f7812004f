// Where one labware was: its moves and actions in a run, from the record of that run.

import * as v from 'valibot'
import { operationWords } from '../../devices/operation_words.ts'
import { rowsOfRecord } from '../../events/run_record_reader.ts'
import { described } from '../../kit/described.ts'
import { sentence } from '../../kit/sentence.ts'
import { runModes } from '../state/modes.ts'
import type { ExecutionRow, Records } from './records.ts'

const MaybeText = v.nullable(v.string())
const kinds = ['move', 'action', 'decision'] as const

export const LabwareStep = v.strictObject({
  at: described(v.number(), 'When it ended, Unix time', 's'),
  kind: v.picklist(kinds),
  text: described(v.string(), 'The step, in a sentence'),
  labware_id: MaybeText,
  labware: MaybeText,
  barcode: MaybeText,
  from: described(MaybeText, 'Of a move'),
  to: described(MaybeText, 'Of a move'),
  device_id: described(MaybeText, 'The device of an action, or the transporter of a move'),
  started: described(v.nullable(v.number()), 'Unix time', 's'),
  outcome: MaybeText,
  execution_id: v.string(),
  workflow_name: v.string(),
  run_mode: v.picklist(runModes),
})
export type LabwareStep = v.InferOutput<typeof LabwareStep>

type Row = Readonly<Record<string, unknown>>
type Wanted = {
  /** Whether a step at this time, Unix time in seconds, is wanted. */
  isWanted(at: number): boolean
  /** The most steps, the newest. */
  most: number
  /** Leaves out this step and later ones, counted from 0 in the order of the record. */
  before?: number | undefined
}
/** The newest steps of a labware in a run, the newest first. `end` is the number of the first one, and 1. */
type Found = { steps: LabwareStep[]; end: number; damaged: number }

/** Returns the ids of the labware in a run that has this barcode or id. */
export function labwareIdsIn(records: Records, { execution_id }: ExecutionRow, name: string): Set<string> {
  const its = records.threads(execution_id).filter(({ barcode, labware_id }) => barcode === name || labware_id === name)
  return new Set(its.flatMap(({ labware_id }) => labware_id ?? []))
}

/** Reads the newest steps of labware from the record of a run, piece by piece: only `most` of them are in memory. Rejects with `storage`. */
export async function stepsOf(
  record: { path: string; length?: number | undefined },
  run: ExecutionRow,
  labware: { ids: ReadonlySet<string>; name: string },
  { isWanted, most, before = Number.POSITIVE_INFINITY }: Wanted,
): Promise<Found> {
  const marks = [...labware.ids, labware.name].map((text) => JSON.stringify(text))
  const found: Found = { steps: [], end: 0, damaged: 0 }
  for await (const { rows, damaged } of rowsOfRecord(record.path, { length: record.length, kinds })) {
    found.damaged += damaged
    for (const json of rows) {
      // Most rows are about other labware, and need not be parsed.
      if (found.end >= before || !marks.some((mark) => json.includes(mark))) continue
      const step = stepOf(JSON.parse(json), run, labware)
      if (!step || !isWanted(step.at)) continue
      found.steps.push(step)
      found.end++
    }
    found.steps.splice(0, Math.max(0, found.steps.length - most))
  }
  found.steps.reverse()
  return found
}

function stepOf(row: Row, { execution_id, workflow_name, run_mode }: ExecutionRow, labware: { ids: ReadonlySet<string>; name: string }) {
  const its = [row, ...((row.others as Row[] | undefined) ?? [])].find(
    ({ labware_id, barcode }) => labware.ids.has(labware_id as string) || barcode === labware.name || labware_id === labware.name,
  )
  const at = row.ended ?? row.at ?? row.created
  if (!its || typeof at !== 'number') return undefined
  return {
    at,
    kind: row.kind as LabwareStep['kind'],
    text: textOf(row),
    labware_id: textIn(its.labware_id),
    labware: textIn(its.labware),
    barcode: textIn(its.barcode),
    from: textIn(row.from),
    to: textIn(row.to),
    device_id: textIn(row.device_id ?? row.transporter),
    started: typeof row.started === 'number' ? row.started : null,
    outcome: textIn(row.outcome),
    execution_id,
    workflow_name,
    run_mode,
  }
}

/** Words a row by its kind. */
function textOf(row: Row): string {
  if (row.kind === 'decision') return textIn(row.text) ?? String(row.decision)
  const { past, infinitive } = wordsOf(row)
  if (row.outcome === 'COMPLETED') return past
  return `Tried to ${infinitive}, which ended ${String(row.outcome)}${row.error ? `: ${String(row.error)}` : ''}`
}

function wordsOf(row: Row) {
  if (row.kind === 'move') return sentence('Moved|move {labware} from {from} to {to}[ with {transporter}]', row)
  const [only, another] = (row.operations as { operation: string; params: Row }[] | undefined) ?? []
  const isOne = only !== undefined && another === undefined && typeof row.device_id === 'string'
  return isOne
    ? operationWords(row.device_id as string, only.operation, only.params)
    : sentence('Finished|finish step {name}[ at {device_id}]', row)
}

function textIn(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}
