// The words of an Opentrons Heater-Shaker: G-codes, lines that end in OK, and the errors that come instead or by themselves.

export function encode(code: string): Uint8Array {
  return Buffer.from(`${code}\n`, 'latin1')
}

/** Whether a line acknowledges a code: `M3 OK` for `M3 S500`. */
export function answers(line: string, code: string): boolean {
  const [word = ''] = code.split(' ')
  return line === `${word} OK` || (line.startsWith(`${word} `) && line.endsWith(' OK'))
}

/** The value that a key has in an answer: `C` of `M123 C:500 T:500 OK` is `500`. */
export function wordOf(line: string, key: string): string | undefined {
  return line
    .match(/\S+:\S*/g)
    ?.find((pair) => pair.startsWith(`${key}:`))
    ?.slice(key.length + 1)
}

/** A number of an answer; undefined where there is none, as for a target `None`. */
export function numberOf(line: string, key: string): number | undefined {
  const text = wordOf(line, key)
  return text !== undefined && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : undefined
}

/** What an error says of itself: its number, and whether it came without a question. */
export type Told = { number: number; isUnasked: boolean }

/**
 * The error that a line tells, `ERR126:…`, with or without an OK at its end; undefined for any other line. Since September 2022 the
 * firmware puts `async` before an error that answers nothing; before that nobody could tell.
 */
export function errorOf(line: string): Told | undefined {
  const [, unasked, digits] = /^(async )?ERR(\d{3})\b/.exec(line) ?? []
  return digits === undefined ? undefined : { number: Number(digits), isUnasked: unasked !== undefined }
}

export const errors = { speed: 120, ramp: 121, notHome: 123, notStopped: 124, notClosed: 126, homing: 127, temperature: 213 }

/** These say that nothing was done, because of where it is, or of what it is doing. */
export const refusals: ReadonlySet<number> = new Set([errors.notHome, errors.notStopped, errors.notClosed, errors.homing])
/** These say that nothing was done, because of the value. */
export const badValues: ReadonlySet<number> = new Set([errors.speed, errors.ramp, errors.temperature])

/** Errors of the motor itself: it answers nothing else until it is restarted. */
export function isMotorFailure(number: number): boolean {
  return number >= 101 && number <= 111
}

const words: Record<number, string> = {
  1: 'it could not send all that it had to say',
  2: 'its queue is full',
  3: 'it does not know this command',
  4: 'too many commands at once',
  5: 'its parts do not understand each other',
  111: 'the motor cannot move',
  120: 'speed not allowed',
  121: 'acceleration not allowed',
  122: 'home was not found',
  123: 'the table is not at home',
  124: 'the table does not stand still',
  125: 'the latch did not arrive in time',
  126: 'the latch is not closed',
  127: 'it is going home',
  201: 'thermistor A is disconnected',
  202: 'thermistor A is shorted',
  203: 'thermistor A is too hot',
  205: 'thermistor B is disconnected',
  206: 'thermistor B is shorted',
  207: 'thermistor B is too hot',
  208: 'the thermistor of the board is shorted',
  209: 'the board is too hot',
  210: 'the thermistor of the board is disconnected',
  211: 'the heater was latched off by its own circuit',
  212: 'a constant of the heater is out of range',
  213: 'temperature not allowed',
  214: 'the heat pad is shorted',
}

const groups: [from: number, to: number, words: string][] = [
  [101, 110, 'the motor or its driver failed'],
  [128, 128, 'the motor or the latch failed'],
  [215, 216, 'the heater failed'],
  [301, 305, 'its system failed'],
]

/** `ERR126 (the latch is not closed)` */
export function errorInWords(number: number): string {
  const group = groups.find(([from, to]) => number >= from && number <= to)?.[2]
  return `ERR${String(number).padStart(3, '0')} (${words[number] ?? group ?? 'not in our table'})`
}
