// For tests: exports of a run whose record is written here, with long values, attached files, and rows of every kind.

import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { makeThrowAwayFolder } from '../kit/folder.ts'
import { NewFolder } from '../kit/new_folder.ts'
import { type Exported, fillFolder, type Source } from '../workflow/records/export/exported_run.ts'
import { execution_id, executionOf, plateOf, recordText, rowsOfRun } from './records.ts'

export const path = `/api/executions/${execution_id}`
const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')
export const long = JSON.stringify({ wells: { 10: 1, A1: 0.5 } })
export const csv = 'well;od\r\nA1;0,5\r\n'
export const [longHash, csvHash] = [hashOf(long), hashOf(csv)]

export const record = recordText([
  ...rowsOfRun(1),
  { kind: 'value', at: 1_769_850_050, name: 'plate', ...plateOf(1), unit: null, shape: null, sha256: longHash, bytes: long.length },
  ...[csvHash, csvHash].map((sha256) => ({
    kind: 'file',
    at: 1_769_850_300,
    name: '../../my plate.csv',
    media_type: 'text/csv',
    sha256,
  })),
])

/** The answers of a service that has all but one file. */
export const whole: Record<string, string> = {
  [path]: JSON.stringify(executionOf),
  [`${path}/record.jsonl`]: record,
  [`${path}/report`]: '<!doctype html>',
  [`${path}/values/${longHash}`]: JSON.stringify({ value: JSON.parse(long) }),
  [`${path}/files/${csvHash}`]: csv,
  '/events': JSON.stringify({ events: [{ event_name: 'EXECUTION.e.COMPLETED' }], next_since: 1 }),
}

/** Exports into a new folder from a service with these answers. */
export async function exportInto(wanted: string, answers: Record<string, string> = whole): Promise<{ folder: string; made: Exported }> {
  const textAt = (path: string) => answers[path.split('?')[0]!]
  const source: Source = {
    json: async <Answer>(path: string) => JSON.parse(textAt(path)!) as Answer,
    content: async (path: string) => Readable.from([Buffer.from(textAt(path)!)]),
    contentIfThere: async (path: string) => (textAt(path) === undefined ? undefined : source.content(path)),
  }
  const folder = await NewFolder.begin(wanted)
  const made = await fillFolder({ source, path, folder })
  return { folder: await folder.finish(), made }
}

/** Exports into a folder that the caller removes. */
export async function exportedFolder(): Promise<string> {
  const folder = await makeThrowAwayFolder('benchd-export')
  return (await exportInto(`${folder}/run`)).folder
}
