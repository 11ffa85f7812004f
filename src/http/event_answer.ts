// The answer of GET /events: raw bytes of the log, at once if they are few, else piece by piece.

import type { ServerResponse } from 'node:http'
import type { LabError } from '../errors.ts'
import type { Hub } from '../events/hub.ts'
import type { Chunk, Query } from '../events/log_reader.ts'
import { type Pacing, pacedBody } from './paced_body.ts'

/** The rooms of the bench that an answer of events uses. */
type Rooms = { hub: Hub } & Pacing

/** The bytes of the log from which an answer waits for its turn. */
const large_bytes = 128 * 1024
/** The size up to which an answer is one buffer. */
const whole_bytes = 256 * 1024

type Reading = {
  /** Aborted when the client has hung up. */
  gone: AbortSignal
  /** Aborted with a `LabError` when the answer must end early, which cuts an answer under way off. */
  ended: AbortSignal
  /** The socket over which the answer goes, if it goes over one. */
  response: ServerResponse | undefined
  /** Called once when the answer is taken or given up, unless `answerEvents` throws. */
  onEnd(): void
}

/** Makes the body `{events, next_since}`, or a bare array of events without an envelope. Throws `overloaded`, and the reason of `ended`. */
export async function answerEvents(
  rooms: Rooms,
  { isEnveloped, ...query }: Query & { isEnveloped: boolean },
  { gone, ended, response, onEnd }: Reading,
): Promise<Buffer | ReadableStream<Uint8Array>> {
  const leave = rooms.hub.log.bytesToRead(query) > large_bytes ? await turn(rooms, gone) : () => undefined
  const parts = written(query, rooms.hub.log.read(query, 'array'), isEnveloped)
  const held: Buffer[] = []
  try {
    for (let bytes = 0; bytes <= whole_bytes; bytes += held.at(-1)!.length) {
      const { value, done } = await parts.next()
      ended.throwIfAborted()
      if (done) {
        leave()
        onEnd()
        return Buffer.concat(held)
      }
      held.push(value)
    }
  } catch (error) {
    leave()
    await parts.return(undefined)
    throw error
  }
  const end = () => {
    leave()
    onEnd()
  }
  const { body, cut } = pacedBody(rooms, { head: Buffer.concat(held), pieces: parts, response, onEnd: end })
  ended.addEventListener('abort', () => cut(ended.reason as LabError))
  return body
}

async function turn({ hub, refusals }: Rooms, gone: AbortSignal): Promise<() => void> {
  try {
    return await hub.wholeAnswers.acquire(gone)
  } catch (error) {
    if (!gone.aborted) refusals.count('large_event_reads', 'a read of many events was refused: two are under way and sixteen wait')
    throw error
  }
}

async function* written(query: Query, pieces: AsyncGenerator<Chunk>, isEnveloped: boolean): AsyncGenerator<Buffer, undefined> {
  let last: Chunk | undefined
  yield Buffer.from(isEnveloped ? '{"events":[' : '[')
  for await (const piece of pieces) {
    last = piece
    // The log overwrites a piece when the next is requested.
    if (piece.bytes.length) yield Buffer.from(piece.bytes)
  }
  const next_us = last?.count ? last.last_us + 1 : (query.since_us ?? 0)
  yield Buffer.from(isEnveloped ? `],"next_since":${next_us / 1e6}}\n` : ']\n')
}
