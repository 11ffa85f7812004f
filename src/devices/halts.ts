// The halts of one device: one that was not acknowledged is owed, and is repeated until the device hears it.

import type { Clock } from '../kit/clock.ts'
import { acknowledge_ms, inTime } from './halting.ts'
import type { LeftOn } from './left_on.ts'

/** An acknowledgement is awaited so long before the halt is sent again. */
const repeat_ms = 4000

/** `since` is when the first of the halts was sent that this one repeats. */
type Sent = { at: number; since: number; isPending: boolean }

export class Halts {
  readonly #clock: Clock
  readonly #leftOn: LeftOn
  readonly #late: () => void
  /** The last halt, unless it was acknowledged. */
  #owed: Sent | undefined

  /** `late` is called when a halt is acknowledged after it was reported that it was not. */
  constructor({ clock, leftOn, late }: { clock: Clock; leftOn: LeftOn; late: () => void }) {
    this.#clock = clock
    this.#leftOn = leftOn
    this.#late = late
    if (leftOn.isHaltOwed) this.#owed = { at: clock.now(), since: Number.NEGATIVE_INFINITY, isPending: false }
  }

  /** Whether the device has not acknowledged its last halt. */
  get isOwed(): boolean {
    return this.#owed !== undefined
  }

  /** Whether the last halt may still be acknowledged soon, so that it need not be sent again yet. */
  get isPending(): boolean {
    if (!this.#owed?.isPending) return false
    return this.#clock.now() - this.#owed.at < repeat_ms
  }

  /**
   * Counts a halt that was sent, until it is acknowledged, however late that is. Resolves with whether that was within `ms`, and rejects
   * with what the driver says.
   */
  sent(acknowledged: Promise<void>, ms?: number): Promise<boolean> {
    const at = this.#clock.now()
    const halt = { at, since: this.#owed?.since ?? at, isPending: true }
    this.#owed = halt
    const counted = acknowledged.then(
      () => {
        if (this.#owed === halt) this.#heard(halt)
      },
      (error) => {
        halt.isPending = false
        if (this.#owed === halt) this.#leftOn.oweHalt()
        throw error
      },
    )
    return inTime(this.#clock, counted, ms)
  }

  /** A halt could not be sent, and has to be as soon as it can. */
  owe(): void {
    const at = this.#clock.now()
    this.#owed = { at, since: this.#owed?.since ?? at, isPending: false }
    this.#leftOn.oweHalt()
  }

  /** Somebody has initialized the device since: an acknowledgement of before tells nothing any more. */
  forget(): void {
    if (!this.#owed) return
    this.#owed = undefined
    if (!this.#leftOn.hot) this.#leftOn.off()
  }

  /** Somebody else sends it from now on: what becomes of it here is not written down any more. */
  disown(): void {
    this.#owed = undefined
  }

  #heard({ since }: Sent): void {
    this.#owed = undefined
    this.#leftOn.off()
    if (this.#clock.now() - since > acknowledge_ms) this.#late()
  }
}
