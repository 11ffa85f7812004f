// The protocol of the BioShake: its lines, numbers, states and errors.

import type { Found } from '../transports/exchange.ts'

/** Finds the next line, ended by CRLF or by LF alone. Empty lines are skipped. */
export function line(buffer: Buffer): Found<string> | undefined {
  const end = buffer.indexOf('\n')
  if (end < 0) return undefined
  const text = buffer.toString('latin1', 0, end).trim()
  return text ? { used: end + 1, frame: text } : { used: end + 1 }
}

/** Matches the refusal of an unknown command, the name of the family, and the list of errors. */
export const signature = /^u -> |bioshake|^\{[\d; ]*\}\s*$/im

/** Encodes a command for the line. */
export function encode(command: string): Uint8Array {
  return Buffer.from(`${command}\r`, 'latin1')
}

export function isOk(answer: string): boolean {
  return answer === 'ok'
}

/** Whether a command was refused: the instrument has an error, is in ECO mode, or cannot do it in this state. */
export function isRefusal(answer: string): boolean {
  return /^e\b/.test(answer)
}

/** Whether the instrument answers that it does not know the command. */
export function isUnknown(answer: string, command: string): boolean {
  return answer === `u -> ${command}`
}

/** Whether an answer is a number: `1000` or `1000.0`, depending on the firmware. */
export function isNumber(answer: string): boolean {
  return /^-?\d{1,6}(\.\d{1,3})?$/.test(answer)
}

/** Whether an answer is printable text and not of another kind. */
export function isText(answer: string): boolean {
  return /^[\x20-\x7e]{2,}$/.test(answer) && !/^(ok|e\b.*|u -> .*|\{.*)$/.test(answer) && !stateNames.has(answer)
}

/** Whether a description is that of a BioShake, and not a line of another instrument. */
export function isBioShake(description: string): boolean {
  return /bioshake/i.test(description)
}

const stateNames = new Set(['RUN', 'STOP', 'ESTOP', 'RAMP+', 'RAMP-', 'dec_stop', 'dec_stop_home', 'stopped', 'aligned'])

/** Whether an answer is `{}`, or codes in braces such as `{101; 304}`. */
export function isErrorList(answer: string): boolean {
  return /^\{\s*(\d+\s*(;\s*\d+\s*)*)?\}$/.test(answer)
}

export function errorCodes(list: string): number[] {
  return (list.match(/\d+/g) ?? []).map(Number)
}

/** Whether an answer is the single word of `getShakeStateAsString`, which no other command answers. */
export function isStateName(answer: string): boolean {
  return /^[A-Za-z_]{3,}[+-]?$/.test(answer)
}

/** Whether a line is the last one of a start; the second form is of a Q1. */
export function isBootDone(answer: string): boolean {
  return /Initialization (complete|successfully completed)/.test(answer)
}

/** The answers to `getShakeState`. */
export const shakeStates: Record<number, string> = {
  0: 'shaking',
  1: 'about to stop',
  2: 'braking',
  3: 'stopped, at home and locked there',
  4: 'moved by hand or from outside',
  5: 'speeding up',
  6: 'slowing down',
  7: 'slowing down to a stop',
  8: 'slowing down to stop at home',
  9: 'stopped, not at home',
  10: 'in service mode',
  90: 'in ECO mode',
  99: 'starting up',
}
export const atHome = 3
export const inService = 10
export const inEco = 90
export const booting = 99
/** The states in which the shaker moves, or may move. */
export const moving: ReadonlySet<number> = new Set([0, 1, 2, 4, 5, 6, 7, 8])
/** The states in which the shaker comes to rest, after its time or a stop. */
export const ending: ReadonlySet<number> = new Set([1, 2, 7, 8])
/** The states in which the shaker moves and was not stopped. */
export const driven: ReadonlySet<number> = new Set([0, 4, 5, 6])

/** The answers to `getElmState`. */
export const elmStates: Record<number, string> = {
  0: 'moving or nowhere known',
  1: 'locked',
  3: 'unlocked',
  9: 'in error',
}
export const elmLocked = 1
export const elmUnlocked = 3
export const elmFailed = 9
