// The versions of workflows and topologies: who changed which document when, in `versions.jsonl`, and the documents in `versions/`, each once under its
// SHA-256. A document is on the disk before the line that names it, and a line is gone before its document is removed.

import { join } from 'node:path'
import * as v from 'valibot'
import { LabError, messageOf } from '../errors.ts'
import { type Author, nobody } from '../kit/author.ts'
import { createSynced, remove } from '../kit/durable.ts'
import { namesIn, readBytes } from '../kit/files.ts'
import type { Report } from '../kit/json_file.ts'
import { LineFile } from '../kit/json_lines.ts'
import { SerialQueue } from '../kit/serial_queue.ts'
import {
  type Authorship,
  contentOf,
  type Document,
  type Entry,
  fileOf,
  type History,
  infoOf,
  Kept,
  type KeptDocument,
  Line,
  type Source,
  sha256,
  type Versioned,
  type VersionInfo,
} from './version.ts'

type VersionsOptions = {
  /** The data folder. */
  folder: string
  report: Report
  /** Unix time, s. */
  now?(): number
  /** The versions that records and open runs name, which are never deleted. */
  named?(): Iterable<{ of: Versioned; name: string; version: number }>
  most?: Partial<typeof most>
}

/** `ofName`: the newest versions of one name; `all` and `bytes`: of all names together. */
const most = { ofName: 100, all: 10_000, bytes: 64 * 1024 * 1024, waiting: 1000 }
type Most = typeof most

export class Versions {
  readonly #options: VersionsOptions
  readonly #most: Most
  readonly #file: LineFile<Line>
  readonly #folder: string
  readonly #queue: SerialQueue
  readonly #histories = new Map<string, History>()
  /** The documents that versions name, by file name: how many do, and their bytes. */
  readonly #documents = new Map<string, { count: number; bytes: number }>()
  /** Documents on the disk whose version is not there yet. */
  readonly #coming = new Map<string, number>()
  #bytes = 0
  #count = 0

  static async open(options: VersionsOptions): Promise<Versions> {
    const loss = 'earlier versions of workflows and topologies may be missing; the workflows and topologies themselves are whole'
    const file = new LineFile({ path: `${options.folder}/versions.jsonl`, schema: Line, report: options.report, loss })
    const versions = new Versions(options, file)
    let isWhole = true
    const lines = await file.read((whole) => {
      isWhole = false
      return whole
    })
    for (const line of lines) versions.#take(line)
    await versions.#sweep(isWhole)
    return versions
  }

  private constructor(options: VersionsOptions, file: LineFile<Line>) {
    this.#options = options
    this.#most = { ...most, ...options.most }
    this.#file = file
    this.#folder = join(options.folder, 'versions')
    this.#queue = new SerialQueue(this.#most.waiting)
  }

  /** Lists the versions of a name, the newest first; none for an unknown name. */
  list(of: Versioned, name: string): VersionInfo[] {
    return this.#entries(of, name).map(infoOf).reverse()
  }

  /** Whether there was ever a document of this name. */
  has(of: Versioned, name: string): boolean {
    return this.#entries(of, name).length > 0
  }

  /** Returns the number of the newest version with that hash; undefined without one. */
  find(of: Versioned, name: string, hash: string): number | undefined {
    return this.#entries(of, name).findLast((entry) => entry.hash === hash)?.version
  }

