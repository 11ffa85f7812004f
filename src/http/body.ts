// Reading a body: nothing but JSON, no more than may be, as UTF-8 that is right.

import type { Context } from 'hono'
import { LabError } from '../errors.ts'

export const usualLimit = 256 * 1024

const utf8 = new TextDecoder('utf-8', { fatal: true })
const nothing = new Uint8Array()

/** The bytes of the body, none when there is none. Throws `media_type`, `too_large`, `invalid`. */
export async function readBody(c: Context, limit: number): Promise<ArrayBuffer | Uint8Array> {
  const type = c.req.header('content-type')
  const length = Number(c.req.header('content-length') ?? 0)
  const chunked = c.req.header('transfer-encoding') !== undefined
  if (length > 0 || (chunked && type !== undefined)) mustBeJson(type)
  mustBePlain(c.req.header('content-encoding'))
  if (length > limit) throw tooLarge(limit)
  const bytes = await (chunked ? readAtMost(c.req.raw.body, limit) : c.req.arrayBuffer()).catch(unread)
  if (bytes.byteLength === 0) return nothing
  mustBeJson(type)
  if (bytes.byteLength > limit) throw tooLarge(limit)
  return bytes
}

/** Throws `invalid` unless the bytes are UTF-8. */
export function textOf(bytes: ArrayBuffer | Uint8Array): string {
  try {
    return utf8.decode(bytes)
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

async function readAtMost(body: ReadableStream<Uint8Array> | null, limit: number): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of body ?? []) {
    size += piece.length
    if (size > limit) throw tooLarge(limit)
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}
