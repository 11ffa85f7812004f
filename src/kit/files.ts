// Files that come with the program, and files that somebody names.

import { readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { LabError, messageOf } from '../errors.ts'

/** The bytes of a file that lies beside a module, read at once: for the start, not for a request. */
export function readShipped(path: URL): Uint8Array<ArrayBuffer> {
  return new Uint8Array(readFileSync(path))
}

/** A file that somebody named. Throws `not_found`. */
export async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw new LabError('not_found', `${path} cannot be read: ${messageOf(error)}`, { cause: error })
  }
}

/** The names in a folder, in order; none if there is no such folder. Throws `not_found` for one that cannot be read. */
export async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).sort()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw new LabError('not_found', `${folder} cannot be read: ${messageOf(error)}`, { cause: error })
  }
}
