// The errors of the MicroSpin by number, in words.

import { LabError } from '../../src/errors.ts'
import { type ErrorTable, reports } from '../reported.ts'
import { type End, newestError } from './protocol.ts'

export const errors: ErrorTable = {
  codes: {
    [-12]: ['it does not take that command, or not now', 'Compare its settings and its firmware with what this driver expects'],
  },
  manual: 'the MicroSpin User Manual',
}

/** Makes the error of a command that ended otherwise than well. */
export function failed({ outcome, echo, lines }: End): LabError {
  if (outcome === 'ABORTED')
    return new LabError(
      'device_failed',
      `it was stopped at its front panel, or by another client, and did not do ${echo}; see why, then initialize`,
    )
  const error = newestError(lines)
  if (!error) return new LabError('device_failed', `it refused ${echo} and does not say why; read its display, then initialize`)
  const said = error.text && ` It says ${JSON.stringify(error.text)}.`
  return new LabError('device_failed', `${reports(errors, [error.code]).message}${said}`)
}
