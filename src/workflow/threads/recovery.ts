// How a thread is held up and let go on: where errors hold it, and which decisions each of those places honours.

export const decisions = ['RETRY', 'RETRY_OP', 'CONTINUE', 'ABORT_ACTION', 'ABORT_METHOD', 'ABORT_THREAD'] as const
export type Decision = (typeof decisions)[number]

/**
 * RETRY does all of it again, RETRY_OP only the call that failed; CONTINUE is an operator's word that it is dealt with.
 * ABORT_ACTION goes on with the next action, ABORT_METHOD with the next method.
 */
export const pauseSites = {
  ACTION_BODY: ['RETRY', 'CONTINUE', 'ABORT_ACTION', 'ABORT_METHOD', 'ABORT_THREAD'],
  DEVICE_OP: ['RETRY', 'RETRY_OP', 'CONTINUE', 'ABORT_ACTION', 'ABORT_METHOD', 'ABORT_THREAD'],
  /** CONTINUE only when the labware is known to be where it was going. */
  MOVE: ['RETRY', 'CONTINUE', 'ABORT_THREAD'],
  MOVE_RESOLUTION: ['RETRY', 'ABORT_THREAD'],
  /** Nothing is bound yet: to abort the action or the method ends the thread. */
  ACTION_RESOLUTION: ['RETRY', 'ABORT_ACTION', 'ABORT_METHOD', 'ABORT_THREAD'],
  DEADLOCK: ['RETRY', 'ABORT_ACTION', 'ABORT_METHOD', 'ABORT_THREAD'],
  THREAD_STEP: ['RETRY', 'ABORT_THREAD'],
  WAIT_EVENT_TIMEOUT: ['RETRY', 'ABORT_THREAD'],
  SPAWN_CAPACITY: ['RETRY', 'ABORT_THREAD'],
  /** A device call takes too long and goes on meanwhile; see `LateCalls`. CONTINUE counts it as done, and cuts it off. */
  DEVICE_TIMEOUT: ['CONTINUE', 'ABORT_THREAD'],
  /** The service ended during an action: resuming it is RETRY. */
  RESTART: ['RETRY', 'CONTINUE', 'ABORT_ACTION', 'ABORT_METHOD', 'ABORT_THREAD'],
} as const satisfies Record<string, readonly Decision[]>
export type PauseSite = keyof typeof pauseSites

export function honours(site: PauseSite, decision: Decision): boolean {
  return (pauseSites[site] as readonly Decision[]).includes(decision)
}

export type PauseReason = 'manual' | 'system' | 'error'

/** Thrown through a thread's own code to bring it to where it can pause, or to its end. Never an error of anything. */
export class Interrupt {
  /** `skip`: what it waits in is not to be done. Only what is `skippable` yields to that. */
  readonly kind: 'pause' | 'skip' | 'stop' | 'abort'
  constructor(kind: Interrupt['kind']) {
    this.kind = kind
  }
}

/** An error that nobody is asked about: it ends the thread, which has failed. */
export class Fatal {
  readonly cause: unknown
  constructor(cause: unknown) {
    this.cause = cause
  }
}

/** Thrown through the body of an action by a decision about it. */
export class ActionExit {
  readonly what: 'action' | 'method' | 'again' | 'done'
  constructor(what: 'action' | 'method' | 'again' | 'done') {
    this.what = what
  }
}
