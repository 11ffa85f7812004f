// A line of the log: an envelope of fixed width around one event, so that the event's bytes are cut out without parsing.
//
//   {"crc":"1c291ca3","seq":              42,"boot":"5f0c9a1e","mono":         1234567,"sync":1,"event":{…}}
//
// `crc` is the CRC-32 of the text from the comma after it to the last brace. `boot` names the start of the service whose
// monotonic clock `mono` (µs) is; `sync` says whether the wall clock was in step.

import { crc32 } from 'node:zlib'

export const newline = 0x0a
/** The offset of the event in its line. */
export const eventAt = 100
/** The bytes after the event: a brace and the newline. */
export const lineEnd = 2
/** The bytes of a line without its event. */
export const lineOverhead = eventAt + lineEnd
const digestAt = 8
const summedFrom = 18
const seqAt = 24
const seqEnd = 40

const monoEnd = 82

/** Makes the common part of many lines. Numbers are written into it without making strings, since this happens for every event. */
export function envelope(boot: string, in_step: boolean): Buffer {
  const blank = ' '.repeat(16)
  return Buffer.from(`{"crc":"00000000","seq":${blank},"boot":"${boot}","mono":${blank},"sync":${in_step ? 1 : 0},"event":`, 'latin1')
}

/** Writes a line and returns its end. There must be room for three bytes a character of `json`, and the overhead. */
export function writeLine(
  buffer: Buffer,
  at: number,
  envelope: Buffer,
  { seq, mono_us }: { seq: number; mono_us: number },
  json: string,
): number {
  buffer.set(envelope, at)
  writeDecimal(buffer, at + seqEnd, seq)
  writeDecimal(buffer, at + monoEnd, mono_us)
  const end = at + eventAt + buffer.write(json, at + eventAt)
  buffer[end] = 0x7d
  buffer[end + 1] = newline
  writeHex(buffer, at + digestAt, crc32(buffer.subarray(at + summedFrom, end + 1)))
  return end + 2
}

/** Whether the line between `start` and its newline at `end` is as it was written. */
export function isWhole(buffer: Buffer, start: number, end: number): boolean {
  if (end - start <= eventAt + 1) return false
  const digest = Number.parseInt(buffer.toString('latin1', start + digestAt, start + digestAt + 8), 16)
  return digest === crc32(buffer.subarray(start + summedFrom, end))
}

/** `end` is the offset of the newline. */
export type Line = { start: number; end: number }

/**
 * Finds the first whole line between `from` and `to`. Only damaged lines are skipped, also when
 * the damage hit a newline, so that two lines look like one.
 */
export function nextLine(buffer: Buffer, from: number, to: number, onDamage: (from: number, to: number) => void): Line | undefined {
  let start = from
  while (start < to) {
    const found = buffer.indexOf(newline, start)
    const end = found === -1 || found > to ? to : found
    if (isWhole(buffer, start, end)) return { start, end }
    const line = salvaged(buffer, start, end)
    if (line?.start !== start) onDamage(start, line?.start ?? end)
    if (line) return line
    start = end + 1
  }
  return undefined
}

const beginning = Buffer.from('{"crc":"')

function salvaged(buffer: Buffer, from: number, end: number): Line | undefined {
  for (let start = from; ; ) {
    const next = buffer.indexOf(beginning, start + 1)
    if (next === -1 || next >= end) return start > from && isWhole(buffer, start, end) ? { start, end } : undefined
    if (isWhole(buffer, start, next - 1)) return { start, end: next - 1 }
    start = next
  }
}

/** Reads the CRC of the line that begins at `start`: eight hexadecimal digits. */
export function crcAt(buffer: Buffer, start: number): string {
  return buffer.toString('latin1', start + digestAt, start + digestAt + 8)
}

export function seqOf(buffer: Buffer, { start }: Line): number {
  let seq = 0
  for (let i = start + seqAt; i < start + seqEnd; i++) if (buffer[i] !== 0x20) seq = seq * 10 + buffer[i]! - 0x30
  return seq
}

/** The members after the event's name, in this order. The quote before each cannot be part of a string. */
const executionMember = Buffer.from('","execution_id":"')
const timestampMember = Buffer.from('","timestamp":')

/** Finds where the id of the execution begins, in the event that begins at `at`; the first such member is the event's own. */
function executionAt(buffer: Buffer, at: number): number {
  return buffer.indexOf(executionMember, at) + executionMember.length
}

/** Reads the id of the execution of the event at `at`. */
export function executionOf(buffer: Buffer, at: number): string {
  const from = executionAt(buffer, at)
  const text = buffer.toString('utf8', from, buffer.indexOf(timestampMember, from))
  return text.includes('\\') ? JSON.parse(`"${text}"`) : text
}

/** Reads the timestamp of the event at `at`, in whole microseconds. */
export function microsecondsOf(buffer: Buffer, at: number): number {
  const from = buffer.indexOf(timestampMember, executionAt(buffer, at)) + timestampMember.length
  return Math.round(Number(buffer.toString('latin1', from, buffer.indexOf(0x2c, from))) * 1e6)
}

/** Returns the bytes to search for in a block to find the lines of one execution. */
export function executionNeedle(execution_id: string): Buffer {
  return Buffer.from(`","execution_id":${wellFormed(JSON.stringify(execution_id))},"timestamp":`)
}

/** Whether the event that begins at `at` belongs to that execution. */
export function hasNeedle(buffer: Buffer, at: number, needle: Buffer): boolean {
  const found = buffer.indexOf(needle, at)
  return found !== -1 && found + executionMember.length === executionAt(buffer, at)
}

/**
 * Replaces each lone surrogate in a JSON text by U+FFFD. JSON.stringify writes only these as `\ud…`,
 * and jq 1.6 fails at such a line.
 */
export function wellFormed(json: string): string {
  if (!json.includes('\\ud')) return json
  return json.replace(/\\(?:ud[0-9a-f]{3}|.)/g, (one) => (one.startsWith('\\ud') ? '\ufffd' : one))
}

/** Writes the digits to the left of `end`. */
export function writeDecimal(buffer: Buffer, end: number, value: number): void {
  let at = end
  let left = value
  do {
    const rest = Math.floor(left / 10)
    buffer[--at] = 0x30 + left - rest * 10
    left = rest
  } while (left > 0)
}

const hexDigits = Buffer.from('0123456789abcdef')

/** Writes eight digits. */
function writeHex(buffer: Buffer, at: number, value: number): void {
  for (let i = 7, left = value; i >= 0; i--, left >>>= 4) buffer[at + i] = hexDigits[left & 0xf]!
}
