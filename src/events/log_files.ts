// The segments of the log in their folder: found at the start, appended to, rotated, and given up when a sync has failed.

import { readdirSync } from 'node:fs'
import { type FileHandle, open as openOnDisk, rm, unlink } from 'node:fs/promises'
import { basename } from 'node:path'
import { messageOf } from '../errors.ts'
import { setAside } from '../kit/damage.ts'
import { mkdir } from '../kit/disk.ts'
import { makeFolder, writeAt } from '../kit/durable.ts'
import { glimpse } from './log_glimpse.ts'
import { LogIndex } from './log_index.ts'
import { type Damage, linesOf, opened, type Scanned, scanned } from './log_scan.ts'
import {
  emptySegment,
  isDeleted,
  keepAside,
  mayHold,
  type Noted,
  note,
  type OpenFile,
  plainFile,
  readSidecar,
  removeFiles,
  type Segment,
  sidecarOf,
  writeSidecar,
} from './log_segment.ts'

type FilesOptions = {
  folder: string
  segment_bytes: number
  /** Receives what was found damaged, in words. */
  onDamage(what: string): void
  /** Is called when the events with the numbers between these two, which may have been shown, are lost. */
  onLost(after: number, before: number): void
  /** Stands in place of the file system's own, for trying what a failing card does. */
  open?: OpenFile
  /** The files that are synced before each sync of the log; they hear how far the log is on the card. */
  first?: { sync(): Promise<void>; logSynced(through: number): Promise<void> }
}

export class LogFiles {
  readonly folder: string
  readonly open: OpenFile
  readonly #segmentBytes: number
  readonly #onDamage: (what: string) => void
  readonly #onLost: (after: number, before: number) => void
  readonly #first: FilesOptions['first']
  readonly #reported = new Set<string>()
  /** Sorted in order; the last is the one that is written to. A new array with each change. */
  #segments: readonly Segment[] = []
  #file: FileHandle | undefined
  /** How much of the last segment is on the card for certain. */
  #synced = 0
  /** The file may hold bytes behind the last trusted line, or lack that line's newline. */
  #dirty = false
  /** The reason why a sync failed: nothing more goes into this file, and no later sync of it counts. */
  #distrusted: Error | undefined
  #syncing: Promise<void> = Promise.resolve()
  /** Bytes at the end that nobody has been shown, and that will come again. */
  #unshown = 0
  /** The number of the newest segment, whether it can be read or not. */
  #newest = 0
  /** Segments without a sidecar, of which only the ends were read. */
  readonly index = new LogIndex(this)
  /** Called when a segment will not be written to any more. */
  onSealed: () => void = () => {}

  constructor({ folder, segment_bytes, onDamage, onLost, open = openOnDisk, first }: FilesOptions) {
    this.folder = folder
    this.open = open
    this.#segmentBytes = segment_bytes
    this.#onDamage = onDamage
    this.#onLost = onLost
    this.#first = first
  }

  get segments(): readonly Segment[] {
    return this.#segments
  }

  get bytes(): number {
    return this.#segments.reduce((sum, segment) => sum + segment.bytes, 0)
  }

