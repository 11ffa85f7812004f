// The file of a run's record: rows that are added and never changed. The state of the run names the length of this file, and the rows are
// written and synced before that state (`states.ts`). So a start cuts off the rows that the state does not know.
//
//   {"crc":"1c291ca3","kind":"action","action_id":…}
//
// A long value lies beside the file, under its SHA-256.

import { type FileHandle, open as openOnDisk } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { LabError } from '../errors.ts'
import { withChecksum } from '../kit/checksum.ts'
import { createSynced, errnoOf, makeFolder, syncFolder, writeAt } from '../kit/durable.ts'
import type { OpenFile } from './log_segment.ts'
import { endOfRows } from './record_end.ts'

/** A row of a record. Its kind is its first member, so that a reader finds it without parsing the row. */
export type RecordRow = { readonly kind: string; readonly [name: string]: unknown }

/** The length of `{"crc":"1c291ca3"`. */
const checksumLength = 17

type RunRecordOptions = {
  /** The folder of the states of runs. */
  folder: string
  execution_id: string
  /** Replaces the file system's `open` in tests of a failing disk. */
  open?: OpenFile
}

/** Returns the path of the record of a run, in the folder of the states of runs. */
export function recordPath(folder: string, execution_id: string): string {
  return join(folder, execution_id, 'record.jsonl')
}

export class RunRecordFile {
  readonly path: string
  readonly execution_id: string
  readonly #open: OpenFile
  #file: FileHandle | undefined
  /** The rows that are not written yet. */
  #waiting: string[] = []
  /** The long values that are not written yet, by hash. */
  #values = new Map<string, string>()
  /** The bytes to write next, and the bytes that were written since the last sync: those are written again if a sync fails. */
  #unwritten: Buffer[] = []
  #unsynced: Buffer[] = []
  #written = 0
  #length = 0
  /** The bytes of rows and long values that are only in memory, or not synced yet. */
  #held = 0
  /** Whether a sync has failed, after which the disk may have lost all that was not synced before. */
  #isDistrusted = false

  constructor({ folder, execution_id, open = openOnDisk }: RunRecordOptions) {
    this.path = recordPath(folder, execution_id)
    this.execution_id = execution_id
    this.#open = open
  }

  /** The bytes of the file, with the rows that wait. */
  get length(): number {
    return this.#length
  }

  /** The bytes that are kept in memory because they are not on the disk for certain. They grow while the disk refuses them. */
  get held(): number {
    return this.#held
  }

  /** The bytes in the file. */
  get written(): number {
    return this.#written
  }

  /**
   * Continues the file of a restored run at the length in its state; without one, at its end. Cuts off a last line that is not whole. Returns the number of
   * bytes that the state knows and the file lacks.
   */
  async reopen(length?: number): Promise<number> {
    const { size, end } = await this.#wholeRows(length)
    this.#written = this.#length = end
    return (length ?? size) - end
  }

  /** Returns the size of the file, and the bytes of its whole lines up to a length. */
  async #wholeRows(length = Number.POSITIVE_INFINITY): Promise<{ size: number; end: number }> {
    const file = await this.#open(this.path, 'r').catch((error) => {
      if (errnoOf(error) === 'ENOENT') return undefined
      throw error
    })
    if (!file) return { size: 0, end: 0 }
    try {
      const { size } = await file.stat()
      return { size, end: await endOfRows(file, Math.min(size, length)) }
    } finally {
      await file.close()
    }
  }

  add(row: RecordRow): void {
    const line = `${withChecksum(JSON.stringify(row))}\n`
    const bytes = Buffer.byteLength(line)
    this.#waiting.push(line)
    this.#length += bytes
    this.#held += bytes
  }

  /** Lists the rows of a kind that are not on the disk for certain. */
  waiting(kind: string): RecordRow[] {
    const lines = [...this.#unsynced, ...this.#unwritten, ...this.#waiting].join('').split('\n')
    return lines.filter((line) => line.startsWith(`,"kind":"${kind}"`, checksumLength)).map((line) => JSON.parse(line))
  }

  /** Keeps a long value under its hash. */
  addValue(sha256: string, json: string): void {
    if (this.#values.has(sha256)) return
    this.#values.set(sha256, json)
    this.#held += Buffer.byteLength(json)
  }

  /** Writes what waits; undefined if nothing does. One call at a time. */
  write(): Promise<void> | undefined {
    return this.#waiting.length > 0 || this.#unwritten.length > 0 || this.#isDistrusted ? this.#write() : undefined
  }

  /** Resolves when all written rows are on the disk. */
  async sync(): Promise<void> {
    const count = this.#unsynced.length
    if (count === 0) return
    try {
      await this.#file?.datasync()
    } catch (error) {
      this.#isDistrusted = true
      throw error
    }
    if (this.#isDistrusted) throw new LabError('storage', `an earlier sync of ${this.path} failed; wait until the rows are written again`)
    for (const { length } of this.#unsynced.splice(0, count)) this.#held -= length
  }

  async close(): Promise<void> {
    const file = this.#file
    this.#file = undefined
    await file?.close().catch(() => undefined)
  }

  async #write(): Promise<void> {
    if (this.#isDistrusted) await this.#writeAgain()
    for (const [sha256, json] of this.#values) {
      await createSynced(join(dirname(this.path), sha256), json, { mode: 0o600 })
      this.#values.delete(sha256)
      this.#held -= Buffer.byteLength(json)
    }
    if (this.#waiting.length > 0) this.#unwritten.push(Buffer.from(this.#waiting.splice(0).join('')))
    this.#file ??= await this.#opened()
    for (let bytes = this.#unwritten[0]; bytes; bytes = this.#unwritten[0]) {
      await writeAt(this.#file, bytes, this.#written)
      this.#unwritten.shift()
      this.#unsynced.push(bytes)
      this.#written += bytes.length
    }
  }

  async #writeAgain(): Promise<void> {
    await this.close()
    this.#unwritten.unshift(...this.#unsynced)
    for (const bytes of this.#unsynced.splice(0)) this.#written -= bytes.length
    this.#isDistrusted = false
  }

  /** Opens the file, and cuts off what was written beyond its length. */
  async #opened(): Promise<FileHandle> {
    const file = await this.#open(this.path, 'r+').catch(async (error) => {
      if (errnoOf(error) !== 'ENOENT') throw error
      await makeFolder(dirname(this.path))
      const made = await this.#open(this.path, 'wx', 0o600)
      await syncFolder(dirname(this.path), this.#open)
      return made
    })
    await file.truncate(this.#written)
    return file
  }
}
