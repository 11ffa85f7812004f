// The answer of GET /events: bytes of the log as they are, whole when they are few, a piece at a time when they are many.

import { LabError } from '../errors.ts'
import type { Piece, Query } from '../events/log_reader.ts'
import type { Lab } from '../lab.ts'

/** More than this is an answer over much of the log. */
const whole_bytes = 1024 * 1024
const stalled_ms = 60_000

/** Small answers are one buffer, large ones a stream that reads on when it is asked to. Throws `overloaded`. */
export async function answerEvents(lab: Lab, query: Query, gone: AbortSignal): Promise<Buffer | ReadableStream<Uint8Array>> {
  const pieces = lab.hub.log.read(query, 'array')
  const collected = [Buffer.from('{"events":[')]
  let bytes = 0
  let last: Piece | undefined
  while (bytes <= whole_bytes) {
    const { value } = await pieces.next()
    if (!value) return Buffer.concat([...collected, ending(query, last)])
    collected.push(Buffer.from(value.bytes))
    bytes += value.bytes.length
    last = value
  }
  const leave = await lab.hub.wholeAnswers.enter(gone).catch(async (error) => {
    await pieces.return(undefined)
    throw error
  })
  return streamed(lab, query, pieces, collected, leave)
}

function streamed(
  lab: Lab,
  query: Query,
  pieces: AsyncGenerator<Piece>,
  collected: Buffer[],
  leave: () => void,
): ReadableStream<Uint8Array> {
  let last: Piece | undefined
  let cancelTimer = () => {}
  const end = async () => {
    cancelTimer()
    leave()
    await pieces.return(undefined)
  }
  const next = async (): Promise<Buffer | undefined> => {
    if (collected.length) return Buffer.concat(collected.splice(0))
    const { value } = await pieces.next()
    last = value ?? last
    return value && Buffer.from(value.bytes)
  }
  // Who takes nothing must not keep others from their answers.
  const watch = (controller: ReadableStreamDefaultController) => {
    cancelTimer()
    cancelTimer = lab.clock.after(stalled_ms, () => {
      controller.error(new LabError('request_timeout', 'the answer was not taken for a minute'))
      void end()
    })
  }
  return new ReadableStream<Uint8Array>(
    {
      start: watch,
      async pull(controller) {
        watch(controller)
        const bytes = await next()
        controller.enqueue(bytes ?? ending(query, last))
        if (bytes) return
        controller.close()
        await end()
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  )
}

function ending({ since_us = 0 }: Query, last: Piece | undefined): Buffer {
  return Buffer.from(`],"next_since":${last?.count ? (last.last_us + 1) / 1e6 : since_us / 1e6}}`)
}
