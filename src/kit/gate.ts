// So many inside at once, so many before the door, and no more.

import { LabError } from '../errors.ts'

export class Gate {
  readonly #most: number
  readonly #mayWait: number
  readonly #waiting: (() => void)[] = []
  #inside = 0

  constructor(most: number, mayWait: number) {
    this.#most = most
    this.#mayWait = mayWait
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /** Resolves once there is room, with what is to be called, once, when leaving. Rejects with `overloaded` when too many wait. */
  async enter(): Promise<() => void> {
    if (this.#inside >= this.#most) await this.#wait()
    else this.#inside++
    let left = false
    return () => {
      if (!left) this.#leave()
      left = true
    }
  }

  #wait(): Promise<void> {
    if (this.#waiting.length >= this.#mayWait) {
      throw new LabError('overloaded', `${this.#waiting.length} such requests wait already; ask again later`, { retry_after_s: 5 })
    }
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  /** The place goes to the next who waits. */
  #leave(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#inside--
  }
}
