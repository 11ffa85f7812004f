// Makes the folder of an exported run from answers of the service: an RO-Crate, with a list of the SHA-256 of its files.

import { text as textOf } from 'node:stream/consumers'
import { rowsOfRecord } from '../../events/run_record_reader.ts'
import { indented } from '../../kit/json.ts'
import type { HashedFile, NewFolder } from '../../kit/new_folder.ts'
import { packageVersion } from '../../kit/package_version.ts'
import { ZonedTime } from '../../workflow/records/report_time.ts'
import { ask, open, type Service } from '../client.ts'
import { CliError } from '../exit.ts'
import { type CrateFile, crateMetadata } from './crate.ts'
import { csvOf, type Row, tables } from './crate_tables.ts'

/** The list of all other files with their SHA-256, as `sha256sum --check` reads it. */
export const listName = 'manifest-sha256.txt'
export const metadataName = 'ro-crate-metadata.json'
export const recordName = 'record.jsonl'

const format = 1
const page = 1000

/** `missing`: long values and files that the service no longer has, in words. */
export type Exported = { files: number; bytes: number; sha256: string; missing: string[]; damaged: number }

type Making = { service: Service; path: string; folder: NewFolder }

export async function fillFolder({ service, path, folder }: Making): Promise<Exported> {
  const files: CrateFile[] = []
  const missing: string[] = []
  const add = async (name: string, [description, media_type]: readonly [string, string], content: Parameters<NewFolder['write']>[1]) => {
    files.push({ ...(await folder.write(name, content)), description, media_type })
  }
  const execution = await ask<Row>(service, 'GET', path)
  await add(
    recordName,
    ['The record of the run: a row a line, each with its checksum', 'application/jsonl'],
    await open(service, 'GET', `${path}/record.jsonl`),
  )
  const record = folder.pathOf(recordName)
  const known = await readRecord(record)
  const { submissions, devices, time } = known
  await add('report.html', ['The report of the run, for people', 'text/html'], await open(service, 'GET', `${path}/report`))
  for (const [name, content, description] of documentsOf(known)) await add(name, [description, 'application/json'], [content])
  for (const { name, kind, sha256, description, media_type, from } of attachedTo(known, path)) {
    const content = await from(service).catch((error) => {
      if (error instanceof CliError && error.exit === 'not_found') return undefined
      throw error
    })
    if (content === undefined) missing.push(`${kind} ${sha256}: the service no longer has it`)
    else await add(name, [description, media_type], content)
    if (content !== undefined && files.at(-1)!.sha256 !== sha256)
      missing.push(`${name} is not as it was recorded: its SHA-256 was ${sha256}`)
  }
  const around = { time, unitOf: known.unitOf, fileOf: (sha256: string) => valueFile(sha256) }
  for (const [name, table] of Object.entries(tables))
    await add(name, [table.description, 'text/csv'], csvOf(table, rowsOfRecord(record, { kinds: table.kinds }), around))
  await add(
    'events.jsonl',
    ['The events of the run that the log still has: an event a line', 'application/jsonl'],
    eventLines(service, String(execution.execution_id)),
  )
  const exported_at = Date.now() / 1000
  const version = packageVersion()
  const manifest = {
    format,
    execution: summaryOf(execution),
    exported_at,
    benchd: version,
    time_zone: time.zone,
    rows: known.rows,
    damaged: known.damaged,
    missing,
  }
  await add(
    'manifest.json',
    ['What this folder holds: the run, and the columns of the tables with their units', 'application/json'],
    [`${indented({ ...manifest, tables: columnsOfTables(), readings: known.units })}\n`],
  )
  const crate = crateMetadata({ execution, submissions, devices, files, time, version, exported_at })
  const metadata = await folder.write(metadataName, [`${indented(crate)}\n`])
  const list = await folder.write(listName, linesOf([...files, metadata]))
  return {
    files: files.length + 2,
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    sha256: list.sha256,
    missing,
    damaged: known.damaged,
  }
}

function linesOf(files: readonly HashedFile[]): string[] {
  const sorted = [...files].sort((one, other) => (one.name < other.name ? -1 : 1))
  return sorted.map(({ sha256, name }) => `${sha256}  ${name}\n`)
}

/** The members of an execution that do not change after its end. */
function summaryOf(execution: Row): Row {
  const names = ['execution_id', 'workflow_name', 'workflow_hash', 'topology', 'run_mode', 'status', 'reason', 'started_at', 'ended_at']
  return Object.fromEntries(names.filter((name) => name in execution).map((name) => [name, execution[name]]))
}

