// Restores a backup: verifies the whole archive first, then changes all of the state together, or none.
// The replaced files are kept in a folder.

import { createHash } from 'node:crypto'
import { LabError } from '../errors.ts'
import { Archive, contentOf, hashing, type Packed } from '../kit/archive.ts'
import { FileTransaction, isPlainName } from '../kit/file_transaction.ts'
import { exists } from '../kit/folder.ts'
import { roomOn } from '../kit/host_files.ts'
import type { TarFile } from '../kit/tar.ts'
import { sha256Of, treeOf } from '../kit/tree.ts'
import { configFolder, type Manifest, manifestName, manifestOf, stateFolder } from './backup.ts'
import {
  beforeRestoreName,
  epochFile,
  isOfTools,
  type Kind,
  kindOf,
  longestConfig,
  longestConfigs,
  longestManifest,
  mostConfigs,
  mostFiles,
} from './backup_files.ts'
import { isQueue, withBackupTime } from './restored_queue.ts'

/** The parts of a backup that replace existing files. Missing files are restored in any case, except keys. */
export type Parts = {
  /** Whether to restore the runs too, and the events if the backup has them. */
  all: boolean
  keys: boolean
}

export type FileChange = {
  /** The path below the data folder. */
  name: string
  change: 'added' | 'replaced' | 'the same' | 'taken away' | 'left alone'
}

/** A verified backup. */
export type Opened = {
  manifest: Manifest
  /** Keyed by name below the folder of the configuration: `config.json`, `topologies/…`. */
  config: ReadonlyMap<string, Buffer>
  /** Names in the archive that this version does not restore. */
  passed_over: readonly string[]
  archive: Archive
}

/** The bytes that a restore leaves free on the disk. */
const spare_bytes = 4 * 1024 * 1024

/** Reads the archive and checks every file against the manifest. Rejects with `storage` for damage or another kind of file, `config` for a newer format. */
export async function openBackup(path: string, most = mostFiles): Promise<Opened> {
  const archive = await Archive.open(path)
  try {
    const looked = new Looked(most)
    const list: { manifest?: Manifest } = {}
    await archive.read(async (file, content) => {
      if (list.manifest) throw notWhole(`${JSON.stringify(file.name)} stands behind its list`)
      if (file.name === manifestName) list.manifest = manifestOf((await contentOf(file, content, longestManifest)).toString())
      else await looked.at(file, content)
    })
    const { manifest } = list
    if (!manifest) throw notWhole(`it has no ${manifestName}, which stands at its end`)
    mustAgree(looked.found, manifest)
    return { manifest, config: looked.config, passed_over: looked.passedOver, archive }
  } catch (error) {
    await archive.close()
    throw error
  }
}

/** Collects the content of an archive while it is read. */
class Looked {
  readonly found = new Map<string, Packed>()
  readonly config = new Map<string, Buffer>()
  readonly passedOver: string[] = []
  /** The most files. */
  readonly #most: number
  /** The bytes of the configuration files, which are kept in memory. */
  #bytes = 0

  constructor(most: number) {
    this.#most = most
  }

