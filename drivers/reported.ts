// The errors that an instrument reports by number: what each one means, and what a person does about it.

import { LabError } from '../src/errors.ts'

/** `action` is a sentence in the imperative, without its end: what to do before the device is initialized. */
export type Meaning = readonly [words: string, action: string]

export type ErrorTable = {
  readonly codes: Readonly<Record<number, Meaning>>
  /** Meanings for ranges of numbers. A number without a row in `codes` takes the meaning of the first group that holds it. */
  readonly groups?: readonly { holds(code: number): boolean; meaning: Meaning }[]
  /** The document that explains numbers without a known meaning, such as `the manual of the a4S`. */
  readonly manual: string
  /** How the instrument writes a number; `error 12` by default. */
  readonly write?: (code: number) => string
}

/** Whether the device has failed, or has done nothing because of where it is (`interlock`) or of a value (`invalid`). */
type Kind = 'device_failed' | 'interlock' | 'invalid'

/** `error 12 (shuttle jammed)`, and so on for each number. */
export function inWords(table: ErrorTable, codes: readonly number[]): string {
  return codes.map((code) => `${written(table, code)} (${meaningOf(table, code)[0]})`).join(' and ')
}

/** `Remove the plate, then initialize the device.` An action that several numbers share is said once. */
function remedy(table: ErrorTable, codes: readonly number[]): string {
  return `${actions(table, codes)}, then initialize the device.`
}

/** The error of an instrument that reports these numbers. */
export function reports(table: ErrorTable, codes: readonly number[]): LabError {
  return new LabError('device_failed', `it reports ${inWords(table, codes)}. ${remedy(table, codes)}`)
}

/** The error of an instrument that answers a command, such as `AID`, with these numbers; `kind` says whether it has failed. */
export function refused(table: ErrorTable, command: string, codes: readonly number[], kind: Kind = 'device_failed'): LabError {
  const action = kind === 'device_failed' ? remedy(table, codes) : `${actions(table, codes)}.`
  return new LabError(kind, `it refused ${command} and reports ${inWords(table, codes)}. ${action}`)
}

function actions(table: ErrorTable, codes: readonly number[]): string {
  return [...new Set(codes.map((code) => meaningOf(table, code)[1]))].join('. ')
}

function meaningOf(table: ErrorTable, code: number): Meaning {
  const known = table.codes[code] ?? table.groups?.find(({ holds }) => holds(code))?.meaning
  return known ?? ['its meaning is not known to benchd', `Look ${written(table, code)} up in ${table.manual} and do what it says`]
}

function written({ write = (number) => `error ${number}` }: ErrorTable, code: number): string {
  return write(code)
}
