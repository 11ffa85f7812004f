// What goes over a BioShake's line: the lines, the numbers, the states and the errors, each with its words.

import type { Found } from '../transports/exchange.ts'

/** Finds the next line, ended by CRLF or by LF alone. Empty lines are skipped. */
export function line(buffer: Buffer): Found<string> | undefined {
  const end = buffer.indexOf('\n')
  if (end < 0) return undefined
  const text = buffer.toString('latin1', 0, end).trim()
  return text ? { used: end + 1, frame: text } : { used: end + 1 }
}

/** A command as it goes onto the line. */
export function encode(command: string): Uint8Array {
  return Buffer.from(`${command}\r`, 'latin1')
}

export function isOk(answer: string): boolean {
  return answer === 'ok'
}

/** Not now: it is in error, in ECO mode, or the command makes no sense in this state. */
export function isRefusal(answer: string): boolean {
  return /^e\b/.test(answer)
}

/** It does not know the command. */
export function isUnknown(answer: string, command: string): boolean {
  return answer === `u -> ${command}`
}

/** Depends on the firmware: `1000` or `1000.0`. */
export function isNumber(answer: string): boolean {
  return /^-?\d{1,6}(\.\d{1,3})?$/.test(answer)
}

/** Anything that can be read and is no answer of another kind. */
export function isText(answer: string): boolean {
  return /^[\x20-\x7e]{2,}$/.test(answer) && !/^(ok|e\b.*|u -> .*|\{.*)$/.test(answer) && !stateNames.has(answer)
}

const stateNames = new Set(['RUN', 'STOP', 'ESTOP', 'RAMP+', 'RAMP-', 'dec_stop', 'dec_stop_home', 'stopped', 'aligned'])

/** `{}`, or codes between braces, `{101; 304}`. */
export function isErrorList(answer: string): boolean {
  return /^\{\s*(\d+\s*(;\s*\d+\s*)*)?\}$/.test(answer)
}

export function errorCodes(list: string): number[] {
  return (list.match(/\d+/g) ?? []).map(Number)
}

/** The answer to `getShakeStateAsString`: a word by itself, as no order and no number is answered. */
export function isStateName(answer: string): boolean {
  return /^[A-Za-z_]{3,}[+-]?$/.test(answer)
}

/** Said once, at the end of each start; the second form by a Q1. */
export function isBootDone(answer: string): boolean {
  return /Initialization (complete|successfully completed)/.test(answer)
}

/** The answers to `getShakeState`. */
export const shakeStates: Record<number, string> = {
  0: 'shaking',
  1: 'told to stop',
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
/** In these it moves, or may. */
export const moving: ReadonlySet<number> = new Set([0, 1, 2, 4, 5, 6, 7, 8])
/** In these it comes to rest: its time is over, or it was told to. */
export const ending: ReadonlySet<number> = new Set([1, 2, 7, 8])
/** In these it moves, and nobody has told it to stop. */
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

const errorWords: Record<number, string> = {
  101: 'motor controller failed',
  102: 'wrong speed: something blocks the motion',
  103: 'not initialized, or started with wrong parameters',
  104: 'initialization failed',
  105: 'home was not reached after the stop',
  106: 'faster than allowed',
  201: 'temperature sensor answers wrongly, or its settings are wrong',
  202: 'temperature bus failed',
  203: 'temperature sensor has no id',
  204: 'temperature was measured wrongly',
  206: 'checksum of the internal settings is wrong',
  207: 'checksum of the main settings is wrong',
  208: 'checksum of the general settings is wrong',
  209: 'unknown way of measuring the temperature',
  210: 'too hot',
  300: 'plate lock (ELM) failed',
  301: 'driver of the plate lock (ELM) failed',
  303: 'the plate lock (ELM) is not where it should be',
  304: 'the plate lock (ELM) did not lock in time',
  305: 'the plate lock (ELM) did not unlock in time',
  306: 'too much current while the plate lock (ELM) locked',
  307: 'too much current while the plate lock (ELM) unlocked',
  10002: 'parameter not valid',
  10003: 'parameter not valid',
  33010: 'too hot inside',
  33020: 'thermal fuse has tripped',
  33030: 'emergency temperature sensor has tripped',
  35010: 'supply of the thermoelectric element failed',
  35020: 'thermoelectric element is shorted',
  35030: 'thermoelectric element is open',
  37030: 'motor stalled: something blocks the motion',
  37040: 'the solenoid of the home position does not unlock',
  37060: 'it cannot lock the home position',
  37070: 'home was not found in time',
  38030: 'the plate lock (ELM) did not move in time',
  38090: 'self-test of the plate lock (ELM) failed',
  39030: 'the solenoid did not move in time',
}

/** Where a Q1, Q2 or ColdPlate has no words for a code, its group still tells what is concerned. */
const errorGroups: [RegExp, string][] = [
  [/^34\d10$/, 'supply of a fan failed'],
  [/^34\d20$/, 'a fan is stalled'],
  [/^34\d30$/, 'an airway is clogged'],
  [/^10\d{3}$/, 'firmware'],
  [/^2\d{4}$/, 'microcontroller'],
  [/^31\d{3}$/, 'memory of the settings'],
  [/^32\d{3}$/, 'link to a sensor'],
  [/^36\d{3}$/, 'temperature controller'],
  [/^37\d{3}$/, 'shaking'],
  [/^38\d{3}$/, 'plate lock (ELM)'],
  [/^39\d{3}$/, 'solenoid'],
]

/** `error 102 (wrong speed: something blocks the motion)` */
export function errorInWords(code: number): string {
  const words = errorWords[code] ?? errorGroups.find(([group]) => group.test(`${code}`))?.[1] ?? 'not in our table'
  return `error ${code} (${words})`
}
