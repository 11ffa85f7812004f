// A backup: the configuration and the state in one archive, with a manifest. Made beside a running service it holds the files that a
// power cut at that moment would have left: replaced files are whole, and appended files end with a whole or a
// torn line. The service reads both.

import * as v from 'valibot'
import { LabError } from '../errors.ts'
import { type Part, pack } from '../kit/archive.ts'
import { isPlainName } from '../kit/file_transaction.ts'
import { readBytes } from '../kit/files.ts'
import { fitsTar } from '../kit/tar.ts'
import { sizeOf, type Tree, treeOf } from '../kit/tree.ts'
import {
  isOfTools,
  type Kind,
  kindOf,
  longestConfig,
  longestConfigs,
  longestManifest,
  type MostOfRuns,
  mostConfigs,
  mostFiles,
  mostOfRuns,
} from './backup_files.ts'

const backupFormat = 1
export const manifestName = 'manifest.json'
/** The first folders in an archive. */
export const stateFolder = 'state/'
export const configFolder = 'config/'

const File = v.strictObject({
  name: v.string(),
  size: v.pipe(v.number(), v.integer(), v.minValue(0)),
  sha256: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)),
})

/** The last file of the archive, so that a truncated archive has none. */
export const Manifest = v.strictObject({
  format: v.literal(backupFormat),
  /** The version of benchd. */
  version: v.string(),
  /** Unix time of the backup. */
  made_at: v.number(),
  system_id: v.string(),
  with_keys: v.boolean(),
  with_events: v.boolean(),
  /** Written only if it is true: versions before attached files know no such member. */
  with_files: v.optional(v.boolean()),
  files: v.array(File),
  /** The files that were left out, each with the reason. */
  left_out: v.array(v.string()),
})
export type Manifest = v.InferOutput<typeof Manifest>

/** The sources of a backup. */
export type Sources = {
  data_dir: string
  /** The configuration file; undefined without one, as for the demo. */
  config: string | undefined
  topologies: string | undefined
  /** The content of the configuration and the topologies, if this process may not read them. */
  configuration?: Configuration
  version: string
  system_id: string
  /** Bounds the long values and the attached files of runs otherwise than usual. */
  most?: MostOfRuns
}

/** Keys, events and attached files are optional: a restored copy of keys is accepted although it is hashed, and events and files may be large. */
export type BackupContents = { with_keys: boolean; with_events: boolean; with_files?: boolean | undefined }

/** Returns the bytes to pack, before compression. */
export async function sizeOfBackup(sources: Sources, wanted: BackupContents): Promise<number> {
  const { parts } = await partsOf(sources, wanted)
  return parts.reduce((sum, { size }) => sum + size, 0)
}

type Making = { path: string; at: Date; signal?: AbortSignal }

/** Packs a backup into a new file. Rejects with `storage` or the signal's reason, and leaves no file then. */
export async function makeBackup(sources: Sources, wanted: BackupContents, { path, at, signal }: Making): Promise<Manifest> {
  const { version, system_id } = sources
  const { others, left_out } = await firstParts(sources, wanted)
  const { with_keys, with_events, with_files } = wanted
  const contents = { with_keys, with_events, ...(with_files && { with_files }) }
  const made_at = at.getTime() / 1000
  const manifest: Manifest = { format: backupFormat, version, made_at, system_id, ...contents, files: [], left_out: shortened(left_out) }
  const left = new Set(left_out)
  await pack(
    path,
    recordsLast(others, async () => {
      const { parts, left_out } = await recordParts(sources, wanted)
      for (const name of left_out) left.add(name)
      manifest.left_out = shortened([...left])
      return parts
    }),
    (packed) => {
      manifest.files.push(...packed)
      const text = `${JSON.stringify(manifest)}\n`
      if (Buffer.byteLength(text) > longestManifest) throw tooMany()
      return { name: manifestName, text }
    },
    signal,
  )
  return manifest
}

/** Lists the parts outside of the folders of runs, and all that is left out. The others may be many, and are not kept in memory until their turn. */
async function firstParts(sources: Sources, wanted: BackupContents): Promise<{ others: Part[]; left_out: string[] }> {
  const { parts, left_out } = await partsOf(sources, wanted)
  return { others: parts.map(({ part }) => part).filter(({ name }) => !inRunFolder.test(name)), left_out }
}

