// Writes events into the log: one write at a time, and waiting events go with the next one. An event is shown once it is in the file.

import { LabError, messageOf } from '../errors.ts'
import type { Clock } from '../kit/clock.ts'
import { storageError } from '../kit/durable.ts'
import { isSyncedFirst } from './event.ts'
import { type Batch, type Entry, LogBatches } from './log_batches.ts'
import type { LogFiles } from './log_files.ts'
import type { Noted } from './log_segment.ts'
import type { Turn } from './states.ts'

type WriterOptions = {
  files: LogFiles
  clock: Clock
  /** Written events are on the disk within this time. */
  commit_ms: number
  /** The most events that are written and shown at once. */
  burst: number
  /** The number of the last event in the log. */
  stored: number
  /** Identifies this start of the service in the lines. */
  boot: string
  /** Whether the system clock is synchronized. */
  inStep(): boolean
  /** Called with the events that may be shown from now on, in order. */
  show(entries: readonly Entry[]): void
  /** Called when the waiting events with numbers between these two are lost. */
  dropped(after: number, before: number): void
  /** Called before the next attempt to write a log that could not be written. */
  beforeRetry(): Promise<void>
  onState(state: WriterState, reason: string): void
  /** The state of runs, which is written in one transaction with the events of a turn. */
  states?: {
    readonly isUsed: boolean
    readonly isDirty: boolean
    readonly isDistrusted: boolean
    write(turn: Turn): Promise<boolean>
  }
}

/**
 * `failing`: events are only in memory. `recovered`: they are in the file after all. `distrusted`: a sync failed, and a new file begins. `overrun`:
 * too many events waited, and some were lost; reported when that begins, and again when the queue is empty.
 */
export type WriterState = 'failing' | 'recovered' | 'distrusted' | 'overrun'

/** A caller that waits until everything is on the disk. */
type PersistRequest = { done(): void; failed(error: unknown): void }

/** The number of newest events that are kept while the log cannot be written. */
const memoryTail = 10_000
/** The most events that may wait for a slow disk. Beyond that the oldest is lost. */
const mostWaiting = 100_000
const retry_ms = 1000

export class LogWriter {
  readonly #options: WriterOptions
  readonly #queue: Entry[] = []
  #inFlight: Entry[] = []
  /** The next batch, prepared while the previous one is being written, under load. */
  #prepared: Batch | undefined
  readonly #batches: LogBatches
  #failing: string | undefined
  #mayRetry = false
  #lost = 0
  /** Whether events were lost since the queue was last empty. */
  #isOverrun = false
  #syncFailures = 0
  #reportedError: unknown
  #running: Promise<void> | undefined
  #cancelSync: (() => void) | undefined
  #cancelRetry: (() => void) | undefined
  /** Since when the file has unsynced bytes. */
  #unsyncedSince: number | undefined
  #closed = false
  /** The number of the last event of the turn whose state is in the file. */
  #through: number
  /** Whether state was written in this turn, so that its events are shown only when all of them are in the file. */
  #isTransaction = false
  /** Events of this turn that are in the file and not shown yet. */
  #written: Pick<Batch, 'entries' | 'notes'>[] = []
  /** The callers of `persist` since the present turn began; `#asked` are the earlier ones. */
  #asking: PersistRequest[] = []
  #asked: PersistRequest[] = []

  constructor(options: WriterOptions) {
    this.#options = options
    this.#batches = new LogBatches(options)
    this.#through = options.stored
  }

  /** The reason why the log cannot be written; undefined while it can. */
  get failing(): string | undefined {
    return this.#failing
  }

  /** The number of events that were lost because the log could not be written for too long. */
  get lost(): number {
    return this.#lost
  }

  /** The number of events that wait to be written. */
  get waiting(): number {
    return this.#queue.length + (this.#prepared?.entries.length ?? 0)
  }