  /** Reads a version with its document. Rejects with `not_found`. */
  async read(of: Versioned, name: string, version: number): Promise<{ info: VersionInfo; kept: KeptDocument }> {
    const entries = this.#entries(of, name)
    const entry = entries.find((one) => one.version === version)
    if (!entry) {
      const kept = entries.length
        ? `those from ${entries[0]!.version} to ${entries.at(-1)!.version} are kept, as far as the room allows`
        : 'none is kept'
      throw new LabError('not_found', `${of} ${name} has no version ${version}: ${kept}`)
    }
    const bytes = await readBytes(join(this.#folder, entry.document)).catch(() => undefined)
    if (!bytes || sha256(bytes) !== entry.document)
      throw new LabError(
        'not_found',
        `the document of version ${version} of ${of} ${name} is lost: its file versions/${entry.document} is missing or damaged; a backup may have it`,
      )
    return { info: infoOf(entry), kept: v.parse(Kept, JSON.parse(Buffer.from(bytes).toString())) }
  }

  /**
   * Writes a document, before it is put into force. Resolves with the function that makes it a version, to be called in the turn in which it is in
   * force, and the one that drops it. Rejects with `storage`.
   */
  async prepare(document: Document, author: Authorship): Promise<{ keep(): Promise<void>; drop(): void }> {
    if (this.#isNewest(document)) return { keep: async () => {}, drop() {} }
    const drop = await this.#writeDocument(document)
    const keep = () => {
      const lines = this.#isNewest(document) ? [] : [this.#lineOf(document, author)]
      for (const line of lines) this.#take(line)
      drop()
      return this.#write(lines)
    }
    return { keep, drop }
  }

  /**
   * Makes versions of the present documents that differ from the newest version of their names. Resolves when they are on the disk; a disk that refuses
   * is only reported, because the documents themselves are in force.
   */
  async takeAll(documents: Iterable<Document>): Promise<void> {
    const lines: Line[] = []
    for (const document of documents) {
      if (this.#isNewest(document)) continue
      try {
        const drop = await this.#writeDocument(document)
        if (!this.#isNewest(document)) {
          const line = this.#lineOf(document, nobody)
          this.#take(line)
          lines.push(line)
        }
        drop()
      } catch (error) {
        this.#tell(error)
      }
    }
    await this.#write(lines)
  }

  /** Writes a document, which stays until the returned function is called, and then for as long as a version names it. Rejects with `storage`. */
  async #writeDocument(document: Document): Promise<() => void> {
    const { text, name } = fileOf(document)
    this.#coming.set(name, (this.#coming.get(name) ?? 0) + 1)
    const drop = () => {
      const others = this.#coming.get(name)! - 1
      if (others > 0) this.#coming.set(name, others)
      else this.#coming.delete(name)
    }
    try {
      await this.#queue.run(() => createSynced(join(this.#folder, name), text, { mode: 0o600 }))
      return drop
    } catch (error) {
      drop()
      throw error
    }
  }

  /** Notes that a document was deleted. */
  deleted(of: Versioned, name: string, { by, operator }: Author): Promise<void> {
    const last = this.#entries(of, name).at(-1)
    if (!last || last.deleted) return Promise.resolve()
    const line: Line = { kind: 'deleted', of, name, at: this.#now(), by, ...(operator !== undefined && { operator }) }
    this.#take(line)
    return this.#write([line])
  }

  /** Lists the names of documents whose newest version came from there and was not deleted. */
  namesFrom(of: Versioned, source: Source): string[] {
    const all = [...this.#histories.values()].filter((one) => one.of === of)
    return all.flatMap(({ name, entries }) => (entries.at(-1)?.source === source && !entries.at(-1)?.deleted ? [name] : []))
  }

  async close(): Promise<void> {
    await this.#queue.run(() => this.#file.close())
  }

  #entries(of: Versioned, name: string): Entry[] {
    return this.#histories.get(`${of} ${name}`)?.entries ?? []
  }

  #now(): number {
    return (this.#options.now ?? (() => Date.now() / 1000))()
  }

  /** Whether the newest version means the same. Notes the hash that this version of the program computes. */
  #isNewest(document: Document): boolean {
    const last = this.#entries(document.of, document.name).at(-1)
    if (!last || last.deleted) return false
    const isSame = (document.text === undefined && last.hash === document.hash) || last.content === contentOf(document)
    if (isSame && document.hash !== undefined) last.hash = document.hash
    return isSame
  }

  #lineOf(document: Document, { by, operator, note, restored_from }: Authorship): Extract<Line, { kind: 'version' }> {
    const { of, name, hash, source, form, file } = document
    const { text, name: sha } = fileOf(document)
    const content = contentOf(document)
    return {
      ...{ kind: 'version', of, name, version: this.#next(of, name), hash: hash ?? content, at: this.#now(), source },
      by: source === 'api' ? by : null,
      ...(operator !== undefined && { operator }),
      ...(note !== undefined && { note }),
      ...(restored_from !== undefined && { restored_from }),
      ...(file !== undefined && { file }),
      ...{ form, bytes: Buffer.byteLength(text), content, document: sha },
    }
  }

  /** The next number. Where the history was lost, it is greater than those that records name. */
  #next(of: Versioned, name: string): number {
    const last = this.#entries(of, name).at(-1)
    if (last) return last.version + 1
    const named = [...(this.#options.named?.() ?? [])].filter((one) => one.of === of && one.name === name)
    return Math.max(0, ...named.map(({ version }) => version)) + 1
  }

  #take(line: Line): void {
    const key = `${line.of} ${line.name}`
    const { of, name } = line
    const history = this.#histories.get(key) ?? { of, name, entries: [] }
    const { entries } = history
    if (line.kind === 'pruned') {
      for (const gone of entries.filter(({ version }) => line.versions.includes(version))) this.#counted(gone, -1)
      history.entries = entries.filter(({ version }) => !line.versions.includes(version))
    } else if (line.kind === 'version') {
      const { kind: _kind, of: _of, name: _name, ...entry } = line
      entries.push(entry)
      this.#counted(entry, 1)
    } else if (entries.length > 0) {
      const { at, by, operator } = line
      entries[entries.length - 1] = { ...entries.at(-1)!, deleted: { at, by, ...(operator !== undefined && { operator }) } }
    }
    if (history.entries.length > 0) this.#histories.set(key, history)
    else this.#histories.delete(key)
  }

  #counted({ document, bytes }: Entry, more: 1 | -1): void {
    const known = this.#documents.get(document) ?? { count: 0, bytes }
    if (known.count === 0) this.#bytes += bytes
    known.count += more
    this.#count += more
    this.#documents.set(document, known)
    if (known.count > 0) return
    this.#documents.delete(document)
    this.#bytes -= bytes
  }

  /** Writes lines, prunes, and removes documents that no version names any more. A disk that refuses is reported; the next write has all lines. */
  async #write(lines: readonly Line[]): Promise<void> {
    if (lines.length === 0) return
    const pruned = this.#prune(new Set(lines.map(({ of, name }) => `${of} ${name}`)))
    const gone = pruned.flatMap(({ documents }) => documents)
    const all = [...lines, ...pruned.map(({ line }) => line)]
    const write = async () => {
      await this.#file.write(all, { isSynced: true, all: () => this.#lines() })
      for (const name of gone) if (!this.#documents.has(name) && !this.#coming.has(name)) await remove(join(this.#folder, name))
    }
    await this.#queue.run(write).catch((error) => this.#tell(error))
  }

  /** Drops the oldest versions above the bounds, those of the changed names first. Versions that are named stay, and the newest of each name. */
  #prune(changed: ReadonlySet<string>): { line: Line; documents: string[] }[] {
    const { ofName, all, bytes } = this.#most
    const tooLong = [...changed].flatMap((key) => this.#histories.get(key) ?? []).filter(({ entries }) => entries.length > ofName)
    const isOver = () => this.#count > all || this.#bytes > bytes
    if (tooLong.length === 0 && !isOver()) return []
    const named = new Set([...(this.#options.named?.() ?? [])].map(({ of, name, version }) => `${of} ${name} ${version}`))
    const free = ({ of, name, entries }: History) =>
      entries.filter((entry, i) => (i < entries.length - 1 || entry.deleted) && !named.has(`${of} ${name} ${entry.version}`))
    const pruned: { line: Line; documents: string[] }[] = []
    const drop = ({ of, name }: History, entries: readonly Entry[]) => {
      if (entries.length === 0) return
      const line: Line = { kind: 'pruned', of, name, versions: entries.map(({ version }) => version) }
      this.#take(line)
      pruned.push({ line, documents: entries.map(({ document }) => document) })
    }
    for (const history of tooLong) {
      const older = history.entries.slice(0, history.entries.length - ofName)
      drop(
        history,
        free(history).filter((entry) => older.includes(entry)),
      )
    }
    if (isOver()) {
      const oldest = [...this.#histories.values()].flatMap((history) => free(history).map((entry) => ({ history, entry })))
      oldest.sort((one, other) => one.entry.at - other.entry.at)
      for (const { history, entry } of oldest) {
        if (!isOver()) break
        drop(history, [entry])
      }
    }
    return pruned
  }

  #lines(): Line[] {
    return [...this.#histories.values()].flatMap(({ of, name, entries }) =>
      entries.flatMap(({ deleted, ...entry }): Line[] => [
        { kind: 'version', of, name, ...entry },
        ...(deleted ? [{ kind: 'deleted', of, name, ...deleted } as const] : []),
      ]),
    )
  }

  /** Removes what a kill has left of documents that became no version. Beside a damaged list they stay. */
  async #sweep(isWhole: boolean): Promise<void> {
    try {
      for (const name of await namesIn(this.#folder)) {
        const isLeft = name.endsWith('.tmp') || (isWhole && /^[0-9a-f]{64}$/.test(name))
        if (isLeft && !this.#documents.has(name)) await remove(join(this.#folder, name))
      }
    } catch (error) {
      this.#tell(error)
    }
  }

  #tell(error: unknown): void {
    this.#options.report({ kind: 'storage', message: `versions of workflows are not kept: ${messageOf(error)}` })
  }
}