function columnsOfTables(): object {
  return Object.fromEntries(Object.entries(tables).map(([name, { description, columns }]) => [name, { description, columns }]))
}

type Known = Awaited<ReturnType<typeof readRecord>>

/** Reads of the record what the rest of the folder is made from. */
async function readRecord(path: string) {
  const kept: Record<'submission' | 'device' | 'file', Row[]> = { submission: [], device: [], file: [] }
  const longValues = new Map<string, Row>()
  const units: Record<string, Record<string, unknown>> = {}
  let [rows, damaged] = [0, 0]
  for await (const piece of rowsOfRecord(path)) {
    rows += piece.rows.length
    damaged += piece.damaged
    for (const text of piece.rows) {
      const row = JSON.parse(text) as Row
      kept[row.kind as 'device']?.push(row)
      if (row.kind === 'value' && typeof row.sha256 === 'string') longValues.set(row.sha256, { name: row.name, bytes: row.bytes })
      if (row.kind === 'device') units[String(row.device_id)] = { ...units[String(row.device_id)], ...(row.units as object) }
    }
  }
  const zone = kept.submission.map(({ zone }) => zone).find((one) => typeof one === 'string') as string | undefined
  const unitOf = (device_id: string, name: string) => (units[device_id]?.[name] as string | undefined) ?? null
  return {
    submissions: kept.submission,
    devices: kept.device,
    attached: kept.file,
    longValues,
    units,
    unitOf,
    rows,
    damaged,
    time: new ZonedTime(zone ?? null),
  }
}

function documentsOf({ submissions }: Known): (readonly [name: string, content: string, description: string])[] {
  const first = submissions.find(({ workflow_document }) => workflow_document)
  const documents = [
    ['workflow.json', first?.workflow_document, 'The workflow as it was run'],
    ['topology.json', first?.topology_document, 'The topology of the bench as it was'],
  ] as const
  return documents.flatMap(([name, document, description]) => (document ? [[name, `${indented(document)}\n`, description] as const] : []))
}

type Attached = {
  name: string
  kind: string
  sha256: string
  description: string
  media_type: string
  from(service: Service): Promise<AsyncIterable<Uint8Array> | Iterable<string>>
}

/** Lists the long values and the files of the run: each content once. */
function* attachedTo({ longValues, attached }: Known, path: string): Generator<Attached> {
  for (const [sha256, { name }] of longValues) {
    const from = async (service: Service) => [await valueJson(service, `${path}/values/${sha256}`)]
    yield { name: valueFile(sha256), kind: 'the value', sha256, description: `The value ${name}`, media_type: 'application/json', from }
  }
  const seen = new Set<string>()
  for (const { name, sha256, media_type, note } of attached) {
    if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/.test(sha256) || seen.has(sha256)) continue
    seen.add(sha256)
    const description = [`The file ${name}, attached to the run`, note].filter(Boolean).join(': ')
    const from = (service: Service) => open(service, 'GET', `${path}/files/${sha256}`)
    yield { name: attachedFile(sha256, String(name)), kind: 'the file', sha256, description, media_type: String(media_type), from }
  }
}

/** Returns the JSON of a long value as it was hashed: without blanks, the members in their order. */
async function valueJson(service: Service, path: string): Promise<string> {
  const { value } = JSON.parse(await textOf(await open(service, 'GET', path))) as { value: unknown }
  return JSON.stringify(value)
}

function valueFile(sha256: string): string {
  return `values/${sha256}.json`
}

/** Names are without blanks and other special signs, because they are addresses in the metadata. */
function attachedFile(sha256: string, name: string): string {
  const plain = name
    .split(/[/\\]/)
    .at(-1)!
    .replace(/[^A-Za-z0-9._-]+/g, '_')
    .replace(/^\.+/, '')
    .slice(-80)
  return `files/${sha256.slice(0, 12)}-${plain || 'file'}`
}

async function* eventLines(service: Service, execution_id: string): AsyncGenerator<string> {
  for (let since = 0; ; ) {
    const query = new URLSearchParams({ execution_id, since: String(since), limit: String(page) })
    const { events, next_since } = await ask<{ events: object[]; next_since: number }>(service, 'GET', `/events?${query}`)
    yield events.map((event) => `${JSON.stringify(event)}\n`).join('')
    if (events.length < page) return
    since = next_since
  }
}