  /** The shown events that are not in the file. */
  get tail(): readonly Entry[] {
    return [...this.#inFlight, ...(this.#prepared?.entries ?? []), ...this.#queue].filter(({ shown }) => shown)
  }

  add(entry: Entry): void {
    if (this.#closed) return
    this.#queue.push(entry)
    this.#bound()
    this.#run()
  }

  /** Writes the changed state at the end of this turn. */
  stateChanged(): void {
    this.#run()
  }

  /** Resolves when all state and events so far are on the disk. Rejects with `storage`. */
  persist(): Promise<void> {
    return new Promise((done, failed) => {
      if (this.#closed) return failed(new LabError('stopping', 'the service stops'))
      this.#asking.push({ done, failed })
      this.#mayRetry = true
      this.#run()
    })
  }

  /** Writes and syncs what waits, as far as possible. Returns whether all of it is on the disk. */
  async close(): Promise<boolean> {
    this.#mayRetry = true
    this.#run()
    while (this.#running) await this.#running
    this.#closed = true
    this.#cancelSync?.()
    this.#cancelRetry?.()
    const isSynced = await this.#options.files.sync().then(
      () => true,
      () => false,
    )
    return isSynced && !this.#failing && this.waiting === 0
  }

  #run(): void {
    this.#running ??= new Promise<void>((resolve) => setImmediate(resolve))
      .then(() => this.#drain())
      .finally(() => {
        this.#running = undefined
        if (this.#hasWork()) this.#run()
      })
  }

  #hasWork(): boolean {
    if (this.#prepared) return true
    const isWaiting = this.#queue.length > 0 || this.#asking.length > 0 || this.#options.states?.isDirty === true
    const isUnshown = this.#queue.length > 0 && !this.#queue.at(-1)!.shown
    return this.#failing ? isUnshown || (isWaiting && this.#mayRetry) : isWaiting
  }

  async #drain(): Promise<void> {
    while (this.#hasWork()) {
      if (this.#failing && !this.#mayRetry) await this.#showFromMemory()
      else await this.#writeBatch()
    }
  }

  async #writeBatch(): Promise<void> {
    this.#mayRetry = false
    let batch: Batch | undefined
    try {
      if (this.#failing) await this.#options.beforeRetry()
      await this.#beginTurn()
      batch = this.#prepared ?? this.#batches.next(this.#queue, this.#through)
      this.#prepared = undefined
      this.#inFlight = batch.entries
      const appended = batch.entries.length > 0 && this.#options.files.append(batch.bytes, batch.notes)
      if (!this.#failing && this.#isMoreThanBurst()) this.#prepared = this.#batches.next(this.#queue, this.#through)
      await appended
    } catch (error) {
      return this.#fail(batch?.entries ?? [], error)
    } finally {
      this.#inFlight = []
    }
    this.#recover()
    if (this.waiting === 0) this.#endOverrun()
    this.#written.push(batch)
    if (this.#isTurnWritten() || !this.#isTransaction) await this.#showWritten()
    if (this.#isTurnWritten()) this.#syncForAsked()
  }

  /** Begins to write the next turn, its state first, when the previous one is written. If the written state was lost, writes the turn again. */
  async #beginTurn(): Promise<void> {
    const { states } = this.#options
    if (!this.#isTurnWritten() && (this.#prepared || !states?.isDistrusted)) return
    // Between two turns, when the state is consistent with the events.
    if (states?.isUsed) await new Promise(setImmediate)
    const asked = this.#asking
    const from = this.#queue[0]?.seq ?? this.#through
    const through = Math.max(this.#through, this.#queue.at(-1)?.seq ?? 0)
    this.#asking = []
    this.#asked.push(...asked)
    this.#isTransaction = (await states?.write({ from, through, executions: executionsOf(this.#queue, through) })) === true
    this.#through = through
  }

  #isTurnWritten(): boolean {
    return !this.#prepared && (this.#queue[0]?.seq ?? Number.POSITIVE_INFINITY) > this.#through
  }

  #isMoreThanBurst(): boolean {
    const { burst } = this.#options
    return (this.#queue[burst - 1]?.seq ?? Number.POSITIVE_INFINITY) <= this.#through
  }

  /** Shows what is in the file, after a sync if one is required. */
  async #showWritten(): Promise<void> {
    const written = this.#written
    this.#written = []
    const entries = written.length === 1 ? written[0]!.entries : written.flatMap(({ entries }) => entries)
    const held = entries.findIndex(({ event, shown }) => !shown && isSyncedFirst(event))
    this.#show(held === -1 ? entries : entries.slice(0, held))
    if (held !== -1) await this.#showSynced(entries.slice(held), lengthOf(written.flatMap(({ notes }) => notes).slice(held)))
    else if (entries.length > 0 || this.#isTransaction) this.#syncSoon()
  }

  #syncForAsked(): void {
    const asked = this.#asked
    if (asked.length === 0) return
    this.#asked = []
    this.#options.files.sync().then(
      () => {
        for (const { done } of asked) done()
      },
      (error) => {
        this.#tellSyncFailed(error)
        this.#refuse(asked, error)
      },
    )
  }

  #refuse(asked: readonly PersistRequest[], error: unknown): void {
    const refusal = error instanceof LabError ? error : storageError('the state of the runs was not written', error)
    for (const { failed } of asked) failed(refusal)
  }

  async #showSynced(entries: Entry[], bytes: number): Promise<void> {
    try {
      await this.#options.files.sync()
    } catch (error) {
      this.#options.files.forget(bytes)
      if (this.#syncFailures++ > 0) return this.#fail(entries, error)
      this.#putBack(entries)
      return this.#tellSyncFailed(error)
    }
    this.#syncFailures = 0
    this.#show(entries)
  }

  #show(entries: readonly Entry[]): void {
    const fresh = entries.filter(({ shown }) => !shown)
    for (const entry of fresh) entry.shown = true
    if (fresh.length) this.#options.show(fresh)
  }

  /** Shows events from memory while the log cannot be written, one burst at a time. */
  async #showFromMemory(): Promise<void> {
    const first = this.#queue.findIndex(({ shown }) => !shown)
    this.#show(this.#queue.slice(first, first + this.#options.burst))
    await new Promise(setImmediate)
  }

  #putBack(entries: Entry[]): void {
    this.#queue.unshift(...entries, ...(this.#prepared?.entries ?? []))
    this.#prepared = undefined
  }

  #fail(entries: Entry[], error: unknown): void {
    this.#putBack(entries)
    this.#show(this.#written.flatMap(({ entries }) => entries))
    this.#written = []
    this.#refuse([...this.#asked.splice(0), ...this.#asking.splice(0)], error)
    const first = !this.#failing
    this.#failing = messageOf(error)
    this.#cancelRetry?.()
    if (!this.#closed) this.#cancelRetry = this.#options.clock.after(retry_ms, () => this.#retry())
    this.#bound()
    if (first) this.#options.onState('failing', this.#failing)
  }

  #retry(): void {
    this.#mayRetry = true
    this.#run()
  }

