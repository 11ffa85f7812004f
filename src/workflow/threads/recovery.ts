// How a thread is held up and goes on: where errors hold it, and what each decision does there.

import type { IncidentCategory } from '../../events/incidents.ts'
export const decisions = ['RETRY', 'RETRY_OP', 'CONTINUE', 'ABORT_ACTION', 'ABORT_METHOD', 'ABORT_THREAD'] as const
export type Decision = (typeof decisions)[number]

/**
 * The point at which a thread continues. `here`: with what failed, once more. `on`: after what failed, which counts as done. The others leave the
 * action: `again` begins it anew as a new action, `done` goes on after it and counts it as done, `action` goes on after it without, `method`
 * goes on after the method. `thread` ends the thread.
 */
export type GoesOn = 'here' | 'on' | ActionExit['to'] | 'thread'

/**
 * The places where an error holds a thread, and where each decision that is possible there has it go on. `MOVE` honours CONTINUE only when the
 * labware
 * is known to be where it was going. At `ACTION_RESOLUTION` and `DEADLOCK` nothing is bound yet: to abort the action or the method ends the
 * thread. At `DEVICE_TIMEOUT` the call goes on meanwhile (see `LateCalls`), and CONTINUE cuts it off. At `RESTART` the service ended during an
 * action, and resuming the thread is RETRY.
 */
const pauseSites = {
  ACTION_BODY: { RETRY: 'again', CONTINUE: 'done', ABORT_ACTION: 'action', ABORT_METHOD: 'method', ABORT_THREAD: 'thread' },
  DEVICE_OP: {
    RETRY: 'again',
    RETRY_OP: 'here',
    CONTINUE: 'on',
    ABORT_ACTION: 'action',
    ABORT_METHOD: 'method',
    ABORT_THREAD: 'thread',
  },
  MOVE: { RETRY: 'here', CONTINUE: 'on', ABORT_THREAD: 'thread' },
  MOVE_RESOLUTION: { RETRY: 'here', ABORT_THREAD: 'thread' },
  ACTION_RESOLUTION: { RETRY: 'here', ABORT_ACTION: 'thread', ABORT_METHOD: 'thread', ABORT_THREAD: 'thread' },
  DEADLOCK: { RETRY: 'here', ABORT_ACTION: 'thread', ABORT_METHOD: 'thread', ABORT_THREAD: 'thread' },
  THREAD_STEP: { RETRY: 'here', ABORT_THREAD: 'thread' },
  WAIT_EVENT_TIMEOUT: { RETRY: 'here', ABORT_THREAD: 'thread' },
  SPAWN_CAPACITY: { RETRY: 'here', ABORT_THREAD: 'thread' },
  DEVICE_TIMEOUT: { CONTINUE: 'on', ABORT_THREAD: 'thread' },
  RESTART: { RETRY: 'here', CONTINUE: 'done', ABORT_ACTION: 'action', ABORT_METHOD: 'method', ABORT_THREAD: 'thread' },
} as const satisfies Record<string, Partial<Record<Decision, GoesOn>>>
export type PauseSite = keyof typeof pauseSites
export const pauseSiteNames = Object.keys(pauseSites) as readonly PauseSite[]

/** The decisions that are possible at a place. */
export function decisionsAt(site: PauseSite): readonly Decision[] {
  return Object.keys(pauseSites[site]) as Decision[]
}

/** Returns the point at which a thread continues after a decision; undefined if the decision is not possible there. */
export function goesOn(site: PauseSite, decision: Decision): GoesOn | undefined {
  return (pauseSites[site] as Partial<Record<Decision, GoesOn>>)[decision]
}

type Values<Row> = Row[keyof Row]
/** The points at which a thread can continue from this site. */
export type GoesOnFrom<Site extends PauseSite> = Exclude<Values<(typeof pauseSites)[Site]>, 'thread'>

export type PauseReason = 'manual' | 'system' | 'error'

/** Thrown through a thread's own code to bring it to where it can pause, or to its end. It is never the error of anything. */
export class Interrupt {
  /** `skip`: what the thread waits in is not to be done. Only what is `skippable` yields to that. */
  readonly kind: 'pause' | 'skip' | 'stop' | 'abort'
  constructor(kind: Interrupt['kind']) {
    this.kind = kind
  }
}

export function isPause(error: unknown): boolean {
  return error instanceof Interrupt && error.kind === 'pause'
}

/** An error about which nobody is asked: it ends the thread, which has failed. */
export class Fatal {
  readonly cause: unknown
  constructor(cause: unknown) {
    this.cause = cause
  }
}

/** Thrown through an action by a decision that leaves it. */
export class ActionExit {
  readonly to: 'again' | 'done' | 'action' | 'method'
  constructor(to: ActionExit['to']) {
    this.to = to
  }
}

/** The incident that an error at a place is; null where the error was reported when it was found. A thread can do again what fails at these. */
export const categories = {
  MOVE_RESOLUTION: 'MOVE_FAILED',
  ACTION_RESOLUTION: null,
  SPAWN_CAPACITY: 'AUTO_SPAWN_FAILED',
  THREAD_STEP: 'OTHER',
  WAIT_EVENT_TIMEOUT: 'RECOVERABLE_TIMEOUT',
} as const satisfies Partial<Record<PauseSite, IncidentCategory | null>>

export type RetrySite = keyof typeof categories
