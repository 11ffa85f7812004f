// The segments of the log in their folder: finds them at the start, appends, rotates, and abandons one whose sync has failed.

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
  /** Called with a sentence about each damage. */
  onDamage(what: string): void
  /** Called when the events with numbers between these two are lost. They may have been shown. */
  onLost(after: number, before: number): void
  /** Replaces the `open` of the file system, to test a failing disk. */
  open?: OpenFile
  /** The files to sync before each sync of the log. `logSynced` tells them how far the log is on the disk. */
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
  /** The segments in order; the last one is being written. Each change makes a new array. */
  #segments: readonly Segment[] = []
  #file: FileHandle | undefined
  /** The bytes of the last segment that are certainly on the disk. */
  #synced = 0
  /** Whether the file may have bytes after the last trusted line, or lack that line's newline. */
  #dirty = false
  /** The error of a failed sync: nothing more is written to this file, and no later sync of it counts. */
  #distrusted: Error | undefined
  #syncing: Promise<void> = Promise.resolve()
  /** The number of bytes at the end that have not been shown and will be appended again. */
  #unshown = 0
  /** The number of the newest segment, readable or not. */
  #newest = 0
  /** Indexes segments that have no sidecar, of which only the ends were read. */
  readonly index = new LogIndex(this)
  /** Called when a segment will not be written any more. */
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

  /** Reads the sidecars, the ends of the segments without one, and the whole last segment. */
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
   * Cuts the log at the first event after number `after` of these runs, if it is recent enough to have been lost in a crash. Returns the runs whose later
   * events are too old for that: somebody has put an older state into the folder.
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

  /** Cuts the log at bytes that never reached the disk in a power cut; nothing after them was synced either. Returns whether there were any. */
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

  /** Cuts the log at this byte. The rest of the file is kept aside and removed before the next line is added. */
  async #cutAt(segment: Segment, bytes: number): Promise<void> {
    const { segment: cut } = await scanned(this.open, segment, bytes)
    this.#onDamage(
      `the event log is cut in ${segment.path} at byte ${bytes}: the events after it were not yet on the disk together with the state of the runs`,
    )
    this.#segments = [...this.#segments.slice(0, -1), cut]
    this.#synced = bytes
    this.#dirty = true
  }

  /** Appends lines. If it rejects, nothing was added. `from` and `to` of the notes are offsets in `bytes`. */
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

  /** Resolves when everything appended before the call is on the disk. If it rejects, the file is no longer trusted, and the next `append` begins a new one. */
  sync(): Promise<void> {
    const segment = this.#segments.at(-1)
    const end = segment?.bytes ?? 0
    // The files are synced one after the other, because the kernel reports a failure only once: the next sync succeeds although the bytes are lost.
    this.#syncing = this.#syncing.catch(() => undefined).then(() => this.#sync(segment, end))
    return this.#syncing
  }

  /** After a failed sync: ignores this many bytes at the end, which will be appended again. */
  forget(bytes: number): void {
    this.#unshown = bytes
  }

  /** Replaces the segment of the same number by a rewritten one, or removes it if the rewritten one is empty. */
  replace(segment: Segment): void {
    this.#segments = this.#segments.flatMap((other) => (other.number !== segment.number ? [other] : segment.count ? [segment] : []))
  }

  /** Reports a damage once. */
  tellDamage(segment: Segment, { from, to }: Damage): void {
    const what = `the event log is damaged in ${segment.path} from byte ${from} to ${to}; the events in that range are skipped`
    this.#tellOnce(`${segment.number}:${from}`, what)
  }

  /** Reports once that a segment, or the rest of it, cannot be read. */
  tellUnreadable(segment: Segment, why: string): void {
    this.#tellOnce(`${segment.number}`, `${segment.path} cannot be read, so its events are skipped: ${why}`)
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

  /** Syncs the folder, so that new and renamed files in it last. */
  async syncFolder(): Promise<void> {
    await opened(this.open, this.folder, (folder) => folder.sync())
  }

  /** Syncs a segment. Does nothing for an earlier segment, which was synced or abandoned when the next one began. */
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

  /** Returns the numbers of the segments. Deletes incomplete files. */
  async #tidy(): Promise<number[]> {
    const names = namesIn(this.folder)
    for (const name of names.filter((name) => /^events-.*\.tmp$/.test(name)))
      await rm(`${this.folder}/${name}`, { force: true }).catch(() => undefined)
    const numbers = names.flatMap((name) => /^events-(\d{6,})\.jsonl$/.exec(name)?.[1] ?? [])
    return numbers.map(Number).sort((a, b) => a - b)
  }

  /** Loads a segment. Returns undefined for one that cannot be read, and leaves it alone. */
  async #load(empty: Segment): Promise<Segment | undefined> {
    try {
      const { size: fileBytes } = plainFile(empty.path)
      const isLast = empty.number === this.#newest
      return (isLast ? undefined : this.#facts(empty, fileBytes)) ?? (await this.#read(empty, fileBytes, isLast))
    } catch (error) {
      this.#onDamage(`${empty.path} cannot be read, so its events are skipped: ${messageOf(error)}`)
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
    if (!isLast && segment.count === 0 && !torn) this.#onDamage(`${segment.path} is empty; the events that it held are skipped`)
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

  /** Copies the last segment, whose file was deleted, into a new one; an open file stays readable. Sets aside another file in its place. */
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

  /** Ends the last trusted line and cuts off what follows, so that the next line is separate. Keeps the cut bytes aside if possible. */
  async #cut(file: FileHandle, segment: Segment): Promise<void> {
    await keepAside(file, segment).catch(() => undefined)
    if (segment.bytes > 0) await file.write('\n', segment.bytes - 1)
    await file.truncate(segment.bytes)
    this.#dirty = false
  }

  /** Begins the next segment with the bytes `first`. Syncs it and the folder before it counts. */
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
    // The present list, because other segments may have been rewritten or removed meanwhile.
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

/** Lines that are older than this are on the disk, even on a slow one. */
const longestUnsynced_us = 60_000_000

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
