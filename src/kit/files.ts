// Reads and writes files that a user names.

import { readFileSync, statSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { LabError } from '../errors.ts'
import { readdir } from './disk.ts'
import { readError, storageError } from './durable.ts'
import { textOfUtf8 } from './utf8.ts'

/** Returns the path of a file with a secret: a path unchanged, or a name in systemd's folder of credentials. */
export function credentialPath(file: string): string {
  const folder = process.env.CREDENTIALS_DIRECTORY
  return file.startsWith('/') || !folder ? file : `${folder}/${file}`
}

/** Reads a named file. Throws `not_found`. */
export async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw readError(path, error)
  }
}

/** Reads a file as `readText` does, without a byte order mark. Throws `invalid` if it is not UTF-8, because names in it would be wrong. */
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

/** Writes a named file, also over an existing one. Throws `storage`. */
export async function writeText(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text)
  } catch (error) {
    throw storageError(`${path} was not written`, error)
  }
}

/** Reads a file with a secret synchronously, and whether others may read it; undefined if it is missing. Throws `config`. */
export function readPrivate(path: string): { text: string; isOpenToOthers: boolean } | undefined {
  try {
    const { mode } = statSync(path)
    return { text: readFileSync(path, 'utf8'), isOpenToOthers: (mode & 0o077) !== 0 }
  } catch (error) {
    const { code = '', syscall } = error as NodeJS.ErrnoException
    // The folder is inaccessible, such as the home of the user before setpriv or sudo.
    if (['ENOENT', 'ENOTDIR'].includes(code) || (code === 'EACCES' && syscall === 'stat')) return undefined
    throw readError(path, error, 'config')
  }
}

/** Lists the names in a folder, in order; none for a missing folder. Throws `not_found` for an unreadable one. */
export async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).sort()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw readError(folder, error)
  }
}
