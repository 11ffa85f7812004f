// Sends one request to a receiver, over Node's own HTTP client; redirects are not followed.

import type { ClientRequest, IncomingMessage } from 'node:http'
import { isAddress, type NotifyTarget, type Secret } from '../config/notify.ts'
import { LabError, messageOf } from '../errors.ts'
import type { Clock } from '../kit/clock.ts'
import { credentialPath, readText } from '../kit/files.ts'
import { packageVersion } from '../kit/package_version.ts'

/** A receiver that takes longer for its answer is given up. */
const longest_ms = 10_000
const longestSecret = 4096

type Delivery = { method: 'GET' | 'POST'; type?: string; body?: string; headers?: Record<string, string> }

type Around = { clock: Clock; closing: AbortSignal }

/** Resolves when the receiver has taken it. Rejects with a `LabError` whose sentence holds no secret. */
export async function deliver(target: NotifyTarget, { method, type, body, headers = {} }: Delivery, around: Around): Promise<void> {
  const url = await secretOf(target.url)
  if (!isAddress(url)) throw new LabError('config', 'the file of its url holds no address that begins with http:// or https://')
  const own: Record<string, string> = {}
  for (const [name, value] of Object.entries(target.headers)) own[name] = await secretOf(value)
  const { request } = url.startsWith('https:') ? await import('node:https') : await import('node:http')
  const sent = {
    'User-Agent': `benchd/${packageVersion()}`,
    ...(type && { 'Content-Type': type }),
    ...(body !== undefined && { 'Content-Length': String(Buffer.byteLength(body)) }),
  }
  const asked = request(url, { method, agent: false, headers: { ...sent, ...headers, ...own } })
  const status = await statusOf(asked, body, around)
  if (status >= 300 && status < 400)
    throw new LabError('conflict', `answered ${status}, a redirect: put the address that it leads to into notify`)
  if (status < 200 || status >= 300) throw new LabError('conflict', `answered ${status}`)
}

async function statusOf(asked: ClientRequest, body: string | undefined, { clock, closing }: Around): Promise<number> {
  const tooLong = `has not answered within ${longest_ms / 1000} s`
  const cancel = clock.after(longest_ms, () => asked.destroy(new Error(tooLong)))
  const end = () => asked.destroy()
  closing.addEventListener('abort', end, { once: true })
  try {
    const answered = new Promise<IncomingMessage>((resolve, reject) => asked.on('response', resolve).on('error', reject))
    asked.end(body)
    const answer = await answered
    // The body of the answer is not needed.
    answer.destroy()
    return answer.statusCode ?? 0
  } catch (error) {
    const why = messageOf(error) === tooLong ? tooLong : `could not be reached (${reasonOf(error)})`
    throw new LabError('disconnected', why)
  } finally {
    cancel()
    closing.removeEventListener('abort', end)
  }
}

/** The host that a message goes to; a path may hold a secret. */
export function hostOf({ url }: NotifyTarget): string {
  return typeof url === 'string' ? new URL(url).host : `the address in ${url.file}`
}

async function secretOf(secret: Secret): Promise<string> {
  if (typeof secret === 'string') return secret
  const { file } = secret
  const text = (await readText(credentialPath(file))).trim()
  if (text === '' || text.length > longestSecret || /[\r\n\0]/.test(text))
    throw new LabError('config', `${file} must hold one line of text`)
  return text
}

/** Returns Node's error code, because its message contains the address, whose path may be a secret. */
function reasonOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : messageOf(error).slice(0, 80)
}
