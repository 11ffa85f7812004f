// The second line of a file of JSON lines says how long the file was, at least, when its lines were last acknowledged: a file that is shorter
// has lost lines, also where it ends between two of them. It repeats the format, so that a digit that was flipped in the first line is noticed.
//
//   {"crc":"1c291ca3","format":3,"bytes":"000000001234"}
//
// It has always as many bytes, and is written over in its place.

import { withChecksum, withoutChecksum } from './checksum.ts'

/** `bytes` counts from the beginning of the file. */
export type LengthLine = { format: number; bytes: number }

const digits = 12
const pattern = new RegExp(`^\\{"format":(\\d+),"bytes":"(\\d{${digits}})"\\}$`)

/** With its line end. */
export function lengthLine({ format, bytes }: LengthLine): string {
  return `${withChecksum(`{"format":${format},"bytes":"${String(bytes).padStart(digits, '0')}"}`)}\n`
}

/** Returns the content of the line; undefined where it is no such line, or not whole. */
export function readLengthLine(line: string): LengthLine | undefined {
  const [, format, bytes] = pattern.exec(withoutChecksum(line) ?? '') ?? []
  return format === undefined ? undefined : { format: Number(format), bytes: Number(bytes) }
}
