// A file of JSON lines that is added to: damaged lines are passed over, and a new file takes the place of the old one whole or not at all.

import { type FileHandle, open, readFile, rename } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import * as v from 'valibot'
import { errnoOf, remove, storageError, syncFolder } from './durable.ts'
import { isFormatLine, mustKnowFormat } from './format_line.ts'
import type { Report } from './json_file.ts'

type Readable<Entry> = { path: string; schema: v.GenericSchema<unknown, Entry>; report: Report }

/** So many are made into text between two turns of the event loop. */
const batch = 500

/** For one at a time: whoever has it puts a lane before it. */
export class LineFile<Entry extends object> {
  readonly #path: string
  #handle: FileHandle | undefined

  constructor(path: string) {
    this.#path = path
  }

  /** Nothing can be added before `begin`, nor after a failure: what a failed sync left behind is not to be trusted. */
  get isOpen(): boolean {
    return this.#handle !== undefined
  }

  /** The file holds these and nothing else. Rejects with `storage`; then it is as it was before. */
  async begin(entries: readonly Entry[]): Promise<void> {
    await this.close()
    const temporary = `${this.#path}.tmp`
    await remove(temporary)
    try {
      const handle = await open(temporary, 'wx', 0o600)
      try {
        await addLines(handle, entries)
        await handle.sync()
      } finally {
        await handle.close()
      }
      await rename(temporary, this.#path)
      await syncFolder(dirname(this.#path))
      this.#handle = await open(this.#path, 'a', 0o600)
    } catch (error) {
      await remove(temporary)
      throw this.#failure(error)
    }
  }

  /** Unless `isSynced`, they survive the end of the process, and a power cut soon after. Rejects with `storage`; then they may be there or not. */
  async add(entries: readonly Entry[], { isSynced }: { isSynced: boolean }): Promise<void> {
    const handle = this.#handle
    if (!handle) throw new Error(`${this.#path} was not begun`)
    try {
      await addLines(handle, entries)
      if (isSynced) await handle.datasync()
    } catch (error) {
      await this.close()
      throw this.#failure(error)
    }
  }

  async close(): Promise<void> {
    const handle = this.#handle
    this.#handle = undefined
    await handle?.close().catch(() => undefined)
  }

  #failure(error: unknown): Error {
    return storageError(`${basename(this.#path)} was not written`, error)
  }
}

async function addLines(handle: FileHandle, entries: readonly object[]): Promise<void> {
  for (let next = 0; next < entries.length; next += batch) {
    const lines = entries.slice(next, next + batch)
    await handle.appendFile(lines.map((entry) => `${JSON.stringify(entry)}\n`).join(''))
  }
}

/** What the lines hold; none if there is no such file. Lines that are damaged are left out, and told. Throws `config` for a newer format. */
export async function readLines<Entry>({ path, schema, report }: Readable<Entry>): Promise<Entry[]> {
  const text = await readFile(path, 'utf8').catch((error) => {
    if (errnoOf(error) === 'ENOENT') return ''
    throw storageError(`${basename(path)} could not be read`, error)
  })
  mustKnowFormat(text, path)
  const lines = text.split('\n').filter((line) => line !== '' && !isFormatLine(line))
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
