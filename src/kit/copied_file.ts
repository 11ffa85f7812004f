// Copies a file that others may change or remove, so that the checked content is the used content.

import { copyFile, stat } from 'node:fs/promises'
import { LabError } from '../errors.ts'
import { readError, storageError } from './durable.ts'
import { statusOf } from './host_files.ts'

/**
 * Copies a plain file of at most that many bytes. Throws `not_found` for a missing one, `too_large` for a longer one or another kind of file,
 * `storage` if the copy cannot be written.
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

/** Whether users other than root and this one may have written the file. */
export async function isOfOthers(path: string): Promise<boolean> {
  const status = await statusOf(path)
  return status !== undefined && ((status.uid !== 0 && status.uid !== process.geteuid?.()) || (status.mode & 0o022) !== 0)
}
