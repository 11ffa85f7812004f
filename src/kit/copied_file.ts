// A copy of a file that others may change or take away: what is looked over is what is used.

import { copyFile, stat } from 'node:fs/promises'
import { LabError } from '../errors.ts'
import { readError, storageError } from './durable.ts'
import { statusOf } from './host_files.ts'

/**
 * Copies a plain file of at most so many bytes. Throws `not_found` where there is none, `too_large` for a longer one and for what is no file,
 * `storage` when the copy cannot be written.
 */
export async function copyOf(path: string, to: string, most_bytes: number): Promise<void> {
  const found = await stat(path).catch((error) => {
    throw readError(path, error)
  })
  if (!found.isFile() || found.size > most_bytes) throw new LabError('too_large', `${path} is no file, or larger than ${most_bytes} bytes`)
  try {
    await copyFile(path, to)
  } catch (error) {
    throw storageError(`${path} was not copied to ${to}`, error)
  }
}

/** Whether others than root and we ourselves may have written the file. */
export async function isOfOthers(path: string): Promise<boolean> {
  const status = await statusOf(path)
  return status !== undefined && ((status.uid !== 0 && status.uid !== process.geteuid?.()) || (status.mode & 0o022) !== 0)
}
