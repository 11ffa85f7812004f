// Files that somebody names.

import { readFileSync, statSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { LabError } from '../errors.ts'
import { readdir } from './disk.ts'
import { readError, storageError } from './durable.ts'
import { textOfUtf8 } from './utf8.ts'

/** The path of a file with a secret: a path as it is, or a name in the folder in which systemd puts credentials. */
export function credentialPath(file: string): string {
  const folder = process.env.CREDENTIALS_DIRECTORY
  return file.startsWith('/') || !folder ? file : `${folder}/${file}`
}

/** A file that somebody named. Throws `not_found`. */
export async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw readError(path, error)
  }
}

/** Reads a file as `readText` does, and without a byte order mark. Throws `invalid` where it is not UTF-8: names in it would be other names. */
export async function readUtf8(path: string): Promise<string> {
  return utf8Of(await readBytes(path), path)
}

/** Returns the text of UTF-8 bytes. `what` begins the sentence of the error `invalid`. */
export function utf8Of(bytes: Uint8Array, what: string): string {
  try {
    return textOfUtf8(bytes)
  } catch (cause) {
    throw new LabError('invalid', `${what} is not UTF-8 text: save it as UTF-8 (in Excel: "CSV UTF-8")`, { cause })
  }
}

/** Reads a file as `readText` does, as bytes. */
export async function readBytes(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path)
  } catch (error) {
    throw readError(path, error)
  }
}

/** Writes a file that somebody named, over one that is there. Throws `storage`. */
export async function writeText(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text)
  } catch (error) {
    throw storageError(`${path} was not written`, error)
  }
}

/** A file with a secret, read at once, and whether its owner alone may read it; undefined if it is not there. Throws `config`. */
export function readPrivate(path: string): { text: string; isOpenToOthers: boolean } | undefined {
  try {
    const { mode } = statSync(path)
    return { text: readFileSync(path, 'utf8'), isOpenToOthers: (mode & 0o077) !== 0 }
  } catch (error) {
    const { code = '', syscall } = error as NodeJS.ErrnoException
    // In a folder that is hidden from us, as the home of whoever we were before setpriv or sudo.
    if (['ENOENT', 'ENOTDIR'].includes(code) || (code === 'EACCES' && syscall === 'stat')) return undefined
    throw readError(path, error, 'config')
  }
}

/** The names in a folder, in order; none if there is no such folder. Throws `not_found` for one that cannot be read. */
export async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).sort()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw readError(folder, error)
  }
}
