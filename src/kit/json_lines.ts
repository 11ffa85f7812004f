// An append-only file of JSON lines: damaged and missing lines are reported, and a new file replaces the old one completely or not at
// all. Each line has a checksum. Files of format 2, without a recorded length, and of format 1, without checksums, are read too.

import { type FileHandle, open } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import * as v from 'valibot'
import { beginning as checksumBeginning, hasChecksum, withChecksum, withoutChecksum } from './checksum.ts'
import { keepAside, makeRoom, openPlain, putInPlace, readOrDamage } from './damage.ts'
import { writeNew } from './disk.ts'
import { errnoOf, remove, storageError, syncFolder } from './durable.ts'
import { formatOf, isFormatLine, mustKnowFormat } from './format_line.ts'
import type { Report } from './json_file.ts'
import { type LengthLine, lengthLine, readLengthLine } from './length_line.ts'

type JsonLinesOptions<Entry> = {
  path: string
  schema: v.GenericSchema<unknown, Entry>
  report: Report
  /** The end of the report of damage: the possible loss, and the next step. */
  loss: string
  /** Whether a missing file is damage. */
  isExpected?: boolean
}

type Found<Entry> = { entries: Entry[]; damage?: string | undefined }

const format = 3
const firstLine = `{"format":${format}}\n`
/** The last format without a recorded length. */
const lastWithoutLength = 2
/** The entries that are serialized in one turn of the event loop. */
const batch = 500
/** The most bytes of a file that was torn inside its first line. */
const longestTorn = 4096
/** The most bytes of the first two lines. */
const longestBeginning = 256
/**
 * A file is rewritten when it has more lines or bytes than this, and more than `mostTimes` as many as at its beginning: a longer file could not be
 * read, or only slowly.
 */
const longest = { lines: 4000, bytes: 16 * 1024 * 1024 }
const mostTimes = 2

/** Whether the file exists and records its length. */
export async function saysItsLength(path: string): Promise<boolean> {
  const handle = await openPlain(path).catch(() => undefined)
  if (!handle) return false
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(longestBeginning), 0, longestBeginning, 0)
    const [, second = ''] = buffer.toString('latin1', 0, bytesRead).split('\n', 2)
    return readLengthLine(second) !== undefined
  } finally {
    await handle.close()
  }
}

/** Use it with one call at a time, behind a serial queue. */
export class LineFile<Entry extends object> {
  readonly #options: JsonLinesOptions<Entry>
  readonly #path: string
  readonly #name: string
  #handle: FileHandle | undefined
  /** A second handle of the file, for its second line. */
  #head: FileHandle | undefined
  #size = { lines: 0, bytes: 0 }
  #most = longest
  /** Whether the present file has to be kept under another name before it is replaced. */
  #isDamaged = false
  /** The name under which it is kept. */
  #aside: string | undefined

  constructor(options: JsonLinesOptions<Entry>) {
    this.#options = options
    this.#path = options.path
    this.#name = basename(options.path)
  }

