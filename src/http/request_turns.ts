// Schedules requests: those of a connection one after another, and all so that each turn of the event loop leaves time for a stop.

import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { LabError } from '../errors.ts'
import type { Clock } from '../kit/clock.ts'
import { refuse } from './errors.ts'

/** The time for requests in one turn of the event loop; others wait for the next turn, in which a stop goes first. */
const handle_ms = 5
/**
 * After a turn that took longer than this, the same time is left to everything else, up to a limit: a stop and the instruments need
 * several turns, and a turn with a large answer can take 50 ms. A flood of small requests makes shorter turns.
 */
const restAfter_ms = 15
const longestRest_ms = 100

type Waiting = { socket: Socket; response: ServerResponse; handle: () => void }

/** The requests of one connection: the present one, and those after it. */
export type RequestLine = { turn: ServerResponse | undefined; readonly waiting: Waiting[] }

const overloaded = new LabError('overloaded', 'an earlier request of this connection was refused; send this one again in a moment', {
  retry_after_s: 1,
})

export class RequestTurns {
  readonly #clock: Clock
  /** The time of the first request in this turn of the event loop; undefined before. */
  #turnBegan: number | undefined
  /** The time on the clock until which only stops are handled. */
  #restUntil = 0
  /** The number of requests that wait for a later turn. */
  #delayed = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Handles a request when the earlier ones of its connection have ended, in a turn of the event loop with time left. One that would have to
   * wait is handled at once if it `passes`.
   */
  take(line: RequestLine, request: Waiting, passes: () => boolean): void {
    const isFirst = line.turn === undefined
    if (isFirst && this.#delayed === 0 && this.#isTimeLeft()) {
      line.turn = request.response
      request.handle()
    } else if (passes()) {
      request.handle()
    } else if (isFirst) {
      line.turn = request.response
      this.#delay(line, request)
    } else {
      line.waiting.push(request)
    }
  }

  /**
   * Called when the answer to a request is over, and the next of its connection has its turn. If it was refused for overload, those after it are
   * refused too. The connection stays open for the usual idle time, because a client that is cut off reconnects at once, and
   * its handshake costs more than the requests.
   */
  ended(line: RequestLine, response: ServerResponse): void {
    if (response.statusCode === 503) for (const { response: other } of line.waiting.splice(0)) refuse(other, overloaded)
    if (line.turn !== response) return
    const next = line.waiting.shift()
    line.turn = next?.response
    if (next) this.#delay(line, next)
  }

  /**
   * Handles the request in a later turn with time left, in order; drops it if its client is gone.
   * Until then nothing more is read from its connection, because further requests would be parsed and kept.
   */
  #delay(line: RequestLine, { socket, response, handle }: Waiting): void {
    this.#delayed++
    socket.pause()
    const attempt = () => {
      const rest_ms = this.#restUntil - this.#clock.now()
      if (rest_ms > 0) return void this.#clock.after(rest_ms, attempt)
      if (!this.#isTimeLeft()) return void setImmediate(attempt)
      this.#delayed--
      socket.resume()
      if (response.destroyed) this.ended(line, response)
      else handle()
    }
    setImmediate(attempt)
  }

  /** Whether the requests of this turn have used less than `handle_ms`, each up to its first wait. */
  #isTimeLeft(): boolean {
    const began = this.#turnBegan ?? this.#clock.now()
    if (this.#turnBegan === undefined) {
      this.#turnBegan = began
      setImmediate(() => {
        this.#turnBegan = undefined
        const used_ms = this.#clock.now() - began
        if (used_ms > restAfter_ms) this.#restUntil = this.#clock.now() + Math.min(used_ms, longestRest_ms)
      })
    }
    return this.#clock.now() >= this.#restUntil && this.#clock.now() - began < handle_ms
  }
}
