// The messages about a certificate and keys that are about to end.

import type { Certificate } from '../config/tls.ts'
import type { PublicKey } from '../keys/keys.ts'
import type { Message } from './messages.ts'

const day_s = 86_400
const certificateDays = 14
const keyDays = 7

export type Ending = { certificate: Certificate | undefined; keys: readonly PublicKey[] }

/** `now` is Unix time in seconds. */
export function endings({ certificate, keys }: Ending, now: number): Message[] {
  const messages: Message[] = []
  const ends = certificate === undefined ? Number.POSITIVE_INFINITY : Date.parse(certificate.valid_to) / 1000
  if (ends - now < certificateDays * day_s) {
    const text = `The certificate of the service ${when(ends, now)}. Make a new one with make-cert.sh, then reload the service`
    messages.push({ kinds: ['certificate_ends'], thing: 'certificate', text, execution_id: null })
  }
  for (const { key_id, name, expires_at, revoked_at } of keys) {
    // A key that has ended was reported before.
    if (expires_at === null || revoked_at !== null || expires_at < now || expires_at - now >= keyDays * day_s) continue
    const text = `The key ${name} (${key_id}) ${when(expires_at, now)}. Make a new one on the screen System, or at a shell: benchd key rotate ${key_id}`
    messages.push({ kinds: ['key_ends'], thing: `key ${key_id}`, text, execution_id: null })
  }
  return messages
}

function when(ends: number, now: number): string {
  return ends < now ? 'has ended' : `ends on ${new Date(ends * 1000).toISOString().slice(0, 10)}`
}
