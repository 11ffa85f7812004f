// A checksum in a line of JSON, which detects flipped bits on the disk:
//
//   {"crc":"1c291ca3","id":…}
//
// `crc` is the CRC-32 of the text from the comma after it to the last brace, as in the event log.

import { crc32 } from 'node:zlib'

/** The beginning of every line with a checksum. */
export const beginning = '{"crc":"'
const digits = 8
const head = beginning.length + digits + '",'.length

function crcOf(text: string): string {
  return hex(crc32(text))
}

function hex(crc: number): string {
  return crc.toString(16).padStart(digits, '0')
}

/** Returns the beginning of a line up to its first member. */
export function checksumHead(crc: number): string {
  return `${beginning}${hex(crc)}",`
}

/** Adds a checksum to the JSON text of a non-empty object. */
export function withChecksum(json: string): string {
  const rest = json.slice(1)
  return `${checksumHead(crc32(rest))}${rest}`
}

export function hasChecksum(line: string): boolean {
  return line.startsWith(beginning)
}

/** Returns the JSON text without its checksum; undefined if the checksum is wrong. */
export function withoutChecksum(line: string): string | undefined {
  const rest = line.slice(head)
  return line.slice(0, head) === `${beginning}${crcOf(rest)}",` ? `{${rest}` : undefined
}
