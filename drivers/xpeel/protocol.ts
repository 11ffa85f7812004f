// The protocol of the XPeel: lines that begin with a star, an immediate acknowledgement, and `*ready` with three codes at the end.

import { nextLine } from '../text_lines.ts'
import type { Found } from '../transports/exchange.ts'

export const askStatus = '*stat'
export const askVersion = '*version'
export const reset = '*reset'
/** Matches an acknowledgement, the codes of the last motion, and the unsolicited messages. */
export const signature = /^\*(ack:?|ready:\d\d,\d\d,\d\d|poweron|homing|manual)/m

/** Moves the conveyor to where a peel begins. */
export const conveyorIn = '*movein'
/** Moves the conveyor one step outwards; no step at its end. */
export const conveyorOut = '*moveout'

/** Makes the peel command. `set` (1 to 9) and `adhere` (1 to 4) are codes, not seconds. */
export function peel(set: number, adhere: number): string {
  return `*xpeel:${set}${adhere}`
}

export function encode(command: string): Uint8Array {
  return Buffer.from(`${command}\r\n`, 'latin1')
}

/** Finds the next line of the peeler. Other lines are skipped. */
export function nextAnswer(buffer: Buffer): Found<string> | undefined {
  const line = nextLine(buffer)
  return line?.frame?.match(/^[\x20-\x7e]+$/) ? line : line && { used: line.used }
}

export function isAck(line: string): boolean {
  return /^\*ack:?$/.test(line)
}

/** Parses the three codes of `*ready`; undefined for other lines. */
export function readyCodes(line: string): number[] | undefined {
  return /^\*ready:(\d\d),(\d\d),(\d\d)$/.exec(line)?.slice(1).map(Number)
}

/** Whether a line may be the version, whose form is not known: any line that is not another message. */
export function isVersion(line: string): boolean {
  return !/^\*(ack|ready|tape|seal|manual|setup|poweron|homing|xpeel)/.test(line)
}

/** Whether a line says that the peeler was switched on, or restarted itself. */
export function isRestart(line: string): boolean {
  return line.startsWith('*poweron')
}

/** Whether a line reports an unsolicited motion, which ends with its own `*ready`. */
export function beginsUnasked(line: string): boolean {
  return /^\*(manual|poweron|homing)/.test(line)
}

/** Whether a line reports a key of the panel that begins no motion. */
export function isNotice(line: string): boolean {
  return /^\*(setup.*|xpeel)$/.test(line)
}

/** The codes that are only warnings, such as few seals left on the roll or little room on the take-up spool. */
const warnings = new Set([0, 20, 21])

/** Returns the codes that are errors. */
export function errorsOf(codes: readonly number[]): number[] {
  return codes.filter((code) => !warnings.has(code))
}