  /**
   * Reads the entries of all lines; none without a file. A damaged file is kept under another name and reported; the new file
   * begins with the result of `mend` for the whole lines. Rejects with `config` for a newer format, and with `storage`.
   */
  async read(mend: (whole: Entry[]) => Entry[] = (whole) => whole): Promise<Entry[]> {
    const { entries: whole, damage } = await this.#find()
    if (damage === undefined) return whole
    this.#isDamaged = true
    const entries = mend(whole)
    const outcome = await this.begin(entries).then(
      () => (this.#aside === undefined ? 'A new file takes its place.' : `The damaged file is kept as ${this.#aside}.`),
      (error) => `It stays as it is until it can be kept under another name (${errnoOf(error.cause ?? error)}).`,
    )
    const { report, loss } = this.#options
    report({ kind: 'storage', message: `${this.#name} is damaged (${damage}): ${loss}. ${outcome}` })
    return entries
  }

  /**
   * Whether entries can be added: not before `begin`, nor after a failure, since the result of a failed sync is unknown, nor if the
   * file is too long.
   */
  get isOpen(): boolean {
    return this.#handle !== undefined && this.#size.bytes <= this.#most.bytes && this.#size.lines <= this.#most.lines
  }

  /** Adds the entries; if that is not possible, rewrites the file with `all`, which includes them. Rejects with `storage`, as `add` and `begin`. */
  async write(entries: readonly Entry[], { isSynced, all }: { isSynced: boolean; all(): readonly Entry[] }): Promise<void> {
    await (this.isOpen ? this.add(entries, { isSynced }) : this.begin(all()))
  }

  /** Rewrites the file with these entries. Rejects with `storage`, and leaves the file unchanged then. */
  async begin(entries: readonly Entry[]): Promise<void> {
    await this.close()
    const temporary = `${this.#path}.tmp`
    await makeRoom(temporary)
    try {
      const bytes = await makeFile(temporary, entries)
      this.#size = { lines: entries.length, bytes }
      this.#most = {
        lines: Math.max(longest.lines, mostTimes * entries.length),
        bytes: Math.max(longest.bytes, mostTimes * bytes),
      }
      if (this.#isDamaged) this.#aside ??= await keepAside(this.#path)
      const folder = await putInPlace(temporary, this.#path)
      if (folder) this.#tellFolder(folder)
      this.#isDamaged = false
      await syncFolder(dirname(this.#path))
      this.#handle = await open(this.#path, 'a', 0o600)
      this.#head = await open(this.#path, 'r+')
    } catch (error) {
      await remove(temporary)
      throw this.#failure(error)
    }
  }

  /** Adds entries. Without `isSynced` they survive the end of the process, but a power cut only after a while. Rejects with `storage`, after which they may be there or not. */
  async add(entries: readonly Entry[], { isSynced }: { isSynced: boolean }): Promise<void> {
    const handle = this.#handle
    if (!handle) throw new Error(`${this.#path} was not begun`)
    try {
      // Writing to a deleted file would be useless; the next write begins a new one.
      if ((await handle.stat()).nlink === 0) throw new Error('it was deleted while the service ran')
      this.#size.bytes += await addLines(handle, entries)
      this.#size.lines += entries.length
      if (isSynced) await this.#sync(handle)
    } catch (error) {
      await this.#letGo()
      throw this.#failure(error)
    }
  }

  async close(): Promise<void> {
    if (this.#handle) await this.#sync(this.#handle).catch(() => undefined)
    await this.#letGo()
  }

  /** Syncs the lines before it writes the length, so that a power cut between the two is harmless. */
  async #sync(handle: FileHandle): Promise<void> {
    await handle.datasync()
    await writeLength(this.#head!, this.#size.bytes)
  }

  async #letGo(): Promise<void> {
    const handles = [this.#handle, this.#head]
    this.#handle = this.#head = undefined
    for (const handle of handles) await handle?.close().catch(() => undefined)
  }

  async #find(): Promise<Found<Entry>> {
    const { bytes, damage } = await readOrDamage(this.#path)
    if (bytes) return contentOf(bytes, this.#path, this.#options.schema)
    return { entries: [], damage: damage ?? (this.#options.isExpected ? 'it is missing' : undefined) }
  }

  #tellFolder(aside: string): void {
    this.#options.report({ kind: 'storage', message: `${this.#name} had become a folder, which is set aside as ${aside}` })
  }

  #failure(error: unknown): Error {
    return storageError(`${this.#name} was not written`, error)
  }
}

/** Makes a synced file of the entries, and returns its bytes. A short one is written in one call, as a start does twice. */
async function makeFile(path: string, entries: readonly object[]): Promise<number> {
  const beginning = (bytes: number) => firstLine + lengthLine({ format, bytes })
  const empty = Buffer.byteLength(beginning(0))
  if (entries.length <= batch) {
    const lines = textOf(entries)
    const bytes = empty + Buffer.byteLength(lines)
    await writeNew(path, beginning(bytes) + lines)
    return bytes
  }
  const handle = await open(path, 'wx', 0o600)
  try {
    await handle.appendFile(beginning(0))
    const bytes = empty + (await addLines(handle, entries))
    await writeLength(handle, bytes)
    await handle.sync()
    return bytes
  } finally {
    await handle.close()
  }
}

/** Appends the lines. Returns their bytes. */
async function addLines(handle: FileHandle, entries: readonly object[]): Promise<number> {
  let bytes = 0
  for (let next = 0; next < entries.length; next += batch) {
    const text = Buffer.from(textOf(entries.slice(next, next + batch)))
    await handle.appendFile(text)
    bytes += text.length
  }
  return bytes
}

function textOf(entries: readonly object[]): string {
  return entries.map((entry) => `${withChecksum(JSON.stringify(entry))}\n`).join('')
}

async function writeLength(handle: FileHandle, bytes: number): Promise<void> {
  await handle.write(lengthLine({ format, bytes }), firstLine.length)
}

/** Parses the content. Throws `config` for a newer format. */
function contentOf<Entry>(bytes: Buffer, path: string, schema: v.GenericSchema<unknown, Entry>): Found<Entry> {
  const text = bytes.toString()
  if (text === '') return { entries: [], damage: 'it is empty' }
  if (firstLine.startsWith(text)) return { entries: [], damage: 'its first line is not whole' }
  const version = formatOf(text)
  if (version <= lastWithoutLength) return linesOf(text, schema, version > 1)
  const [first = '', second = ''] = text.split('\n', 2)
  const length = readLengthLine(second)
  // A newer format counts only if the second line confirms it.
  if (length?.format === version) mustKnowFormat(text, path, format)
  const whole = mayBeTorn(bytes, length) ? text.slice(0, text.lastIndexOf('\n') + 1) : text
  const { entries, damage } = linesOf(whole.slice(first.length + second.length + 2), schema, true)
  return { entries, damage: whyNotWhole(version, length, bytes.length) ?? damage }
}

/** Whether an unterminated last line is beyond the recorded length, so that it was never acknowledged. */
function mayBeTorn(bytes: Buffer, length: LengthLine | undefined): boolean {
  return length !== undefined && bytes.lastIndexOf('\n') + 1 >= length.bytes
}

function whyNotWhole(version: number, length: LengthLine | undefined, bytes: number): string | undefined {
  if (!length) return 'its second line is not whole'
  if (length.format !== version) return 'its first line is not whole'
  return length.bytes > bytes ? `it was at least ${length.bytes} bytes long and has ${bytes}` : undefined
}

function linesOf<Entry>(text: string, schema: v.GenericSchema<unknown, Entry>, isSummed: boolean): Found<Entry> {
  const lines = text.split('\n').filter((line) => line !== '' && !isFormatLine(line))
  const read = lines.map((line) => parsed(line, schema, isSummed))
  const entries = read.filter((entry) => entry !== undefined)
  const damaged = lines.length - entries.length
  if (damaged === 0) return { entries }
  const last = lines.at(-1)!
  // If only the last line end is wrong, the line is damaged and not torn.
  const isGlued = parsed(last.slice(0, -1), schema, isSummed) !== undefined
  const isBegun = entries.length > 0 || isSummed || text.length < longestTorn
  if (damaged === 1 && read.at(-1) === undefined && !isGlued && isBegun && isTorn(text, last, isSummed)) return { entries }
  return { entries, damage: damaged === lines.length ? 'none of its lines is whole' : `${damaged} of ${lines.length} lines are not whole` }
}

/** Whether the last line was torn by a power cut, and so never acknowledged. */
function isTorn(text: string, last: string, isSummed: boolean): boolean {
  return text.endsWith(last) && !last.includes('\0') && isBegunWith(last, isSummed ? checksumBeginning : '{"')
}

/** Whether a possibly torn line has this beginning. */
function isBegunWith(line: string, beginning: string): boolean {
  return line.startsWith(beginning.slice(0, line.length))
}

function parsed<Entry>(line: string, schema: v.GenericSchema<unknown, Entry>, isSummed: boolean): Entry | undefined {
  const json = isSummed || hasChecksum(line) ? withoutChecksum(line) : line
  if (json === undefined) return undefined
  try {
    return v.parse(schema, JSON.parse(json))
  } catch {
    return undefined
  }
}
