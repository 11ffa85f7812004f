// What stands now, kept as lines of JSON that are only ever added to: the last line of a key counts. Changes made together are there together.

import { appendFile, open, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { errnoOf, makeFolder, remove, storageError, syncFolder } from './durable.ts'
import { mustKnowFormat } from './format_line.ts'

/** To each key its JSON text; null takes it away. */
export type Changes = ReadonlyMap<string, string | null>

export class KeyedJournal {
  readonly #path: string
  #waiting = new Map<string, string | null>()
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
    await remove(this.#path)
  }

  async #write(): Promise<void> {
    this.#isScheduled = false
    const changes = this.#waiting
    this.#waiting = new Map()
    const lines = [...changes].map(([key, text]) => `{"key":${JSON.stringify(key)},"value":${text ?? 'null'}}\n`)
    try {
      if (!this.#isThere) await makeFolder(dirname(this.#path))
      // A line end before it keeps it apart from what a power cut may have left half written.
      await appendFile(this.#path, `\n${lines.join('')}{"together":${lines.length}}\n`, { mode: 0o600 })
      if (!this.#isThere) await syncFolder(dirname(this.#path))
      this.#isThere = true
    } catch (error) {
      for (const [key, text] of changes) if (!this.#waiting.has(key)) this.#waiting.set(key, text)
      throw storageError(`${this.#path} was not written`, error)
    }
  }
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
  let together = new Map<string, unknown>()
  for (const line of text.split('\n')) {
    if (line === '') continue
    const entry = parsed(line)
    if (!entry) {
      together = new Map()
      continue
    }
    if ('key' in entry) together.set(entry.key, entry.value)
    if (!('together' in entry)) continue
    if (together.size === entry.together) for (const [key, value] of together) keys.set(key, value)
    together = new Map()
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
