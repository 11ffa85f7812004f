// One call of a device under way, and how long it may take before somebody has to look. It goes on meanwhile.

import type { Clock } from '../../../kit/clock.ts'

type Outcome = { value: unknown } | { error: unknown }
/** The argument of the call. When `signal` is aborted the device is halted; `begun` is called when the wanted operation itself begins, after its preparations. */
type DeviceCallOptions = { signal: AbortSignal; begun(): void }

export class DeviceCall {
  readonly #clock: Clock
  readonly #cut = new AbortController()
  #outcome: Outcome | undefined
  #cancelDeadline = () => {}
  #tell: () => void = () => {}
  /** Resolves when the device has let go. */
  readonly over: Promise<void>
  isLate = false

  /** Late after `limit_s`; it begins to count anew when what was wanted begins. `signal` cuts it off too. */
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

  /** Resolves with the result, or with the news that the call is late. Rejects with what went wrong. */
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

  /** Lets the call take so long from now on. */
  extend(seconds: number): void {
    this.#cancelDeadline()
    this.isLate = false
    this.#cancelDeadline = this.#clock.after(seconds * 1000, () => {
      this.isLate = true
      this.#tell()
    })
  }

  /** Halts the device; the call ends with `reason`, if it has not ended. */
  cutOff(reason: unknown): void {
    this.#cut.abort(reason)
  }
}
