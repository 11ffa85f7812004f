// The words of the XPeel: lines that begin with a star, an acknowledgement at once and `*ready` with three codes when it is done.

import { nextLine } from '../text_lines.ts'
import type { Found } from '../transports/exchange.ts'

export const askStatus = '*stat'
export const askVersion = '*version'
export const reset = '*reset'
/** An acknowledgement, the codes of the last motion, and the messages without a question. */
export const signature = /^\*(ack:?|ready:\d\d,\d\d,\d\d|poweron|homing|manual)/m

/** To where a peel begins. */
export const conveyorIn = '*movein'
/** A step towards whoever stands in front of it; none when it is out. */
export const conveyorOut = '*moveout'

/** `set` is from 1 to 9, `adhere` from 1 to 4: codes, not seconds. */
export function peel(set: number, adhere: number): string {
  return `*xpeel:${set}${adhere}`
}

export function encode(command: string): Uint8Array {
  return Buffer.from(`${command}\r\n`, 'latin1')
}

/** The next line; one that is not whole or not its own is skipped. */
export function nextAnswer(buffer: Buffer): Found<string> | undefined {
  const line = nextLine(buffer)
  return line?.frame?.match(/^[\x20-\x7e]+$/) ? line : line && { used: line.used }
}

export function isAck(line: string): boolean {
  return /^\*ack:?$/.test(line)
}

/** The three codes; undefined when the line is not `*ready`. */
export function readyCodes(line: string): number[] | undefined {
  return /^\*ready:(\d\d),(\d\d),(\d\d)$/.exec(line)?.slice(1).map(Number)
}

/** Whether a line may be the version. How the peeler words it is not known, so any line that is none of its other words may be. */
export function isVersion(line: string): boolean {
  return !/^\*(ack|ready|tape|seal|manual|setup|poweron|homing|xpeel)/.test(line)
}

/** Whether a line says that the peeler was switched on, or restarted itself. */
export function isRestart(line: string): boolean {
  return line.startsWith('*poweron')
}

/** Whether a line begins a motion that nobody asked for over the line, and that ends with a `*ready` of its own. */
export function beginsUnasked(line: string): boolean {
  return /^\*(manual|poweron|homing)/.test(line)
}

/** Whether a line reports a key of the panel that begins nothing. */
export function isNotice(line: string): boolean {
  return /^\*(setup.*|xpeel)$/.test(line)
}

/** Few seals left on the roll, and little room on the take-up spool. */
const warnings = new Set([0, 20, 21])

/** The codes that are errors. */
export function errorsOf(codes: readonly number[]): number[] {
  return codes.filter((code) => !warnings.has(code))
}
