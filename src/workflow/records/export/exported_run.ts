// Makes the folder of an exported run from answers of the service: an RO-Crate, with a list of the SHA-256 of its files.

import { text as textOf } from 'node:stream/consumers'
import { rowsOfRecord } from '../../../events/run_record_reader.ts'
import { indented } from '../../../kit/json.ts'
import type { HashedFile, NewFolder } from '../../../kit/new_folder.ts'
import { packageVersion } from '../../../kit/package_version.ts'
import { ZonedTime } from '../report/time.ts'
import { type CrateFile, crateMetadata } from './crate.ts'
import { csvOf, type Row, tables } from './crate_tables.ts'

/** The list of all other files with their SHA-256, as `sha256sum --check` reads it. */
export const listName = 'manifest-sha256.txt'
export const manifestName = 'manifest.json'
export const metadataName = 'ro-crate-metadata.json'
export const recordName = 'record.jsonl'

const format = 1
const page = 1000
const jsonLines = 'application/jsonl'

/** `missing`: long values and files that the service no longer has, in words. */
export type Exported = { files: number; bytes: number; sha256: string; missing: string[]; damaged: number }

/** The service that has the run. `path` is the path of an answer, with its query. */
export type Source = {
  json<Answer>(path: string): Promise<Answer>
  content(path: string): Promise<AsyncIterable<Uint8Array>>
  /** Resolves with undefined if there is no such thing. */
  contentIfThere(path: string): Promise<AsyncIterable<Uint8Array> | undefined>
}

/** `path` is that of the execution. */
type Making = { source: Source; path: string; folder: NewFolder }

type Content = Parameters<NewFolder['write']>[1]

/** A file to write. `sha256` is the hash under which the run recorded it. */
type Part = { name: string; description: string; media_type: string; sha256?: string; content(): Promise<Content | undefined> | Content }

/** Writes all files of the export into the folder. Rejects with `storage`, and with the error of the source. */
export async function fillFolder({ source, path, folder }: Making): Promise<Exported> {
  const files: CrateFile[] = []
  const missing: string[] = []
  const add = async ({ name, description, media_type, sha256, content }: Part) => {
    const found = await content()
    if (found === undefined) return void missing.push(`${name} is not in the export: the service no longer has it`)
    const file = await folder.write(name, found)
    files.push({ ...file, description, media_type })
    if (sha256 !== undefined && file.sha256 !== sha256) missing.push(`${name} is not as it was recorded: its SHA-256 was ${sha256}`)
  }
  const execution = await source.json<Row>(path)
  await add(recordPart(source, path))
  const known = await readRecord(folder.pathOf(recordName))
  for (const part of partsOf({ source, path, record: folder.pathOf(recordName), execution, known })) await add(part)
  const { submissions, devices, time, damaged } = known
  const [version, exported_at] = [packageVersion(), Date.now() / 1000]
  await add(manifestPart({ format, execution: summaryOf(execution), exported_at, benchd: version, missing }, known))
  const metadata = crateMetadata({ execution, submissions, devices, files, time, version, exported_at })
  const all = [...files, await folder.write(metadataName, [`${indented(metadata)}\n`])]
  const list = await folder.write(listName, linesOf(all))
  return { files: all.length + 1, bytes: all.reduce((sum, { bytes }) => sum + bytes, 0), sha256: list.sha256, missing, damaged }
}

function recordPart(source: Source, path: string): Part {
  const description = 'The record of the run: a row a line, each with its checksum'
  return { name: recordName, description, media_type: jsonLines, content: () => source.content(`${path}/record.jsonl`) }
}

type Given = { source: Source; path: string; record: string; execution: Row; known: Known }

/** Yields the files that are made from the record, and those that the service still has. */
function* partsOf({ source, path, record, execution, known }: Given): Generator<Part> {
  const report = () => source.content(`${path}/report`)
  yield { name: 'report.html', description: 'The report of the run, for people', media_type: 'text/html', content: report }
  yield* documentsOf(known)
  yield* attachedTo(known, { source, path })
  const around = { time: known.time, unitOf: known.unitOf, fileOf: valueFile }
  for (const [name, table] of Object.entries(tables)) {
    const content = () => csvOf(table, rowsOfRecord(record, { kinds: table.kinds }), around)
    yield { name, description: table.description, media_type: 'text/csv', content }
  }
  const events = () => eventLines(source, String(execution.execution_id))
  const description = 'The events of the run that the log still has: an event a line'
  yield { name: 'events.jsonl', description, media_type: jsonLines, content: events }
}

