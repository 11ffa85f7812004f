// Makes a folder of files that is complete, or does not exist; and reads one again to check it.

import { createHash, randomUUID } from 'node:crypto'
import { type Dirent, existsSync } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { LabError } from '../errors.ts'
import { readError, storageError, syncFolder } from './durable.ts'
import { readOpen } from './open_file.ts'

/** A file in a folder: its name in the folder, with `/` between its parts. */
export type HashedFile = { name: string; bytes: number; sha256: string }

type Content = AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>

/** A folder that is being made beside its place, and gets its name when all files are in it. */
export class NewFolder {
  readonly path: string
  readonly #draft: string

  /** Rejects with `exists` and `storage`. */
  static async begin(wanted: string): Promise<NewFolder> {
    const path = resolve(wanted)
    if (existsSync(path)) throw new LabError('exists', `${path} is there already; name another folder`)
    const draft = join(dirname(path), `.${basename(path)}.${randomUUID()}.tmp`)
    await mkdir(draft, { recursive: true, mode: 0o700 }).catch((error) => {
      throw storageError(`${path} was not made`, error)
    })
    return new NewFolder(path, draft)
  }

  private constructor(path: string, draft: string) {
    this.path = path
    this.#draft = draft
  }

  /** Returns where a file lies until the folder is finished. */
  pathOf(name: string): string {
    return join(this.#draft, name)
  }

  /** Writes a file. Rejects with `storage`, and with an error of the content. */
  async write(name: string, content: Content): Promise<HashedFile> {
    const path = this.pathOf(name)
    const hash = createHash('sha256')
    let bytes = 0
    const failed = (error: unknown): never => {
      throw storageError(`${join(this.path, name)} was not written`, error)
    }
    await mkdir(dirname(path), { recursive: true, mode: 0o700 }).catch(failed)
    const file = await open(path, 'wx', 0o600).catch(failed)
    try {
      for await (const piece of content) {
        const some = Buffer.from(piece as Uint8Array)
        hash.update(some)
        bytes += some.length
        await file.writeFile(some).catch(failed)
      }
      await file.sync().catch(failed)
    } finally {
      await file.close()
    }
    return { name, bytes, sha256: hash.digest('hex') }
  }

  /** Gives the folder its name. Rejects with `storage`. */
  async finish(): Promise<string> {
    try {
      await rename(this.#draft, this.path)
      await syncFolder(dirname(this.path))
    } catch (error) {
      throw storageError(`${this.path} was not made`, error)
    }
    return this.path
  }

  /** Removes what was written. */
  async giveUp(): Promise<void> {
    await rm(this.#draft, { recursive: true, force: true })
  }
}

/** Lists the names of the files in a folder and the folders in it, in order. A link counts as a file. Rejects with `not_found`. */
export async function namesBelow(folder: string): Promise<string[]> {
  const names: string[] = []
  const walk = async (below: string): Promise<void> => {
    const entries: Dirent[] = await readdir(join(folder, below), { withFileTypes: true }).catch((error) => {
      throw readError(join(folder, below), error)
    })
    for (const entry of entries) {
      const name = below === '' ? entry.name : `${below}/${entry.name}`
      if (entry.isDirectory()) await walk(name)
      else names.push(name)
    }
  }
  await walk('')
  return names.sort()
}

/** Reads a file to its end and hashes it; undefined if it is not a file that can be read. */
export async function hashedFile(folder: string, name: string): Promise<HashedFile | undefined> {
  const path = join(folder, name)
  const isFile = await stat(path).then(
    (stats) => stats.isFile(),
    () => false,
  )
  const file = isFile ? await open(path).catch(() => undefined) : undefined
  if (!file) return undefined
  try {
    const hash = createHash('sha256')
    let bytes = 0
    for await (const piece of readOpen(file.fd)) {
      hash.update(piece)
      bytes += piece.length
    }
    return { name, bytes, sha256: hash.digest('hex') }
  } finally {
    await file.close()
  }
}
