// The state of runs on the disk, in one file for all runs. A line is a transaction: all changes of one turn of the event loop, and the
// numbers of the events of that turn. The event log writes the line before these events.
//
//   {"crc":"1c291ca3","from":17,"through":19,"synced":12,"runs":{"<id>":{"n":4,"patch":{"<key>":<value>,"<key>":null}}}}
//
// `n` counts the patches of a run. A null value removes the key, and a null patch the run. `synced` is the last event that was
// on the disk for certain when the line was written: a log that ends before it does not belong to this state. A file begins with a
// copy of all present values, whose lines are numbered: "copy":[1,3]. The file gets its name when the copy is on the disk.

import { type FileHandle, open as openOnDisk, rename } from 'node:fs/promises'
import { withChecksum } from '../kit/checksum.ts'
import { makeFolder, remove, storageError, syncFolder, writeAt } from '../kit/durable.ts'
import type { OpenFile } from './log_segment.ts'
import type { RunRecordFile } from './run_record_file.ts'
import { copyText, type Patch, StateLine, sliceLength, slicesOf } from './state_line.ts'
import { format, type LogEnd, nameOf, readStates, type SavedRun, type SavedStates, statesIn } from './states_reader.ts'

/** A key, and the JSON text of its value; null for a removed key. */
export type Change = readonly [key: string, text: string | null]

/** The source of the stored values of a run. */
export interface StateSource {
  /** Takes the changes since the last call, as of this moment, also if the caller iterates in later turns. */
  changes(): Iterable<Change>
  /** The values after the changes of the last call. */
  readonly standing: ReadonlyMap<string, string>
  /** Says why the values may be outdated, if they may; stored with them. */
  readonly damage?: string | undefined
  /** The file of the run's record, whose length is one of the values: it is written and synced before them. */
  readonly record?: Pick<RunRecordFile, 'write' | 'sync' | 'close'> | undefined
}

type Numbers = { from: number; through: number }
/** A turn of the event loop: the numbers of its events, and their executions. */
export type Turn = Numbers & { executions: Iterable<string> }

type StatesOptions = {
  /** The folder of the file. */
  folder: string
  /** Writes what must be stored before a transaction; returns undefined if there is nothing. It must not reject. */
  before?: () => Promise<unknown> | undefined
  /** Replaces the file system's `open` in tests of a failing disk. */
  open?: OpenFile
}

const firstLine = `{"format":${format}}\n`
/** A file is replaced when it has more bytes than this, and more than `mostTimes` the bytes of the present values. */
const longest = 8 * 1024 * 1024
/** The bytes by which the old file grows before a copy is tried again on a full disk. */
const growth = 1024 * 1024
const mostTimes = 3

export class States {
  readonly folder: string
  readonly #open: OpenFile
  before: () => Promise<unknown> | undefined
  readonly #sources = new Map<string, StateSource>()
  #left: (() => void) | undefined
  /** The number of written patches of each run. */
  readonly #counts = new Map<string, number>()
  /** The changes that were taken from the sources and are not in the file yet; null for an ended run. */
  readonly #pending = new Map<string, Patch | null>()
  /** Keyed by dropped run: its keys in the file. */
  readonly #dropped = new Map<string, readonly string[]>()
  readonly #line = new StateLine()
  #isDirty = false
  #file: FileHandle | undefined
  /** The number of the newest file. */
  #number = 0
  /** The bytes of whole lines in the file. */
  #bytes = 0
  /** The bytes beyond which the file may have to be replaced. */
  #most = longest
  /** The last event that is on the disk for certain. */
  #synced = 0
  /** Whether the file may have a torn line at its end. */
  #isTorn = false
  #isUnsynced = false
  /** Says why the file is not trusted: a sync failed, or it holds lines that a later start must ignore. Until another file is begun, nothing counts as synced. */
  #distrusted: Error | undefined
  /** Earlier files, which are removed when the log is synced up to the copy. */
  #old: { names: string[]; through: number } | undefined
  /** Called when there are changes to write. */
  onDirty: () => void = () => {}

  constructor({ folder, before = () => undefined, open = openOnDisk }: StatesOptions) {
    this.folder = folder
    this.#open = open
    this.before = before
  }

  /**
   * Reads the stored state up to the end of the log. The values of a run stay until the run is added or dropped. Rejects with
   * `config` for a newer format.
   */
  async load(log: LogEnd): Promise<SavedStates> {
    const read = await readStates(this.folder, log)
    this.#number = read.newest
    this.#sources.clear()
    for (const [id, run] of read.runs) this.#sources.set(id, asRead(run))
    // The file is not continued: once the log has grown, lines beyond its present end would seem to belong to it. A damaged file was set aside and is removed.
    this.#distrusted = read.isLeftOut && !read.damage ? new Error('the file holds what the log does not tell of') : undefined
    return read
  }

  /** Whether the state of any run is written. */
  get isUsed(): boolean {
    return this.#sources.size > 0 || this.#pending.size > 0
  }