  #recover(): void {
    if (!this.#failing) return
    const reason = this.#failing
    this.#failing = undefined
    this.#syncFailures = 0
    this.#options.onState('recovered', reason)
  }

  #bound(): void {
    const over = this.#queue.length - (this.#failing ? memoryTail : mostWaiting)
    if (over <= 0) return
    const dropped = this.#queue.splice(0, over)
    this.#options.dropped(dropped[0]!.seq - 1, dropped.at(-1)!.seq + 1)
    this.#lost += over
    if (!this.#failing) this.#beginOverrun()
  }

  /** Reports the overrun in a later turn, because the report emits an event, and this may run while one is emitted. */
  #beginOverrun(): void {
    if (this.#isOverrun) return
    this.#isOverrun = true
    setImmediate(() => this.#options.onState('overrun', ''))
  }

  #endOverrun(): void {
    if (!this.#isOverrun) return
    this.#isOverrun = false
    this.#options.onState('overrun', '')
  }

  #syncSoon(): void {
    const { clock, commit_ms } = this.#options
    this.#unsyncedSince ??= clock.now()
    this.#cancelSync ??= clock.after(Math.max(0, this.#unsyncedSince + commit_ms - clock.now()), () => this.#commit())
  }

  async #commit(): Promise<void> {
    this.#unsyncedSince = undefined
    await this.#options.files.sync().catch((error) => this.#tellSyncFailed(error))
    this.#cancelSync = undefined
    if (this.#unsyncedSince !== undefined && !this.#closed) this.#syncSoon()
  }

  /** Reports a failed sync once: several callers may share one sync, and so its error. */
  #tellSyncFailed(error: unknown): void {
    if (error === this.#reportedError) return
    this.#reportedError = error
    this.#options.onState('distrusted', messageOf(error))
  }
}

function lengthOf(lines: readonly Noted[]): number {
  return lines.reduce((sum, { from, to }) => sum + to - from, 0)
}

function* executionsOf(queue: readonly Entry[], through: number): Generator<string> {
  for (const { seq, event } of queue) if (seq <= through) yield event.execution_id
}
