// The hold on an operation that lasts only while its caller renews it, such as a jog while a button is pressed.

import type { Clock } from '../kit/clock.ts'

/** `renewed_within_ms` is the longest time between two renewals, and `longest_s` the longest time in all, both in real time. */
export type Held = { readonly renewed_within_ms: number; readonly longest_s: number }

export class Hold {
  readonly #clock: Clock
  readonly #held: Held
  readonly #over: (why: string) => void
  #cancelWindow = () => {}
  #isOver = false
  readonly #cancelLongest: () => void

  /** Begins with a first window. `over` is called once, with the reason in words, when nothing renewed it in time, or after the longest time. */
  constructor(clock: Clock, held: Held, over: (why: string) => void) {
    this.#clock = clock
    this.#held = held
    this.#over = over
    this.#cancelLongest = clock.after(held.longest_s * 1000, () => this.#end(`it ended after ${held.longest_s} s, the longest time`))
    this.renew()
  }

  renew(): void {
    if (this.#isOver) return
    const { renewed_within_ms } = this.#held
    const time = renewed_within_ms < 1000 ? `${renewed_within_ms} ms` : `${renewed_within_ms / 1000} s`
    this.#cancelWindow()
    this.#cancelWindow = this.#clock.after(renewed_within_ms, () => this.#end(`it ended because nothing renewed it for ${time}`))
  }

  /** Lets go without an effect, because the operation is over. */
  release(): void {
    this.#isOver = true
    this.#cancelWindow()
    this.#cancelLongest()
  }

  #end(why: string): void {
    this.release()
    this.#over(why)
  }
}