  /** Reads the sidecars, the ends of the segments without one, and the whole of the last segment. */
  async load(): Promise<void> {
    await mkdir(this.folder).catch(() => undefined)
    const numbers = await this.#tidy()
    const segments: Segment[] = []
    this.#newest = numbers.at(-1) ?? 0
    for (const [i, number] of numbers.entries()) {
      const segment = await this.#load(emptySegment(this.folder, number))
      if (segment && (segment.count > 0 || number === this.#newest)) segments.push(segment)
      if (i % 32 === 0) await new Promise(setImmediate)
    }
    this.#segments = segments
    this.#synced = segments.at(-1)?.bytes ?? 0
  }

  /**
   * Cuts the log at the first event of these executions that follows the number `after`, where the service or the power has failed since. Returns
   * the executions of which it has other ones: somebody has put an older state into the folder.
   */
  async cutAfter(
    after: number,
    { executions, mayCut }: { executions: ReadonlySet<string>; mayCut: boolean },
  ): Promise<ReadonlySet<string>> {
    const behind = new Set<string>()
    const newest = this.#segments.at(-1)
    for (const segment of this.#segments) {
      if (segment.last_seq <= after || ![...executions].some((id) => mayHold(segment, id))) continue
      for await (const { seq, us, execution_id, from } of linesOf(this.open, segment, after)) {
        if (seq <= after || !executions.has(execution_id) || behind.has(execution_id)) continue
        const isRecent = mayCut && segment === newest && us > segment.last_us - longestUnsynced_us
        if (isRecent) {
          await this.#cutAt(segment, from)
          break
        }
        behind.add(execution_id)
      }
    }
    return behind
  }

  /** Cuts the log where bytes never came to the card when the power failed: what follows them was not synced either. Returns whether there were any. */
  async cutAtHole(): Promise<boolean> {
    const newest = this.#segments.at(-1)
    if (!newest) return false
    const { damages } = await scanned(this.open, newest, newest.bytes)
    for (const { from, to } of damages) {
      const bytes = await this.#readBack(newest, from, to)
      const { segment: before } = await scanned(this.open, newest, from)
      if (!bytes?.includes(0) || before.last_us <= newest.last_us - longestUnsynced_us) continue
      await this.#cutAt(newest, from)
      return true
    }
    return false
  }

  /** The rest of the file is kept aside, and cut off before the next line is added. */
  async #cutAt(segment: Segment, bytes: number): Promise<void> {
    const { segment: cut } = await scanned(this.open, segment, bytes)
    this.#onDamage(
      `the event log is cut in ${segment.path} at byte ${bytes}: what follows was not yet on the card with the state of the runs`,
    )
    this.#segments = [...this.#segments.slice(0, -1), cut]
    this.#synced = bytes
    this.#dirty = true
  }

