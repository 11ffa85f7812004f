// Fetches one picture from a camera, within narrow bounds.

import type { IncomingMessage } from 'node:http'
import type { LookupFunction } from 'node:net'
import { LabError, messageOf } from '../errors.ts'
import type { Clock } from '../kit/clock.ts'
import { packageVersion } from '../kit/package_version.ts'
import { type PictureType, pictureTypeOf } from '../kit/picture_type.ts'

/** `taken_at` is Unix time in seconds. */
export type Picture = { bytes: Uint8Array<ArrayBuffer>; media_type: PictureType; taken_at: number }

const longest_ms = 2000
const largest_bytes = 1024 * 1024

type Around = { clock: Clock; closing: AbortSignal; lookup?: LookupFunction | undefined }

/**
 * Resolves with a picture of at most 1 MiB within two seconds; redirects are not followed. Rejects with `no_reply`, in a sentence without the address, which can
 * hold a password.
 */
export async function pictureFrom(url: string, { clock, closing, lookup }: Around): Promise<Picture> {
  const { request } = url.startsWith('https:') ? await import('node:https') : await import('node:http')
  const headers = { Accept: 'image/jpeg, image/png, image/webp', 'User-Agent': `benchd/${packageVersion()}` }
  const asked = request(url, { agent: false, headers, ...(lookup && { lookup }) })
  let why: string | undefined
  const end = (reason: string) => {
    why = reason
    asked.destroy(new Error(reason))
  }
  const close = () => end('the service is stopping')
  const cancel = clock.after(longest_ms, () => end(`has sent no whole picture within ${longest_ms / 1000} s`))
  closing.addEventListener('abort', close, { once: true })
  try {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => asked.on('response', resolve).on('error', reject).end())
    const { statusCode = 0 } = answer
    if (statusCode >= 300 && statusCode < 400)
      throw new LabError('no_reply', `answered ${statusCode}, a redirect: configure the address that it leads to`)
    if (statusCode !== 200) throw new LabError('no_reply', `answered ${statusCode}`)
    const bytes = await bodyOf(answer)
    // Without a length, Node takes the bytes before its own `destroy` for a whole body.
    if (why !== undefined) throw new LabError('no_reply', why)
    const media_type = pictureTypeOf(bytes)
    if (!media_type) throw new LabError('no_reply', 'sends no JPEG, PNG or WebP: configure the address of a still picture')
    return { bytes, media_type, taken_at: Date.now() / 1000 }
  } catch (error) {
    if (error instanceof LabError) throw error
    throw new LabError('no_reply', why ?? `could not be reached (${reasonOf(error)})`)
  } finally {
    cancel()
    closing.removeEventListener('abort', close)
    asked.on('error', () => undefined).destroy()
  }
}

async function bodyOf(answer: IncomingMessage): Promise<Picture['bytes']> {
  const pieces: Buffer[] = []
  let length = 0
  for await (const piece of answer as AsyncIterable<Buffer>) {
    length += piece.length
    if (length > largest_bytes) throw new LabError('no_reply', 'sends a picture of more than 1 MiB: choose a smaller one at the camera')
    pieces.push(piece)
  }
  return new Uint8Array(Buffer.concat(pieces))
}

/** Returns Node's error code, because its message contains the address. */
function reasonOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : messageOf(error).slice(0, 80)
}
