// What stands now, kept as lines of JSON that are added to: the last line of a key counts. Changes made together are there together. A
// file that has grown to many times what stands begins anew with that.

import { appendFile, open, readFile, rename, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { errnoOf, makeFolder, remove, storageError, syncFolder, writeSynced } from './durable.ts'
import { mustKnowFormat } from './format_line.ts'

/** To each key its JSON text; null takes it away. */
export type Changes = ReadonlyMap<string, string | null>

/** A file may have so many bytes, or so many times those of what stands. */
const longest = 1_048_576
const mostTimes = 4

export class KeyedJournal {
  readonly #path: string
  #waiting = new Map<string, string | null>()
  /** As it is in the file. */
  readonly #standing = new Map<string, string>()
  #bytes = 0
  /** With more it begins anew. */
  #most = longest
  #writing: Promise<void> = Promise.resolve()
  #isScheduled = false
  #isThere = false

  constructor(path: string) {
    this.#path = path
  }

  /** Writes it in one of the next turns, all that came until then at once. */
  put(changes: Changes): void {
    for (const [key, text] of changes) this.#waiting.set(key, text)
    if (this.#isScheduled || this.#waiting.size === 0) return
    this.#isScheduled = true
    this.#writing = this.#writing.catch(() => undefined).then(() => this.#write())
    // Whoever wants to know asks `written` or `synced`; what could not be written is tried again with the next.
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

  /** It is not needed any more. */
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
    try {
      if (!this.#isThere) await this.#begin()
      const text = textOf(changes)
      await appendFile(this.#path, text, { mode: 0o600 })
      if (!this.#isThere) await syncFolder(dirname(this.#path))
      this.#isThere = true
      this.#take(changes, text)
    } catch (error) {
      for (const [key, text] of changes) if (!this.#waiting.has(key)) this.#waiting.set(key, text)
      throw storageError(`${this.#path} was not written`, error)
    }
    // What was to be written is there, whatever comes of this.
    if (this.#bytes > this.#most) await this.#beginAnew().catch(() => undefined)
  }

  /** Another may have written it before this start. */
  async #begin(): Promise<void> {
    await makeFolder(dirname(this.#path))
    for (const [key, value] of await readKeyedJournal(this.#path)) this.#standing.set(key, JSON.stringify(value))
    this.#bytes = await stat(this.#path).then(
      ({ size }) => size,
      () => 0,
    )
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
    const draft = draftOf(this.#path)
    await remove(draft)
    await writeSynced(draft, text)
    await rename(draft, this.#path)
    this.#bytes = bytes
    await syncFolder(dirname(this.#path))
  }
}

/** A line end before it keeps it apart from what a power cut may have left half written. */
function textOf(changes: Changes): string {
  const lines = [...changes].map(([key, text]) => `{"key":${JSON.stringify(key)},"value":${text ?? 'null'}}\n`)
  return `\n${lines.join('')}{"together":${lines.length}}\n`
}

function draftOf(path: string): string {
  return `${path}.tmp`
}

/** What stood last. Changes that are not there whole are left out, and all after them. Throws `config` for a newer format. */
export async function readKeyedJournal(path: string): Promise<Map<string, unknown>> {
  const text = await readFile(path, 'utf8').catch((error) => {
    if (errnoOf(error) === 'ENOENT') return ''
    throw storageError(`${path} could not be read`, error)
  })
  mustKnowFormat(text, path)
  return keysOf(text)
}

/** As `readKeyedJournal`, of a text. */
export function keysOf(text: string): Map<string, unknown> {
  const keys = new Map<string, unknown>()
  let together: [string, unknown][] = []
  for (const line of text.split('\n')) {
    // Changes begin with an empty line: what stands before it without its end was cut off.
    const entry = line === '' ? undefined : parsed(line)
    if (!entry) {
      together = []
      continue
    }
    if ('key' in entry) together.push([entry.key, entry.value])
    if (!('together' in entry)) continue
    // What was cut off just before a line end has used up the empty line: it is not of these.
    const cut = together.length - entry.together
    if (cut >= 0) for (const [key, value] of together.slice(cut)) keys.set(key, value)
    together = []
  }
  for (const [key, value] of keys) if (value === null) keys.delete(key)
  return keys
}

function parsed(line: string): { key: string; value: unknown } | { together: number } | undefined {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
