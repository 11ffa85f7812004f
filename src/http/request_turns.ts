// The turns of requests: of one connection one after another, and of all connections so that each turn of the event loop leaves time for a stop.

import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { LabError } from '../errors.ts'
import type { Clock } from '../kit/clock.ts'
import { refuse } from './errors.ts'

/** Requests are handled for so long in one turn of the event loop; the others wait for the next turn, in which a stop goes first. */
const handle_ms = 5
/**
 * After a turn that took longer than this, as many milliseconds are left to everything else, up to a limit: a stop and the instruments need
 * several turns, and a turn with a large answer can take 50 ms. Small requests that come as fast as they are answered make shorter turns.
 */
const restAfter_ms = 15
const longestRest_ms = 100

type Waiting = { socket: Socket; response: ServerResponse; handle: () => void }

/** The requests of one connection: the one whose turn it is, and those that come after it. */
export type RequestLine = { turn: ServerResponse | undefined; readonly waiting: Waiting[] }

const overloaded = new LabError('overloaded', 'an earlier request of this connection was refused; send this one again in a moment', {
  retry_after_s: 1,
})

export class RequestTurns {
  readonly #clock: Clock
  /** When the first request was handled in this turn of the event loop; undefined before that. */
  #turnBegan: number | undefined
  /** Until then no request is handled but a stop; on the clock. */
  #restUntil = 0
  /** Requests that wait for a later turn of the event loop. */
  #delayed = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Handles a request once the earlier ones of its line have ended, in a turn of the event loop that has time left. One that would have to
   * wait is asked whether it `passes`: then it is handled at once, too.
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
   * The answer to a request is over: the next of its line has its turn. Where it was refused because too much is going on, those behind it are
   * refused too. The connection stays until it has been idle for as long as any other: a client that is cut off at once comes back at once, and
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
   * Handles the request in a turn of the event loop that has time left, in the order of the requests; leaves it out when its client is gone.
   * Nothing more is read from its connection until then: requests that come faster than they are handled would be parsed, and kept, for later.
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

  /** Whether the requests of this turn have used less than `handle_ms`: a request has done its work up to its first wait when the next one is looked at. */
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
