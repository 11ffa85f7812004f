// An operation or move under way: its record, its deadline, and how it can be cut short.

import { LabError, messageOf } from '../errors.ts'
import { type Clock, sleep } from '../kit/clock.ts'
import { patient } from '../kit/patient.ts'
import type { EndedEarly, Progress } from './device.ts'
import type { OperationRecord, OperationResult } from './records.ts'
import type { Task } from './task.ts'

/** How long an operation that was cut short may take to unwind before it is left behind. */
const unwind_ms = 2000

type OperationRunOptions = { clock: Clock; time_scale: number; task: Task; execution_id: string | null; abort: AbortController }

export class OperationRun {
  readonly record: OperationRecord
  readonly #clock: Clock
  readonly #began: number
  readonly #time_scale: number
  readonly #task: Task
  readonly #abort: AbortController
  /** Called when the operation is to end before its time. */
  #onAbort = () => {}
  /** Whether the driver has begun with it. */
  #isDriven = false
  /** Asks the instrument to end it early. */
  #end: (() => Promise<EndedEarly>) | undefined
  /** How much of the duration was done when the instrument ended it early, in seconds. */
  #endedAfter: number | undefined
  /** The reason why it was cut short. */
  cut: 'stopped' | 'stopping' | undefined
  /** The error from elsewhere that ended the run, once there is one. */
  cause: Promise<LabError> | undefined
  /** The execution that asked for it, if one did. */
  readonly execution_id: string | null
  /** The message for a good end, in place of the table's words. */
  done: string | undefined
  /** The values that came of it, where there are any. */
  data: unknown
  /** How far it says that it is. */
  progress: Progress | null = null

  /** `abort` is a controller that was never aborted. `time_scale` is how many seconds of the instrument go by in one of ours. */
  constructor(record: OperationRecord, { clock, time_scale, task, execution_id, abort }: OperationRunOptions) {
    this.record = record
    this.execution_id = execution_id
    this.#abort = abort
    this.#clock = clock
    this.#time_scale = time_scale
    this.#task = task
    this.#began = clock.now()
  }

  get name(): string {
    return this.record.operation
  }

  /** Seconds after which it is given up. */
  get limit_s(): number {
    return this.#task.asked_s + this.#task.margin_s
  }

  /** Aborted when the operation is to end before its time. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** Whether it is being ended early. */
  get ending(): boolean {
    return this.#end !== undefined
  }

  /** Whether it has come to its end, and before its time because somebody asked for that. */
  get endedEarly(): boolean {
    return this.#endedAfter !== undefined && this.cut === undefined
  }

  /** Has the instrument end it early; `end` is called as soon as the driver has begun with it. When that fails, it goes on and says so. */
  endEarly(end: () => Promise<EndedEarly>): void {
    this.#end = end
    this.record.notice = 'it is being ended early'
    if (this.#isDriven) void this.#askToEnd(end)
  }

  /** From here on the driver is at work on it. */
  isDriven(): void {
    this.#isDriven = true
    if (this.#end) void this.#askToEnd(this.#end)
  }

  async #askToEnd(end: () => Promise<EndedEarly>): Promise<void> {
    try {
      const { seconds_left } = await end()
      this.#endedAfter = Math.max(0, Math.round((this.#task.asked_s - seconds_left) * 10) / 10)
    } catch (error) {
      this.#end = undefined
      this.record.notice = `it was asked to end early, which failed, so it goes on: ${messageOf(error)}`
    }
  }

  /** The time that is left, in seconds of the instrument, as far as it is known. */
  get secondsLeft(): number {
    const gone = ((this.#clock.now() - this.#began) / 1000) * this.#time_scale
    const { asked_s, usual_s } = this.#task
    // An operation that is being ended early does not last as long as its caller asked.
    const lasts_s = this.#endedAfter ?? (this.ending ? Math.min(gone, asked_s) : asked_s)
    const remaining = lasts_s + usual_s - gone
    return Math.round(Math.max(0, remaining) * 1000) / 1000
  }

  /** Ends it before its time. What comes of it after a stop is never a success. */
  cutShort(why: 'stopped' | 'stopping'): void {
    this.cut = why
    this.#abortWith(new LabError(why, why === 'stopped' ? `${this.record.device_id} was stopped` : 'the service is stopping'))
  }

  /** Ends it for what went wrong elsewhere, which is what comes of it. */
  endFor(error: unknown, cause: Promise<LabError>): void {
    this.cause ??= cause
    this.#abortWith(error)
  }

  #abortWith(reason: unknown): void {
    this.#abort.abort(reason)
    this.#onAbort()
  }

  /**
   * Waits for the driver, as long as the operation may take; or, where somebody else looks after that, for ever. Rejects with what
   * went wrong, and with the reason of an abort.
   */
  async end(driving: Promise<void>, deadline: 'own' | 'caller' = 'own'): Promise<void> {
    const { limit_s } = this
    const late = () =>
      this.#abortWith(
        new LabError('no_reply', `${this.name} did not end within ${Number(limit_s.toFixed(3))} s; see what it does, then initialize`),
      )
    const cancelDeadline = deadline === 'own' ? patient(this.#clock).after(limit_s * 1000, late) : () => {}
    try {
      await this.#unlessAborted(driving)
      this.signal.throwIfAborted()
    } finally {
      cancelDeadline()
    }
  }

  /** The result, once the run has ended. */
  result(): OperationResult {
    if (this.cut === 'stopped') return { success: false, message: 'stopped' }
    if (this.#endedAfter !== undefined) {
      const message = `${this.record.device_id}: ended after ${this.#endedAfter} s of ${this.#task.asked_s} s`
      return { success: true, message }
    }
    return { success: true, message: `${this.record.device_id}: ${this.done ?? this.#task.done(this.record.params)}` }
  }

  /** Rejects a moment after an abort, by when the driver has let go. A listener of the signal would cost more than all the rest. */
  #unlessAborted(driving: Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      driving.then(resolve, reject)
      this.#onAbort = () => {
        const unwound = driving.catch(() => undefined)
        void Promise.race([unwound, sleep(this.#clock, unwind_ms)]).then(() => reject(this.signal.reason))
      }
    })
  }
}
