// The second line of a file of JSON lines records the least length of the file when its lines were last acknowledged. A shorter file
// has lost lines, also if it ends between two of them. It repeats the format, to detect a flipped digit in the first line.
//
//   {"crc":"1c291ca3","format":3,"bytes":"000000001234"}
//
// The line has a fixed size, and is overwritten in place.

import { withChecksum, withoutChecksum } from './checksum.ts'

/** `bytes` counts from the beginning of the file. */
export type LengthLine = { format: number; bytes: number }

const digits = 12
const pattern = new RegExp(`^\\{"format":(\\d+),"bytes":"(\\d{${digits}})"\\}$`)

/** Writes the line with its end. */
export function lengthLine({ format, bytes }: LengthLine): string {
  return `${withChecksum(`{"format":${format},"bytes":"${String(bytes).padStart(digits, '0')}"}`)}\n`
}

/** Parses the line; undefined if it is another line or damaged. */
export function readLengthLine(line: string): LengthLine | undefined {
  const [, format, bytes] = pattern.exec(withoutChecksum(line) ?? '') ?? []
  return format === undefined ? undefined : { format: Number(format), bytes: Number(bytes) }
}
