// Lines of JSON, each with the hash of itself and of the lines before, so that later changes and removals are detected. The
// newest files are kept. A removed end is detected only with a hash that was stored elsewhere before.

import { hash } from 'node:crypto'
import { type FileHandle, open, readdir, rename } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { LabError } from '../errors.ts'
import { readOrDamage, setAside } from './damage.ts'
import { makeFolder, remove, storageError, syncFolder } from './durable.ts'
import { isFormatLine, mustKnowFormat } from './format_line.ts'
import type { Report } from './json_file.ts'

/** The number of lines, and the hash of the last one. */
export type Head = { seq: number; hash: string }
type ChainedLine = Head & { entry: Record<string, unknown> }

type ChainedLinesOptions = {
  path: string
  /** Called when the file is found damaged. */
  report: Report
  /** The bytes at which a file is put aside and a new one begun. */
  longest?: number
  /** The most full files that are kept. */
  mostFiles?: number
}

const beginning = '{"hash":"'
const nothingBefore: Head = { seq: 0, hash: '0'.repeat(64) }
/** The newest lines that are kept in memory. */
const newest = 1000
/** The lines that are checked in one turn of the event loop. */
const batch = 500

/** A file of chained lines, for one caller at a time. */
export class ChainedLines {
  readonly #path: string
  readonly #report: Report
  readonly #longest: number
  readonly #mostFiles: number
  #handle: FileHandle | undefined
  #size = 0
  /** Whether the file has a line that the chain can follow. */
  #hasLine = false
  #head = nothingBefore
  #newest: ChainedLine[] = []

  constructor({ path, report, longest = 8 * 1024 * 1024, mostFiles = 7 }: ChainedLinesOptions) {
    this.#path = path
    this.#report = report
    this.#longest = longest
    this.#mostFiles = mostFiles
  }

  get head(): Head {
    return this.#head
  }

  /** The newest thousand lines, oldest first. */
  get newest(): readonly ChainedLine[] {
    return this.#newest
  }

