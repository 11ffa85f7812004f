// An operation or move under way: its record, its deadline, and its early end.

import { LabError, messageOf } from '../errors.ts'
import { type Clock, sleep } from '../kit/clock.ts'
import { patient } from '../kit/patient.ts'
import type { EndedEarly, Progress } from './device.ts'
import { Hold } from './hold.ts'
import type { OperationRecord, OperationResult } from './records.ts'
import type { Task } from './task.ts'

/** The time for the driver to unwind an operation that was cut short, before it is abandoned. */
const unwind_ms = 2000
/** The time for a held operation to end after it was let go. */
const ends_ms = 2000

/** `by` is the id of the caller's key; null in a run. */
type OperationRunOptions = {
  clock: Clock
  time_scale: number
  task: Task
  execution_id: string | null
  by: string | null
  abort: AbortController
}

export class OperationRun {
  readonly record: OperationRecord
  readonly #clock: Clock
  readonly #began: number
  readonly #time_scale: number
  readonly #task: Task
  readonly #abort: AbortController
  /** Called when the operation has to end before its time. */
  #onAbort = () => {}
  /** Whether the driver has begun the operation. */
  #isDriven = false
  /** Asks the instrument to end it early. */
  #end: (() => Promise<EndedEarly>) | undefined
  /** The hold of its caller, if it lasts only while that is renewed. */
  #hold: Hold | undefined
  #cancelLateEnd = () => {}
  /** The reason why a held operation was ended, in words. */
  #why = 'its caller ended it'
  /** The seconds of the duration that were done when the instrument ended it early. */
  #endedAfter: number | undefined
  /** Whether a stop or the end of the service cut it short. */
  cut: 'stopped' | 'stopping' | undefined
  /** The outside error that ended the operation, if one did. */
  cause: Promise<LabError> | undefined
  /** The execution that requested it, if one did. */
  readonly execution_id: string | null
  /** The id of the key that requested it; null if a run did. */
  readonly by: string | null
  /** The message for a good end, instead of the table's. */
  done: string | undefined
  /** The values that it gave, if any. */
  data: unknown
  /** The progress that the device reported last. */
  progress: Progress | null = null

