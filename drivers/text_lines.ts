// Lines of text on a serial line, whichever of CR, LF and CRLF ends them.

import type { Found } from './transports/exchange.ts'

/** Finds the next line, without the spaces around it. Empty lines are skipped. */
export function nextLine(buffer: Buffer): Found<string> | undefined {
  const end = buffer.findIndex((byte) => byte === 0x0d || byte === 0x0a)
  if (end < 0) return undefined
  const text = buffer.toString('latin1', 0, end).trim()
  return text ? { used: end + 1, frame: text } : { used: end + 1 }
}

/** Gathers bytes and returns the lines that are whole; a simulator's end of the same. What is longer than `longest` is noise. */
export function lineReader(longest: number): (bytes: Uint8Array) => string[] {
  let received = ''
  return (bytes) => {
    const lines = (received + Buffer.from(bytes).toString('latin1')).split(/[\r\n]+/)
    received = lines.pop()!.slice(-longest)
    return lines.map((line) => line.trim()).filter(Boolean)
  }
}
