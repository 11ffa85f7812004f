// Writes a file behind its callers: all changes so far in one write, one write at a time, and again after a write that failed.

import type { Clock } from './clock.ts'
import { SerialQueue } from './serial_queue.ts'

type Options = {
  clock: Clock
  /** Writes all that waits, if anything does or `isAgain`, after a failure. Where it rejects, all that it could not write waits on. */
  write(isAgain: boolean): Promise<unknown>
  /** Is called for the first of several failures in a row. */
  onFailure?(error: unknown): void
  /** The pause after a write, before one that nobody waits for. Unit: ms. */
  rest_ms?: number
}

/** A write that failed is repeated after this time, unless somebody asks for one sooner. */
const retry_ms = 1000

export class WriteBehind {
  readonly #options: Options
  readonly #queue = new SerialQueue(Number.POSITIVE_INFINITY)
  /** The write that was asked for and has not begun. */
  #next: Promise<void> | undefined
  #cancel: (() => void) | undefined
  #restUntil = Number.NEGATIVE_INFINITY
  /** Whether a write was asked for while the one before was under way. */
  #isWanted = false
  #isWriting = false
  #hasFailed = false
  #isClosed = false

  constructor(options: Options) {
    this.#options = options
  }

  /** Begins a write after so many milliseconds; without them, when the pause after the write before is over. Nobody waits for it. */
  soon(in_ms?: number): void {
    if (in_ms === undefined && this.#isWriting) this.#isWanted = true
    else this.#later(in_ms ?? this.#restUntil - this.#options.clock.now())
  }

  /** Resolves when all that waits now is written. Rejects as `write` does; then it is tried again. */
  now(): Promise<void> {
    this.#next ??= this.#queue.run(() => this.#write())
    return this.#next
  }

  /** Resolves when all that waits now is written, or was refused. */
  async settled(): Promise<void> {
    await this.now().catch(() => undefined)
  }

  /** Runs work on the file while nothing is written. */
  run<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#queue.run(work)
  }

  /** Writes a last time what waits, and nothing afterwards; then calls `end`. */
  async close(end: () => Promise<void>): Promise<void> {
    await this.settled()
    this.#isClosed = true
    this.#cancel?.()
    await this.run(end)
  }

  #later(in_ms: number): void {
    if (in_ms <= 0) void this.settled()
    else this.#cancel ??= this.#options.clock.after(in_ms, () => void this.settled())
  }

  async #write(): Promise<void> {
    this.#next = undefined
    this.#cancel?.()
    this.#cancel = undefined
    if (this.#isClosed) return
    const { clock, write, onFailure, rest_ms = 0 } = this.#options
    this.#isWriting = true
    this.#isWanted = false
    try {
      await write(this.#hasFailed)
      this.#hasFailed = false
    } catch (error) {
      this.#later(retry_ms)
      if (!this.#hasFailed) onFailure?.(error)
      this.#hasFailed = true
      throw error
    } finally {
      this.#isWriting = false
      this.#restUntil = clock.now() + rest_ms
      if (this.#isWanted) this.soon()
    }
  }
}
