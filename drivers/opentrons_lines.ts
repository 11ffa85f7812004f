// The lines of Opentrons modules: G-codes, and the answers of their two kinds of firmware.
//
// `coded` firmware (Heater-Shaker, Thermocycler GEN2) repeats the code in its answer and ends it in OK: `M105 T:none C:22.00 OK`.
// `plain` firmware (Temperature Module, Thermocycler GEN1) answers with a line of values, if there are any, and with two lines `ok`.

import type { Found } from './transports/exchange.ts'

/** Encodes a code for firmware that takes LF alone. */
export function encode(code: string): Uint8Array {
  return Buffer.from(`${code}\n`, 'latin1')
}

/** Encodes a code for plain firmware, which wants CR and LF. Coded firmware takes both. */
export function encodeCrLf(code: string): Uint8Array {
  return Buffer.from(`${code}\r\n`, 'latin1')
}

/** Matches the line of values of a plain answer, and a refusal in its place. */
const plainValues = /^(T:|serial:|Lid:|ERROR:|Error:Cannot )/
const ok = 'ok'

/**
 * Finds the next answer of coded or plain firmware. A plain answer is one frame with its two `ok`: `T:none C:22.000 ok`, or `ok` alone. A line of values
 * without them is skipped, because it is a part of an answer.
 */
export function nextAnswer(buffer: Buffer): Found<string> | undefined {
  const first = lineAt(buffer, 0)
  if (!first) return undefined
  const { text, end } = first
  if (text === '') return { used: end }
  if (text === ok) return oks(buffer, 0, '')
  return plainValues.test(text) ? oks(buffer, end, `${text} `, end) : { used: end, frame: text }
}

/** Finds the two `ok` from `start` on. `before` is the rest of the frame, and `part` the length to skip without them. */
function oks(buffer: Buffer, start: number, before: string, part = 0): Found<string> | undefined {
  let [at, found] = [start, 0]
  for (; found < 2; ) {
    const line = lineAt(buffer, at)
    if (!line) return undefined
    if (line.text === ok) found++
    else if (line.text !== '') return { used: part || at }
    at = line.end
  }
  return { used: at, frame: `${before}${ok}` }
}

/** Returns the line that begins at `start`, without spaces, and the place behind its LF; undefined while it is incomplete. */
function lineAt(buffer: Buffer, start: number): { text: string; end: number } | undefined {
  const at = buffer.indexOf(0x0a, start)
  if (at < 0) return undefined
  return { text: buffer.toString('latin1', start, at).trim(), end: at + 1 }
}

/** Whether a line of coded firmware acknowledges a code: `M3 OK` for `M3 S500`. */
export function answers(line: string, code: string): boolean {
  const word = wordIn(code)
  return line === `${word} OK` || (line.startsWith(`${word} `) && line.endsWith(' OK'))
}

/** Returns the code without its arguments: `M104` of `M104 S37`. */
export function wordIn(code: string): string {
  return code.split(' ')[0]!
}

/** Returns the value of a key in an answer: `C` of `M123 C:500 T:500 OK` is `500`. */
export function wordOf(line: string, key: string): string | undefined {
  return line
    .match(/\S+:\S*/g)
    ?.find((pair) => pair.startsWith(`${key}:`))
    ?.slice(key.length + 1)
}

/** Returns a number of an answer; undefined for none, such as the target `None`. */
export function numberOf(line: string, key: string): number | undefined {
  const text = wordOf(line, key)
  return text !== undefined && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : undefined
}

/** Errors that a module reports, by their numbers, and whether it reports them without a question. */
export type ReportedErrors = { numbers: readonly number[]; isUnasked: boolean }

/**
 * Parses an error line of coded firmware, `ERR126:…`, with or without an OK at its end; undefined for other lines. Since September 2022 the
 * firmware puts `async` before an unsolicited error; older firmware does not distinguish them.
 */
export function codedError(line: string): ReportedErrors | undefined {
  const [, unasked, digits] = /^(async )?ERR(\d{3})\b/.exec(line) ?? []
  return digits === undefined ? undefined : { numbers: [Number(digits)], isUnasked: unasked !== undefined }
}

/** Writes the number of an error as coded firmware does. */
export function writtenError(number: number): string {
  return `ERR${String(number).padStart(3, '0')}`
}
