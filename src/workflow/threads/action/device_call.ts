// One device call in progress, and the time after which it counts as late. A late call goes on until somebody decides.

import type { Clock } from '../../../kit/clock.ts'

type Outcome = { value: unknown } | { error: unknown }
/** The argument of the call. An aborted `signal` halts the device. The call calls `begun` when the requested operation starts, after its preparations. */
type DeviceCallOptions = { signal: AbortSignal; begun(): void }

export class DeviceCall {
  readonly #clock: Clock
  readonly #cut = new AbortController()
  #outcome: Outcome | undefined
  #cancelDeadline = () => {}
  #tell: () => void = () => {}
  /** Resolves when the call has ended, whether or not it succeeded. */
  readonly over: Promise<void>
  isLate = false

  /** The call is late after `limit_s`, counted again from when the requested operation starts. `signal` cuts the call off too. */
  constructor(
    perform: (given: DeviceCallOptions) => Promise<unknown>,
    { clock, limit_s, signal }: { clock: Clock; limit_s: number; signal: AbortSignal },
  ) {
    this.#clock = clock
    const onAbort = () => this.#cut.abort(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    this.extend(limit_s)
    const end = (outcome: Outcome) => {
      this.#outcome = outcome
      this.#cancelDeadline()
      signal.removeEventListener('abort', onAbort)
      this.#tell()
    }
    const begun = () => {
      if (!this.#outcome && !this.isLate) this.extend(limit_s)
    }
    if (signal.aborted) onAbort()
    this.over = perform({ signal: this.#cut.signal, begun }).then(
      (value) => end({ value }),
      (error) => end({ error }),
    )
  }

  /** Resolves with the result, or with `late`. Rejects with the error of the call. */
  async ended(): Promise<{ value: unknown } | 'late'> {
    if (!this.#outcome && !this.isLate) {
      await new Promise<void>((resolve) => {
        this.#tell = resolve
      })
    }
    if (!this.#outcome) return 'late'
    if ('error' in this.#outcome) throw this.#outcome.error
    return this.#outcome
  }

  /** Gives the call this many seconds from now. */
  extend(seconds: number): void {
    this.#cancelDeadline()
    this.isLate = false
    this.#cancelDeadline = this.#clock.after(seconds * 1000, () => {
      this.isLate = true
      this.#tell()
    })
  }

  /** Halts the device. A call that has not ended yet fails with `reason`. */
  cutOff(reason: unknown): void {
    this.#cut.abort(reason)
  }
}

/** Returns the values that an operation gave, if it gave any. */
export function dataOf(outcome: unknown): unknown {
  return typeof outcome === 'object' && outcome !== null && 'success' in outcome && 'data' in outcome ? outcome.data : undefined
}