  /** Whether there may be changes since the last transaction. */
  get isDirty(): boolean {
    return this.#isDirty || this.isDistrusted || this.#pending.size > 0
  }

  /** Whether the next transaction has to begin another file before anything counts as synced. */
  get isDistrusted(): boolean {
    return this.#distrusted !== undefined
  }

  /** Writes the state of this run from now on. */
  add(id: string, source: StateSource): void {
    this.#sources.set(id, source)
    // The end of the dropped run with this id must not be written after the new one has begun, so its keys are removed instead.
    if (this.#pending.get(id) === null) this.#pending.set(id, new Map(this.#dropped.get(id)!.map((key) => [key, null])))
    this.changed()
  }

  /** Has the changes written at the end of this turn. */
  changed(): void {
    if (this.#isDirty) return
    this.#isDirty = true
    this.onDirty()
  }

  /** Freezes the state of all runs with the next transaction; later changes are not written. Calls `left` at that moment. */
  leave(left: () => void): void {
    this.#left = left
    this.changed()
  }

  /** Removes the state of an ended run with the next transaction. */
  drop(id: string): void {
    const source = this.#sources.get(id)
    if (!source) return
    this.#sources.delete(id)
    void source.record?.close()
    this.#dropped.set(id, [...source.standing.keys(), ...(this.#pending.get(id)?.keys() ?? [])])
    this.#pending.set(id, null)
    this.changed()
  }

  /** Writes all changes as one transaction. Called between two turns. Returns whether anything was written. Rejects with `storage`. */
  async write({ from, through, executions }: Turn): Promise<boolean> {
    const sources = await this.#take(executions)
    if (this.#pending.size === 0 && !this.isDistrusted) return false
    const written = new Map(this.#pending)
    try {
      const ahead = this.before()
      if (ahead) await ahead
      for (const { record } of sources.values()) {
        const written = record?.write()
        if (written) await written
      }
      if (sources.size === 0) await this.#removeAll()
      else {
        const file = await this.#fileToAddTo(sources, { from, through })
        if (file) await this.#append(file, written, { from, through })
      }
    } catch (error) {
      throw storageError('the state of the runs was not written', error)
    }
    // A run may have been dropped meanwhile.
    for (const [id, patch] of written) {
      if (this.#pending.get(id) === patch) this.#pending.delete(id)
      if (!this.#pending.has(id)) this.#dropped.delete(id)
    }
    return true
  }

  /** Resolves when all written lines are on the disk. After a failure the file is not trusted, and the next write begins another. */
  async sync(): Promise<void> {
    if (this.#distrusted) throw this.#distrusted
    if (!this.#isUnsynced) return
    this.#isUnsynced = false
    const file = this.#file
    try {
      await this.#syncRecords()
      await file?.datasync()
    } catch (error) {
      // Another file has replaced it meanwhile, or no run is left.
      if (this.#file !== file) return
      await this.#distrust(error as Error)
      throw error
    }
  }

  async #syncRecords(): Promise<void> {
    await Promise.all([...this.#sources.values()].flatMap(({ record }) => record?.sync() ?? []))
  }

  async #distrust(error: Error): Promise<void> {
    const file = this.#file
    this.#distrusted = error
    this.#file = undefined
    await file?.close().catch(() => undefined)
  }

  /** Notes that the log is on the disk up to this number, and removes files that are no longer needed. */
  async logSynced(through: number): Promise<void> {
    this.#synced = Math.max(this.#synced, through)
    const old = this.#old
    if (!old || through < old.through) return
    this.#old = undefined
    for (const name of old.names) await remove(`${this.folder}/${name}`)
  }

  async close(): Promise<void> {
    const file = this.#file
    // A sync may begin meanwhile.
    this.#file = undefined
    await file?.close()
    for (const { record } of this.#sources.values()) await record?.close()
  }

  /**
   * Takes the changes of each run until now, in slices that do not block the event loop, and returns the runs. A run with events has a line, also if
   * nothing has changed.
   */
  async #take(executions: Iterable<string>): Promise<ReadonlyMap<string, StateSource>> {
    this.#isDirty = false
    const taken = new Map([...this.#sources].map(([id, source]) => [id, { source, changes: source.changes() }]))
    if (taken.size > 0) for (const id of executions) if (taken.has(id)) this.#patchOf(id)
    if (this.#left) {
      for (const [id, { changes }] of taken) for (const change of changes) this.#note(id, change)
      for (const [id, { standing, damage, record }] of this.#sources)
        this.#sources.set(id, { standing: new Map(standing), damage, record, changes: () => [] })
      this.#left()
      this.#left = undefined
      return new Map(this.#sources)
    }
    let length = 0
    // The run may have ended meanwhile, and another may have its id.
    const isThere = (id: string) => this.#sources.get(id) === taken.get(id)?.source
    for (const [id, { changes }] of taken) {
      if (!isThere(id)) continue
      for (const change of changes) {
        length += this.#note(id, change)
        if (length < sliceLength) continue
        length = 0
        await nextTurn()
        if (!isThere(id)) break
      }
    }
    return new Map([...this.#sources].filter(([id]) => isThere(id)))
  }

  /** Notes a change. Returns its length. */
  #note(id: string, [key, text]: Change): number {
    this.#patchOf(id).set(key, text)
    return key.length + (text?.length ?? 0)
  }

  #patchOf(id: string): Patch {
    const patch = this.#pending.get(id) ?? new Map<string, string | null>()
    this.#pending.set(id, patch)
    return patch
  }

  async #append(file: FileHandle, patches: ReadonlyMap<string, Patch | null>, numbers: Numbers): Promise<void> {
    const patched = [...patches].map(([id, patch]) => ({ id, n: (this.#counts.get(id) ?? 0) + 1, patch }))
    const bytes = await this.#line.of(this.#textOf(numbers), patched)
    if (this.#isTorn) await file.truncate(this.#bytes)
    this.#isTorn = true
    await writeAt(file, bytes, this.#bytes)
    // A sync that ran meanwhile may not have covered these bytes.
    this.#isUnsynced = true
    this.#isTorn = false
    this.#bytes += bytes.length
    for (const { id, n } of patched) this.#counts.set(id, n)
  }

  #isTooLong(): boolean {
    if (this.#bytes <= this.#most) return false
    let standing = 0
    for (const { standing: values } of this.#sources.values()) for (const [key, text] of values) standing += key.length + text.length
    this.#most = Math.max(longest, mostTimes * standing)
    return this.#bytes > this.#most
  }

  /**
   * Returns the file to which the transaction is added. If there is none, or it is long, begins another with the transaction in its copy,
   * and returns undefined. A long file is continued while the disk has no room for the copy, unless the name of the copy may be on the disk:
   * a start after a power cut would read the copy, and miss later lines of the long file.
   */
  async #fileToAddTo(sources: ReadonlyMap<string, StateSource>, numbers: Numbers): Promise<FileHandle | undefined> {
    if (this.#file && !this.#isTooLong()) return this.#file
    try {
      await this.#begin(sources, numbers)
      return undefined
    } catch (error) {
      if (!this.#file) throw error
      this.#most = this.#bytes + growth
      return this.#file
    }
  }

  /** Begins another file with a copy of the present values, which is a transaction like any other. Runs may begin and end meanwhile. */
  async #begin(sources: ReadonlyMap<string, StateSource>, numbers: Numbers): Promise<void> {
    await makeFolder(this.folder)
    const path = `${this.folder}/${nameOf(this.#number + 1)}`
    const draft = `${path}.tmp`
    await remove(draft)
    const slices = slicesOf(sources)
    const damages = new Map([...sources].map(([id, { damage }]) => [id, damage]))
    const file = await this.#open(draft, 'wx', 0o600)
    let bytes = 0
    let isRenamed = false
    try {
      for (const [i, slice] of slices.entries()) {
        const head = `{"copy":[${i + 1},${slices.length}],${this.#textOf(numbers)},"runs":{`
        const line = withChecksum(`${head}${[...slice].map(([id, values]) => copyText(id, values, damages.get(id))).join(',')}}}`)
        const text = Buffer.from(`${i === 0 ? firstLine : ''}${line}\n`)
        await writeAt(file, text, bytes)
        bytes += text.length
        await nextTurn()
      }
      await this.#syncRecords()
      await file.datasync()
      await rename(draft, path)
      isRenamed = true
      await syncFolder(this.folder, this.#open)
    } catch (error) {
      await file.close().catch(() => undefined)
      await remove(draft)
      await remove(path)
      if (isRenamed) await this.#distrust(error as Error)
      throw error
    }
    this.#number++
    const before = this.#file
    this.#file = file
    this.#bytes = bytes
    this.#isTorn = false
    this.#counts.clear()
    for (const id of sources.keys()) this.#counts.set(id, 1)
    this.#distrusted = undefined
    this.#old = { names: (await statesIn(this.folder)).filter((name) => name !== nameOf(this.#number)), through: numbers.through }
    await before?.close().catch(() => undefined)
  }

  #textOf({ from, through }: Numbers): string {
    return `"from":${from},"through":${through},"synced":${this.#synced}`
  }

  /** Removes all files when no run is left. */
  async #removeAll(): Promise<void> {
    await this.close()
    this.#old = undefined
    this.#isUnsynced = false
    this.#distrusted = undefined
    // The oldest first, so that after a kill no older file remains as the newest.
    for (const name of (await statesIn(this.folder)).toReversed()) await remove(`${this.folder}/${name}`)
    await syncFolder(this.folder, this.#open).catch(() => undefined)
  }
}

function asRead(run: SavedRun): StateSource {
  return {
    get standing() {
      return new Map([...run.keys].map(([key, value]) => [key, JSON.stringify(value)]))
    },
    get damage() {
      return run.damage
    },
    changes: () => [],
  }
}

function nextTurn(): Promise<void> {
  return new Promise(setImmediate)
}
