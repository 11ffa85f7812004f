// Decodes external UTF-8.

const strict = new TextDecoder('utf-8', { fatal: true })

/**
 * Decodes UTF-8 without a byte order mark. Throws a TypeError for invalid bytes. Most texts are JSON objects without a
 * replacement character, and so do not need the strict decoder, which is much slower for a short text.
 */
export function textOfUtf8(bytes: Uint8Array, start = 0, end = bytes.length): string {
  const text = Buffer.isBuffer(bytes) ? bytes.toString('utf8', start, end) : ''
  return text.startsWith('{') && !text.includes('\uFFFD') ? text : strict.decode(bytes.subarray(start, end))
}
