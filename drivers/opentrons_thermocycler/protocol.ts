// The answers of an Opentrons Thermocycler: coded firmware in GEN2, plain firmware in GEN1.

import { answers, codedError, encodeCrLf, nextAnswer, numberOf, type ReportedErrors, wordIn, wordOf } from '../opentrons_lines.ts'
import { type Dialect, nonsense } from '../opentrons_talk.ts'
import type { Found } from '../transports/exchange.ts'
import { errorTable, sentences } from './errors.ts'

/** Matches the answer about the lid, or the identity of GEN1, which no other Opentrons module gives. */
export const signature = /^(M119 )?Lid:[a-z_]+( Seal:[a-z_]+ OK)?\s*$/m

const number = String.raw`-?\d+(?:\.\d+)?`
/** The forms of the answers of GEN1. Commands are answered by `ok` alone. */
const plainForms: Readonly<Record<string, RegExp>> = {
  M105: new RegExp(`^T:(none|${number}) C:${number} H:\\S+ Total_H:\\S+( At_target\\?:[01])? ok$`),
  M141: new RegExp(`^T:(none|${number}) C:${number}( H:none Total_H:none)? ok$`),
  M119: /^Lid:\S+ ok$/,
  M115: /^serial:\S* model:(?!temp_deck)\S* version:\S* ok$/,
}

export const dialect: Dialect = {
  framer,
  encode: encodeCrLf,
  answers: (frame, code) => answers(frame, code) || (plainForms[wordIn(code)]?.test(frame) ?? frame === 'ok'),
  errorsIn: (frame) => codedError(frame) ?? plainErrors(frame),
  isRemark: (frame) => frame.startsWith('WARNING:'),
  errors: errorTable,
  refusals: new Set([501, 504, 507, 9006]),
  badValues: new Set([407]),
}

/** Matches the one error whose line has no end: firmware of GEN2 sends neither OK nor LF behind it. */
const endless = /^\s*(ERR509:lid:Lid status does not match expected open\/closed status)(?!\s)/

function framer(buffer: Buffer): Found<string> | undefined {
  const found = endless.exec(buffer.toString('latin1', 0, 100))
  return found ? { used: found[0].length, frame: found[1]! } : nextAnswer(buffer)
}

/** An error of GEN1 is a sentence. One that answers a code has its two `ok`. */
function plainErrors(frame: string): ReportedErrors | undefined {
  if (!/^(Error|ERROR):/.test(frame)) return undefined
  const numbers = Object.keys(sentences)
    .map(Number)
    .filter((number) => frame.includes(sentences[number]!))
  return numbers.length ? { numbers, isUnasked: !frame.endsWith(' ok') } : undefined
}

/** The state of the block. `hold` and `total` are the seconds left and asked at the temperature; null without a target. */
export type Block = {
  temperature: number
  target: number | null
  hold: number | null
  total: number | null
  /** Whether the seconds are whole, so that `0` may be almost a second. */
  isWhole: boolean
}

/** Parses the answer to M105. Throws `device_failed` for other text. */
export function blockIn(frame: string): Block {
  const heater = heaterIn('M105', frame)
  const [hold, total] = [wordOf(frame, 'H'), wordOf(frame, 'Total_H')]
  if (hold === 'none' || total === 'none') return { ...heater, hold: null, total: null, isWhole: false }
  const seconds = (key: string) => numberOf(frame, key) ?? nonsense('M105', frame)
  return { ...heater, hold: seconds('H'), total: seconds('Total_H'), isWhole: !hold?.includes('.') }
}

export function heaterIn(code: string, frame: string): { temperature: number; target: number | null } {
  const target = wordOf(frame, 'T') === 'none' ? null : (numberOf(frame, 'T') ?? nonsense(code, frame))
  return { temperature: numberOf(frame, 'C') ?? nonsense(code, frame), target }
}

export type LidStatus = 'open' | 'closed' | 'in_between' | 'unknown'

/** Parses the answer to M119. The seal presses the lid on the plate, in GEN2 alone; `isMoving` tells whether it moves. */
export function lidIn(frame: string): { status: LidStatus; isSealMoving: boolean } {
  const status = wordOf(frame, 'Lid')
  if (status !== 'open' && status !== 'closed' && status !== 'in_between' && status !== 'unknown') return nonsense('M119', frame)
  return { status, isSealMoving: wordOf(frame, 'Seal') === 'in_between' }
}
