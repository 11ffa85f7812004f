// The protocol of the ALPS family: a letter and digits, ended by CR both ways. An answer may begin with an echo of its question.

import { nextLine } from '../text_lines.ts'
import type { Found } from '../transports/exchange.ts'
import type { Flag, Model } from './models.ts'

export const askStatus = '?'
export const askError = 'E'
export const askSetPoint = 'C'
export const askTemperature = 'F'
export const askVersion = 'V'
export const startSeal = 'S'

/** Matches the status byte and a refusal. `CC` and `E0` to `E5` without an echo are words of a LiCONiC STX. */
export const signature = /^\?[\da-f]{2}$|^(?!cc$|e[0-5]$)[\da-f]{2}$|^.*syntax error$|^err$/im

/** Makes the command for a set point in whole °C. */
export function heatTo(temperature: number): string {
  return `A${String(temperature).padStart(3, '0')}`
}

/** Makes the command for a seal of `duration` seconds, in tenths. */
export function sealFor(duration: number): string {
  return `B${String(Math.round(duration * 10)).padStart(2, '0')}`
}

export function encode(question: string): Uint8Array {
  return Buffer.from(`${question}\r`, 'latin1')
}

/** Finds the next answer, without the echo of its question. */
export function nextAnswer(buffer: Buffer, question: string | undefined): Found<string> | undefined {
  const line = nextLine(buffer)
  if (line?.frame === undefined || question === undefined || !line.frame.startsWith(question)) return line
  const frame = line.frame.slice(question.length).trim()
  return frame ? { used: line.used, frame } : { used: line.used }
}

export function isStatus(answer: string): boolean {
  return /^[0-9a-f]{2}$/i.test(answer)
}

export function isErrorNumber(answer: string): boolean {
  return /^\d{2}$/.test(answer)
}

export function isTemperature(answer: string): boolean {
  return /^\d{3}$/.test(answer)
}

/** Whether an answer is a version, which is longer than any other answer. */
export function isVersion(answer: string): boolean {
  return answer.length > 3 && !isRefused(answer)
}

export function isDone(answer: string): boolean {
  return /^ok$/i.test(answer)
}

export function isRefused(answer: string): boolean {
  return /^err$|syntax/i.test(answer)
}

export function readStatus(answer: string, { bits }: Model): Set<Flag> {
  const byte = Number.parseInt(answer, 16)
  return new Set((Object.keys(bits) as Flag[]).filter((flag) => (byte & bits[flag]!) !== 0))
}
