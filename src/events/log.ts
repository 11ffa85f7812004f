// The event log on the card: every event once, in the order of emission, and shown only when it is in the file.

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

/** While the log cannot be written, whoever makes events at will rests so long between two of its turns. */
const slow_ms = 50

type LogOptions = {
  /** The folder of the segments alone. */
  folder: string
  /** The file that outlasts the folder: which sequence numbers were given. */
  numbers: string
  segment_bytes: number
  commit_ms: number
  /** At most so many events are shown in one turn of the event loop. */
  burst: number
  clock: Clock
  wall: Wall
  report: Report
  /** For what is no trouble. */
  say(message: string): void
  /** Stands in place of the file system's own, for trying what a failing card does. */
  open?: OpenFile
  /** The state of runs, which is written in one transaction with their events. */
  states?: States
}

/** Hears of entries in the order of their numbers, once each, when they may be seen. */
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
  /** Called when it cannot be written any more. */
  onNotStored: () => void = () => {}
  /** The state of the runs that were open when the service ended. */
  readonly saved: SavedStates

  /**
   * Reads the sidecars, the last segment, and the state of the runs; segments without a sidecar are read later. Afterwards log and state tell
   * of the same. What is damaged or torn is reported, and prevents nothing.
   */
  static async open(options: LogOptions): Promise<EventLog> {
    const { folder, segment_bytes, open, report, states } = options
    const onDamage = (message: string) => report({ kind: 'storage', message })
    const onLost = (after: number, before: number) => numbers.dropped(after, before)
    const files = new LogFiles({ folder, segment_bytes, onDamage, onLost, ...(open && { open }), ...(states && { first: states }) })
    await mustBeFolder(folder, report)
    await files.load()
    const removal = await LogRemoval.open(files, report)
    // An event with a number that was removed would be hidden.
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

  /** The newest event's time, in microseconds; 0 while there is none. */
  get newest_us(): number {
    return this.#newest_us
  }

  /** The newest event that anybody can have seen. */
  get shown(): { seq: number; us: number } {
    return this.#shown
  }

  /** False where events may have been shown that are lost: a crash or a power cut came before this start. */
  get isAfterOrderlyEnd(): boolean {
    return this.#numbers.isAfterOrderlyEnd
  }

  /** Whether a reader who has seen the event of this number, and goes on with the log, misses events that are lost. */
  isGapBehind(seq: number): boolean {
    return seq > this.#shown.seq || this.#numbers.isGapBehind(seq)
  }

  /** The reason why it cannot be written now; undefined when it can. */
  get failing(): string | undefined {
    return this.#writer.failing
  }

  /** Events that nobody will find here, since the card could not be written for too long. */
  get lost(): number {
    return this.#writer.lost
  }

  /** Events that wait to be written. */
  get waiting(): number {
    return this.#writer.waiting
  }

  /**
   * Undefined while events may be made at will; else resolves when those that wait are written. So what has to be on the card before something
   * moves waits behind one burst of the events of others, and the one that is being written. While the log cannot be written it resolves after
   * a while: nothing stands still for that, and events that are made at will do not push those of others out of memory so soon.
   */
  backpressure(): Promise<void> | undefined {
    if (this.waiting < this.#options.burst) return undefined
    return this.failing === undefined ? this.until() : sleep(this.#options.clock, slow_ms)
  }

  /** On the card. */
  get bytes(): number {
    return this.#files.bytes
  }

  /** Returns the space of its file system, in bytes. */
  async room(): Promise<{ free: number; total: number }> {
    const { bavail, blocks, bsize } = await statfs(this.#files.folder)
    return { free: bavail * bsize, total: blocks * bsize }
  }

  /** Calls with entries once they may be seen. The answer ends it. */
  onShown(listener: OnShown): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** `now_ms` is monotonic. What comes after `close` is not taken any more. */
  add(event: RuntimeEvent, us: number, now_ms: number): void {
    if (this.#closed) return
    this.#newest_us = us
    const mono_us = Math.round(now_ms * 1000)
    this.#writer.add({ event, us, seq: this.#numbers.next(), mono_us, json: undefined, bytes: undefined, from: 0, to: 0, shown: false })
  }

  /**
   * Resolves when all up to that time (µs) is in the file, or in memory while that cannot be written; all that was added, if not given.
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

  /** How much an answer to the query would have to read, in bytes, as far as can be known without reading: never too little by much. */
  bytesToRead(query: Query): number {
    return bytesToRead(this.#files.segments, query)
  }

  /** The events that may be seen now, as bytes. One read is under way at a time, and only when the next piece is asked for. */
  read(query: Query, form: Form): AsyncGenerator<Chunk> {
    const { removed } = this.#removal
    return readLog(this.#files, query, form, { through: this.#shown.seq, tail: this.#writer.tail, removed })
  }

  /**
   * Returns the CRC of the line with this number as the file has it, eight hexadecimal digits; also where the line was removed, if it was the
   * newest one that was cut out of its file, or the one that `keepCrcOf` named. `gone` where the log had a line of this number, which was
   * removed, or which a crash, a power cut or the card took.
   */
  async crcOf(seq: number): Promise<string | 'gone' | undefined> {
    const everything = { through: this.#shown.seq, tail: [], removed: new Map() }
    for await (const { bytes } of readLog(this.#files, { after_seq: seq - 1, limit: 1 }, 'lines', everything))
      if (bytes.length && seqOf(bytes, { start: 0, end: bytes.length }) === seq) return crcAt(bytes, 0)
    const wasHere = (seq >= 1 && seq <= this.#shown.seq) || this.#numbers.isLost(seq)
    return this.#removal.crcOf(seq) ?? (wasHere ? 'gone' : undefined)
  }

  /** Keeps the CRC of this line when the line is removed. One line is kept so, the last that was named. */
  keepCrcOf(seq: number): void {
    this.#removal.keptSeq = seq
  }

  /** Returns the number behind which the newest `count` events stand; fewer do where some were removed or lost. */
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

  /** Counts the events between these two numbers, whether they are still here or not. */
  givenBetween(after: number, before: number): number {
    return this.#numbers.givenBetween(after, before)
  }

  /** Takes out all that the execution did so far. Returns the last number that is taken out. Rejects with `storage` when that cannot be written down. */
  async remove(execution_id: string): Promise<number> {
    const { last } = this.#numbers
    await this.#removal.remove(execution_id, last)
    return last
  }

  /** Resolves when every segment without a sidecar has been read whole, or cannot be. */
  indexed(): Promise<void> {
    return this.#files.index.complete()
  }

  /** Resolves when what was removed is out of the files that are not written to any more. */
  swept(): Promise<void> {
    return this.#removal.swept()
  }

  /** Writes what waits, and syncs it. */
  async close(): Promise<void> {
    this.#closed = true
    const isStored = await this.#writer.close()
    // A sweep that waits for the index must not wait for all of it.
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

  /** Calls a listener. Its error does not stop the writing. */
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

/** Reads the state that fits the log, and cuts off the log what the state does not know of. */
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

/** The highest number in all segments: the newest may be empty, or an old one that was copied there. */
function storedIn({ segments }: LogFiles): number {
  return Math.max(0, ...segments.map(({ last_seq }) => last_seq))
}