  async at(file: TarFile, content: AsyncIterable<Uint8Array>): Promise<void> {
    const { name, size } = file
    const isKnown = mustBelong(name)
    if (this.found.has(name)) throw notWhole(`${JSON.stringify(name)} is in it twice`)
    if (this.found.size >= this.#most) throw notWhole(`there are more than ${this.#most} files in it`)
    const hash = createHash('sha256')
    const hashed = hashing(content, hash)
    if (isKnown && name.startsWith(configFolder)) this.config.set(name.slice(configFolder.length), await this.#configOf(file, hashed))
    else for await (const _ of hashed);
    if (!isKnown) this.passedOver.push(name)
    this.found.set(name, { name, size, sha256: hash.digest('hex') })
  }

  #configOf(file: TarFile, content: AsyncIterable<Uint8Array>): Promise<Buffer> {
    this.#bytes += file.size
    if (this.#bytes > longestConfigs || this.config.size >= mostConfigs)
      throw notWhole(`its configuration is more than ${mostConfigs} files, or longer than ${longestConfigs / 1024 / 1024} MiB`)
    return contentOf(file, content, longestConfig)
  }
}

/** Returns whether the file belongs to a backup. Throws for one that no version would have packed. */
function mustBelong(name: string): boolean {
  const kind = name.startsWith(stateFolder) ? kindOf(name.slice(stateFolder.length)) : undefined
  const isConfig = name === `${configFolder}config.json` || name.startsWith(`${configFolder}topologies/`)
  if (!isPlainName(name) || (kind === undefined && !isConfig))
    throw notWhole(`${JSON.stringify(name.slice(0, 200))} in it is no file of a backup`)
  return isConfig ? !isOfTools(name) : kind !== 'unknown'
}

function mustAgree(found: ReadonlyMap<string, Packed>, manifest: Manifest): void {
  for (const { name, size, sha256 } of manifest.files) {
    const there = found.get(name)
    if (!there) throw notWhole(`${JSON.stringify(name)} is missing`)
    if (there.size !== size || there.sha256 !== sha256) throw notWhole(`${JSON.stringify(name)} is not as it was packed`)
  }
  if (found.size !== manifest.files.length) throw notWhole('it holds files that its list does not name')
}

function notWhole(why: string): LabError {
  return new LabError('storage', `the archive is no whole backup: ${why}; nothing was changed, take another archive`)
}

/** Plans a restore of the data folder, file by file. */
export async function planOf({ manifest }: Pick<Opened, 'manifest'>, data_dir: string, parts: Parts): Promise<FileChange[]> {
  const packed = new Map(
    manifest.files
      .filter(({ name }) => name.startsWith(stateFolder))
      .map(({ name, sha256 }) => [name.slice(stateFolder.length), sha256] as const)
      .filter(([name]) => isKnown(name)),
  )
  const here = new Set((await treeOf(data_dir, isKnown)).files.map(({ name }) => name))
  const kindsHere = new Set([...here].map(kindOf))
  const isTaken = (name: string) => {
    const kind = kindOf(name) as Kind
    // Keys grant access, also on a computer without any.
    return mayReplace(kind, manifest, parts) || (kind !== 'keys' && !kindsHere.has(kind))
  }
  const changeOf = async (name: string): Promise<FileChange['change']> => {
    if (!isTaken(name)) return 'left alone'
    if (!packed.has(name)) return 'taken away'
    if (!here.has(name)) return 'added'
    return (await sha256Of(`${data_dir}/${name}`)) === packed.get(name) ? 'the same' : 'replaced'
  }
  const changes: FileChange[] = []
  // One after the other: a process may not have so many files open.
  for (const name of [...new Set([...packed.keys(), ...here])].sort()) changes.push({ name, change: await changeOf(name) })
  return changes
}

function isKnown(name: string): boolean {
  const kind = kindOf(name)
  return kind !== undefined && kind !== 'unknown'
}

/** Whether existing files of a kind are replaced. The state of the bench and the audit trail never are. */
function mayReplace(kind: Kind, { with_keys, with_events, with_files }: Manifest, { all, keys }: Parts): boolean {
  if (kind === 'setup') return true
  if (kind === 'keys') return keys && with_keys
  if (kind === 'events') return all && with_events
  if (kind === 'files') return all && with_files === true
  return kind === 'runs' && all
}

/**
 * Carries the plan out, under the lock of the folder. Returns the folder below the data folder with the replaced files; undefined if
 * nothing had to be changed. Rejects with `storage`, and has changed nothing then.
 */
export async function restore(
  { archive, manifest }: Pick<Opened, 'archive' | 'manifest'>,
  data_dir: string,
  plan: readonly FileChange[],
  at: Date,
): Promise<string | undefined> {
  const named = (wanted: FileChange['change']) => plan.filter(({ change }) => change === wanted).map(({ name }) => name)
  const put = new Set([...named('added'), ...named('replaced')])
  const take = named('taken away')
  if (put.size === 0 && take.length === 0) return undefined
  // The .bak of a removed file would be read in its place.
  take.push(...[epochFile, `${epochFile}.bak`].filter((name) => exists(`${data_dir}/${name}`)))
  const sizes = new Map(manifest.files.map(({ name, size, sha256 }) => [name, { size, sha256 }]))
  await mustHaveRoom(
    data_dir,
    [...put].reduce((sum, name) => sum + (sizes.get(stateFolder + name)?.size ?? 0), 0),
  )
  const transaction = await FileTransaction.begin(data_dir)
  try {
    await archive.read(async (packed, content) => {
      const { name } = packed
      const hash = createHash('sha256')
      const hashed = hashing(content, hash)
      if (!put.has(name.slice(stateFolder.length)) || !name.startsWith(stateFolder)) for await (const _ of hashed);
      else {
        const file = name.slice(stateFolder.length)
        await transaction.put(file, isQueue(file) ? withBackupTime(packed, hashed, manifest.made_at) : hashed)
        // The archive was whole a moment ago, but its storage medium may fail.
        if (hash.digest('hex') !== sizes.get(name)?.sha256) throw notWhole(`${name} reads otherwise the second time`)
      }
    })
    const before = freeName(data_dir, at)
    await transaction.commit({ take, before })
    return exists(`${data_dir}/${before}`) ? before : undefined
  } catch (error) {
    await transaction.abandon()
    throw error
  }
}

function freeName(data_dir: string, at: Date): string {
  let moment = at
  while (exists(`${data_dir}/${beforeRestoreName(moment)}`)) moment = new Date(moment.getTime() + 1000)
  return beforeRestoreName(moment)
}

async function mustHaveRoom(data_dir: string, bytes: number): Promise<void> {
  const { free } = await roomOn(data_dir)
  if (free >= bytes + spare_bytes) return
  throw new LabError(
    'storage',
    `the disk has ${Math.floor(free / 1e6)} MB left, and what is to be put back needs ${Math.ceil((bytes + spare_bytes) / 1e6)} MB: free some space`,
  )
}
