// One operation or move under way: its record, its deadline, and how it can be cut short.

import { LabError } from '../errors.ts'
import { type Clock, sleep } from '../kit/clock.ts'
import { type TaskName, tasks } from './operations.ts'
import type { OperationRecord, OperationResult } from './records.ts'

/** How long an operation that was cut short may take to unwind before it is left behind. */
const unwind_ms = 2000

export class Run {
  readonly record: OperationRecord
  readonly #clock: Clock
  readonly #began: number
  readonly #time_scale: number
  readonly #abort = new AbortController()
  /** Why it was cut short. */
  cut: 'stopped' | 'stopping' | undefined
  /** What went wrong besides it and ended it, once that is known. */
  cause: Promise<LabError> | undefined
  /** What is said of its good end, in place of the table's words. */
  done: string | undefined

  /** `time_scale` is how many seconds of the instrument go by in one of ours. */
  constructor(record: OperationRecord, { clock, time_scale }: { clock: Clock; time_scale: number }) {
    this.record = record
    this.#clock = clock
    this.#time_scale = time_scale
    this.#began = clock.now()
  }

  get name(): TaskName {
    return this.record.operation as TaskName
  }

  /** Aborted when the operation is to end before its time. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** Of the instrument's seconds, as far as can be said. */
  get secondsLeft(): number {
    const gone = ((this.#clock.now() - this.#began) / 1000) * this.#time_scale
    const left = this.#duration + tasks[this.name].typical_seconds - gone
    return Math.round(Math.max(0, left) * 1000) / 1000
  }

  /** Ends it before its time. What comes of it after a stop is never a success. */
  cutShort(why: 'stopped' | 'stopping'): void {
    this.cut = why
    this.#abort.abort(new LabError(why, why === 'stopped' ? `${this.record.device_id} was stopped` : 'the service is stopping'))
  }

  /** Ends it for what went wrong elsewhere, which is what comes of it. */
  endFor(error: unknown, cause: Promise<LabError>): void {
    this.cause ??= cause
    this.#abort.abort(error)
  }

  /**
   * Waits for the driver, as long as the operation may take; or, where somebody else looks after that, for ever. Rejects with what
   * went wrong, and with the reason of an abort.
   */
  async end(driving: Promise<void>, deadline: 'own' | 'caller' = 'own'): Promise<void> {
    const limit_s = this.#duration + tasks[this.name].margin_seconds
    const late = () => this.#abort.abort(new LabError('no_reply', `${this.name} did not end within ${limit_s} s`))
    const cancelDeadline = deadline === 'own' ? this.#clock.after(limit_s * 1000, late) : () => {}
    try {
      await Promise.race([driving, this.#aborted(driving)])
      this.signal.throwIfAborted()
    } finally {
      cancelDeadline()
    }
  }

  /** What it came to, once it has ended. */
  result(): OperationResult {
    if (this.cut === 'stopped') return { success: false, message: 'stopped' }
    const done = tasks[this.name].done as (params: object) => string
    return { success: true, message: `${this.record.device_id}: ${this.done ?? done(this.record.params)}` }
  }

  get #duration(): number {
    const { duration } = this.record.params
    return typeof duration === 'number' ? duration : 0
  }

  /** Rejects a moment after an abort, by when the driver has let go. */
  #aborted(driving: Promise<void>): Promise<never> {
    return new Promise((_, reject) => {
      this.signal.addEventListener('abort', () => {
        const unwound = driving.catch(() => undefined)
        void Promise.race([unwound, sleep(this.#clock, unwind_ms)]).then(() => reject(this.signal.reason))
      })
    })
  }
}
