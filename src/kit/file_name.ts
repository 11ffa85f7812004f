// Names of files that others give: made safe to save, and told in a header.

import { LabError } from '../errors.ts'

/** The longest name that file systems take, in bytes. */
const longest_bytes = 200
/** Characters that a file system or a shell takes for something else, controls, and those that hide or turn the text around them. */
const unsafe = /["*/:<>?\\|]|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

/** Returns a name that is safe to save under: of a path its last part. Throws `invalid` if nothing is left. */
export function safeFileName(given: string): string {
  const last = given.split(/[/\\]/).at(-1)!
  const clean = last
    .toWellFormed()
    .normalize('NFC')
    .replace(unsafe, '_')
    .replace(/^[\s.]+|[\s.]+$/g, '')
  if (/^_*$/.test(clean))
    throw new LabError('invalid', `${JSON.stringify(given.slice(0, 80))} is no name of a file; name it like plate-1.csv`)
  return shortened(clean)
}

/** Keeps the end, which says of what kind the file is. */
function shortened(name: string): string {
  const characters = Array.from(name)
  const [, end = ''] = /(\.[^.]{1,10})$/.exec(name) ?? []
  while (Buffer.byteLength(characters.join('')) > longest_bytes) characters.splice(characters.length - Array.from(end).length - 1, 1)
  return characters.join('')
}

/** Returns the header `Content-Disposition` of a download (RFC 6266): a name in ASCII for old clients, and the whole one (RFC 8187). */
export function attachmentOf(name: string): string {
  const ascii = name.replace(/[^\x20-\x7e]|["\\%]/g, '_')
  if (ascii === name) return `attachment; filename="${name}"`
  const encoded = encodeURIComponent(name).replace(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`
}
