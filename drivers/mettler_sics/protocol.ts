// MT-SICS: commands in capital letters, and answers whose first word is the command and whose second is its status.

import type { Shown } from '../weighing.ts'

export const askWeight = 'SI'
export const askSerialNumber = 'I4'
export const askModel = 'I2'
export const askFirmware = 'I3'
/** Cancels what the balance waits for; answered as `I4` is. */
export const cancel = '@'

/** Matches the answer to `I4` and to `@`. */
export const signature = /^I4 A "/m

/** Whether a line answers the command, with any status, or refuses every command. */
export function answers(command: string): (line: string) => boolean {
  return (line) => generalErrors.has(line) || new RegExp(`^${command} [A-Z+-]`).test(line)
}

/** The answers to a command that the balance does not take, whatever it is. */
const generalErrors: ReadonlySet<string> = new Set(['ES', 'ET', 'EL'])

/** `I` busy or not stable in time, `L` wrong parameter, `+` and `-` out of range. */
export type Status = 'ES' | 'ET' | 'EL' | 'A' | 'S' | 'D' | 'I' | 'L' | '+' | '-' | 'unknown'

const known: ReadonlySet<string> = new Set(['A', 'S', 'D', 'I', 'L', '+', '-'])

/** Returns the status of an answer. */
export function statusOf(line: string): Status {
  const [first = '', second = ''] = line.split(/\s+/)
  if (generalErrors.has(first)) return first as Status
  return (known.has(second) ? second : 'unknown') as Status
}

/** Parses an answer with a weight, such as `S D     12.345 g`. */
export function parseWeight(line: string): Shown | undefined {
  const found = /^[A-Z]+ ([SDA])\s+([+-]?)\s*(\d+(?:\.\d*)?|\.\d+)\s*(\S*)$/.exec(line)
  if (!found) return undefined
  const [, status, sign, digits, unit] = found
  return { value: Number(`${sign}${digits}`), unit: unit!, stable: status !== 'D' }
}

/** Parses an answer with a fault of the balance, such as `S S Error 10b`. */
export function faultIn(line: string): number | undefined {
  const [, code] = /^S S\s+Error\s+(\d+)[bt]?$/.exec(line) ?? []
  return code === undefined ? undefined : Number(code)
}

/** Returns the text in quotes of an answer; undefined where there is none. */
export function textOf(line: string): string | undefined {
  return /^I\d A "(.*)"$/.exec(line)?.[1]?.trim() || undefined
}

/** Returns the model in the answer to `I2`, which ends with the capacity and its unit: `XS204 Excellence 220.0090 g`. */
export function modelIn(line: string): string | undefined {
  return textOf(line)?.replace(/\s+[\d.]+\s+\S+$/, '')
}
