// Reads the bodies of requests: JSON within a size limit, in valid UTF-8.

import { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import type { Config } from '../config.ts'
import { LabError } from '../errors.ts'
import type { Refusals } from '../kit/refusals.ts'
import { textOfUtf8 } from '../kit/utf8.ts'
import type { Exchange } from './contract.ts'
import { areTooMany, tooManyHeaders } from './headers.ts'

/** The rooms of the bench that the reader of bodies uses. */
type Rooms = { config: Config; refusals: Refusals }

export const usualLimit = 256 * 1024

const nothing = new Uint8Array()

/** The size up to which a body is always read; larger ones share a bound. */
const small_bytes = 16 * 1024
const mib = 1024 * 1024

type Body = {
  bytes: Uint8Array
  /** Call it once, when the bytes are no longer needed. */
  release(): void
}

/** Reads the bodies of all requests. */
export class BodyReader {
  readonly #lab: Rooms
  /** The bytes of bodies in use; of a large body, its announced length. */
  #held = 0

  constructor(rooms: Rooms) {
    this.#lab = rooms
  }

  /** The bytes of bodies that are held now. */
  get held(): number {
    return this.#held
  }

  /** Reads the body, empty if there is none. Throws `media_type`, `too_large`, `overloaded`, `invalid`. */
  async read(c: Exchange, limit: number): Promise<Body> {
    const type = c.req.header('content-type')
    const length = Number(c.req.header('content-length')) || 0
    const chunked = c.req.header('transfer-encoding') !== undefined
    if (length > 0 || (chunked && type !== undefined)) mustBeJson(type)
    mustBePlain(c.req.header('content-encoding'))
    if (length > limit) throw tooLarge(limit)
    const stream = streamOf(c, chunked || length > 0)
    if (!stream) return { bytes: nothing, release() {} }
    // Refuses a body that does not fit before it is read.
    if (chunked || length > small_bytes) this.#mustHaveRoom(length)
    return this.#readAtMost(stream, { type, limit, announced: length > small_bytes ? length : 0 })
  }

  async #readAtMost(
    body: Readable,
    { type, limit, announced }: { type: string | undefined; limit: number; announced: number },
  ): Promise<Body> {
    let size = 0
    let held = 0
    const hold = (bytes: number) => {
      this.#held += bytes - held
      held = bytes
    }
    const release = () => hold(0)
    hold(announced)
    const take = (piece: Uint8Array) => {
      if (size === 0 && piece.length > 0) mustBeJson(type)
      size += piece.length
      if (size > limit) throw tooLarge(limit)
      if (size > held) hold(size)
      if (size > small_bytes) this.#mustHaveRoom(0)
    }
    try {
      const bytes = await piecesOf(body, take)
      if (body instanceof IncomingMessage && areTooMany(body.rawTrailers)) throw tooManyHeaders
      return { bytes, release }
    } catch (error) {
      release()
      return unread(error)
    }
  }

  /** Throws `overloaded` unless that many more bytes are within the bound. */
  #mustHaveRoom(more: number): void {
    const { bodies_mib } = this.#lab.config.limits
    if (this.#held + more <= bodies_mib * mib) return
    const sentence = `the bodies of all requests under way are larger than ${bodies_mib} MiB together`
    this.#lab.refusals.count(
      'bodies_mib',
      `a request was refused: ${sentence}; limits.bodies_mib of the configuration says how much is taken`,
    )
    throw new LabError('overloaded', `${sentence}; send this one again in a moment`, { retry_after_s: 1 })
  }
}

/**
 * Yields the pieces of a body that is a file, at the pace of its reader. A refusal leaves the stream open, so that it can be sent over its connection. Throws
 * `media_type` and `invalid`.
 */
export async function* fileIn(c: Exchange): AsyncGenerator<Uint8Array> {
  mustBePlain(c.req.header('content-encoding'))
  const isAnnounced = c.req.header('transfer-encoding') !== undefined || Number(c.req.header('content-length')) > 0
  const stream = streamOf(c, isAnnounced)
  if (!stream) return
  try {
    for await (const piece of stream.iterator({ destroyOnReturn: false })) yield piece
  } catch (error) {
    unread(error)
  }
}

/** Returns Node's stream of the request if there is one, because a web stream costs more than the rest of a small request. */
function streamOf(c: Exchange, isAnnounced: boolean): Readable | null {
  const { incoming } = (c.env ?? {}) as { incoming?: unknown }
  if (incoming instanceof IncomingMessage) return isAnnounced ? incoming : null
  const body = c.req.raw?.body ?? null
  return body && Readable.fromWeb(body as ReadableStream)
}

/**
 * Reads a whole stream. Rejects with the error of `take` for a piece; the stream stays open then, so that the refusal of a body that is too
 * large can be sent over its connection. Uses events, because iteration costs three times as much for a small body.
 */
function piecesOf(body: Readable, take: (piece: Uint8Array) => void): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const pieces: Uint8Array[] = []
    const onData = (piece: Uint8Array) => {
      try {
        take(piece)
        pieces.push(piece)
      } catch (error) {
        body.off('data', onData).pause()
        reject(error)
      }
    }
    body.on('data', onData)
    body.on('end', () => resolve(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)))
    const onGone = () => {
      if (!body.readableEnded) reject(body.errored ?? new Error('the client is gone'))
    }
    body.on('error', onGone).on('close', onGone)
    // The client was gone before this listened.
    if (body.destroyed) onGone()
  })
}

/** Throws `invalid` unless the bytes are UTF-8. */
export function textOf(bytes: Uint8Array): string {
  try {
    return textOfUtf8(bytes)
  } catch (error) {
    throw new LabError('invalid', 'the body is not UTF-8', { cause: error })
  }
}

function mustBeJson(type: string | undefined): void {
  if (type !== undefined && /^application\/json\s*(;\s*charset="?utf-?8"?\s*)?$/i.test(type)) return
  throw new LabError(
    'media_type',
    `the body must be sent with Content-Type: application/json, ${type === undefined ? 'which is missing' : `not ${type.slice(0, 80)}`}`,
  )
}

function mustBePlain(encoding: string | undefined): void {
  if (encoding === undefined || encoding.toLowerCase() === 'identity') return
  throw new LabError('media_type', `a body with Content-Encoding: ${encoding.slice(0, 40)} is not taken here; send it as it is`)
}

function unread(error: unknown): never {
  if (error instanceof LabError) throw error
  throw new LabError('invalid', 'the body did not arrive whole', { cause: error })
}

function tooLarge(limit: number): LabError {
  return new LabError('too_large', `the body is larger than ${limit} bytes, which is the most that is taken here`)
}
