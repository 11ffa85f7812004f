// What the instrument says of itself without being asked: the newest word, its age, and who waits for the next.

import { LabError } from '../../src/errors.ts'
import type { Clock } from '../../src/kit/clock.ts'
import type { Status } from './protocol.ts'

/** It speaks about once a second; this long without a word is silence. */
export const silence_ms = 3000

export class StatusFeed {
  readonly #clock: Clock
  #newest: { status: Status; at: number } | undefined
  readonly #waiting = new Set<(status: Status) => void>()

  /** `clock` is the line's. */
  constructor(clock: Clock) {
    this.#clock = clock
  }

  take(status: Status): void {
    this.#newest = { status, at: this.#clock.now() }
    for (const tell of this.#waiting) tell(status)
  }

  /** The newest word; throws `no_reply` when it is too old to be acted upon. */
  fresh(): Status {
    if (!this.#newest || this.#clock.now() - this.#newest.at > silence_ms) throw silent()
    return this.#newest.status
  }

  /** The newest word; waits for the first when there has been none. */
  async current(): Promise<Status> {
    return this.#newest ? this.fresh() : this.next()
  }

  /** The next word; rejects with `no_reply` when it does not come, and with the signal's reason when that is aborted. */
  next(signal?: AbortSignal): Promise<Status> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted()
      const end = () => {
        cancel()
        this.#waiting.delete(tell)
        signal?.removeEventListener('abort', onAbort)
      }
      const tell = (status: Status) => {
        end()
        resolve(status)
      }
      const onAbort = () => {
        end()
        reject(signal?.reason)
      }
      const cancel = this.#clock.after(silence_ms, () => {
        end()
        reject(silent())
      })
      this.#waiting.add(tell)
      signal?.addEventListener('abort', onAbort, { once: true })
    })
  }
}

export function silent(): LabError {
  return new LabError('no_reply', `it has not spoken for ${silence_ms / 1000} s; see that it is switched on and connected`)
}
