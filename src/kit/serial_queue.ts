// Runs asynchronous work one piece at a time, in the order of the calls.

import { LabError } from '../errors.ts'

export class SerialQueue {
  readonly #most: number
  #waiting = 0
  #last: Promise<unknown> = Promise.resolve()

  /** `most` limits the queued work, including the running one. More is refused with `overloaded`. */
  constructor(most: number) {
    this.#most = most
  }

  /** Runs the work after all that was queued before it, and resolves with its result. */
  run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#waiting >= this.#most) {
      return Promise.reject(new LabError('overloaded', `${this.#most} requests wait already; ask again in a second`, { retry_after_s: 1 }))
    }
    this.#waiting++
    const done = this.#last.then(work).finally(() => {
      this.#waiting--
    })
    this.#last = done.catch(() => undefined)
    return done
  }
}
