// `benchd runs values`, `runs readings`, `runs report` and `runs download`: what the record of a run has, as tables and files.

import { createHash } from 'node:crypto'
import { pipeline } from 'node:stream/promises'
import { LabError } from '../../errors.ts'
import { short } from '../at_shell.ts'
import { ask, open, patiently, type Service, serviceOf, serviceOptions } from '../client.ts'
import { type Command, command } from '../command.ts'
import { CliError } from '../exit.ts'
import { date, print, table } from '../table.ts'
import { note, noteNone } from '../terminal.ts'
import type { File } from './files.ts'
import { shownPathOf } from './ids.ts'

const csvOption = { csv: { type: 'boolean', help: 'Print CSV, with all columns' } } as const

type Listing<Row> = {
  name: 'values' | 'readings'
  summary: string
  head: readonly string[]
  /** Returns the lines of a row. */
  lines(row: Row): readonly (readonly string[])[]
  /** Says that there is none. */
  none: string
}

/** Makes a command that lists rows of a record as a table, JSON or CSV. */
function lists<Row>({ name, summary, head, lines, none }: Listing<Row>): Command {
  return command({
    name: `runs ${name}`,
    summary,
    operands: ['ID'],
    options: { ...csvOption, ...serviceOptions },
    example: `benchd runs ${name} 7b1c --csv > ${name}.csv`,
    async run({ options, operands: [id = ''] }) {
      if (options.csv && options.json) throw new CliError('usage', 'give either --csv or --json')
      const service = patiently(serviceOf(options))
      const path = `${await shownPathOf(service, id)}/${name}`
      if (options.csv) {
        await pipeline(await open(service, 'GET', path, { headers: { Accept: 'text/csv' } }), process.stdout, { end: false })
        return
      }
      const answer = await ask<Record<typeof name, Row[]> & { damaged: number }>(service, 'GET', path)
      const rows = answer[name]
      if (options.json) print(JSON.stringify(answer))
      else if (rows.length > 0) print(table(head, rows.flatMap(lines)))
      noteNone(rows, none)
      if (answer.damaged > 0) note(`the record is not whole: ${answer.damaged} of its lines are not as they were written`)
    },
  })
}

type Value = { at: number; name: string; value?: unknown; unit: string | null; labware: string; device_id: string | null; bytes?: number }

const runsValues = lists<Value>({
  name: 'values',
  summary: 'List the values that the operations of a run gave, with the labware on which each was taken',
  head: ['AT', 'LABWARE', 'DEVICE', 'NAME', 'VALUE', 'UNIT'],
  lines: ({ at, labware, device_id, name, value, bytes, unit }) => [
    [date(at), labware, device_id ?? '-', name, value === undefined ? `(${bytes} bytes)` : wordOf(value), unit ?? ''],
  ],
  none: 'no operation of the run gave a value',
})

type Reading = { at: number; device_id: string; values: Record<string, unknown>; targets?: Record<string, unknown>; why: string }

const runsReadings = lists<Reading>({
  name: 'readings',
  summary: 'List the readings of the devices that a run used: each 10 s, and at the beginning and end of each action',
  head: ['AT', 'DEVICE', 'NAME', 'VALUE', 'TARGET', 'WHY'],
  lines: ({ at, device_id, values, targets, why }) =>
    Object.entries(values).map(([name, value]) => [date(at), device_id, name, wordOf(value), wordOf(targets?.[name] ?? ''), why]),
  none: 'the run has no readings: it has used no device that gives any',
})

const longestCell = 60

/** Writes a value into a cell: text as it is, others as JSON, and long ones cut. */
function wordOf(value: unknown): string {
  const whole = typeof value === 'string' ? value : JSON.stringify(value)
  return whole.length > longestCell ? `${whole.slice(0, longestCell)}…` : whole
}

const runsReport = command({
  name: 'runs report',
  summary: 'Save the report of a run: one HTML file, for people who have not seen the run, which prints on A4',
  operands: ['ID'],
  options: {
    to: { type: 'string', value: 'FILE', help: 'The new file, or its folder; default report- and the id, in this folder' },
    ...serviceOptions,
  },
  example: 'benchd runs report 7b1c --to report.html',
  async run({ options, operands: [id = ''] }) {
    const service = patiently(serviceOf(options))
    const path = await shownPathOf(service, id)
    const name = `report-${short(path.split('/').at(-1)!)}.html`
    say(await saved(service, `${path}/report`, { to: options.to, name }), options.json)
  },
})

const runsDownload = command({
  name: 'runs download',
  summary: 'Download a file of a run, by its name or the beginning of its hash',
  operands: ['ID', 'FILE'],
  options: {
    to: { type: 'string', value: 'PATH', help: 'The new file, or its folder; default the name of the file, in this folder' },
    ...serviceOptions,
  },
  example: 'benchd runs download 7b1c absorbance.csv --to results',
  async run({ options, operands: [id = '', word = ''] }) {
    const service = patiently(serviceOf(options))
    const path = `${await shownPathOf(service, id)}/files`
    const { files } = await ask<{ files: File[] }>(service, 'GET', path)
    const { name, sha256 } = theFile(files, word)
    say(await saved(service, `${path}/${sha256}`, { to: options.to, name, sha256 }), options.json)
  },
})

/** Finds the file that a word names. Throws unless all that match have one content. */
function theFile(files: readonly File[], word: string): File {
  const named = files.filter(({ name }) => name === word)
  const found = named.length > 0 ? named : files.filter(({ sha256 }) => word !== '' && sha256.startsWith(word.toLowerCase()))
  const [first] = found
  if (!first) throw new CliError('not_found', `the run has no file ${JSON.stringify(word)}; see: benchd runs files ID`)
  const hashes = [...new Set(found.map(({ sha256 }) => sha256))]
  if (hashes.length === 1) return first
  const some = hashes.slice(0, 5).map((sha256) => sha256.slice(0, 8))
  throw new CliError(
    'usage',
    `${word} can mean ${hashes.length} files: ${some.join(', ')}; write one of these hashes, see: benchd runs files ID`,
  )
}

/** Saves an answer as a new file, whole or not at all. Returns its path. Rejects if it has not the hash. */
async function saved(
  service: Service,
  path: string,
  { to = '.', name, sha256 }: { to?: string | undefined; name: string; sha256?: string },
): Promise<string> {
  const [content, { hashing, saveAs }, { writeOpen }] = await Promise.all([
    open(service, 'GET', path),
    import('../../kit/archive.ts'),
    import('../../kit/open_file.ts'),
  ])
  return saveAs(to, name, async (descriptor) => {
    const hash = createHash('sha256')
    await writeOpen(descriptor, hashing(content, hash))
    if (sha256 !== undefined && hash.digest('hex') !== sha256)
      throw new LabError('storage', 'the file did not arrive as it was attached; try again')
  })
}

function say(path: string, json: boolean | undefined): void {
  print(json ? JSON.stringify({ path }) : path)
}

export const record = [runsValues, runsReadings, runsReport, runsDownload]
