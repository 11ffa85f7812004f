// A body that is made piece by piece, at the pace of its client.

import type { ServerResponse } from 'node:http'
import type { Config } from '../config.ts'
import { LabError } from '../errors.ts'
import type { Clock } from '../kit/clock.ts'
import type { Refusals } from '../kit/refusals.ts'

type PacedBody = {
  body: ReadableStream<Uint8Array>
  /** Ends the body early; does nothing after its end. */
  cut(why: LabError): void
}

export type Pacing = { clock: Clock; config: Config; refusals: Refusals }

type Pieces = {
  /** Sent before the pieces. */
  head?: Uint8Array
  pieces: AsyncGenerator<Uint8Array, unknown, undefined>
  /** The socket over which the body goes, if it goes over one. */
  response: ServerResponse | undefined
  onEnd?(): void
}

/**
 * Holds one piece at a time. Calls `onEnd` once, when the last piece is taken, or when the body is given up: by `cut`, by its client, or
 * because nothing was taken for `limits.answer_s`.
 */
export function pacedBody({ clock, config, refusals }: Pacing, { head, pieces, response, onEnd }: Pieces): PacedBody {
  const { answer_s } = config.limits
  let cancelTimer = () => {}
  let isOver = false
  let controller: ReadableStreamDefaultController<Uint8Array>
  const end = () => {
    cancelTimer()
    if (isOver) return
    isOver = true
    // Does not wait for a piece that is still being read.
    pieces.return(undefined).catch(() => undefined)
    onEnd?.()
  }
  const cut = (why: LabError) => {
    if (isOver) return
    // An error of the body would be logged for each answer.
    if (response) response.destroy()
    else controller.error(why)
    end()
  }
  let first = head
  const next = async (): Promise<IteratorResult<Uint8Array, unknown>> => {
    if (!first) return pieces.next()
    const value = first
    first = undefined
    return { value, done: false }
  }
  const watch = () => {
    cancelTimer = clock.after(answer_s * 1000, () => {
      const why = `the next piece of an answer was not taken for ${answer_s} s`
      refusals.count('answer_s', `${why}: the answer is given up`)
      cut(new LabError('request_timeout', why))
    })
  }
  const body = new ReadableStream<Uint8Array>(
    {
      start(given) {
        controller = given
        watch()
      },
      async pull() {
        cancelTimer()
        const { value, done } = await next().catch((error) => {
          end()
          throw error
        })
        if (isOver) return
        if (done) {
          end()
          controller.close()
        } else {
          watch()
          controller.enqueue(value)
        }
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  )
  return { body, cut }
}
