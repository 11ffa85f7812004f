// Text from bytes that somebody else has made.

const strict = new TextDecoder('utf-8', { fatal: true })

/**
 * Returns the text of UTF-8 bytes, without a byte order mark. Throws a TypeError where they are no UTF-8. Most texts are JSON objects without a
 * replacement character: those need no strict decoder, which takes much longer for a short text.
 */
export function textOfUtf8(bytes: Uint8Array, start = 0, end = bytes.length): string {
  const text = Buffer.isBuffer(bytes) ? bytes.toString('utf8', start, end) : ''
  return text.startsWith('{') && !text.includes('\uFFFD') ? text : strict.decode(bytes.subarray(start, end))
}
