// Writes files that survive a power cut.

import { randomUUID } from 'node:crypto'
import type { BigIntStats } from 'node:fs'
import { chmod, type FileHandle, rmdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type ErrorCode, LabError, messageOf } from '../errors.ts'
import { link, mkdir, rename, syncFolder, unlink, writeNew } from './disk.ts'

export { syncFolder } from './disk.ts'

/** Writes and syncs a new file. Discard it after an error, because a second fsync may succeed although the data is lost. */
export async function writeSynced(path: string, text: string | Uint8Array): Promise<string> {
  return stampOf(await writeNew(path, text))
}

type Making = { mode: number; isNew?: boolean }

/** Makes a complete file with those rights, or none. Rejects with `storage`, and with `exists` if it must be new and is not. */
export async function createSynced(path: string, text: string | Uint8Array, { mode, isNew = false }: Making): Promise<void> {
  const temporary = `${path}.${randomUUID()}.tmp`
  try {
    await makeFolder(dirname(path))
    await writeSynced(temporary, text)
    await chmod(temporary, mode)
    // Unlike a rename, a link never replaces a file.
    await (isNew ? link(temporary, path) : rename(temporary, path))
    await syncFolder(dirname(path))
  } catch (error) {
    if (isNew && errnoOf(error) === 'EEXIST') throw new LabError('exists', `${path} is there already`, { cause: error })
    throw storageError(`${path} was not written`, error)
  } finally {
    await remove(temporary)
  }
}

/** Writes all bytes at that offset, in several calls if necessary. */
export async function writeAt(file: FileHandle, bytes: Buffer, at: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, at + done)
    done += bytesWritten
  }
}

/** Makes a folder. Without `recursive`, with which Node reports ENOENT for a read-only disk. */
export async function makeFolder(folder: string): Promise<void> {
  const make = () => mkdir(folder)
  try {
    await make().catch(async (error) => {
      if (errnoOf(error) !== 'ENOENT') throw error
      await makeFolder(dirname(folder))
      await make()
    })
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return
    throw error
  }
  await syncFolder(dirname(folder)).catch(async (error) => {
    // Removes the folder, so that the next attempt makes and syncs it again.
    await rmdir(folder).catch(() => undefined)
    throw error
  })
}

/** Removes a file; ignores a missing one, and failures. */
export async function remove(path: string): Promise<void> {
  await unlink(path).catch(() => undefined)
}

/** Returns a text that identifies the file and its version. */
export function stampOf({ ino, mtimeNs, size }: BigIntStats): string {
  return `${ino} ${mtimeNs} ${size}`
}

export function errnoOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : messageOf(error)
}

/** Whether it is a system error of the disk that has a remedy. */
export function isOfDisk(error: unknown): boolean {
  return errnoOf(error) in adviceFor
}

/** Makes the error of a disk failure with its remedy. `what` names the file and the failed action. */
export function storageError(what: string, error: unknown): LabError {
  const errno = errnoOf(error)
  const advice = adviceFor[errno] ?? 'look into the log, then try again'
  return new LabError('storage', `${what} (${errno}): ${advice}`, { cause: error, retry_after_s: 5 })
}

/** Makes the error of an unreadable file or folder, with reason and remedy. `what` names it, with its path. */
export function readError(what: string, error: unknown, code: ErrorCode = 'not_found'): LabError {
  const errno = errnoOf(error)
  const reason = unreadableFor[errno]
  return new LabError(code, `${what} cannot be read: ${reason ? `${reason} (${errno})` : messageOf(error)}`, { cause: error })
}

const forbidden = 'its permissions forbid it; use sudo, or give its reader the right to it'

const unreadableFor: Record<string, string> = {
  ENOENT: 'there is no such file; check the path',
  ENOTDIR: 'a part of its path is a file and not a folder; check the path',
  EISDIR: 'it is a folder; name a file in it',
  EACCES: forbidden,
  EPERM: forbidden,
  ELOOP: 'its symbolic links lead in a circle; name another file',
  ENAMETOOLONG: 'its path is too long; check the path',
  EIO: 'the disk failed; replace it',
  EMFILE: 'too many files are open; try again in a few seconds',
}

const mayNot = 'whoever this runs as, the service or you, may not use that'

const adviceFor: Record<string, string> = {
  ENOSPC: 'the disk is full; free some space, then try again',
  EDQUOT: "the service's quota is used up; free some space, then try again",
  EROFS: 'the disk is read-only, and an SD card becomes so when it fails; mount it writable or replace it, then try again',
  EIO: 'the disk failed; replace it, then try again',
  EACCES: `${mayNot}; give it the rights, then try again`,
  EPERM: `${mayNot}; give it the rights, then try again`,
  ENOENT: 'there is no such folder; make it, or name another',
  ENOTDIR: 'what should be a folder is a file; name another',
  EISDIR: 'it is a folder; name a file in it',
  ENAMETOOLONG: 'the name is too long; take a shorter one',
  EMFILE: 'too many files are open; try again in a few seconds',
}
