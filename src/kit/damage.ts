// Damaged files of the state: zeros, a folder or a device in their place, missing rights.
// They do not prevent a start. They are reported, and kept under another name before anything is written in their place.

import { type FileHandle, open } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { link, lstat, rename, stat, tryFolder, unlink } from './disk.ts'
import { errnoOf, storageError, syncFolder } from './durable.ts'
import type { Report } from './report.ts'

/** The error of a damaged file. */
export class Damage extends Error {}

const nowhere = 'it is a link that leads nowhere'
const tooLarge = 'it is larger than any file of the service'
/** The most bytes of a file that is read at once, which fit into the memory of the service. */
const longest = 64 * 1024 * 1024
/** Permanent errors, with their meanings. */
const lasting: Record<string, string> = {
  EACCES: 'the service may not read it (EACCES)',
  EPERM: 'the service may not read it (EPERM)',
  EIO: 'the disk cannot read it (EIO)',
  EUCLEAN: 'its file system is damaged (EUCLEAN)',
  EBADMSG: 'its file system is damaged (EBADMSG)',
  ELOOP: 'it is a link that leads to itself',
  ENXIO: 'it is a device that is not there',
  ENODEV: 'it is a device that is not there',
  ENOTDIR: 'it is no folder',
}

/** Opens a plain file without waiting for a pipe. Rejects with `Damage`, and with the system's error if that may be temporary, or the file is missing. */
export async function openPlain(path: string): Promise<FileHandle> {
  try {
    const stats = await stat(path)
    if (!stats.isFile()) throw new Damage(`it is a ${kindOf(stats)}`)
    return await open(path, 'r')
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' && (await isThere(path))) throw new Damage(nowhere)
    throw asDamage(error)
  }
}

/** Reads the whole content. Rejects with `Damage` for a file over `longest`. */
export async function readWhole(handle: FileHandle): Promise<Buffer> {
  if ((await handle.stat()).size > longest) throw new Damage(tooLarge)
  return handle.readFile()
}

/** Reads a plain file; undefined if it is missing. Rejects as `openPlain` and `readWhole`. */
export async function readPlain(path: string): Promise<Buffer | undefined> {
  try {
    const handle = await openPlain(path)
    try {
      return await readWhole(handle)
    } finally {
      await handle.close()
    }
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw asDamage(error)
  }
}

/**
 * Reads a file of the state: its bytes, undefined if it is missing, or its damage. Rejects with `storage` if another
 * try may succeed.
 */
export async function readOrDamage(path: string): Promise<{ bytes: Buffer | undefined; damage?: string }> {
  try {
    return { bytes: await readPlain(path) }
  } catch (error) {
    if (error instanceof Damage) return { bytes: undefined, damage: error.message }
    throw storageError(`${basename(path)} could not be read`, error)
  }
}

/** Converts a permanent error to `Damage`; returns any other error unchanged. */
export function asDamage(error: unknown): unknown {
  const why = lasting[errnoOf(error)]
  return why === undefined ? error : new Damage(why, { cause: error })
}

/** Renames the file, and returns its new name; undefined if it is missing. */
export async function setAside(path: string): Promise<string | undefined> {
  const aside = await freeName(path)
  try {
    await rename(path, aside)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw error
  }
  await syncFolder(dirname(path))
  return basename(aside)
}

/**
 * Keeps a file under another name as `setAside` does, but leaves its own name until a new file replaces it, so that there is never
 * no file.
 */
export async function keepAside(path: string): Promise<string | undefined> {
  const aside = await freeName(path)
  try {
    await link(path, aside)
  } catch {
    return setAside(path)
  }
  await syncFolder(dirname(path))
  return basename(aside)
}

/** Replaces a file by another. A folder in its place is set aside, and its new name returned. */
export async function putInPlace(from: string, path: string): Promise<string | undefined> {
  try {
    await rename(from, path)
    return undefined
  } catch (error) {
    if (errnoOf(error) !== 'EISDIR') throw error
  }
  const aside = await setAside(path)
  await rename(from, path)
  return aside
}

/** Removes an earlier draft of that name. */
export async function makeRoom(path: string): Promise<void> {
  await unlink(path).catch((error) => (errnoOf(error) === 'ENOENT' ? undefined : setAside(path).catch(() => undefined)))
}

/** Sets aside and reports a file in the place of a folder, or an inaccessible folder. The folder need not exist. */
export async function mustBeFolder(path: string, report: Report): Promise<void> {
  const why = await whyNoFolder(path)
  if (why === undefined) return
  const outcome = await setAside(path).then(
    (aside) => `set aside as ${aside}, and a new folder takes its place: look what is missing`,
    (error) => `it cannot be set aside (${errnoOf(error)}): move it away, then restart the service`,
  )
  report({ kind: 'storage', message: `${basename(path)} should be a folder and is damaged: ${why}; ${outcome}` })
}

async function whyNoFolder(path: string): Promise<string | undefined> {
  try {
    await tryFolder(path)
    return undefined
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return (await isThere(path)) ? nowhere : undefined
    const damage = asDamage(error)
    return damage instanceof Damage ? damage.message : undefined
  }
}

async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  )
}

async function freeName(path: string): Promise<string> {
  const stem = `${path}.corrupt-${new Date().toISOString().replaceAll(':', '')}`
  for (let times = 1; ; times++) {
    const name = times === 1 ? stem : `${stem}-${times}`
    if (!(await isThere(name))) return name
  }
}

function kindOf(stats: { isDirectory(): boolean; isFIFO(): boolean; isSocket(): boolean }): string {
  return stats.isDirectory() ? 'folder' : stats.isFIFO() ? 'pipe' : stats.isSocket() ? 'socket' : 'device'
}