  /** Adds lines at the end. When it rejects, nothing was added. `from` and `to` of the notes are offsets in the bytes. */
  async append(bytes: Buffer, notes: readonly Noted[]): Promise<void> {
    if (this.#file && isDeleted(this.#file)) await this.#rescue(this.#file)
    if (this.#distrusted) await this.#giveUp()
    if (this.#isFull(bytes.length)) await this.#rotate()
    const { file, segment } = await this.#writable()
    const start = segment.bytes
    this.#dirty = true
    await writeAt(file, bytes, start)
    this.#dirty = false
    for (const noted of notes) note(segment, noted, start)
  }

  /**
   * When it resolves, all that had been appended when it was called is on the card. When it rejects, the file is not trusted
   * any more: the next `append` goes into a new one.
   */
  sync(): Promise<void> {
    const segment = this.#segments.at(-1)
    const end = segment?.bytes ?? 0
    // The syncs run one after the other: the kernel reports a failure once, and the sync after it succeeds although the bytes are gone.
    this.#syncing = this.#syncing.catch(() => undefined).then(() => this.#sync(segment, end))
    return this.#syncing
  }

  /** After a failed sync: that many bytes at the end will be appended again, and do not count. */
  forget(bytes: number): void {
    this.#unshown = bytes
  }

  /** Puts a rewritten segment in the place of the one of its number, or nothing when it is empty. */
  replace(segment: Segment): void {
    this.#segments = this.#segments.flatMap((other) => (other.number !== segment.number ? [other] : segment.count ? [segment] : []))
  }

  /** Tells of a damage once. */
  tellDamage(segment: Segment, { from, to }: Damage): void {
    const what = `the event log is damaged in ${segment.path} from byte ${from} to ${to}; the events of that stretch are passed over`
    this.#tellOnce(`${segment.number}:${from}`, what)
  }

  /** Tells once that a segment, or the rest of it, cannot be read. */
  tellUnreadable(segment: Segment, why: string): void {
    this.#tellOnce(`${segment.number}`, `${segment.path} cannot be read, its events are passed over: ${why}`)
  }

  #tellOnce(key: string, what: string): void {
    if (this.#reported.has(key) || this.#reported.size > 1000) return
    this.#reported.add(key)
    this.#onDamage(what)
  }

  async close(): Promise<void> {
    await this.index.end()
    await this.#file?.close()
    this.#file = undefined
  }

  /** Syncs the folder, so that files that were made or renamed in it stay. */
  async syncFolder(): Promise<void> {
    await opened(this.open, this.folder, (folder) => folder.sync())
  }

  /** For a segment that was left in the meantime there is nothing to do: it was synced then, or given up. */
  async #sync(segment: Segment | undefined, end: number): Promise<void> {
    if (segment !== this.#segments.at(-1)) return
    if (this.#distrusted) throw this.#distrusted
    const through = segment?.last_seq ?? 0
    try {
      await this.#first?.sync()
      await this.#file?.datasync()
    } catch (error) {
      this.#distrusted = error as Error
      throw error
    }
    if (segment === this.#segments.at(-1)) this.#synced = Math.max(this.#synced, end)
    await this.#first?.logSynced(through)
  }

  /** The numbers of the segments there are; what was left half made goes. */
  async #tidy(): Promise<number[]> {
    const names = namesIn(this.folder)
    for (const name of names.filter((name) => /^events-.*\.tmp$/.test(name)))
      await rm(`${this.folder}/${name}`, { force: true }).catch(() => undefined)
    const numbers = names.flatMap((name) => /^events-(\d{6,})\.jsonl$/.exec(name)?.[1] ?? [])
    return numbers.map(Number).sort((a, b) => a - b)
  }

  /** Undefined for a segment that cannot be read: it is left alone. */
  async #load(empty: Segment): Promise<Segment | undefined> {
    try {
      const { size: fileBytes } = plainFile(empty.path)
      const isLast = empty.number === this.#newest
      return (isLast ? undefined : this.#facts(empty, fileBytes)) ?? (await this.#read(empty, fileBytes, isLast))
    } catch (error) {
      this.#onDamage(`${empty.path} cannot be read, its events are passed over: ${messageOf(error)}`)
      return undefined
    }
  }

  #facts(empty: Segment, fileBytes: number): Segment | undefined {
    const known = readSidecar(empty, fileBytes)
    if (known) return known
    const glimpsed = glimpse(empty, fileBytes)
    if (glimpsed) this.index.add(glimpsed)
    return glimpsed
  }

  async #read(empty: Segment, fileBytes: number, isLast: boolean): Promise<Segment> {
    const { segment, damages, torn } = await scanned(this.open, empty, fileBytes)
    for (const damage of damages) this.tellDamage(segment, damage)
    if (isLast) this.#dirty = segment.bytes !== fileBytes
    if (torn)
      this.#onDamage(`the last write to ${segment.path} was torn; ${torn.to - torn.from} bytes after its last whole line are not read`)
    if (!isLast && segment.count === 0 && !torn) this.#onDamage(`${segment.path} is empty; the events that it held are passed over`)
    if (!isLast) await writeSidecar(segment, this.open).catch(() => undefined)
    return segment
  }

  #isFull(bytes: number): boolean {
    const last = this.#segments.at(-1)
    if (!last) return false
    return last.number !== this.#newest || (last.bytes > 0 && last.bytes + bytes > this.#segmentBytes)
  }

  /** Seals the last segment and begins another. */
  async #rotate(): Promise<void> {
    const last = this.#segments.at(-1)
    if (this.#dirty) await this.#writable().catch(() => undefined)
    await this.sync()
    await this.#begin()
    if (last) await writeSidecar(last, this.open).catch(() => undefined)
    this.onSealed()
  }

  /** Reads back the part of the last segment that was not synced, and writes it into a new segment. */
  async #giveUp(): Promise<void> {
    const last = this.#segments.at(-1)
    if (!last) return
    const trusted = (await scanned(this.open, last, this.#synced)).segment
    const rescued = await this.#readBack(last, this.#synced, last.bytes - this.#unshown)
    if (!rescued) this.#onLost(trusted.count ? trusted.last_seq : last.first_seq - 1, last.last_seq + 1)
    await this.#begin({ insteadOfLast: trusted, first: rescued })
    await writeSidecar(trusted, this.open).catch(() => undefined)
    if (!trusted.count) await removeFiles(trusted).catch(() => undefined)
  }

  /** Writes what the last segment holds into a new one: a deleted file can be read as long as it is open. Another file in its place is set aside. */
  async #rescue(deleted: FileHandle): Promise<void> {
    const last = this.#segments.at(-1)!
    const bytes = Buffer.alloc(last.bytes - this.#unshown)
    await deleted.read(bytes, 0, bytes.length, 0)
    await makeFolder(this.folder)
    const aside = await setAside(last.path)
    await this.#begin({ insteadOfLast: emptySegment(this.folder, last.number), first: bytes })
    await rm(sidecarOf(last.path), { force: true }).catch(() => undefined)
    const now = basename(this.#segments.at(-1)!.path)
    const other = aside === undefined ? '' : `; the file that took its place is kept as ${aside}`
    this.#onDamage(`${basename(last.path)} was deleted while the service ran; its events are in ${now}${other}`)
  }

  async #writable(): Promise<{ file: FileHandle; segment: Segment }> {
    const segment = this.#segments.at(-1)
    if (!segment) {
      await makeFolder(this.folder)
      await this.#begin()
      return this.#writable()
    }
    this.#file ??= await this.open(segment.path, 'r+')
    if (this.#dirty) await this.#cut(this.#file, segment)
    return { file: this.#file, segment }
  }

  /**
   * Ends the last trusted line and cuts off what follows it, keeping that aside if that can be: the next line is never glued
   * to either.
   */
  async #cut(file: FileHandle, segment: Segment): Promise<void> {
    await keepAside(file, segment).catch(() => undefined)
    if (segment.bytes > 0) await file.write('\n', segment.bytes - 1)
    await file.truncate(segment.bytes)
    this.#dirty = false
  }

  /** Makes the next segment, with these bytes in it, and syncs it and the folder before it counts. */
  async #begin({ insteadOfLast, first = Buffer.alloc(0) }: { insteadOfLast?: Segment; first?: Buffer | undefined } = {}): Promise<void> {
    const empty = emptySegment(this.folder, this.#newest + 1)
    const file = await this.open(empty.path, 'wx+', 0o600)
    this.#newest = empty.number
    let read: Scanned
    try {
      await file.writeFile(first)
      await file.sync()
      await this.syncFolder()
      read = await scanned(this.open, empty, first.length)
    } catch (error) {
      await file.close().catch(() => undefined)
      await unlink(empty.path).catch(() => undefined)
      throw error
    }
    const old = this.#file
    const { segment, damages, torn } = read
    // The list as it is now: meanwhile other segments may have been rewritten, or removed.
    const before = insteadOfLast ? [...this.#segments.slice(0, -1), ...(insteadOfLast.count ? [insteadOfLast] : [])] : this.#segments
    this.#segments = [...before, segment]
    this.#file = file
    this.#synced = segment.bytes
    this.#dirty = segment.bytes !== first.length
    this.#distrusted = undefined
    this.#unshown = 0
    for (const damage of torn ? [...damages, torn] : damages) this.tellDamage(segment, damage)
    await old?.close().catch(() => undefined)
  }

  async #readBack(segment: Segment, from: number, to: number): Promise<Buffer | undefined> {
    const bytes = Buffer.alloc(Math.max(0, to - from))
    try {
      await opened(this.open, segment.path, (file) => file.read(bytes, 0, bytes.length, from))
      return bytes
    } catch (error) {
      this.#onDamage(`${bytes.length} bytes of events could not be read back from ${segment.path} and are lost: ${messageOf(error)}`)
      return undefined
    }
  }
}

/** Lines that are older than this are on the card, also where the card is slow. */
const longestUnsynced_us = 60_000_000

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
