// The errors of an Opentrons Heater-Shaker. Its lines are those of `opentrons_lines.ts`: coded firmware, with LF alone.

import { answers, codedError, encode } from '../opentrons_lines.ts'
import type { Dialect } from '../opentrons_talk.ts'
import { nextLine } from '../text_lines.ts'
import { errorTable } from './errors.ts'

/** Matches the answer about its latch, which no other module of Opentrons gives. */
export const signature = /^M241 STATUS:[A-Z_]+ OK$/m

const errors = { speed: 120, ramp: 121, notHome: 123, notStopped: 124, notClosed: 126, homing: 127, temperature: 213 }

export const dialect: Dialect = {
  framer: nextLine,
  encode,
  answers,
  errorsIn: codedError,
  errors: errorTable,
  refusals: new Set([errors.notHome, errors.notStopped, errors.notClosed, errors.homing]),
  badValues: new Set([errors.speed, errors.ramp, errors.temperature]),
}

/** Whether a frame reports a motor failure, after which only a restart helps. */
export function isMotorFailure(frame: string): boolean {
  return codedError(frame)?.numbers.some((number) => number >= 101 && number <= 111) ?? false
}
