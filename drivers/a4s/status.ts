// The unsolicited status lines of the sealer: the newest one with its age, and the waiters for the next.

import { connectionLost, notOpen } from '../../src/devices/failure.ts'
import { LabError } from '../../src/errors.ts'
import type { Clock } from '../../src/kit/clock.ts'
import { afterTurns, patient } from '../../src/kit/patient.ts'
import { strange } from '../transports/exchange.ts'
import type { Line } from '../transports/line.ts'
import type { Status } from './protocol.ts'

/** The time without a status that counts as silence; the sealer sends about one a second. */
export const silence_ms = 3000

export class StatusFeed {
  readonly #clock: Clock
  readonly #line: Pick<Line, 'clock' | 'state'>
  /** Returns the number of bytes that were not part of a status; `#droppedBefore` is that number at the newest status. */
  readonly #dropped: () => number
  #droppedBefore = 0
  #newest: { status: Status; at: number } | undefined
  readonly #waiting = new Set<{ tell(status: Status): void; fail(error: LabError): void }>()

  constructor(line: Pick<Line, 'clock' | 'state' | 'onLost' | 'advice'>, dropped: () => number = () => 0) {
    this.#dropped = dropped
    this.#clock = patient(line.clock)
    this.#line = line
    line.onLost((reason) => this.#lose(connectionLost(reason, line.advice)))
  }

  take(status: Status): void {
    this.#newest = { status, at: this.#clock.now() }
    this.#droppedBefore = this.#dropped()
    for (const { tell } of this.#waiting) tell(status)
  }

  /** Forgets the newest status, which is outdated after a loss of the line. */
  #lose(error: LabError): void {
    this.#newest = undefined
    for (const { fail } of this.#waiting) fail(error)
  }

  /** Returns the newest status. Throws `no_reply` if it is too old. */
  fresh(): Status {
    if (!this.#newest || !this.#isFresh()) throw this.#silent()
    return this.#newest.status
  }

  #silent(): LabError {
    return this.#dropped() > this.#droppedBefore ? new LabError('no_reply', strange) : silent()
  }

  /** Returns the newest status; waits for the first one if there is none. Status lines that arrived while the computer was busy are read first. */
  async current(): Promise<Status> {
    if (this.#newest && !this.#isFresh()) await new Promise<void>((resolve) => afterTurns(this.#line.clock, resolve))
    return this.#newest ? this.fresh() : this.next()
  }

  #isFresh(): boolean {
    return this.#newest !== undefined && this.#clock.now() - this.#newest.at <= silence_ms
  }

  /** Resolves with the next status. Rejects with `no_reply` if none comes, with `disconnected` if the line is lost, and with the signal's reason. */
  next(signal?: AbortSignal): Promise<Status> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted()
      if (this.#line.state !== 'open') throw notOpen('the line')
      const end = () => {
        cancel()
        this.#waiting.delete(waiting)
        signal?.removeEventListener('abort', onAbort)
      }
      const tell = (status: Status) => {
        end()
        resolve(status)
      }
      const fail = (error: unknown) => {
        end()
        reject(error)
      }
      const onAbort = () => fail(signal?.reason)
      const cancel = this.#clock.after(silence_ms, () => fail(this.#silent()))
      const waiting = { tell, fail }
      this.#waiting.add(waiting)
      signal?.addEventListener('abort', onAbort, { once: true })
    })
  }
}

export function silent(): LabError {
  return new LabError('no_reply', `it has not spoken for ${silence_ms / 1000} s; see that it is switched on and connected`)
}
