// The Sartorius Balance Interface: commands behind an escape, and lines of 16 or 22 characters with a weight or a status.

import type { Shown } from '../weighing.ts'

export const print = 'P'
export const tare = 'T'
export const zero = 'V'
export const askModel = 'x1_'
export const askSerialNumber = 'x2_'
export const askFirmware = 'x3_'

export function encode(command: string): Uint8Array {
  return Buffer.from(`\x1b${command}\r\n`, 'latin1')
}

/** A value; its unit is '' while it is not stable. `step` is one in its last digit. */
export type Value = Shown & { kind: 'value'; step: number }

export type Status =
  | { kind: 'overload' | 'underload' | 'busy' | 'off' }
  | { kind: 'error'; number: number }
  | { kind: 'failed'; word: keyof typeof failures }

/** Errors that the balance names in place of a number: what each means, and what to do. */
export const failures = {
  'APP.ERR': ['the weight is too low for its application', 'see that the sample is on the pan, and end the application at the balance'],
  'DIS.ERR': ['the value does not fit its display', 'see its display, and choose a unit with fewer digits'],
  'PRT.ERR': ['its interface is locked', 'see that its interface is set to SBI'],
  'COMM.ERR': ['it has no connection to its weigh cell', 'see the cable between its parts, and switch it off and on'],
  'SYS.ERR': ['its system data are damaged', 'call the service of Sartorius'],
} as const

const value = /^(?:[A-Za-z#][\w.#]{0,5}\s+)?([+-]?)\s*(\d[\d ]*(?:\.\d+)?|\.\d+)\s*([^\d\s+.-]\S{0,2})?$/
const statuses: readonly (readonly [RegExp, Status])[] = [
  [/^H(H|igh)?$/i, { kind: 'overload' }],
  [/^L(L|ow)?$/i, { kind: 'underload' }],
  [/^(C|Cal\b.*|- ?-|Final)$/i, { kind: 'busy' }],
  [/^OFF$/i, { kind: 'off' }],
]

/** Matches a line with a weight, or a status. */
export const signature =
  /^(?:[A-Za-z#][\w.#]{0,5} +)?[+-] *\d[\d. ]* *(?:[A-Za-zµ%]{1,3} *)?\r?$|^Stat +(?:High|Low|H|L|C|Cal.*|OFF|ERR *\d+|[A-Z]+\.ERR) *\r?$/im

/** Parses a line that answers `P`; undefined for any other. */
export function parse(line: string): Value | Status | undefined {
  return parseStatus(line) ?? parseValue(line)
}

function parseValue(line: string): Value | undefined {
  // Digits that are not verified stand in brackets.
  const [, sign, digits, unit] = value.exec(line.replace(/\[(\d)\]/, '$1').trim()) ?? []
  if (digits === undefined || (sign === '' && !digits.includes('.'))) return undefined
  const number = digits.replaceAll(' ', '')
  const decimals = number.split('.')[1]?.length ?? 0
  return { kind: 'value', value: Number(`${sign}${number}`), unit: unit ?? '', stable: unit !== undefined, step: 10 ** -decimals }
}

function parseStatus(line: string): Status | undefined {
  const word = line.replace(/^Stat\s+/, '').trim()
  const [, number] = /^ERR\s*(\d{1,3})$/i.exec(word) ?? []
  if (number) return { kind: 'error', number: Number(number) }
  const failure = (Object.keys(failures) as (keyof typeof failures)[]).find((one) => one === word.toUpperCase())
  if (failure) return { kind: 'failed', word: failure }
  return statuses.find(([pattern]) => pattern.test(word))?.[1]
}

export function answersPrint(line: string): boolean {
  return parse(line) !== undefined
}

/** Whether a line can be the name of a model: it has letters and is neither a value nor a status. */
export function isModel(line: string): boolean {
  return /^[A-Za-z][\w /.+-]{2,}$/.test(line) && !answersPrint(line)
}

export function isSerialNumber(line: string): boolean {
  return /^\d{4,12}$/.test(line)
}

export function isFirmware(line: string): boolean {
  return /^\d+([-.]\d+)+$/.test(line) && !answersPrint(line)
}
