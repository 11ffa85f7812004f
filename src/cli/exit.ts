// The exit codes of `benchd`, as `benchd help exit-codes` prints them.

import { type ErrorCode, LabError } from '../errors.ts'

export const exitCodes = {
  ok: [0, 'done'],
  failed: [1, 'the operation failed'],
  usage: [2, 'the command line is wrong'],
  not_found: [3, 'there is no such thing'],
  not_allowed: [4, 'the key is missing, wrong, or may not; or the rights of a file forbid it'],
  busy: [5, 'not now: busy, or in conflict with what is there'],
  standing: [6, 'the run that was followed stands until somebody does what was printed'],
  unreachable: [69, 'the service cannot be reached'],
  running: [75, 'another instance has the data folder'],
  config: [78, 'the configuration is wrong'],
  interrupted: [130, 'ended with Ctrl-C'],
} as const satisfies Record<string, readonly [number, string]>

export type Exit = keyof typeof exitCodes

/** An error of the command line itself. */
export class CliError extends Error {
  readonly exit: Exit
  /** The error code of the service, if it refused the request. */
  readonly reason: string | undefined

  constructor(exit: Exit, message: string, { reason, ...options }: { cause?: unknown; reason?: string | undefined } = {}) {
    super(message, options)
    this.exit = exit
    this.reason = reason
  }
}

/** The error that no service runs on the default data folder. */
export class NotServed extends CliError {
  readonly folder: string

  constructor(folder: string, message: string, options: { cause?: unknown } = {}) {
    super('unreachable', message, options)
    this.folder = folder
  }
}

const byCode: Partial<Record<ErrorCode, Exit>> = {
  not_found: 'not_found',
  config: 'config',
  in_use: 'running',
  invalid: 'usage',
  forbidden: 'not_allowed',
  exists: 'busy',
  conflict: 'busy',
  locked: 'busy',
  busy: 'busy',
}

export function exitOf(error: unknown): number {
  return exitCodes[exitNameOf(error)][0]
}

/** The name of the exit: `not_found`, `busy`, … */
export function exitNameOf(error: unknown): Exit {
  if (error instanceof CliError) return error.exit
  if (!(error instanceof LabError)) return isClosed(error) ? 'not_allowed' : 'failed'
  // A restart does not help a service that may not read its configuration.
  if (error.code !== 'config' && isClosed(error.cause)) return 'not_allowed'
  return byCode[error.code] ?? 'failed'
}

/** Whether an error is about the rights of a file. */
function isClosed(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'EACCES' || error.code === 'EPERM')
}

/** Returns the exit for an HTTP status. */
export function exitOfStatus(status: number): Exit {
  if (status === 401 || status === 403) return 'not_allowed'
  if (status === 404) return 'not_found'
  if (status === 409 || status === 423) return 'busy'
  return status === 400 ? 'usage' : 'failed'
}
