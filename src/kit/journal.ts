// Lines of JSON that are only ever added to: each is on the card when it is answered.

import { type FileHandle, open, readFile, rename } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import * as v from 'valibot'
import { errnoOf, remove, storageError, syncFolder, writeSynced } from './durable.ts'
import type { Report } from './json_file.ts'
import { Lane } from './lane.ts'

type Options<Entry> = {
  path: string
  schema: v.GenericSchema<unknown, Entry>
  report: Report
  /** What of the entries still matters: the file begins anew with these at each start, and after each failure. */
  live(entries: readonly Entry[]): Entry[]
}

const mostWaiting = 64
/** Then the file begins anew with what still matters. */
const longest = 10_000

export class Journal<Entry extends object> {
  readonly #options: Options<Entry>
  readonly #lane = new Lane(mostWaiting)
  #entries: Entry[]
  #handle: FileHandle | undefined

  /** Lines that are damaged are left out, and told. */
  static async open<Entry extends object>(options: Options<Entry>): Promise<Journal<Entry>> {
    return new Journal(options, options.live(await readLines(options)))
  }

  private constructor(options: Options<Entry>, entries: Entry[]) {
    this.#options = options
    this.#entries = entries
  }

  /** What still matters. */
  get live(): readonly Entry[] {
    return this.#options.live(this.#entries)
  }

  /** Rejects with `storage`; then the entry may be there or not. */
  append(entry: Entry): Promise<void> {
    return this.#lane.run(async () => {
      const entries = [...this.#entries, entry]
      try {
        if (!this.#handle || entries.length > longest) await this.#begin(this.#options.live(entries))
        else {
          await this.#handle.appendFile(`${JSON.stringify(entry)}\n`)
          await this.#handle.datasync()
          this.#entries = entries
        }
      } catch (error) {
        // What a failed sync left behind is not to be trusted: the next entry begins a new file.
        await this.#letGo()
        throw storageError(`${basename(this.#options.path)} was not written`, error)
      }
    })
  }

  async close(): Promise<void> {
    await this.#lane.run(() => this.#letGo())
  }

  async #begin(entries: Entry[]): Promise<void> {
    await this.#letGo()
    const { path } = this.#options
    const temporary = `${path}.tmp`
    await remove(temporary)
    try {
      await writeSynced(temporary, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''))
      await rename(temporary, path)
      await syncFolder(dirname(path))
    } catch (error) {
      await remove(temporary)
      throw error
    }
    this.#handle = await open(path, 'a', 0o600)
    this.#entries = entries
  }

  async #letGo(): Promise<void> {
    const handle = this.#handle
    this.#handle = undefined
    await handle?.close().catch(() => undefined)
  }
}

async function readLines<Entry>({ path, schema, report }: Options<Entry>): Promise<Entry[]> {
  const text = await readFile(path, 'utf8').catch((error) => {
    if (errnoOf(error) === 'ENOENT') return ''
    throw storageError(`${basename(path)} could not be read`, error)
  })
  const lines = text.split('\n').filter((line) => line !== '')
  const entries = lines.flatMap((line) => parsed(line, schema) ?? [])
  const damaged = lines.length - entries.length
  // The last one is torn when the power failed while it was written: then nobody was told that it is there.
  if (damaged > (parsed(lines.at(-1) ?? '{}', schema) ? 0 : 1)) {
    report({ kind: 'storage', message: `${basename(path)} has ${damaged} damaged lines, which are left out` })
  }
  return entries
}

function parsed<Entry>(line: string, schema: v.GenericSchema<unknown, Entry>): Entry | undefined {
  try {
    return v.parse(schema, JSON.parse(line))
  } catch {
    return undefined
  }
}