/**
 * Yields the parts, those in the folders of runs last. The state of a run names the length of its record, so a record that was packed before the state
 * could be too short for it. A run that began meanwhile is in the state too, so these folders are listed again at their turn. The values and files of which a record
 * tells are there before their rows, so they are listed once the records are packed.
 */
async function* recordsLast(others: readonly Part[], list: () => Promise<readonly Part[]>): AsyncGenerator<Part> {
  yield* others
  const first = await list()
  const records = first.filter(({ name }) => isRecord.test(name))
  if (others.length + records.length >= mostFiles) throw tooMany()
  yield* records
  const runs = new Set(first.map(({ name }) => runFolderOf(name)))
  const beside = (await list()).filter(({ name }) => !isRecord.test(name) && runs.has(runFolderOf(name)))
  if (others.length + records.length + beside.length >= mostFiles) throw tooMany()
  yield* beside
}

const inRunFolder = /^state\/executions\/[^/]+\//
const isRecord = /^state\/executions\/[^/]+\/record\.jsonl$/

function runFolderOf(name: string): string | undefined {
  return inRunFolder.exec(name)?.[0]
}

async function recordParts({ data_dir, most }: Sources, wanted: BackupContents): Promise<{ parts: Part[]; left_out: string[] }> {
  const { parts, left_out } = fitting(await stateParts(data_dir, wanted, (name) => name.startsWith('executions/')), most)
  const inFolders = parts.map(({ part }) => part).filter(({ name }) => inRunFolder.test(name))
  return { parts: inFolders, left_out: left_out.filter((name) => inRunFolder.test(name)) }
}

type OfDisk = { name: string; path: string }
type Sized<Its extends Part> = { part: Its; size: number }
type Sorted<Its extends Part = Part> = { parts: Sized<Its>[]; left_out: string[] }

/** Files with their names in the archive, and the files that were left out, each with the reason. */
type Configuration = { files: { name: string; content: Uint8Array }[]; left_out: string[] }

/** Reads the configuration and the topologies. Rejects with `storage`. */
export async function readConfiguration(sources: Pick<Sources, 'config' | 'topologies'>): Promise<Configuration> {
  const { parts, left_out } = fitting(await configParts(sources))
  const files = parts.map(async ({ part: { name, path } }) => ({ name, content: await readBytes(path) }))
  return { files: await Promise.all(files), left_out }
}

async function partsOf(sources: Sources, wanted: BackupContents): Promise<Sorted> {
  const { configuration } = sources
  const config = configuration ? readParts(configuration) : await configParts(sources)
  const state = await stateParts(sources.data_dir, wanted)
  const all = { parts: [...config.parts, ...state.parts], left_out: [...config.left_out, ...state.left_out] }
  const sorted = fitting<Part>(all, sources.most)
  if (sorted.parts.length >= mostFiles) throw tooMany()
  return sorted
}

/** Names the first of the files that were left out, and counts the others. */
function shortened(left_out: readonly string[]): string[] {
  const others = left_out.length - mostNamed
  return others > 0 ? [...left_out.slice(0, mostNamed), `and ${others} more files`] : [...left_out]
}

function tooMany(): LabError {
  return new LabError(
    'storage',
    `there are more than ${mostFiles} files for a backup, or their names are too long for its list: take some away`,
  )
}

const mostNamed = 100

function readParts({ files, left_out }: Configuration): Sorted {
  return { parts: files.map(({ name, content }) => ({ part: { name, text: content }, size: content.length })), left_out }
}

/** Leaves out files that a restore would refuse, so that they do not prevent the restore of the others. */
function fitting<Its extends Part>({ parts, left_out }: Sorted<Its>, most: MostOfRuns = mostOfRuns): Sorted<Its> {
  const fits: Sorted<Its> = { parts: [], left_out: [...left_out] }
  const configs = { files: 0, bytes: 0 }
  const counts = { value: 0, file: 0 }
  for (const one of parts) {
    const { name } = one.part
    const isConfig = name.startsWith(configFolder)
    const why = whyNot(name, one.size) ?? (isConfig ? whyNoConfig(one.size, configs) : undefined) ?? whyNotMore(name, counts, most)
    if (why !== undefined) fits.left_out.push(leftOut(name, why))
    else {
      fits.parts.push(one)
      if (isConfig) configs.files++
      if (isConfig) configs.bytes += one.size
    }
  }
  return fits
}

