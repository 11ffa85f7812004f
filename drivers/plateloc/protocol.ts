// The protocol of the PlateLoc: two letters and a payload, answered by the same two letters and AK, or NK with a reason.

import { nextLine } from '../text_lines.ts'
import type { Found } from '../transports/exchange.ts'

/** Matches an acknowledgement, and a refusal with its reason. */
export const signature = /^[A-Z0-9]{2}[AN]K(\(.*\))?$/m

export type Acknowledgement = {
  /** The two letters of the command. */
  verb: string
  ok: boolean
  /** The instrument's reason of a refusal. */
  reason: string
}

export const startCycle = 'GO 00'
export const abortCycle = 'AC 00'
export const stageOut = 'SO 00'
export const stageIn = 'SI 00'
export const clearError = 'CL 00'
/** Asks whether the cycle is complete, where NK means `not yet`. */
export const isComplete = 'CC 00'

/** Makes the command for a set point in whole °C, written after the point: 175 is `0.175`. */
export function heatTo(temperature: number): string {
  return `ST 0.${String(temperature).padStart(3, '0')}`
}

/** Makes the command for a seal of `duration` seconds, written in tenths after the point with at least two digits: 0.5 is `0.05`, 12 is `0.120`. */
export function sealFor(duration: number): string {
  return `SS 0.${String(Math.round(duration * 10)).padStart(2, '0')}`
}

export function encode(command: string): Uint8Array {
  return Buffer.from(`${command}\r`, 'latin1')
}

export function verbOf(command: string): string {
  return command.slice(0, 2)
}

/** Finds the next answer. Other lines are skipped. */
export function nextAnswer(buffer: Buffer): Found<Acknowledgement> | undefined {
  const line = nextLine(buffer)
  if (line?.frame === undefined) return line as Found<Acknowledgement> | undefined
  const [, verb, letter, reason = ''] = /^([A-Z0-9]{2})([AN])K(?:\((.*)\))?$/.exec(line.frame) ?? []
  return verb ? { used: line.used, frame: { verb, ok: letter === 'A', reason } } : { used: line.used }
}
