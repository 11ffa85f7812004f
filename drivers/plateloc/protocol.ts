// The words of the PlateLoc: two letters and a payload, answered by the same two letters and AK, or NK with a reason.

import { nextLine } from '../text_lines.ts'
import type { Found } from '../transports/exchange.ts'

/** An acknowledgement, or a refusal with its reason. */
export const signature = /^[A-Z0-9]{2}[AN]K(\(.*\))?$/m

export type Acknowledgement = {
  /** The two letters of the command. */
  verb: string
  ok: boolean
  /** The reason why not, in the instrument's words. */
  reason: string
}

export const startCycle = 'GO 00'
export const abortCycle = 'AC 00'
export const stageOut = 'SO 00'
export const stageIn = 'SI 00'
export const clearError = 'CL 00'
/** Whether the cycle is complete: here NK is no refusal, but `not yet`. */
export const isComplete = 'CC 00'

/** Whole °C, written as what follows the point: 175 is `0.175`. */
export function heatTo(temperature: number): string {
  return `ST 0.${String(temperature).padStart(3, '0')}`
}

/** Unit: seconds, written in tenths after the point, of which there are at least two digits: 0.5 is `0.05`, 12 is `0.120`. */
export function sealFor(duration: number): string {
  return `SS 0.${String(Math.round(duration * 10)).padStart(2, '0')}`
}

export function encode(command: string): Uint8Array {
  return Buffer.from(`${command}\r`, 'latin1')
}

export function verbOf(command: string): string {
  return command.slice(0, 2)
}

/** The next answer; a line that is none is skipped. */
export function nextAnswer(buffer: Buffer): Found<Acknowledgement> | undefined {
  const line = nextLine(buffer)
  if (line?.frame === undefined) return line as Found<Acknowledgement> | undefined
  const [, verb, letter, reason = ''] = /^([A-Z0-9]{2})([AN])K(?:\((.*)\))?$/.exec(line.frame) ?? []
  return verb ? { used: line.used, frame: { verb, ok: letter === 'A', reason } } : { used: line.used }
}
