// The files that are attached to runs, each under its SHA-256 in the folder of its run: `executions/<id>/files/<sha256>`.

import { createHash, randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, rename, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { LabError } from '../errors.ts'
import { errnoOf, remove, storageError, syncFolder } from '../kit/durable.ts'
import { namesIn } from '../kit/files.ts'
import { filesFolder } from './run_folders.ts'
import { recordPath } from './run_record_file.ts'
import { Semaphore } from './semaphore.ts'

const mib = 1024 * 1024
/** The most bytes of a file. */
export const longestFile = 64 * mib
/** The files that may arrive at a time. */
const mostAtOnce = 4
/** The files that may wait for their turn; each device gives one at a time. */
const mostWaiting = 1000
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

/** `bytes` and `sha256` are as the sender announces them, if it does. A file that `waits` is not refused while others arrive: its sender gives it only once. */
type Announced = { bytes?: number | undefined; sha256?: string | undefined; waits?: boolean }
export type TakenFile = { sha256: string; bytes: number; isNew: boolean }

export class RunFiles {
  readonly #options: RunFilesOptions
  readonly #arrivals = new Semaphore(mostAtOnce, mostWaiting)
  #arriving = 0
  #arrivingBytes = 0
  /** The bytes of all files, counted at the first arrival, and again before a file is refused: runs may have been deleted since. */
  #used: number | undefined
  #count: Promise<void> | undefined
  /** The bytes that were added since the start. */
  #added = 0

  constructor(options: RunFilesOptions) {
    this.#options = options
  }

  pathOf(execution_id: string, sha256: string): string {
    return join(this.#folderOf(execution_id), sha256)
  }

  /**
   * Keeps a file of a run. Resolves when it is on the disk. A file that is there already stays as it is. Rejects with `too_large`, `invalid` for another content than
   * announced, `conflict` for a run without a record on the disk, `overloaded`, `storage`, and the error of `pieces`; nothing is kept then.
   */
  async take(execution_id: string, pieces: AsyncIterable<Uint8Array>, announced: Announced = {}): Promise<TakenFile> {
    if (!announced.waits && (this.#arriving >= mostAtOnce || this.#arrivals.waiting > 0))
      throw new LabError('overloaded', `${mostAtOnce} files arrive already; send this one again in a moment`, { retry_after_s: 1 })
    this.#arriving++
    const leave = await this.#arrivals.acquire().catch((error) => {
      this.#arriving--
      throw error
    })
    const arrival = { bytes: 0 }
    try {
      if (this.#used === undefined) await this.#countAgain()
      const { bytes = 0 } = announced
      await this.#mustFit(bytes)
      await this.#options.mustHaveRoom(bytes)
      return await this.#keep(execution_id, this.#counted(pieces, arrival), announced)
    } finally {
      this.#arrivingBytes -= arrival.bytes
      this.#arriving--
      leave()
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
    const bytes = await this.sizeOf(execution_id, sha256)
    await remove(this.pathOf(execution_id, sha256))
    this.#add(-(bytes ?? 0))
  }

  #add(bytes: number): void {
    this.#added += bytes
    if (this.#used !== undefined) this.#used += bytes
  }

  #folderOf(execution_id: string): string {
    return join(dirname(recordPath(this.#options.folder, execution_id)), filesFolder)
  }

  async *#counted(pieces: AsyncIterable<Uint8Array>, arrival: { bytes: number }): AsyncGenerator<Uint8Array> {
    let looked = 0
    for await (const piece of pieces) {
      arrival.bytes += piece.length
      this.#arrivingBytes += piece.length
      if (arrival.bytes > longestFile) throw tooLong
      await this.#mustFit(0)
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
      await this.#mustHaveRecord(execution_id)
      await mkdir(folder, { mode: 0o700 }).catch(unlessThere)
      const { bytes, sha256 } = await written(temporary, pieces)
      if (announced.sha256 !== undefined && announced.sha256 !== sha256)
        throw new LabError('invalid', `the file arrived with the SHA-256 ${sha256}, not ${announced.sha256}; send it again`)
      if (bytes === 0) throw new LabError('invalid', 'the file is empty; send its content as the body')
      // The run may have been deleted while the file arrived.
      await this.#mustHaveRecord(execution_id)
      const isNew = (await this.sizeOf(execution_id, sha256)) === undefined
      if (isNew) await rename(temporary, join(folder, sha256))
      if (isNew) this.#add(bytes)
      await syncFolder(folder)
      return { sha256, bytes, isNew }
    } catch (error) {
      throw error instanceof LabError ? error : storageError('the file was not written', error)
    } finally {
      await remove(temporary)
    }
  }

  async #mustHaveRecord(execution_id: string): Promise<void> {
    if (await hasRecord(recordPath(this.#options.folder, execution_id))) return
    throw new LabError(
      'conflict',
      `execution ${execution_id} has no record on the disk, so the file is not kept; the execution was deleted`,
    )
  }

  async #mustFit(more: number): Promise<void> {
    if (more > longestFile) throw tooLong
    if (this.#fits(more)) return
    await this.#countAgain()
    if (this.#fits(more)) return
    const sentence = `the files of all runs may take ${this.#options.most_bytes() / mib} MiB, and ${Math.ceil(this.#used! / mib)} MiB are taken; delete executions that nobody needs any more, or raise limits.files_mib of the configuration`
    this.#options.refused(sentence)
    throw new LabError('too_large', sentence)
  }

  #fits(more: number): boolean {
    return this.#used! + this.#arrivingBytes + more <= this.#options.most_bytes()
  }

  #countAgain(): Promise<void> {
    this.#count ??= this.#countAll().finally(() => {
      this.#count = undefined
    })
    return this.#count
  }

  /** Counts the bytes of the files of all runs with a record. The first count removes the files that a kill left incomplete, since none arrives before its end. */
  async #countAll(): Promise<void> {
    const [isFirst, before] = [this.#used === undefined, this.#added]
    let used = 0
    for (const execution_id of await namesIn(this.#options.folder)) {
      const folder = this.#folderOf(execution_id)
      const names = await readdir(folder).catch(none)
      if (names.length === 0 || !(await hasRecord(recordPath(this.#options.folder, execution_id)))) continue
      for (const name of names) {
        if (!name.endsWith('.tmp')) used += (await this.sizeOf(execution_id, name)) ?? 0
        else if (isFirst) await remove(join(folder, name))
      }
    }
    this.#used = used + Math.max(0, this.#added - before)
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

function hasRecord(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error) => {
      if (['ENOENT', 'ENOTDIR'].includes(errnoOf(error))) return false
      throw error
    },
  )
}

function unlessThere(error: unknown): void {
  if (errnoOf(error) !== 'EEXIST') throw error
}

function none(error: unknown): string[] {
  if (['ENOENT', 'ENOTDIR'].includes(errnoOf(error))) return []
  throw error
}