  /** Resolves when the entries are on the disk; without entries, when the file was read. Rejects with `storage`, after which each may be there or not, and with `config` for a newer format. */
  async add(entries: readonly object[]): Promise<void> {
    try {
      this.#handle ??= await this.#begin()
      if (entries.length === 0) return
      if (await isTakenAway(this.#handle)) this.#handle = await this.#inItsPlace(this.#handle)
      if (this.#size >= this.#longest) this.#handle = await this.#anew(this.#handle)
      const lines = chained(entries, this.#head, { isFirst: !this.#hasLine })
      const text = lines.map(({ text }) => text).join('')
      await this.#handle.appendFile(text)
      await this.#handle.datasync()
      this.#size += Buffer.byteLength(text)
      this.#head = lines.at(-1)?.head ?? this.#head
      this.#hasLine = true
      this.#remember(lines.map(({ head: { seq, hash } }, i) => ({ seq, hash, entry: entries[i] as Record<string, unknown> })))
    } catch (error) {
      await this.close()
      if (error instanceof LabError && error.code === 'config') throw error
      throw storageError(`${basename(this.#path)} was not written`, error)
    }
  }

  async close(): Promise<void> {
    const handle = this.#handle
    this.#handle = undefined
    await handle?.close().catch(() => undefined)
  }

  /** Continues after the last whole line of the file, also after a failure. */
  async #begin(): Promise<FileHandle> {
    await makeFolder(dirname(this.#path))
    const { text, damage } = await readable(this.#path)
    mustKnowFormat(text, this.#path)
    const whole = linesIn(text).flatMap((line) => partsOf(line) ?? [])
    const last = whole.at(-1) ?? (await this.#lastOfOlder())
    this.#head = last ? { seq: last.seq, hash: last.hash } : nothingBefore
    this.#newest = whole.slice(-newest).map(({ seq, hash, entry }) => ({ seq, hash, entry }))
    const why = damage ?? (await damageOf(text))
    if (why !== undefined) await this.#putAside(why, whole.length > 0)
    this.#size = why === undefined ? Buffer.byteLength(text) : 0
    this.#hasLine = why === undefined && whole.length > 0
    const handle = await open(this.#path, 'a', 0o600)
    // A line that a power cut has torn stays as a line of its own.
    if (this.#size > 0 && !text.endsWith('\n')) await handle.appendFile('\n')
    await syncFolder(dirname(this.#path))
    return handle
  }

  async #lastOfOlder(): Promise<Parts | undefined> {
    const older = (await olderFiles(this.#path)).at(-1)
    const { text } = older === undefined ? { text: '' } : await readable(older)
    return linesIn(text)
      .flatMap((line) => partsOf(line) ?? [])
      .at(-1)
  }

  /** Puts the file aside. A file with lines stays part of the chain, which continues in a new one. */
  async #putAside(why: string, hasLine: boolean): Promise<void> {
    const aside = asidePath(this.#path, this.#head.seq)
    if (hasLine) await rename(this.#path, aside)
    const name = hasLine ? basename(aside) : await setAside(this.#path)
    const message = `${basename(this.#path)} is damaged (${why}): who did what before may be missing. It is kept as ${name}, and a new file is begun.`
    this.#report({ kind: 'storage', message })
  }

  async #anew(full: FileHandle): Promise<FileHandle> {
    await full.close()
    await rename(this.#path, asidePath(this.#path, this.#head.seq))
    for (const old of (await olderFiles(this.#path)).slice(0, -this.#mostFiles)) await remove(old)
    return this.#openNew()
  }

  /** Replaces a deleted file, to which writing would be useless. The chain continues in the new one, so that the missing lines are detected. */
  async #inItsPlace(deleted: FileHandle): Promise<FileHandle> {
    await deleted.close()
    const what = 'who did what before is known from a backup alone. A new file is begun; see who deletes files of the service'
    const message = `${basename(this.#path)} was deleted while the service ran: ${what}`
    this.#report({ kind: 'storage', message })
    return this.#openNew()
  }

  async #openNew(): Promise<FileHandle> {
    const handle = await open(this.#path, 'a', 0o600)
    await syncFolder(dirname(this.#path))
    this.#size = 0
    this.#hasLine = false
    return handle
  }

  #remember(lines: readonly ChainedLine[]): void {
    this.#newest = [...this.#newest, ...lines].slice(-newest)
  }
}

async function isTakenAway(handle: FileHandle): Promise<boolean> {
  return (await handle.stat()).nlink === 0
}

/** Returns why the lines are damaged; a torn line of a power cut is no damage. */
async function damageOf(text: string): Promise<string | undefined> {
  if (text.includes('\0')) return 'there are zeros in it'
  const found = nothingFound(undefined)
  for (const [i, line] of text.split('\n').entries()) {
    if (!isOurs(line)) return `line ${i + 1} is none of its lines`
    if (line !== '') follow(found, line, { file: '', line: i + 1 }, undefined)
    if (i % batch === 0) await new Promise(setImmediate)
  }
  const [first] = found.broken
  return first && `line ${first.line}: ${first.problem}`
}

/** Whether a line is valid, or the beginning of one that a power cut has torn. */
function isOurs(line: string): boolean {
  return isFormatLine(line) || line.startsWith(beginning.slice(0, line.length))
}

type Broken = { file: string; line: number; problem: string }
export type Verified = {
  files: number
  lines: number
  /** The number of torn lines, as a power cut leaves them. They do not break the chain. */
  torn: number
  first_seq: number | null
  head: Head | null
  broken: Broken[]
  /** Whether a line has the requested hash. */
  has_wanted: boolean | null
}

/** Verifies the chain through a file and the earlier files that exist. Throws `storage` if one cannot be read. */
export async function verifyChain(path: string, { wanted }: { wanted?: string | undefined } = {}): Promise<Verified> {
  const found = nothingFound(wanted)
  for (const file of [...(await olderFiles(path)), path]) {
    const { text, damage } = await readable(file)
    if (damage !== undefined) throw new LabError('storage', `${file} cannot be read: ${damage}`)
    if (text === '') continue
    found.files++
    for (const [i, line] of text.split('\n').entries()) if (line !== '') follow(found, line, { file, line: i + 1 }, wanted)
  }
  return found
}

function nothingFound(wanted: string | undefined): Verified {
  return { files: 0, lines: 0, torn: 0, first_seq: null, head: null, broken: [], has_wanted: wanted === undefined ? null : false }
}

function follow(found: Verified, line: string, at: { file: string; line: number }, wanted: string | undefined): void {
  const parts = partsOf(line)
  if (!parts) {
    found.torn++
    return
  }
  const { seq, hash, rest } = parts
  const before = found.head ?? { seq: seq - 1, hash: parts.previous ?? '' }
  if (hashOf(before.hash, rest) !== hash)
    found.broken.push({ ...at, problem: `line ${seq} is not as it was written, or what stood before it is gone` })
  else if (seq !== before.seq + 1) found.broken.push({ ...at, problem: `after line ${before.seq} comes line ${seq}` })
  found.lines++
  found.first_seq ??= seq
  found.head = { seq, hash }
  if (hash === wanted) found.has_wanted = true
}

function chained(entries: readonly object[], before: Head, { isFirst }: { isFirst: boolean }): { text: string; head: Head }[] {
  let { seq, hash } = before
  return entries.map((entry, i) => {
    seq++
    // The first file is verified without the one before it.
    const rest = JSON.stringify(isFirst && i === 0 ? { seq, previous: hash, entry } : { seq, entry }).slice(1)
    hash = hashOf(hash, rest)
    return { text: `{"hash":"${hash}",${rest}\n`, head: { seq, hash } }
  })
}

/** Hashes the previous hash, and the line after its own hash. */
function hashOf(before: string, rest: string): string {
  return hash('sha256', before + rest)
}

type Parts = ChainedLine & { previous?: string; rest: string }

function partsOf(line: string): Parts | undefined {
  const [, its, rest] = /^\{"hash":"([0-9a-f]{64})",(.*\})$/s.exec(line) ?? []
  if (!its || !rest) return undefined
  try {
    const { seq, previous, entry } = JSON.parse(`{${rest}`) as ChainedLine & { previous?: string }
    return { seq, hash: its, entry, rest, ...(previous !== undefined && { previous }) }
  } catch {
    return undefined
  }
}

function linesIn(text: string): string[] {
  return text.split('\n').filter((line) => line !== '')
}

/** Reads the file; '' if it is missing or unreadable. */
async function readable(path: string): Promise<{ text: string; damage?: string }> {
  const { bytes, ...more } = await readOrDamage(path)
  return { text: bytes?.toString() ?? '', ...more }
}

/** Returns the path of a full file, such as `audit-000000000123.jsonl` of `audit.jsonl`, with the number of its last line. */
function asidePath(path: string, seq: number): string {
  return path.replace(/(\.\w+)?$/, (ending) => `-${String(seq).padStart(12, '0')}${ending}`)
}

/** Lists the full files that were put aside, oldest first. */
async function olderFiles(path: string): Promise<string[]> {
  const [stem = '', ending = ''] = asidePath(basename(path), 0).split('000000000000')
  const names = await readdir(dirname(path)).catch(() => [])
  const ours = names.filter(
    (name) => name.startsWith(stem) && name.endsWith(ending) && /^\d{12}$/.test(name.slice(stem.length, -ending.length)),
  )
  return ours.sort().map((name) => join(dirname(path), name))
}
