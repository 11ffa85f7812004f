// A durable JSON document: a change survives a SIGKILL and a power cut when `change` has resolved. A damaged file is set aside, never
// overwritten. The previous generation is kept beside it as `.bak`.

import { createHash, randomUUID } from 'node:crypto'
import { chmod } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import * as v from 'valibot'
import { LabError, messageOf } from '../errors.ts'
import type { Clock } from './clock.ts'
import { asDamage, Damage, openPlain, putInPlace, readWhole, setAside } from './damage.ts'
import { link, readdir, statOf } from './disk.ts'
import { errnoOf, makeFolder, remove, stampOf, storageError, syncFolder, writeSynced } from './durable.ts'
import { deepestWritten, isDeeper } from './json.ts'
import type { Report } from './report.ts'
import { SerialQueue } from './serial_queue.ts'

export type { Report, Trouble } from './report.ts'

type JsonFileOptions<Content> = {
  path: string
  /** The written format, and the newest one that is read. */
  format: number
  schema: v.GenericSchema<unknown, Content>
  /** The content without a file. */
  empty: Content
  report: Report
  /** Whether only its owner may read it. Wider rights are removed and reported. */
  secret?: boolean
}

type Found<Content> = { content: Content; stamp: string } | { damage: string; stamp: string } | 'missing'

const mostWaiting = 64

/**
 * The file holds `format`, `sha256` and the members of the content, an entry a line. `sha256` is that of the content as
 * `JSON.stringify` writes it; a file without it was written by hand and is accepted.
 */
export class JsonFile<Content extends object> {
  readonly #options: JsonFileOptions<Content>
  readonly #path: string
  readonly #spare: string
  readonly #name: string
  readonly #queue = new SerialQueue(mostWaiting)
  #content: Content
  /** The stamp of the file that has the content; undefined without one. */
  #stamp: string | undefined
  /** Damaged files that were not renamed yet. */
  readonly #damaged = new Set<string>()
  /** Whether the last write failed so late that the disk may have it or not. */
  #inDoubt = false
  #reported = ''

  /** Rejects with `config` for a newer format, and with `storage` if a file cannot be opened for a temporary reason. */
  static async open<Content extends object>(options: JsonFileOptions<Content>): Promise<JsonFile<Content>> {
    const file = new JsonFile(options)
    if (await file.#isThere()) await file.#start()
    return file
  }

  private constructor(options: JsonFileOptions<Content>) {
    this.#options = options
    this.#path = resolve(options.path)
    this.#spare = `${this.#path}.bak`
    this.#name = basename(this.#path)
    this.#content = deepFreeze(options.empty)
  }

  /** The stored content, deeply frozen. */
  get content(): Content {
    return this.#content
  }

  /**
   * Stores the content that `next` returns; one change at a time. Nothing is stored if it throws or returns its argument.
   * Rejects with `storage` if the disk refuses; the content is then that of the disk. The new content is frozen.
   */
  change(next: (content: Content) => Content): Promise<Content> {
    return this.#queue.run(async () => {
      await this.#look()
      if (this.#inDoubt) await this.#write(this.#content)
      const content = next(this.#content)
      if (content !== this.#content) await this.#write(content)
      return this.#content
    })
  }

  /** Resolves when the disk has stored or refused all changes. */
  settled(): Promise<void> {
    return this.#queue.run(async () => {})
  }

  /** Loads a file that another program has put in place. A damaged one is reported, and the previous content stays valid. */
  reload(): Promise<void> {
    return this.#queue.run(() => this.#look())
  }

  /** Reloads at intervals, until the returned function is called. */
  watch(clock: Clock, every_ms: number): () => void {
    let cancel = () => {}
    let ended = false
    const again = () => {
      if (!ended) cancel = clock.after(every_ms, look)
    }
    const look = () => {
      this.reload()
        .catch((error) => this.#tell(messageOf(error)))
        .finally(again)
    }
    again()
    return () => {
      ended = true
      cancel()
    }
  }

  async #start(): Promise<void> {
    const main = await this.#read(this.#path)
    if (isWhole(main)) return this.#take(main.content, main.stamp)
    const spare = await this.#read(this.#spare)
    if (main === 'missing' && spare === 'missing') return
    if (main !== 'missing') this.#damaged.add(this.#path)
    if (spare !== 'missing' && !isWhole(spare)) this.#damaged.add(this.#spare)
    const aside = await this.#setAside().then(
      (names) => (names.length > 0 ? `; set aside as ${names.join(' and ')}` : ''),
      (error) => `; it cannot be set aside yet (${errnoOf(error)}), which is done before the next write`,
    )
    if (main !== 'missing' && this.#damaged.has(this.#path)) this.#stamp = main.stamp
    const what = main === 'missing' ? 'is missing' : `is damaged: ${main.damage}`
    if (isWhole(spare)) {
      this.#content = deepFreeze(spare.content)
      // After a failure the next start or the next write repairs it.
      await this.#write(spare.content).catch(() => undefined)
      this.#tell(
        `${this.#name} ${what}${aside}. Its generation before, ${basename(this.#spare)}, is in use: look whether a late change is missing`,
      )
    } else {
      this.#tell(`${this.#name} ${what}${aside}. There is no whole generation before it, so it begins empty: put a backup in its place`)
    }
  }

  /** Checks whether the file is still the one with the content. */
  async #look(): Promise<void> {
    const stamp = await statOf(this.#path).then(stampOf, (error) => {
      if (errnoOf(error) === 'ENOENT') return undefined
      throw this.#failure('could not be looked at', error)
    })
    if (stamp === this.#stamp) return
    const found = await this.#read(this.#path)
    if (isWhole(found)) {
      this.#damaged.delete(this.#path)
      this.#take(found.content, found.stamp)
    } else await this.#keepLastGood(found, stamp)
  }

