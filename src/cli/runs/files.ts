// `benchd runs attach` and `benchd runs files`: the files of a run.

import { basename } from 'node:path'
import { text } from 'node:stream/consumers'
import { authorText } from '../../kit/author.ts'
import { shows } from '../asking.ts'
import { open, patiently, serviceOf, serviceOptions } from '../client.ts'
import { command } from '../command.ts'
import { CliError } from '../exit.ts'
import { date, print, table } from '../table.ts'
import { noteNone } from '../terminal.ts'
import { shownPathOf } from './ids.ts'

export type File = {
  at: number
  operator?: string
  name: string
  bytes: number
  sha256: string
  by: string | null
  labware?: string
  device_id?: string
  note: string | null
}

/** Keyed by the end of the name. */
const mediaTypes: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  html: 'text/html',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  json: 'application/json',
  pdf: 'application/pdf',
  png: 'image/png',
  txt: 'text/plain',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  xml: 'application/xml',
  zip: 'application/zip',
}

const runsAttach = command({
  name: 'runs attach',
  summary: 'Attach a file to a run, open or ended',
  operands: ['ID', 'FILE'],
  options: {
    labware: { type: 'string', value: 'NAME', help: 'Labware that the file is about: its name, barcode or id' },
    note: { type: 'string', value: 'TEXT', help: 'Note about the file, for people' },
    ...serviceOptions,
  },
  example: 'benchd runs attach 7b1c ./absorbance.csv --labware plate',
  async run({ options, operands: [id = '', path = ''] }) {
    const service = serviceOf(options)
    const { sha256Of, sizeOf } = await import('../../kit/tree.ts')
    const [bytes, sha256] = await Promise.all([sizeOf(path), sha256Of(path)])
    if (bytes === undefined || sha256 === undefined) throw new CliError('not_found', `${path} cannot be read as a file; check its path`)
    const { labware, note } = options
    const query = new URLSearchParams({
      name: basename(path),
      sha256,
      ...(labware !== undefined && { labware }),
      ...(note !== undefined && { note }),
    })
    const [, ending = ''] = /\.(\w+)$/.exec(path) ?? []
    const type = mediaTypes[ending.toLowerCase()] ?? 'application/octet-stream'
    const address = `${await shownPathOf(service, id)}/files?${query}`
    const response = await open(patiently(service), 'POST', address, { file: { path, bytes }, headers: { 'Content-Type': type } })
    const row = JSON.parse(await text(response)) as File
    print(options.json ? JSON.stringify(row) : `${row.name} is attached, ${row.bytes} bytes`)
  },
})

const runsFiles = shows({
  name: 'runs files',
  summary: 'List the files of a run: those attached, and those that its devices gave',
  operands: ['ID'],
  path: async ({ service, operands: [id = ''] }) => `${await shownPathOf(service, id)}/files`,
  text: ({ files }: { files: File[] }) => table(['AT', 'NAME', 'BYTES', 'LABWARE', 'FROM', 'HASH', 'NOTE'], files.map(row)),
  also: ({ files }) => noteNone(files, 'the run has no files; to attach one: benchd runs attach ID FILE'),
})

function row({ at, name, bytes, labware, device_id, by, operator, sha256, note }: File): string[] {
  return [date(at), name, String(bytes), labware ?? '-', device_id ?? (authorText(by, operator) || '-'), sha256.slice(0, 8), note ?? '']
}

export const files = [runsAttach, runsFiles]
