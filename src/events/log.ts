// The event log on the disk: every event once, in the order of emission, and shown only when it is in the file.

import { randomBytes } from 'node:crypto'
import { statfs } from 'node:fs/promises'
import { LabError, messageOf } from '../errors.ts'
import { type Clock, sleep } from '../kit/clock.ts'
import { mustBeFolder } from '../kit/damage.ts'
import type { Report } from '../kit/json_file.ts'
import type { RuntimeEvent } from './event.ts'
import type { Entry } from './log_batches.ts'
import { LogFiles } from './log_files.ts'
import { crcAt, seqOf } from './log_line.ts'
import { bytesToRead, type Chunk, type Form, type Query, readLog } from './log_reader.ts'
import { LogRemoval } from './log_removal.ts'
import type { OpenFile } from './log_segment.ts'
import { LogWriter, type WriterState } from './log_writer.ts'
import { SequenceNumbers } from './sequence_numbers.ts'
import type { States } from './states.ts'
import { nothingSaved, type SavedStates } from './states_reader.ts'
import type { Wall } from './timestamps.ts'

/** The pause between two bursts of a caller that obeys `backpressure`, while the log cannot be written. */
const slow_ms = 50

type LogOptions = {
  /** The folder of the segments, and of nothing else. */
  folder: string
  /** The file of the sequence numbers that were given; it is kept beside the folder and outlasts it. */
  numbers: string
  segment_bytes: number
  commit_ms: number
  /** The most events that are shown in one turn of the event loop. */
  burst: number
  clock: Clock
  wall: Wall
  report: Report
  /** Logs a message that is not a problem. */
  say(message: string): void
  /** Replaces the file system's `open` in tests of a failing disk. */
  open?: OpenFile
  /** The state of runs, which is written in one transaction with their events. */
  states?: States
}

/** Receives each entry once, in the order of the numbers, when it may be shown. */
type OnShown = (entries: readonly Entry[]) => void

export class EventLog {
  readonly #options: LogOptions
  readonly #files: LogFiles
  readonly #writer: LogWriter
  readonly #removal: LogRemoval
  readonly #numbers: SequenceNumbers
  readonly #listeners = new Set<OnShown>()
  #waiting: { us: number; done: () => void }[] = []
  #newest_us: number
  #shown: { seq: number; us: number }
  #closed = false
  #reportedLost = 0
  /** Called when the log can no longer be written. */
  onNotStored: () => void = () => {}
  /** The state of the runs that were open when the service ended. */
  readonly saved: SavedStates

  /**
   * Reads the sidecars, the last segment, and the state of the runs; segments without a sidecar are read later. Afterwards log and state agree.
   * Damage is reported, and does not prevent the start.
   */
  static async open(options: LogOptions): Promise<EventLog> {
    const { folder, segment_bytes, open, report, states } = options
    const onDamage = (message: string) => report({ kind: 'storage', message })
    const onLost = (after: number, before: number) => numbers.dropped(after, before)
    const files = new LogFiles({ folder, segment_bytes, onDamage, onLost, ...(open && { open }), ...(states && { first: states }) })
    await mustBeFolder(folder, report)
    await files.load()
    const removal = await LogRemoval.open(files, report)
    // An event that got a removed number again would be hidden.
    const removed = Math.max(0, ...removal.removed.values())
    const numbers: SequenceNumbers = await SequenceNumbers.open({ path: options.numbers, stored: storedIn(files), removed, report })
    if (states) await mustBeFolder(states.folder, report)
    const saved = await savedIn(files, states, { numbers, removed, report })
    void files.index.complete()
    return new EventLog(options, { files, removal, numbers, saved })
  }