function manifestPart(about: Row, { time, rows, damaged, units }: Known): Part {
  const manifest = { ...about, time_zone: time.zone, rows, damaged, tables: columnsOfTables(), readings: units }
  const description = 'What this folder holds: the run, and the columns of the tables with their units'
  return { name: manifestName, description, media_type: 'application/json', content: () => [`${indented(manifest)}\n`] }
}

function linesOf(files: readonly HashedFile[]): string[] {
  const sorted = [...files].sort((one, other) => (one.name < other.name ? -1 : 1))
  return sorted.map(({ sha256, name }) => `${sha256}  ${name}\n`)
}

/** The members of an execution that do not change after its end. */
function summaryOf(execution: Row): Row {
  const what = ['workflow_name', 'workflow_hash', 'workflow_version', 'topology', 'topology_version']
  const names = ['execution_id', ...what, 'run_mode', 'status', 'reason', 'started_at', 'ended_at']
  return Object.fromEntries(names.filter((name) => name in execution).map((name) => [name, execution[name]]))
}

function columnsOfTables(): object {
  return Object.fromEntries(Object.entries(tables).map(([name, { description, columns }]) => [name, { description, columns }]))
}

type Known = Awaited<ReturnType<typeof readRecord>>

/** Reads of the record what the rest of the folder is made from. */
async function readRecord(path: string) {
  const kept: Record<'submission' | 'device' | 'file', Row[]> = { submission: [], device: [], file: [] }
  const longValues = new Map<string, unknown>()
  const units: Record<string, Record<string, unknown>> = {}
  let [rows, damaged] = [0, 0]
  for await (const piece of rowsOfRecord(path)) {
    rows += piece.rows.length
    damaged += piece.damaged
    for (const text of piece.rows) {
      const row = JSON.parse(text) as Row
      kept[row.kind as 'device']?.push(row)
      if (row.kind === 'value' && typeof row.sha256 === 'string') longValues.set(row.sha256, row.name)
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

function* documentsOf({ submissions }: Known): Generator<Part> {
  const first = submissions.find(({ workflow_document }) => workflow_document)
  const documents = [
    ['workflow.json', first?.workflow_document, 'The workflow as it was run'],
    ['topology.json', first?.topology_document, 'The topology of the bench as it was'],
  ] as const
  for (const [name, document, description] of documents)
    if (document) yield { name, description, media_type: 'application/json', content: () => [`${indented(document)}\n`] }
}

/** Yields the long values and the files of the run: each content once. */
function* attachedTo({ longValues, attached }: Known, { source, path }: Pick<Given, 'source' | 'path'>): Generator<Part> {
  for (const [sha256, name] of longValues) {
    const content = () => valueJson(source, `${path}/values/${sha256}`)
    yield { name: valueFile(sha256), description: `The value ${name}`, media_type: 'application/json', sha256, content }
  }
  const seen = new Set<string>()
  for (const { name, sha256, media_type, note } of attached) {
    if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/.test(sha256) || seen.has(sha256)) continue
    seen.add(sha256)
    const description = [`The file ${name}, attached to the run`, note].filter(Boolean).join(': ')
    const content = () => source.contentIfThere(`${path}/files/${sha256}`)
    yield { name: attachedFile(sha256, String(name)), description, media_type: String(media_type), sha256, content }
  }
}

/** Returns the JSON of a long value as it was hashed: without blanks, the members in their order. */
async function valueJson(source: Source, path: string): Promise<string[] | undefined> {
  const content = await source.contentIfThere(path)
  if (!content) return undefined
  const { value } = JSON.parse(await textOf(content)) as { value: unknown }
  return [JSON.stringify(value)]
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

async function* eventLines(source: Source, execution_id: string): AsyncGenerator<string> {
  for (let since = 0; ; ) {
    const query = new URLSearchParams({ execution_id, since: String(since), limit: String(page) })
    const { events, next_since } = await source.json<{ events: object[]; next_since: number }>(`/events?${query}`)
    yield events.map((event) => `${JSON.stringify(event)}\n`).join('')
    if (events.length < page) return
    since = next_since
  }
}
