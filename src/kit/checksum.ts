// A checksum in a line of JSON, so that a digit that was flipped on the card is noticed:
//
//   {"crc":"1c291ca3","id":…}
//
// `crc` is the CRC-32 of all that follows its own comma, to the last brace, as in the event log.

import { crc32 } from 'node:zlib'

/** Every line with a checksum begins with this text. */
export const beginning = '{"crc":"'
const digits = 8
const head = beginning.length + digits + '",'.length

function crcOf(text: string): string {
  return hex(crc32(text))
}

function hex(crc: number): string {
  return crc.toString(16).padStart(digits, '0')
}

/** The beginning of a line, as far as its first member. */
export function checksumHead(crc: number): string {
  return `${beginning}${hex(crc)}",`
}

/** The JSON text of an object that has members, with a checksum before them. */
export function withChecksum(json: string): string {
  const rest = json.slice(1)
  return `${checksumHead(crc32(rest))}${rest}`
}

export function hasChecksum(line: string): boolean {
  return line.startsWith(beginning)
}

/** The JSON text without its checksum; undefined where that does not fit. */
export function withoutChecksum(line: string): string | undefined {
  const rest = line.slice(head)
  return line.slice(0, head) === `${beginning}${crcOf(rest)}",` ? `{${rest}` : undefined
}