function whyNot(name: string, size: number): string | undefined {
  if (!isPlainName(name)) return 'its name has characters that no name should have, or is too long'
  return fitsTar({ name, size }) ? undefined : 'its name is too long, or it is too large'
}

/** Returns why a long value or an attached file of a run is left out. Without these limits, a few runs could prevent every backup. `counts` counts those before. */
function whyNotMore(name: string, counts: { value: number; file: number }, most: MostOfRuns): string | undefined {
  const found = /^state\/executions\/[^/]*\/(files\/)?[0-9a-f]{64}$/.exec(name)
  if (!found) return undefined
  const kind = found[1] ? 'file' : 'value'
  if (counts[kind]++ < most[kind]) return undefined
  return `there are more than ${most[kind]} ${kind === 'file' ? 'files' : 'long values'} of runs; delete runs that are no longer needed`
}

/** Returns why a configuration file is left out. `before` counts the files that are packed already. */
function whyNoConfig(size: number, before: { files: number; bytes: number }): string | undefined {
  if (size > longestConfig) return `it is longer than ${mebibytes(longestConfig)}`
  if (before.files >= mostConfigs) return `there are more than ${mostConfigs} files of the configuration`
  return before.bytes + size > longestConfigs ? `the configuration is longer than ${mebibytes(longestConfigs)}` : undefined
}

function mebibytes(bytes: number): string {
  return `${bytes / 1024 / 1024} MiB`
}

/** Names a file that was left out, with control characters escaped. */
function leftOut(name: string, why: string): string {
  return `${isPlainName(name.replace(/\/$/, '')) ? name : JSON.stringify(name)}: ${why}`
}

async function configParts({ config, topologies }: Pick<Sources, 'config' | 'topologies'>): Promise<Sorted<OfDisk>> {
  const size = config === undefined ? undefined : await sizeOf(config)
  const file = config === undefined || size === undefined ? [] : [{ part: { name: `${configFolder}config.json`, path: config }, size }]
  if (topologies === undefined) return { parts: file, left_out: [] }
  const hidden: string[] = []
  const below = `${configFolder}topologies/`
  const tree = await treeOf(topologies, (name) => {
    if (!isOfTools(name)) return true
    hidden.push(leftOut(below + name, 'no part of a topology'))
    return false
  })
  const { parts, left_out } = sorted(tree, topologies, below)
  return { parts: [...file, ...parts], left_out: [...left_out, ...hidden] }
}

async function stateParts(data_dir: string, wanted: BackupContents, isPlace = (_name: string) => true): Promise<Sorted<OfDisk>> {
  const unknown: string[] = []
  const tree = await treeOf(data_dir, (name) => {
    if (!isPlace(name)) return false
    if (kindOf(name) === 'unknown') unknown.push(leftOut(stateFolder + name, 'benchd keeps no such file'))
    return isWanted(kindOf(name), wanted)
  })
  const { parts, left_out } = sorted(tree, data_dir, stateFolder)
  return { parts, left_out: [...left_out, ...unknown] }
}

function sorted({ files, others }: Tree, folder: string, below: string): Sorted<OfDisk> {
  return {
    parts: files.map(({ name, size }) => ({ part: { name: below + name, path: `${folder}/${name}` }, size })),
    left_out: others.map((name) => leftOut(below + name, 'it is no plain file, or has a name that cannot be read')),
  }
}

function isWanted(kind: ReturnType<typeof kindOf>, { with_keys, with_events, with_files = false }: BackupContents): boolean {
  const wanted: Partial<Record<Kind, boolean>> = { keys: with_keys, events: with_events, files: with_files }
  return kind !== undefined && kind !== 'unknown' && (wanted[kind] ?? true)
}

/** Reads the text of a manifest. Throws `config` for a newer format, `storage` for a text that is no manifest. */
export function manifestOf(text: string): Manifest {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new LabError('storage', `the ${manifestName} of the archive is damaged; take another archive`, { cause: error })
  }
  const format = typeof value === 'object' && value !== null && 'format' in value ? value.format : undefined
  if (typeof format === 'number' && format > backupFormat)
    throw new LabError(
      'config',
      `the backup has format ${format}; this version knows up to ${backupFormat}: install a newer version of benchd`,
    )
  // Each issue takes many times the memory of its value.
  const checked = v.safeParse(Manifest, value, { abortEarly: true })
  if (!checked.success) throw new LabError('storage', `the ${manifestName} of the archive is not as benchd writes it; take another archive`)
  return checked.output
}
