// Fetches one picture from a camera, within narrow bounds.

import type { IncomingMessage } from 'node:http'
import type { LookupFunction } from 'node:net'
import { LabError, messageOf } from '../errors.ts'
import type { Clock } from '../kit/clock.ts'
import { packageVersion } from '../kit/package_version.ts'

/** `taken_at` is Unix time in seconds. */
export type Picture = { bytes: Uint8Array<ArrayBuffer>; media_type: string; taken_at: number }

const longest_ms = 2000
const largest_bytes = 1024 * 1024

/** The first bytes of each kind of picture; of a WebP, four bytes of length stand between its words. */
const kinds: readonly (readonly [media_type: string, words: readonly [at: number, bytes: string][]])[] = [
  ['image/jpeg', [[0, 'ffd8ff']]],
  ['image/png', [[0, '89504e470d0a1a0a']]],
  [
    'image/webp',
    [
      [0, '52494646'],
      [8, '57454250'],
    ],
  ],
]

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
    return { bytes, media_type: mediaTypeOf(bytes), taken_at: Date.now() / 1000 }
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

/** Returns the kind of the picture by its first bytes, whatever the camera calls it. */
function mediaTypeOf(bytes: Uint8Array): string {
  const head = Buffer.from(bytes.subarray(0, 16)).toString('hex')
  const kind = kinds.find(([, words]) => words.every(([at, word]) => head.startsWith(word, at * 2)))
  if (!kind) throw new LabError('no_reply', 'sends no JPEG, PNG or WebP: configure the address of a still picture')
  return kind[0]
}

/** Returns Node's error code, because its message contains the address. */
function reasonOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : messageOf(error).slice(0, 80)
}
