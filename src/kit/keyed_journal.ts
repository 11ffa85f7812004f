// Keeps the values of keys as lines of JSON that are added to: the last line of a key counts. Changes made together are there together. A
// file that has grown to many times the size of its values begins anew with these.

import { appendFile, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { crcOf } from './checksum.ts'
import { keepAside, makeRoom, putInPlace, readOrDamage } from './damage.ts'
import { makeFolder, remove, storageError, syncFolder, writeSynced } from './durable.ts'
import { isFormatLine, mustKnowFormat } from './format_line.ts'

/** To each key its JSON text; null takes it away. */
export type Changes = ReadonlyMap<string, string | null>

/** A file may have so many bytes, or so many times those of what stands. */
const longest = 1_048_576
const mostTimes = 4
const beginnings = ['{"key":', '{"together":']

export class KeyedJournal {
  readonly #path: string
  readonly #before: () => Promise<void>
  #waiting = new Map<string, string | null>()
  /** The values as they are in the file. */
  readonly #standing = new Map<string, string>()
  #bytes = 0
  /** With more it begins anew. */
  #most = longest
  #writing: Promise<void> = Promise.resolve()
  #isScheduled = false
  #isThere = false
  /** Whether the file ends with a line end, and can be added to. */
  #isWhole = true

  /** The journal awaits `before`, which must not reject, ahead of each write: other files are written first. */
  constructor(path: string, before: () => Promise<void> = async () => {}) {
    this.#path = path
    this.#before = before
  }

  /** Writes it in one of the next turns, all that came until then at once. */
  put(changes: Changes): void {
    for (const [key, text] of changes) this.#waiting.set(key, text)
    if (this.#isScheduled || this.#waiting.size === 0) return
    this.#isScheduled = true
    this.#writing = this.#writing.catch(() => undefined).then(() => this.#write())
    // Callers that want to know ask `written` or `synced`; changes that could not be written are tried again with the next.
    this.#writing.catch(() => undefined)
  }

  /** Resolves when all that was put is in the file. Rejects with `storage`. */
  written(): Promise<void> {
    return this.#writing
  }

  /** Resolves when all that was put is on the card. Rejects with `storage`. */
  async synced(): Promise<void> {
    await this.#writing
    try {
      const handle = await open(this.#path, 'a', 0o600)
      try {
        await handle.datasync()
      } finally {
        await handle.close()
      }
    } catch (error) {
      throw storageError(`${this.#path} was not synced`, error)
    }
  }

  /** Deletes the file. */
  async remove(): Promise<void> {
    await this.#writing.catch(() => undefined)
    this.#standing.clear()
    await remove(draftOf(this.#path))
    await remove(this.#path)
  }

  async #write(): Promise<void> {
    this.#isScheduled = false
    const changes = this.#waiting
    this.#waiting = new Map()
    await this.#before()
    try {
      if (!this.#isThere) await this.#begin()
      if (!this.#isWhole) await this.#replace(textOf(this.#standing))
      const text = textOf(changes)
      this.#isWhole = false
      await appendFile(this.#path, text, { mode: 0o600 })
      this.#isWhole = true
      if (!this.#isThere) await syncFolder(dirname(this.#path))
      this.#isThere = true
      this.#take(changes, text)
    } catch (error) {
      for (const [key, text] of changes) if (!this.#waiting.has(key)) this.#waiting.set(key, text)
      throw storageError(`${this.#path} was not written`, error)
    }
    // The changes are in the file, whatever comes of this.
    if (this.#bytes > this.#most) await this.#beginAnew().catch(() => undefined)
  }

  /** Another may have written it before this start. */
  async #begin(): Promise<void> {
    await makeFolder(dirname(this.#path))
    const { keys, damage, isWhole, bytes } = await readingOf(this.#path)
    if (damage !== undefined) await keepAside(this.#path)
    for (const [key, value] of keys) this.#standing.set(key, JSON.stringify(value))
    this.#isWhole = isWhole
    this.#bytes = bytes
  }

  #take(changes: Changes, text: string): void {
    this.#bytes += Buffer.byteLength(text)
    for (const [key, text] of changes) {
      if (text === null) this.#standing.delete(key)
      else this.#standing.set(key, text)
    }
  }

  /** Unless nearly all of it stands: then it may grow further. */
  async #beginAnew(): Promise<void> {
    const text = textOf(this.#standing)
    const bytes = Buffer.byteLength(text)
    this.#most = Math.max(longest, mostTimes * bytes)
    if (this.#bytes <= this.#most) return
    await this.#replace(text)
  }

  async #replace(text: string): Promise<void> {
    const draft = draftOf(this.#path)
    await makeRoom(draft)
    await writeSynced(draft, text)
    await putInPlace(draft, this.#path)
    this.#isWhole = true
    this.#bytes = Buffer.byteLength(text)
    await syncFolder(dirname(this.#path))
  }
}

/** A line end before it keeps it apart from what a power cut may have left half written. */
function textOf(changes: Changes): string {
  const lines = [...changes].map(([key, text]) => `{"key":${JSON.stringify(key)},"value":${text ?? 'null'}}\n`)
  return `\n${lines.join('')}{"together":${lines.length},"crc":"${crcOf(lines.join(''))}"}\n`
}

function draftOf(path: string): string {
  return `${path}.tmp`
}

type KeyedContent = {
  /** The last value of each key. */
  keys: Map<string, unknown>
  /** Why that may be wrong: something that was there whole is not so any more. undefined also for a torn end, which was acknowledged to nobody. */
  damage: string | undefined
}

/** Changes that are not there whole are left out. Rejects with `config` for a newer format, and with `storage` where it may be read another time. */
export async function readKeyedJournal(path: string): Promise<KeyedContent> {
  const { keys, damage } = await readingOf(path)
  return { keys, damage }
}

/** Reads a text as `readKeyedJournal` reads a file. */
export function keptIn(text: string): KeyedContent {
  const { keys, damage } = new Reading(text)
  return { keys, damage }
}

async function readingOf(path: string): Promise<Reading> {
  const { bytes, damage } = await readOrDamage(path)
  const text = bytes?.toString() ?? ''
  mustKnowFormat(text, path)
  return new Reading(text, damage)
}

type PendingWrite = { line: string; key: string; value: unknown }
type Ending = { together: number; crc?: string }

/** A file that is continued has no torn ends of before: see `KeyedJournal`. Files without checksums, of versions before, have. */
class Reading {
  readonly keys = new Map<string, unknown>()
  damage: string | undefined
  /** All of it is whole. */
  isWhole = true
  readonly bytes: number
  #changes: PendingWrite[] = []
  /** The kind of lines that were passed over since the last whole changes: lines that a power cut may leave of the last ones, or others. */
  #passed: 'nothing' | 'torn' | 'strange' = 'nothing'

  constructor(text: string, damage?: string) {
    this.bytes = Buffer.byteLength(text)
    const lines = text.split('\n')
    for (const [i, line] of lines.entries()) this.#read(line, i === lines.length - 1)
    this.#passUnfinished()
    if (text.includes('\0')) this.#harm('there are zeros in it')
    if (this.#passed === 'strange') this.#harm('some changes are not as they were written')
    if (damage !== undefined) this.#harm(damage)
    for (const [key, value] of this.keys) if (value === null) this.keys.delete(key)
  }

  #read(line: string, isLast: boolean): void {
    const parsed = parsedLine(line)
    // Changes begin with an empty line: what stands before it without its end was cut off.
    if (line === '') this.#passUnfinished()
    else if (isFormatLine(line)) return
    else if (parsed && 'together' in parsed) this.#end(parsed)
    else if (parsed) this.#changes.push({ ...parsed, line: `${line}\n` })
    else this.#pass(isLast && isTorn(line) ? 'torn' : 'strange')
  }

  #end({ together, crc }: Ending): void {
    const cut = this.#changes.length - together
    const changes = this.#changes.slice(Math.max(0, cut))
    this.#changes = []
    const isSummed = crc !== undefined
    // In a file of an earlier version, lines that were cut off just before a line end have used up the empty line, and are not of these
    // changes.
    const fits = isSummed ? cut === 0 && crc === crcOf(changes.map(({ line }) => line).join('')) : cut >= 0
    if (fits) for (const { key, value } of changes) this.keys.set(key, value)
    if (!fits || (isSummed && this.#passed !== 'nothing')) this.#harm('some changes are not as they were written')
    if (cut > 0) this.isWhole = false
    this.#passed = 'nothing'
  }

  #passUnfinished(): void {
    if (this.#changes.length > 0) this.#pass('torn')
  }

  #pass(what: 'torn' | 'strange'): void {
    this.isWhole = false
    this.#changes = []
    if (this.#passed !== 'strange') this.#passed = what
  }

  #harm(why: string): void {
    this.isWhole = false
    this.damage ??= why
  }
}

/** The beginning of a line of ours. Where the last line end is wrong, and nothing else, the line is no torn one. */
function isTorn(line: string): boolean {
  return beginnings.some((beginning) => line.startsWith(beginning.slice(0, line.length))) && !parsedLine(line.slice(0, -1))
}

function parsedLine(line: string): { key: string; value: unknown } | Ending | undefined {
  try {
    const value = JSON.parse(line)
    return typeof value === 'object' && value !== null && ('key' in value || 'together' in value) ? value : undefined
  } catch {
    return undefined
  }
}
