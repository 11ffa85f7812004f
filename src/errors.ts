// The one error class of the service: a code for the program, a sentence for the person.

/** Every code there is. `http/errors.ts` gives each one its status, `cli/exit.ts` its exit code. */
export type ErrorCode =
  // what was asked is not right
  | 'invalid'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'request_timeout'
  | 'too_large'
  | 'media_type'
  | 'misdirected'
  | 'too_many_wrong_keys'
  | 'headers_too_large'
  // what was asked is right, but not now
  | 'busy'
  | 'interlock'
  | 'not_initialized'
  | 'stopped'
  | 'faulted'
  | 'exists'
  | 'conflict'
  | 'locked'
  | 'in_progress'
  | 'safe_mode'
  // the instrument failed
  | 'disconnected'
  | 'no_reply'
  | 'device_failed'
  | 'stop_not_sent'
  // the service failed
  | 'storage'
  | 'stopping'
  | 'overloaded'
  | 'config'
  | 'in_use'
  | 'internal'

export class LabError extends Error {
  readonly code: ErrorCode
  /** Seconds after which asking again makes sense. */
  readonly retry_after_s: number | undefined
  /** Each mistake of a request that has several, with its place; `message` tells of the first ones. */
  readonly mistakes: readonly object[] | undefined

  /** `message` says what happened, to which device or value, and what to do about it. */
  constructor(code: ErrorCode, message: string, options: { cause?: unknown; retry_after_s?: number; mistakes?: readonly object[] } = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : {})
    this.name = 'LabError'
    this.code = code
    this.retry_after_s = options.retry_after_s
    this.mistakes = options.mistakes
  }
}

/** The sentence of any thrown thing. */
export function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message
  try {
    return String(error)
  } catch {
    return 'something was thrown that says nothing of itself'
  }
}
