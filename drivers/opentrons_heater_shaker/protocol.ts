// The protocol of an Opentrons Heater-Shaker: G-codes, lines that end in OK, and solicited and unsolicited errors.

/** Matches an error, and the end of an answer. */
export const signature = /^(async )?ERR\d{3}:|^[GM]\d+ (.* )?OK$/m

export function encode(code: string): Uint8Array {
  return Buffer.from(`${code}\n`, 'latin1')
}

/** Whether a line acknowledges a code: `M3 OK` for `M3 S500`. */
export function answers(line: string, code: string): boolean {
  const [word = ''] = code.split(' ')
  return line === `${word} OK` || (line.startsWith(`${word} `) && line.endsWith(' OK'))
}

/** Returns the value of a key in an answer: `C` of `M123 C:500 T:500 OK` is `500`. */
export function wordOf(line: string, key: string): string | undefined {
  return line
    .match(/\S+:\S*/g)
    ?.find((pair) => pair.startsWith(`${key}:`))
    ?.slice(key.length + 1)
}

/** Returns a number of an answer; undefined for none, such as the target `None`. */
export function numberOf(line: string, key: string): number | undefined {
  const text = wordOf(line, key)
  return text !== undefined && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : undefined
}

/** An error of the shaker: its number, and whether it is unsolicited. */
type ReportedError = { number: number; isUnasked: boolean }

/**
 * Parses an error line, `ERR126:…`, with or without an OK at its end; undefined for other lines. Since September 2022 the
 * firmware puts `async` before an unsolicited error; older firmware does not distinguish them.
 */
export function errorOf(line: string): ReportedError | undefined {
  const [, unasked, digits] = /^(async )?ERR(\d{3})\b/.exec(line) ?? []
  return digits === undefined ? undefined : { number: Number(digits), isUnasked: unasked !== undefined }
}

const errors = { speed: 120, ramp: 121, notHome: 123, notStopped: 124, notClosed: 126, homing: 127, temperature: 213 }

/** Errors that mean that nothing was done because of the present state. */
export const refusals: ReadonlySet<number> = new Set([errors.notHome, errors.notStopped, errors.notClosed, errors.homing])
/** Errors that mean that nothing was done because of the value. */
export const badValues: ReadonlySet<number> = new Set([errors.speed, errors.ramp, errors.temperature])

/** Whether an error is a motor failure, after which only a restart helps. */
export function isMotorFailure(number: number): boolean {
  return number >= 101 && number <= 111
}
