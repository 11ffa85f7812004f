// A backup: the configuration and the state in one archive, with a list of what is in it. Made beside a running service it holds what a
// power cut at that moment would have left: files that are replaced whole are whole, files that are added to end with a whole line or a
// torn one, and the service reads both.

import * as v from 'valibot'
import { LabError } from '../errors.ts'
import { type Part, pack } from '../kit/archive.ts'
import { sizeOf, treeOf } from '../kit/tree.ts'
import { type Kind, kindOf } from './backup_files.ts'

export const backupFormat = 1
export const manifestName = 'manifest.json'
/** The first folders in an archive. */
export const stateFolder = 'state/'
export const configFolder = 'config/'

const File = v.strictObject({
  name: v.string(),
  size: v.pipe(v.number(), v.integer(), v.minValue(0)),
  sha256: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)),
})

/** Stands last in the archive: an archive that ends earlier has none. */
export const Manifest = v.strictObject({
  format: v.literal(backupFormat),
  /** Of benchd. */
  version: v.string(),
  /** Unix time. */
  made_at: v.number(),
  system_id: v.string(),
  with_keys: v.boolean(),
  with_events: v.boolean(),
  files: v.array(File),
  /** What was there and is not in it, since it is neither a file nor a folder. */
  left_out: v.array(v.string()),
})
export type Manifest = v.InferOutput<typeof Manifest>

/** What a backup is made of. */
export type Sources = {
  data_dir: string
  /** The file; undefined where there is none, as for the demo. */
  config: string | undefined
  topologies: string | undefined
  version: string
  system_id: string
}

/** Keys are hashed, but whoever has a copy of them can have them accepted; events may be many. */
export type Wanted = { with_keys: boolean; with_events: boolean }

/** The bytes that would be packed, before they are. */
export async function sizeOfBackup(sources: Sources, wanted: Wanted): Promise<number> {
  const { parts } = await partsOf(sources, wanted)
  return parts.reduce((sum, { size }) => sum + size, 0)
}

type Making = { path: string; at: Date; signal?: AbortSignal }

/** Packs it into a file that is not there yet. Rejects with `storage`, or with the signal's reason; then there is no such file. */
export async function makeBackup(sources: Sources, wanted: Wanted, { path, at, signal }: Making): Promise<Manifest> {
  const { version, system_id } = sources
  const { parts, left_out } = await partsOf(sources, wanted)
  const manifest: Manifest = { format: backupFormat, version, made_at: at.getTime() / 1000, system_id, ...wanted, files: [], left_out }
  await pack(
    path,
    parts.map(({ part }) => part),
    (packed) => {
      manifest.files.push(...packed)
      return { name: manifestName, text: `${JSON.stringify(manifest, undefined, 1)}\n` }
    },
    signal,
  )
  return manifest
}

type Sized = { part: Part; size: number }

async function partsOf(sources: Sources, wanted: Wanted): Promise<{ parts: Sized[]; left_out: string[] }> {
  const [config, state] = [await configParts(sources), await stateParts(sources.data_dir, wanted)]
  return { parts: [...config.parts, ...state.parts], left_out: [...config.left_out, ...state.left_out] }
}

async function configParts({ config, topologies }: Sources): Promise<{ parts: Sized[]; left_out: string[] }> {
  const file = config === undefined ? undefined : { path: config, size: await sizeOf(config) }
  const { files, others } = topologies === undefined ? { files: [], others: [] } : await treeOf(topologies)
  return {
    parts: [
      ...(file?.size === undefined ? [] : [{ part: { name: `${configFolder}config.json`, path: file.path }, size: file.size }]),
      ...files.map(({ name, size }) => ({ part: { name: `${configFolder}topologies/${name}`, path: `${topologies}/${name}` }, size })),
    ],
    left_out: others.map((name) => `${configFolder}topologies/${name}`),
  }
}

async function stateParts(data_dir: string, wanted: Wanted): Promise<{ parts: Sized[]; left_out: string[] }> {
  const { files, others } = await treeOf(data_dir, (name) => isWanted(kindOf(name), wanted))
  return {
    parts: files.map(({ name, size }) => ({ part: { name: stateFolder + name, path: `${data_dir}/${name}` }, size })),
    left_out: others.map((name) => stateFolder + name),
  }
}

function isWanted(kind: Kind | undefined, { with_keys, with_events }: Wanted): boolean {
  return kind !== undefined && (kind !== 'keys' || with_keys) && (kind !== 'events' || with_events)
}

/** What the text of a manifest says. Throws `config` for a newer format, `storage` for what is none. */
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
  const checked = v.safeParse(Manifest, value)
  if (!checked.success) throw new LabError('storage', `the ${manifestName} of the archive is not as benchd writes it; take another archive`)
  return checked.output
}
