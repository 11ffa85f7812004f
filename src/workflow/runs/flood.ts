// Detects a flood of custom events: a rate that nobody can have intended.

/** 200 per second, for ten seconds. */
export const flooding = { events: 2000, within_s: 10 }

export class Flood {
  /** Unix time, s. */
  readonly #now: () => number
  /** A ring of the times of the newest events; the next one replaces the oldest. */
  readonly #times: number[] = []
  #next = 0
  #isReported = false

  constructor(now: () => number) {
    this.#now = now
  }

  /** Counts an event. Returns true once, when the flood begins. */
  isBeginning(): boolean {
    if (this.#isReported) return false
    const now = this.#now()
    const oldest = this.#times[this.#next]
    this.#times[this.#next] = now
    this.#next = (this.#next + 1) % flooding.events
    this.#isReported = oldest !== undefined && now - oldest < flooding.within_s
    if (this.#isReported) this.#times.length = 0
    return this.#isReported
  }
}
