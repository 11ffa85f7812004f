// Lines of text on a serial line, ended by CR, LF or CRLF.

import type { Found } from './transports/exchange.ts'

/** Finds the next line, without the spaces around it. Empty lines are skipped. */
export function nextLine(buffer: Buffer): Found<string> | undefined {
  const end = buffer.findIndex((byte) => byte === 0x0d || byte === 0x0a)
  if (end < 0) return undefined
  const text = buffer.toString('latin1', 0, end).trim()
  return text ? { used: end + 1, frame: text } : { used: end + 1 }
}

/** Makes a simulator's reader, which collects bytes and returns whole lines. Lines over `longest` are noise. */
export function lineReader(longest: number): (bytes: Uint8Array) => string[] {
  let received = ''
  return (bytes) => {
    const lines = (received + Buffer.from(bytes).toString('latin1')).split(/[\r\n]+/)
    received = lines.pop()!.slice(-longest)
    return lines.map((line) => line.trim()).filter(Boolean)
  }
}
