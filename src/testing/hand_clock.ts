// For tests: a clock whose timers the test fires at any moment, also too late, as on a busy computer.

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

  /** The number of set timers. */
  get timers(): number {
    return this.#timers.size
  }

  /** Lets time pass without firing timers. */
  stall(ms: number): void {
    this.#now += ms
  }

  /** Fires all set timers. */
  ring(): void {
    for (const timer of [...this.#timers]) timer()
  }
}
