// A counting semaphore with a bounded queue.

import { LabError } from '../errors.ts'

export class Semaphore {
  readonly #most: number
  readonly #mayWait: number
  #waiting: (() => void)[] = []
  #inside = 0

  constructor(most: number, mayWait: number) {
    this.#most = most
    this.#mayWait = mayWait
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /**
   * Resolves with a function that releases the permit. Rejects with `overloaded` when too many callers wait, and with the signal's reason
   * when the signal aborts.
   */
  async acquire(signal?: AbortSignal): Promise<() => void> {
    if (this.#inside >= this.#most) await this.#wait(signal)
    else this.#inside++
    let hasLeft = false
    return () => {
      if (!hasLeft) this.#leave()
      hasLeft = true
    }
  }

  #wait(signal: AbortSignal | undefined): Promise<void> {
    if (this.#waiting.length >= this.#mayWait) {
      throw new LabError('overloaded', `${this.#waiting.length} such requests wait already; ask again later`, { retry_after_s: 5 })
    }
    return new Promise((resolve, reject) => {
      const go = () => {
        this.#waiting = this.#waiting.filter((other) => other !== go)
        signal?.removeEventListener('abort', goAway)
        resolve()
      }
      const goAway = () => {
        this.#waiting = this.#waiting.filter((other) => other !== go)
        reject(signal?.reason)
      }
      signal?.addEventListener('abort', goAway, { once: true })
      this.#waiting.push(go)
    })
  }

  /** Passes the permit to the next waiter. */
  #leave(): void {
    const next = this.#waiting[0]
    if (next) next()
    else this.#inside--
  }
}
