// The files that are attached to runs, each under its SHA-256 in the folder of its run: `executions/<id>/files/<sha256>`.

import { createHash, randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, readdir, rename, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { LabError } from '../errors.ts'
import { errnoOf, makeFolder, remove, storageError, syncFolder } from '../kit/durable.ts'
import { namesIn } from '../kit/files.ts'
import { filesFolder } from './run_folders.ts'
import { recordPath } from './run_record_file.ts'

const mib = 1024 * 1024
/** The most bytes of a file. */
export const longestFile = 64 * mib
/** The files that may arrive at a time. */
const mostAtOnce = 4
/** The bytes after which the room is looked at again while a file arrives. */
const lookEvery_bytes = 8 * mib

type RunFilesOptions = {
  /** The folder of the states of runs. */
  folder: string
  /** The most bytes of the files of all runs. */
  most_bytes(): number
  /** Called for a file that is refused because all files together take too much. */
  refused(message: string): void
  /** Rejects with `storage` unless the disk has room for so many more bytes. */
  mustHaveRoom(bytes: number): Promise<void>
}

/** `bytes` and `sha256` are as the sender announces them, if it does. */
type Announced = { bytes?: number | undefined; sha256?: string | undefined }
export type TakenFile = { sha256: string; bytes: number; isNew: boolean }

export class RunFiles {
  readonly #options: RunFilesOptions
  #arriving = 0
  #arrivingBytes = 0

  constructor(options: RunFilesOptions) {
    this.#options = options
  }

  pathOf(execution_id: string, sha256: string): string {
    return join(this.#folderOf(execution_id), sha256)
  }

  /**
   * Keeps a file of a run. Resolves when it is on the disk. A file that is there already stays as it is. Rejects with `too_large`, `invalid` for another content than
   * announced, `overloaded`, `storage`, and the error of `pieces`; nothing is kept then.
   */
  async take(execution_id: string, pieces: AsyncIterable<Uint8Array>, announced: Announced = {}): Promise<TakenFile> {
    if (this.#arriving >= mostAtOnce)
      throw new LabError('overloaded', `${mostAtOnce} files arrive already; send this one again in a moment`, { retry_after_s: 1 })
    this.#arriving++
    const arrival = { bytes: 0 }
    try {
      const used = await this.#used()
      const { bytes = 0 } = announced
      this.#mustFit(used, bytes)
      await this.#options.mustHaveRoom(bytes)
      return await this.#keep(execution_id, this.#counted(pieces, arrival, used), announced)
    } finally {
      this.#arriving--
      this.#arrivingBytes -= arrival.bytes
    }
  }

  /** Returns the bytes of a file; undefined if it is not there. */
  async sizeOf(execution_id: string, sha256: string): Promise<number | undefined> {
    return stat(this.pathOf(execution_id, sha256)).then(
      ({ size }) => size,
      () => undefined,
    )
  }

  async *read(execution_id: string, sha256: string): AsyncGenerator<Uint8Array, undefined> {
    yield* createReadStream(this.pathOf(execution_id, sha256)) as AsyncIterable<Uint8Array>
    return undefined
  }

  /** Removes a file of which no row tells. */
  async remove(execution_id: string, sha256: string): Promise<void> {
    await remove(this.pathOf(execution_id, sha256))
  }

  #folderOf(execution_id: string): string {
    return join(dirname(recordPath(this.#options.folder, execution_id)), filesFolder)
  }

  async *#counted(pieces: AsyncIterable<Uint8Array>, arrival: { bytes: number }, used: number): AsyncGenerator<Uint8Array> {
    let looked = 0
    for await (const piece of pieces) {
      arrival.bytes += piece.length
      this.#arrivingBytes += piece.length
      if (arrival.bytes > longestFile) throw tooLong
      this.#mustFit(used, 0)
      if (arrival.bytes - looked > lookEvery_bytes) {
        looked = arrival.bytes
        await this.#options.mustHaveRoom(0)
      }
      yield piece
    }
  }

  async #keep(execution_id: string, pieces: AsyncIterable<Uint8Array>, announced: Announced): Promise<TakenFile> {
    const folder = this.#folderOf(execution_id)
    const temporary = join(folder, `${randomUUID()}.tmp`)
    try {
      await makeFolder(folder)
      const { bytes, sha256 } = await written(temporary, pieces)
      if (announced.sha256 !== undefined && announced.sha256 !== sha256)
        throw new LabError('invalid', `the file arrived with the SHA-256 ${sha256}, not ${announced.sha256}; send it again`)
      if (bytes === 0) throw new LabError('invalid', 'the file is empty; send its content as the body')
      const isNew = (await this.sizeOf(execution_id, sha256)) === undefined
      if (isNew) await rename(temporary, join(folder, sha256))
      await syncFolder(folder)
      return { sha256, bytes, isNew }
    } catch (error) {
      throw error instanceof LabError ? error : storageError('the file was not written', error)
    } finally {
      await remove(temporary)
    }
  }

  #mustFit(used: number, more: number): void {
    const most = this.#options.most_bytes()
    if (more > longestFile) throw tooLong
    if (used + this.#arrivingBytes + more <= most) return
    const sentence = `the files of all runs may take ${most / mib} MiB, and ${Math.ceil(used / mib)} MiB are taken; delete executions that nobody needs any more, or raise limits.files_mib of the configuration`
    this.#options.refused(sentence)
    throw new LabError('too_large', sentence)
  }

  /** Returns the bytes of all files, and removes those that a kill left incomplete. */
  async #used(): Promise<number> {
    let used = 0
    for (const execution_id of await namesIn(this.#options.folder)) {
      const folder = this.#folderOf(execution_id)
      for (const name of await readdir(folder).catch(none)) {
        if (!name.endsWith('.tmp')) used += (await this.sizeOf(execution_id, name)) ?? 0
        else if (this.#arriving === 1) await remove(join(folder, name))
      }
    }
    return used
  }
}

const tooLong = new LabError('too_large', `the file is larger than ${longestFile / mib} MiB; attach a part of it, or a smaller form of it`)

/** Writes and syncs a new file. */
async function written(path: string, pieces: AsyncIterable<Uint8Array>): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash('sha256')
  let bytes = 0
  const file = await open(path, 'wx', 0o600)
  try {
    for await (const piece of pieces) {
      hash.update(piece)
      await file.writeFile(piece)
      bytes += piece.length
    }
    await file.datasync()
    return { bytes, sha256: hash.digest('hex') }
  } finally {
    await file.close()
  }
}

function none(error: unknown): string[] {
  if (['ENOENT', 'ENOTDIR'].includes(errnoOf(error))) return []
  throw error
}
