// The protocol of the MicroSpin: commands in lines of text, each acknowledged, answered by lines of data, and ended by a line with its outcome.

import type { Found } from '../transports/exchange.ts'

/** An acknowledgement, or the end of a command with the lines of data before it. The instrument numbers commands, of all its clients together. */
export type Frame =
  | { kind: 'ack'; echo: string; id: number }
  | { kind: 'end'; outcome: Outcome; echo: string; id: number; lines: readonly string[] }
export type End = Extract<Frame, { kind: 'end' }>
type Outcome = 'OK' | 'ERROR' | 'ABORTED'

/** Matches what only a MicroSpin sends: an acknowledgement. */
export const signature = /ACK! \S.* \d+\r\n/

export const version = 'version'
/** Asks whether it has a home position; it is answered also while the rotor turns. */
export const homedStatus = 'hss'
/** Asks for the positions; it is answered only when the rotor stands. */
export const status = 'status'
export const home = 'home'
export const abort = 'abort'
/** Ends the state that an abort, or the button at the front, leaves behind. */
export const clearAbort = 'clearbuttonabort'
/** A harmless question that the driver asks for nothing else. */
export const finding = 'help abort'

export function encode(command: string): Uint8Array {
  return Buffer.from(`${command}\r\n`, 'latin1')
}

const marked = /^(ACK|OK|ERROR|ABORTED)! (.*\S) +(\d+)$/

/** Finds the next acknowledgement, or the next end with its data. Lines before an acknowledgement belong to nothing. */
export function framer(buffer: Buffer): Found<Frame> | undefined {
  const text = buffer.toString('latin1')
  const lines: string[] = []
  for (let from = 0, to = text.indexOf('\n'); to >= 0; from = to + 1, to = text.indexOf('\n', from)) {
    const line = text.slice(from, to).trimEnd()
    const [, mark, echo = '', id] = marked.exec(line) ?? []
    if (mark === undefined) lines.push(line)
    else if (mark !== 'ACK') return { used: to + 1, frame: { kind: 'end', outcome: mark as Outcome, echo, id: Number(id), lines } }
    else if (from > 0) return { used: from }
    else return { used: to + 1, frame: { kind: 'ack', echo, id: Number(id) } }
  }
  return undefined
}

/** Returns the value of `Name: value` in the lines of a report; null without one. */
export function valueIn(lines: readonly string[], name: string): string | null {
  const line = lines.find((one) => one.startsWith(`${name}:`))
  return line === undefined ? null : line.slice(name.length + 1).trim() || null
}

/** Reads the newest error of a dump of the error stack, `Error 2: (00:00:01) -12: bad params`. */
export function newestError(lines: readonly string[]): { code: number; text: string } | undefined {
  const [, code, text] = /^Error \d+: \([^)]*\) (-?\d+): *(.*)$/.exec(lines.at(-1) ?? '') ?? []
  return code === undefined ? undefined : { code: Number(code), text: text! }
}
