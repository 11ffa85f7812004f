// One thing at a time, in the order it was asked for.

import { LabError } from '../errors.ts'

export class Lane {
  readonly #most: number
  #waiting = 0
  #last: Promise<unknown> = Promise.resolve()

  /** At most `most` may stand in the lane; one more is refused as `overloaded`. */
  constructor(most: number) {
    this.#most = most
  }

  /** Does the work after all that stands before it, and answers its result. */
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