  /** `abort` is a controller that was never aborted. `time_scale` is the number of the instrument's seconds in one real second. */
  constructor(record: OperationRecord, { clock, time_scale, task, execution_id, by, abort }: OperationRunOptions) {
    this.record = record
    this.by = by
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

  /** Seconds after which the operation is given up. */
  get limit_s(): number {
    return this.#task.asked_s + this.#task.margin_s
  }

  /** Aborted when the operation has to end before its time. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** Whether it is being ended early. */
  get ending(): boolean {
    return this.#end !== undefined
  }

  /** Whether it lasts only while its caller renews it. */
  get isHeld(): boolean {
    return this.#hold !== undefined
  }

  /** Whether it has ended before its time at a caller's request. */
  get endedEarly(): boolean {
    return this.#endedAfter !== undefined && this.cut === undefined
  }

  /** Has the instrument end it early: calls `end` as soon as the driver has begun. If that fails, the operation continues with a notice. */
  endEarly(end: () => Promise<EndedEarly>): void {
    this.#end = end
    this.record.notice = 'it is being ended early'
    if (this.#isDriven) void this.#askToEnd(end)
  }

  /** Renews the hold of its caller. Throws `locked` for another key than that of the caller, and `conflict` if it is ending, or is not held. */
  renew(key_id: string): void {
    const its = `${this.name} of ${this.record.device_id}`
    if (this.by !== key_id) throw new LabError('locked', `${its} is held by another key; only that key renews it`)
    if (this.ending || this.signal.aborted) throw new LabError('conflict', `${its} is ending; begin it anew`)
    if (!this.#hold) throw new LabError('conflict', `${its} is not held: it ends by itself`)
    this.#hold.renew()
  }

  /** Called when the driver begins the operation. From now on, a held operation is ended with `end` when nothing renews it. */
  isDriven(end?: () => Promise<EndedEarly>): void {
    this.#isDriven = true
    const { held } = this.#task
    if (held && end)
      this.#hold = new Hold(this.#clock, held, (why) => {
        this.#why = why
        if (!this.ending) this.endEarly(end)
      })
    if (this.#end) void this.#askToEnd(this.#end)
  }

  async #askToEnd(end: () => Promise<EndedEarly>): Promise<void> {
    if (this.#hold) this.#mustEndSoon()
    try {
      const { seconds_left } = await end()
      this.#endedAfter = Math.max(0, Math.round((this.#task.asked_s - seconds_left) * 10) / 10)
    } catch (error) {
      // An operation that nobody holds must not go on.
      if (this.#hold && !hasEnded(error)) return this.#abortWith(error)
      this.#end = undefined
      this.record.notice = hasEnded(error) ? null : `it was asked to end early, which failed, so it goes on: ${messageOf(error)}`
    }
  }

  /** Gives an operation up that nobody holds any more and that does not end; the device is halted then. */
  #mustEndSoon(): void {
    this.#cancelLateEnd = this.#clock.after(ends_ms, () => this.#giveUp(`${ends_ms / 1000} s after it was let go`))
  }

  /** The estimated time left, in seconds of the instrument. */
  get secondsLeft(): number {
    const gone = ((this.#clock.now() - this.#began) / 1000) * this.#time_scale
    const { asked_s, usual_s } = this.#task
    // An operation that is being ended early is shorter than its caller asked.
    const lasts_s = this.#endedAfter ?? (this.ending ? Math.min(gone, asked_s) : asked_s)
    const remaining = lasts_s + usual_s - gone
    return Math.round(Math.max(0, remaining) * 1000) / 1000
  }

  /** Ends it before its time. After a stop its outcome is never a success. */
  cutShort(why: 'stopped' | 'stopping'): void {
    this.cut = why
    this.#abortWith(new LabError(why, why === 'stopped' ? `${this.record.device_id} was stopped` : 'the service is stopping'))
  }

  /** Ends it because of an outside error, which becomes its outcome. */
  endFor(error: unknown, cause: Promise<LabError>): void {
    this.cause ??= cause
    this.#abortWith(error)
  }

  #giveUp(time: string): void {
    this.#abortWith(new LabError('no_reply', `${this.name} did not end within ${time}; see what it does, then initialize`))
  }

  #abortWith(reason: unknown): void {
    this.#abort.abort(reason)
    this.#onAbort()
  }

  /**
   * Waits for the driver until the deadline of the operation; without a limit if the caller has a deadline. Rejects with the
   * error of the driver, and with the reason of an abort.
   */
  async end(driving: Promise<void>, deadline: 'own' | 'caller' = 'own'): Promise<void> {
    const { limit_s } = this
    const late = () => this.#giveUp(`${Number(limit_s.toFixed(3))} s`)
    const cancelDeadline = deadline === 'own' ? patient(this.#clock).after(limit_s * 1000, late) : () => {}
    try {
      await this.#unlessAborted(driving)
      this.signal.throwIfAborted()
    } finally {
      this.#hold?.release()
      this.#cancelLateEnd()
      cancelDeadline()
    }
  }

  /** Returns the result after the end. */
  result(): OperationResult {
    if (this.cut === 'stopped') return { success: false, message: 'stopped' }
    if (this.#endedAfter !== undefined && !this.#hold) {
      const message = `${this.record.device_id}: ended after ${this.#endedAfter} s of ${this.#task.asked_s} s`
      return { success: true, message }
    }
    const done = this.done ?? this.#task.done(this.record.params, this.data)
    return { success: true, message: `${this.record.device_id}: ${this.endedEarly ? `${done}; ${this.#why}` : done}` }
  }

  /** Rejects a moment after an abort, when the driver has let go. A callback is used because a listener of the signal would cost more than all the rest. */
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

function hasEnded(error: unknown): boolean {
  return error instanceof LabError && error.code === 'conflict'
}