  private constructor(
    options: LogOptions,
    { files, removal, numbers, saved }: { files: LogFiles; removal: LogRemoval; numbers: SequenceNumbers; saved: SavedStates },
  ) {
    const { clock, commit_ms, burst, states } = options
    this.saved = saved
    this.#options = options
    this.#files = files
    this.#removal = removal
    this.#numbers = numbers
    this.#newest_us = Math.max(0, ...files.segments.map(({ last_us }) => last_us))
    this.#shown = { seq: storedIn(files), us: this.#newest_us }
    this.#writer = new LogWriter({
      files,
      clock,
      commit_ms,
      burst,
      stored: storedIn(files),
      boot: randomBytes(4).toString('hex'),
      inStep: () => options.wall.inStep(),
      show: (entries) => this.#show(entries),
      dropped: (after, before) => numbers.dropped(after, before),
      beforeRetry: () => numbers.written(),
      onState: (state, reason) => this.#tell(state, reason),
      ...(states && { states }),
    })
    if (states) states.onDirty = () => this.#writer.stateChanged()
    files.onSealed = () => removal.sweep()
  }

  /** The time of the newest event in microseconds; 0 if there is none. */
  get newest_us(): number {
    return this.#newest_us
  }

  /** The newest event that was shown. */
  get shown(): { seq: number; us: number } {
    return this.#shown
  }

  /** False after a crash or a power cut: events that were shown may be lost then. */
  get isAfterOrderlyEnd(): boolean {
    return this.#numbers.isAfterOrderlyEnd
  }

  /** Whether a reader who continues after this number misses events that are lost. */
  isGapBehind(seq: number): boolean {
    return seq > this.#shown.seq || this.#numbers.isGapBehind(seq)
  }

  /** The error because of which the log cannot be written now. */
  get failing(): string | undefined {
    return this.#writer.failing
  }

  /** The number of events that were dropped because the disk could not be written for too long. */
  get lost(): number {
    return this.#writer.lost
  }

  /** The number of events that wait to be written. */
  get waiting(): number {
    return this.#writer.waiting
  }

  /**
   * Returns undefined while more events may be made at once, else a promise that resolves when the waiting ones are written. So a write that
   * must be on the disk before a motion waits behind one burst of other events at most, and the write under way. While the log cannot be written, it
   * resolves after a pause: callers go on, but do not displace the events of others from memory so soon.
   */
  backpressure(): Promise<void> | undefined {
    if (this.waiting < this.#options.burst) return undefined
    return this.failing === undefined ? this.until() : sleep(this.#options.clock, slow_ms)
  }

  /** The bytes of the log on the disk. */
  get bytes(): number {
    return this.#files.bytes
  }

  /** Returns the space of its file system, in bytes. */
  async room(): Promise<{ free: number; total: number }> {
    const { bavail, blocks, bsize } = await statfs(this.#files.folder)
    return { free: bavail * bsize, total: blocks * bsize }
  }

  /** Calls the listener with entries once they may be shown. Returns the function that removes the listener. */
  onShown(listener: OnShown): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Adds an event; does nothing after `close`. `now_ms` is monotonic. */
  add(event: RuntimeEvent, us: number, now_ms: number): void {
    if (this.#closed) return
    this.#newest_us = us
    const mono_us = Math.round(now_ms * 1000)
    this.#writer.add({ event, us, seq: this.#numbers.next(), mono_us, json: undefined, bytes: undefined, from: 0, to: 0, shown: false })
  }

  /**
   * Resolves when all events up to that time (µs), by default all, are in the file, or in memory while the file cannot be written.
   * Rejects with `stopping` for an event that came after `close`.
   */
  until(us: number = this.#newest_us): Promise<void> {
    if (us > this.#newest_us && this.#closed)
      return Promise.reject(new LabError('stopping', 'the service stops, and the event is not kept'))
    if (us <= this.#shown.us || us > this.#newest_us) return Promise.resolve()
    return new Promise((done) => this.#waiting.push({ us, done }))
  }

  /** Resolves when all events so far, and the state of the runs as it is at the end of this turn, are on the card. Rejects with `storage`. */
  persist(): Promise<void> {
    return this.#writer.persist()
  }

  /** Estimates the bytes that an answer to the query has to read, without reading; never much too low. */
  bytesToRead(query: Query): number {
    return bytesToRead(this.#files.segments, query)
  }

  /** Yields the events that may be shown now, as bytes. Reads only when the next piece is requested. */
  read(query: Query, form: Form): AsyncGenerator<Chunk> {
    const { removed } = this.#removal
    return readLog(this.#files, query, form, { through: this.#shown.seq, tail: this.#writer.tail, removed })
  }

  /**
   * Returns the CRC of the line with this number, eight hexadecimal digits. A removed line has one if it was the
   * newest one that was cut out of its file, or the one that `keepCrcOf` named. Returns `gone` if the line was
   * removed, or lost by a crash, a power cut or the disk.
   */
  async crcOf(seq: number): Promise<string | 'gone' | undefined> {
    const everything = { through: this.#shown.seq, tail: [], removed: new Map() }
    for await (const { bytes } of readLog(this.#files, { after_seq: seq - 1, limit: 1 }, 'lines', everything))
      if (bytes.length && seqOf(bytes, { start: 0, end: bytes.length }) === seq) return crcAt(bytes, 0)
    const wasHere = (seq >= 1 && seq <= this.#shown.seq) || this.#numbers.isLost(seq)
    return this.#removal.crcOf(seq) ?? (wasHere ? 'gone' : undefined)
  }

  /** Keeps the CRC of this line when the line is removed. Only the last named line is kept. */
  keepCrcOf(seq: number): void {
    this.#removal.keptSeq = seq
  }

  /** Returns the number after which the newest `count` events stand, or fewer if some were removed or lost. */
  beforeNewest(count: number): number {
    const behind = this.#shown.seq + 1
    let [low, high] = [0, this.#shown.seq]
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      if (this.givenBetween(middle, behind) > count) low = middle + 1
      else high = middle
    }
    return low
  }

  /** Counts the events between these two numbers, also those that were removed. */
  givenBetween(after: number, before: number): number {
    return this.#numbers.givenBetween(after, before)
  }

  /** Removes all present events of the execution. Returns the last removed number. Rejects with `storage` if the removal cannot be stored. */
  async remove(execution_id: string): Promise<number> {
    const { last } = this.#numbers
    await this.#removal.remove(execution_id, last)
    return last
  }

  /** Resolves when every segment without a sidecar has been read, or found unreadable. */
  indexed(): Promise<void> {
    return this.#files.index.complete()
  }

  /** Resolves when removed events are out of all sealed files. */
  swept(): Promise<void> {
    return this.#removal.swept()
  }

  /** Writes and syncs all waiting events. */
  async close(): Promise<void> {
    this.#closed = true
    const isStored = await this.#writer.close()
    // Ends the index at once, because a sweep may wait for it.
    await Promise.all([this.#removal.close(), this.#files.index.end()])
    await this.#files.close()
    await this.#options.states?.close()
    if (isStored) await this.#numbers.end(storedIn(this.#files))
    this.#release(Number.POSITIVE_INFINITY)
  }

  #show(entries: readonly Entry[]): void {
    const { seq, us } = entries.at(-1)!
    this.#shown = { seq, us }
    for (const listener of this.#listeners) this.#hand(entries, listener)
    if (this.#waiting.length) this.#release(us)
  }

  /** Calls a listener. Its error does not end the writing. */
  #hand(entries: readonly Entry[], listener: OnShown): void {
    try {
      listener(entries)
    } catch (error) {
      this.#options.say(`one who listens to the event log failed: ${messageOf(error)}`)
    }
  }

  #release(us: number): void {
    const ready = this.#waiting.filter((one) => one.us <= us)
    this.#waiting = this.#waiting.filter((one) => one.us > us)
    for (const { done } of ready) done()
  }

  #tell(state: WriterState, reason: string): void {
    const { report } = this.#options
    if (state === 'failing') {
      report({ kind: 'storage', message: `the event log cannot be written, events are kept in memory only: ${reason}` })
      this.onNotStored()
    } else if (state === 'distrusted') {
      report({ kind: 'storage', message: `the event log goes on in a new file, for the card did not take what was written: ${reason}` })
    } else this.#tellLost(state)
  }

  /** Reports how many events were lost since the last report. */
  #tellLost(state: 'recovered' | 'overrun'): void {
    const { report, say } = this.#options
    const lost = this.lost - this.#reportedLost
    this.#reportedLost = this.lost
    const isAgain = state === 'recovered'
    if (lost && isAgain) report({ kind: 'storage', message: `the event log can be written again, but ${lost} events are not in it` })
    else if (lost) report({ kind: 'storage', message: `${lost} events are not in the log: more were fired than the card takes` })
    else if (isAgain) say('the event log can be written again; all events are in it')
  }
}

/** Reads the state that fits the log, and cuts events off the log that the state does not know. */
async function savedIn(
  files: LogFiles,
  states: States | undefined,
  { numbers, removed, report }: { numbers: SequenceNumbers; removed: number; report: Report },
): Promise<SavedStates> {
  const stored = storedIn(files)
  const mayCut = !numbers.isAfterOrderlyEnd
  const { ended } = numbers
  const end = () => ({ stored: storedIn(files), known: Math.max(storedIn(files), removed), ended })
  let saved = (await states?.load(end())) ?? nothingSaved
  const reached = Math.max(saved.synced, ended)
  if (reached > end().known) report({ kind: 'storage', message: olderLog(stored, reached) })
  if (saved.runs.size > 0 && mayCut && (await files.cutAtHole())) saved = await states!.load(end())
  const sound = [...saved.runs].flatMap(([id, { damage }]) => (damage === undefined ? id : []))
  for (const id of await files.cutAfter(saved.through, { executions: new Set(sound), mayCut }))
    saved.runs.get(id)!.damage = 'the log has events of it of which its state does not know'
  if (storedIn(files) < stored) await numbers.cut(storedIn(files))
  return saved
}

function olderLog(stored: number, reached: number): string {
  return `the event log ends with event ${stored}, and event ${reached} was in it before: an older log was put in its place, or its end is lost. Runs that were open go on from their own state; look for the events in between in a backup`
}

/** Returns the highest number in all segments, since the newest may be empty, or be the copy of an old one. */
function storedIn({ segments }: LogFiles): number {
  return Math.max(0, ...segments.map(({ last_seq }) => last_seq))
}
