// A clock whose timers are rung by hand, at any moment: too late, as on a computer that was busy.

import type { Clock } from '../kit/clock.ts'

export class HandClock implements Clock {
  readonly #timers = new Set<() => void>()
  #now = 0

  now(): number {
    return this.#now
  }

  after(_ms: number, call: () => void): () => void {
    const timer = () => {
      this.#timers.delete(timer)
      call()
    }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  /** How many timers are set. */
  get timers(): number {
    return this.#timers.size
  }

  /** Lets time go by, in which no timer rings. */
  stall(ms: number): void {
    this.#now += ms
  }

  /** Rings all timers that are set. */
  ring(): void {
    for (const timer of [...this.#timers]) timer()
  }
}
