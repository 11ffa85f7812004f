// For tests and benchmarks: records of runs with rows of every kind, and what readers need beside them.

import { withChecksum } from '../kit/checksum.ts'
import { writeText } from '../kit/files.ts'
import { makeThrowAwayFolder, removeFolder } from '../kit/folder.ts'
import type { ExecutionRow } from '../workflow/records/records.ts'
import { reportPieces } from '../workflow/records/report/report.ts'
import { oneArm } from './documents.ts'

type Row = { kind: string; [name: string]: unknown }

/** When the run of these records began; Unix time, s. */
export const began = 1_769_850_000
export const execution_id = '7b1c2d3e-0000-4000-8000-000000000000'

const topology = oneArm({ name: 'bench', pads: ['pad_1', 'pad_2'], nests: { nest: 'shaker-1' } })

export const executionOf: ExecutionRow = {
  ...{ execution_id, workflow_name: 'warm-and-shake', workflow_hash: 'ab'.repeat(32), topology: 'bench', run_mode: 'LIVE' },
  ...{ status: 'COMPLETED', reason: null, started_at: began, ended_at: began + 700 },
}

/** Returns the text of a record. */
export function recordText(rows: Iterable<Row>): string {
  let text = ''
  for (const row of rows) text += `${withChecksum(JSON.stringify(row))}\n`
  return text
}

/** Returns the labware members of a plate. */
export function plateOf(n: number) {
  return { labware_id: `l-${n}`, labware: `plate-${n}`, barcode: `P${n}`, group_id: `g${n}` }
}

function threadOf(n: number) {
  return { thread_id: `t-${n}`, thread_name: `plate-${n}`, submission_id: 's-1', ...plateOf(n) }
}

export function submissionRow(more: object = {}): Row {
  return {
    ...{ kind: 'submission', at: began, submission_id: 's-1', operator_id: 'ann', run_mode: 'LIVE', groups: [], variables: { speed: 500 } },
    ...{ workflow: 'warm-and-shake', workflow_hash: 'ab'.repeat(32), topology: 'bench' },
    ...{ workflow_document: { name: 'warm-and-shake' }, topology_document: topology },
    ...{ by: 'lab key', zone: 'Europe/Zurich', benchd: '1.2.3', project: 'screen 7', tags: ['pilot'], notes: 'first batch' },
    ...more,
  }
}

/** Returns the rows of a plate that is brought to the shaker, shaken at 37 °C, and brought away, beginning at `at` seconds of the run. */
export function plateRows(n: number, at: number): Row[] {
  const from = began + at
  const whose = threadOf(n)
  const move = (id: string, places: { from: string; to: string }, started: number): Row => ({
    ...{ kind: 'move', action_id: `${id}-${n}`, name: 'move', ...whose, ...places, transporter: 'arm' },
    ...{ created: started - 1, started, ended: started + 8, outcome: 'COMPLETED', error: null },
  })
  return [
    move('there', { from: 'pad_1', to: 'nest' }, from),
    {
      kind: 'readings',
      at: from + 10,
      device_id: 'shaker-1',
      values: { temperature: 36.9, speed: 500 },
      targets: { temperature: 37 },
      why: 'start',
    },
    {
      kind: 'readings',
      at: from + 20,
      device_id: 'shaker-1',
      values: { temperature: 37.1, speed: 500 },
      targets: { temperature: 37 },
      why: 'interval',
    },
    {
      ...{
        kind: 'value',
        at: from + 30,
        name: 'absorbance',
        value: [0.25, 0.45],
        unit: 'AU',
        shape: [2],
        method_name: 'm',
        action_name: 'shake',
      },
      ...{ operation: 'shake', device_id: 'shaker-1', action_id: `shake-${n}`, operation_id: null, ...whose },
    },
    {
      ...{ kind: 'action', action_id: `shake-${n}`, name: 'shake', ...whose, method_id: 'm', method_name: 'm', device_id: 'shaker-1' },
      operations: [{ operation: 'shake', params: { speed: 500, duration: 20 }, operation_id: null }],
      ...{ created: from + 9, started: from + 10, ended: from + 30, outcome: 'COMPLETED', error: null },
    },
    move('away', { from: 'nest', to: 'pad_2' }, from + 40),
  ]
}

/** Returns the rows of everything that can go wrong or be decided, and of what people add. */
export function troubleRows(): Row[] {
  const plate = threadOf(1)
  return [
    {
      ...{ kind: 'device', at: began, device_id: 'shaker-1', type: 'shaker', driver: 'bioshake', is_simulated: false, model: 'Q1' },
      ...{ serial: 'SN-42', firmware: '1.8.03', units: { temperature: '°C', speed: 'rpm' } },
    },
    { kind: 'teachpoint', at: began, transporter: 'arm', position: 'nest', teachpoint: { coords: { x: 200, y: 100.5 } } },
    {
      ...{ kind: 'action', action_id: 'shake-0', name: 'shake', ...plate, method_id: 'm', method_name: 'm', device_id: 'shaker-1' },
      ...{
        operations: [],
        created: began + 60,
        started: began + 60,
        ended: began + 65,
        outcome: 'ERRORED',
        error: 'error 12 (motor blocked)',
      },
    },
    {
      kind: 'incident',
      at: began + 66,
      incident_id: 'i-1',
      category: 'DEVICE_FAULT',
      severity: 'ERROR',
      message: 'motor blocked',
      thread_id: 't-1',
    },
    {
      ...{ kind: 'decision', at: began + 120, by: 'ann', decision: 'retry', text: 'Retried shake of plate-1 on shaker-1', params: {} },
      ...plate,
      incident_id: 'i-1',
    },
    { kind: 'window_missed', at: began + 130, ...plate, after: 'shake', before: 'seal', allowed_s: 60, took_s: 93.4 },
    { kind: 'note', at: began + 200, by: 'ben', text: 'Foil was wrinkled', tags: ['foil'] },
    {
      ...{ kind: 'file', at: began + 210, by: 'reader-1', name: 'plate.csv', media_type: 'text/csv', bytes: 12, sha256: 'cd'.repeat(32) },
      ...{ from: 'operation', device_id: 'reader-1', note: 'raw counts', ...plateOf(1) },
    },
    { kind: 'ended', at: began + 700, status: 'COMPLETED', threads: { COMPLETED: 2 } },
  ]
}

/** Yields the rows of a run of so many plates, one after the other. */
export function* rowsOfRun(plates: number): Generator<Row> {
  yield submissionRow()
  for (let n = 1; n <= plates; n++) yield* plateRows(n, n * 20)
  yield* troubleRows()
}

/** Returns the report of a run of so many plates. */
export async function recordReport(plates: number): Promise<string> {
  const folder = await makeThrowAwayFolder('benchd-report')
  try {
    const path = `${folder}/record.jsonl`
    await writeText(path, recordText(rowsOfRun(plates)))
    const pieces: Uint8Array[] = []
    for await (const piece of reportPieces({ path, execution: executionOf, threads: [], version: '1.2.3', made_at: began + 999 }))
      pieces.push(piece)
    return Buffer.concat(pieces).toString()
  } finally {
    await removeFolder(folder)
  }
}
