// The way of events into the log: one write in flight, what waits goes with the next; shown once it is in the file.

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
  /** Within this time what is written is on the card. */
  commit_ms: number
  /** At most so many events are written and shown at once. */
  burst: number
  /** The number of the last event in the log. */
  stored: number
  /** Names this start of the service in the lines. */
  boot: string
  /** Whether the wall clock is in step. */
  inStep(): boolean
  /** Hands over what may be seen from now on, in order. */
  show(entries: readonly Entry[]): void
  /** The events with numbers between these two wait no longer: they are lost. */
  dropped(after: number, before: number): void
  /** Called when a log that could not be written is tried again, before anything is written. */
  beforeRetry(): Promise<void>
  onState(state: WriterState, reason: string): void
  /** The state that is written in one transaction with the events of a turn. */
  states?: {
    readonly isUsed: boolean
    readonly isDirty: boolean
    readonly isDistrusted: boolean
    write(turn: Turn): Promise<boolean>
  }
}

/**
 * `failing`: events are in memory only. `recovered`: they are in the file after all. `distrusted`: a sync failed, another file is
 * begun. `overrun`: so many waited that some were lost; reported when that begins, and again when nothing waits any more.
 */
export type WriterState = 'failing' | 'recovered' | 'distrusted' | 'overrun'

/** A caller who waits until all is on the card. */
type PersistRequest = { done(): void; failed(error: unknown): void }

/** Newest events that are kept while the log cannot be written. */
const memoryTail = 10_000
/** The number of events that may wait for a slow card; with more the oldest is lost. */
const mostWaiting = 100_000
const retry_ms = 1000

export class LogWriter {
  readonly #options: WriterOptions
  readonly #queue: Entry[] = []
  #inFlight: Entry[] = []
  /** Made ready while the one before is being written, when there is much to write. */
  #prepared: Batch | undefined
  readonly #batches: LogBatches
  #failing: string | undefined
  #mayRetry = false
  #lost = 0
  /** Some were lost since the queue was last empty. */
  #isOverrun = false
  #syncFailures = 0
  #reportedError: unknown
  #running: Promise<void> | undefined
  #cancelSync: (() => void) | undefined
  #cancelRetry: (() => void) | undefined
  /** Since when there is something in the file of which no sync knows. */
  #unsyncedSince: number | undefined
  #closed = false
  /** The number of the last event whose turn has begun to be written: its state is in the file. */
  #through: number
  /** Whether state was written in this turn: then its events are shown when all of them are in the file. */
  #isTransaction = false
  /** Events of this turn that are in the file and not shown. */
  #written: Pick<Batch, 'entries' | 'notes'>[] = []
  /** The callers who asked since the turn under way began, and those who asked before. */
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

  /** Events that were lost because the log could not be written for too long. */
  get lost(): number {
    return this.#lost
  }

  /** Events that wait to be written. */
  get waiting(): number {
    return this.#queue.length + (this.#prepared?.entries.length ?? 0)
  }

  /** The events that can be seen though they are not in the file. */
  get tail(): readonly Entry[] {
    return [...this.#inFlight, ...(this.#prepared?.entries ?? []), ...this.#queue].filter(({ shown }) => shown)
  }

  add(entry: Entry): void {
    if (this.#closed) return
    this.#queue.push(entry)
    this.#bound()
    this.#run()
  }

  /** Writes the state that has changed, at the end of this turn. */
  stateChanged(): void {
    this.#run()
  }

  /** Resolves when all that has happened so far, state and events, is on the card. Rejects with `storage`. */
  persist(): Promise<void> {
    return new Promise((done, failed) => {
      if (this.#closed) return failed(new LabError('stopping', 'the service stops'))
      this.#asking.push({ done, failed })
      this.#mayRetry = true
      this.#run()
    })
  }

  /** Writes what waits and syncs it, as far as that is possible. Returns whether all of it is on the card. */
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

  /** Begins to write another turn when all of the one before is written: its state comes first. Where that is lost, the turn begins anew. */
  async #beginTurn(): Promise<void> {
    const { states } = this.#options
    if (!this.#isTurnWritten() && (this.#prepared || !states?.isDistrusted)) return
    // Between two turns, when the state is whole and fits the events.
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

  /** Shows what is in the file; first synced, as far as that is wanted. */
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
    const refusal = error instanceof LabError ? error : storageError('what the runs are about to do was not written', error)
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

  /** While the log cannot be written, events are shown from memory, a burst at a time. */
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

  /** Reports the overrun in a later turn, for the report fires an event, and this may be in the middle of firing one. */
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

  /** Runs one sync at a time; a second caller shares the one that is under way. */
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