  /** Stores the valid content as `.bak` for a restart, and leaves the damaged file to its writer. */
  async #keepLastGood(found: Exclude<Found<Content>, { content: Content }>, stamp: string | undefined): Promise<void> {
    const temporary = this.#temporary()
    try {
      await writeSynced(temporary, this.#serialise(this.#content))
      await putInPlace(temporary, this.#spare)
      await syncFolder(dirname(this.#path))
    } catch (error) {
      await remove(temporary)
      throw this.#failure('was changed from outside and is broken, and what is in force could not be kept beside it', error)
    }
    this.#stamp = stamp
    if (found !== 'missing') this.#damaged.add(this.#path)
    const what = found === 'missing' ? 'was taken away' : `was changed from outside and is damaged: ${found.damage}`
    this.#tell(`${this.#name} ${what}. What was in force before stays so: put a whole file in its place`)
  }

  async #write(content: Content): Promise<void> {
    const text = this.#serialise(content)
    const temporary = this.#temporary()
    let renamed = false
    try {
      await makeFolder(dirname(this.#path))
      const stamp = await writeSynced(temporary, text)
      if (this.#damaged.size > 0) await this.#setAside()
      else await this.#keepPrevious()
      this.#inDoubt = true
      await putInPlace(temporary, this.#path)
      renamed = true
      this.#take(content, stamp)
      await syncFolder(dirname(this.#path))
      this.#inDoubt = false
    } catch (error) {
      await remove(temporary)
      const outcome = renamed
        ? 'was written, but it is not known whether that outlasts a power cut'
        : 'was not written, and nothing has changed'
      throw this.#failure(outcome, error)
    }
  }

  #take(content: Content, stamp: string): void {
    this.#content = deepFreeze(content)
    this.#stamp = stamp
  }

  async #keepPrevious(): Promise<void> {
    // A new file has no previous generation.
    if (this.#stamp === undefined) return
    const temporary = this.#temporary()
    try {
      await link(this.#path, temporary)
      await putInPlace(temporary, this.#spare)
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw error
    } finally {
      // rename(2) leaves both names if they are the same file.
      await remove(temporary)
    }
  }

  /** Renames the damaged files, and returns the new names. */
  async #setAside(): Promise<string[]> {
    const names: string[] = []
    for (const path of this.#damaged) {
      const aside = await setAside(path)
      this.#damaged.delete(path)
      if (aside) names.push(aside)
    }
    return names
  }

  async #read(path: string): Promise<Found<Content>> {
    let stamp = ''
    try {
      stamp = await statOf(path).then(stampOf, () => '')
      const handle = await openPlain(path)
      try {
        const stats = await handle.stat({ bigint: true })
        stamp = stampOf(stats)
        if (this.#options.secret) await this.#tighten(path, Number(stats.mode) & 0o777)
        return { content: this.#parse(path, await readWhole(handle)), stamp }
      } finally {
        await handle.close()
      }
    } catch (error) {
      const damage = asDamage(error)
      if (damage instanceof Damage) return { damage: damage.message, stamp }
      if (error instanceof LabError) throw error
      if (errnoOf(error) === 'ENOENT') return 'missing'
      throw this.#failure('could not be read', error)
    }
  }

  #parse(path: string, bytes: Buffer): Content {
    const { format, sha256, ...content } = parseObject(bytes)
    if (typeof format !== 'number') throw new Damage('it has no format number')
    if (format > this.#options.format) {
      throw new LabError(
        'config',
        `${basename(path)} has format ${format}; this version knows up to ${this.#options.format}: install a newer version, the file was left alone`,
      )
    }
    mustFit(content, sha256)
    const checked = v.safeParse(this.#options.schema, content, { abortEarly: true })
    if (!checked.success) throw new Damage(`its member ${worded(checked.issues[0])}`)
    return checked.output
  }

  async #tighten(path: string, mode: number): Promise<void> {
    if ((mode & 0o077) === 0) return
    const outcome = await chmod(path, 0o600).then(
      () => 'that was taken away, it is 0600 now',
      (error) => `and that could not be taken away (${errnoOf(error)}): chmod 600 it`,
    )
    this.#tell(`${basename(path)} could be read or written by others (mode 0${mode.toString(8)}); ${outcome}`)
  }

  #serialise(content: Content): string {
    const document = { format: this.#options.format, sha256: hashOf(JSON.stringify(content)), ...content }
    return `{\n${membersOf(document, linesOf).join(',\n')}\n}\n`
  }

  #temporary(): string {
    return `${this.#path}.${randomUUID()}.tmp`
  }

  /**
   * Removes the rest of earlier writes, and returns whether there may be a file. It reads the folder once for both files: each
   * file operation costs a tenth of a millisecond, and a new bench has none of a dozen such files.
   */
  async #isThere(): Promise<boolean> {
    const folder = dirname(this.#path)
    const names = await readdir(folder).catch(() => undefined)
    const leftover = (name: string) => name.startsWith(`${this.#name}.`) && /^[0-9a-f-]{36}\.tmp$/.test(name.slice(this.#name.length + 1))
    await Promise.all((names ?? []).filter(leftover).map((name) => remove(join(folder, name))))
    return !names || names.includes(this.#name) || names.includes(basename(this.#spare))
  }

  #failure(outcome: string, error: unknown): LabError {
    return storageError(`${this.#name} ${outcome}`, error)
  }

  /** Reports a message, unless it equals the last one. */
  #tell(message: string): void {
    if (message !== this.#reported) this.#options.report({ kind: 'storage', message })
    this.#reported = message
  }
}

/** Returns the damage of a document of any content; undefined for a valid one. */
export function damageOf(bytes: Buffer): string | undefined {
  try {
    const { format, sha256, ...content } = parseObject(bytes)
    mustFit(content, sha256)
    return typeof format === 'number' ? undefined : 'it has no format number'
  } catch (error) {
    if (error instanceof Damage) return error.message
    throw error
  }
}

function isWhole<Content>(found: Found<Content>): found is { content: Content; stamp: string } {
  return found !== 'missing' && 'content' in found
}

/** Throws `Damage` if the hash is wrong. A file that was written by hand has none. */
function mustFit(content: object, sha256: unknown): void {
  if (sha256 === undefined || sha256 === hashOf(JSON.stringify(content))) return
  throw new Damage('its sha256 does not fit; if it was edited by hand, take the sha256 line out')
}

/** Words an issue without the value, which may be a secret. */
function worded(issue: v.BaseIssue<unknown>): string {
  return `${v.getDotPath(issue) ?? 'at the top'} ${issue.type === 'check' ? `is wrong: ${issue.message}` : 'is not as it should be'}`
}

function parseObject(bytes: Buffer): Record<string, unknown> {
  if (bytes.every((byte) => byte === 0)) throw new Damage(bytes.length === 0 ? 'it is empty' : 'it holds nothing but zeros')
  const value = parseJson(bytes)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Damage('it is not a JSON object')
  return value as Record<string, unknown>
}

function parseJson(bytes: Buffer): unknown {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    // The parser's message quotes the text, which may be secret.
    throw new Damage('it is not JSON')
  }
  if (isDeeper(value, deepestWritten)) throw new Damage(`it is nested deeper than ${deepestWritten} levels`)
  return value
}

/** Writes an entry on each line, for `less` and `diff`. */
function linesOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const [lines, open, close] = Array.isArray(value)
    ? [value.map((entry) => JSON.stringify(entry)), '[', ']']
    : [membersOf(value, (member) => JSON.stringify(member)), '{', '}']
  return lines.length === 0 ? open + close : `${open}\n${lines.join(',\n')}\n${close}`
}

function membersOf(value: object, written: (member: unknown) => string): string[] {
  return Object.entries(value).flatMap(([name, member]) => (member === undefined ? [] : `${JSON.stringify(name)}: ${written(member)}`))
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value
  for (const member of Object.values(value)) deepFreeze(member)
  return Object.freeze(value)
}
