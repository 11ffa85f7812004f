// The text of a key, `bk_<key_id>_<secret>`, and the hash that is kept of it.

import { hash, randomBytes, randomInt } from 'node:crypto'

/** Makes a key of 256 random bits behind a public id. */
export function mint(): { key_id: string; api_key: string; sha256: string } {
  const key_id = Array.from({ length: 8 }, () => 'abcdefghijklmnopqrstuvwxyz0123456789'[randomInt(36)]).join('')
  const secret = randomBytes(32).toString('base64url')
  return { key_id, api_key: `bk_${key_id}_${secret}`, sha256: digestOf(secret).toString('hex') }
}

/** Splits the text of a key; undefined if it is not one. */
export function partsOf(text: string): { key_id: string; secret: string } | undefined {
  const [, key_id, secret] = /^bk_([a-z0-9]{8})_([A-Za-z0-9_-]{43})$/.exec(text) ?? []
  return key_id && secret ? { key_id, secret } : undefined
}

/** Plain SHA-256 is right for a random secret; a hash that is slow on purpose would stall every request. */
export function digestOf(secret: string | Buffer): Buffer {
  return hash('sha256', secret, 'buffer')
}

/** Removes the secrets of keys from a text, because people have put whole keys into addresses. */
export function withoutSecrets(text: string): string {
  // Fast path: most texts have neither an escape nor the beginning of a key.
  if (!/%|bk_/i.test(text)) return text
  return (text.includes('%') ? decoded(text) : text).replace(/(bk_[a-z0-9]{8}_)[A-Za-z0-9_-]+/gi, '$1…')
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
