// The halts of one device. A halt that was not acknowledged is owed, and repeated until the device acknowledges one.

import { LabError } from '../errors.ts'
import type { Clock } from '../kit/clock.ts'
import type { Device } from './device.ts'
import type { LeftOn } from './left_on.ts'

/** The time without an acknowledgement after which the halt is sent again. */
const repeat_ms = 4000

type Sent = { at: number; isPending: boolean }

type Parts = {
  clock: Clock
  leftOn: LeftOn
  /** Called when the device acknowledges a halt. */
  heard(): void
  /** Returns the effect that no halt of the device ends. */
  unhaltable(): Device['unhaltable']
}

export class Halts {
  readonly #clock: Clock
  readonly #leftOn: LeftOn
  readonly #heard: Parts['heard']
  readonly #unhaltable: Parts['unhaltable']
  /** The last halt, unless it was acknowledged. */
  #owed: Sent | undefined
  /** The acknowledgement of the last halt. */
  #newest: Promise<void> | undefined

  constructor({ clock, leftOn, heard, unhaltable }: Parts) {
    this.#clock = clock
    this.#leftOn = leftOn
    this.#heard = heard
    this.#unhaltable = unhaltable
    if (leftOn.isHaltOwed) this.#owed = { at: clock.now(), isPending: false }
  }

  /** Whether the last halt was not acknowledged, and is being repeated. A device that nothing halts never owes one. */
  get isOwed(): boolean {
    return this.#owed !== undefined && this.#unhaltable() !== 'all'
  }

  /** Whether the device may move or be hot with nothing running. */
  get mayBeOn(): boolean {
    return this.#owed !== undefined || this.#leftOn.mayBeOn
  }

  /** Resolves when the halt that is under way is acknowledged. */
  get acknowledged(): Promise<void> {
    return this.#newest ?? Promise.resolve()
  }

  /** Whether the last halt may still be acknowledged soon, so that it need not be sent again yet. */
  get isPending(): boolean {
    if (!this.#owed?.isPending) return false
    return this.#clock.now() - this.#owed.at < repeat_ms
  }

  /**
   * Counts a halt that was sent until it is acknowledged, however late. Returns its acknowledgement. The bytes of a halt cut off the
   * acknowledgement of the previous one, so the acknowledgement of the newest halt counts for both.
   */
  sent(acknowledged: Promise<void>): Promise<void> {
    const halt = { at: this.#clock.now(), isPending: true }
    this.#owed = halt
    const counted: Promise<void> = acknowledged.then(
      () => {
        const isLast = this.#owed === halt
        if (isLast) this.#owed = undefined
        if (this.#leftOn.hot && this.#unhaltable()) throw heatGoesOn()
        if (!isLast) return
        this.#leftOn.off()
        this.#heard()
      },
      (error) => {
        if (this.#newest !== counted) return this.#newest
        halt.isPending = false
        if (this.#owed === halt) this.#leftOn.oweHalt()
        throw error
      },
    )
    this.#newest = counted
    return counted
  }

  /** Notes that a halt could not be sent, so that it is sent as soon as possible. */
  owe(): void {
    this.#owed = { at: this.#clock.now(), isPending: false }
    this.#leftOn.oweHalt()
  }

  /** Forgets the halt, because the device was initialized since: a late acknowledgement means nothing. */
  forget(): void {
    if (!this.#owed) return
    this.#owed = undefined
    if (!this.#leftOn.hot) this.#leftOn.off()
  }

  /** Notes that a person has seen the device at rest and cold. */
  seenOff(): void {
    this.#owed = undefined
    this.#leftOn.off()
  }

  /** Hands the halt over to another owner: its outcome is no longer written here. */
  disown(): void {
    this.#owed = undefined
  }
}

function heatGoesOn(): LabError {
  return new LabError('device_failed', 'it was left on, and no stop ends that; see that it is off, then clear its fault')
}
