// The sites at which errors hold a thread, and the effect of each decision there.

import type { IncidentCategory } from '../../events/incidents.ts'
export const decisions = ['RETRY', 'RETRY_OP', 'CONTINUE', 'ABORT_ACTION', 'ABORT_METHOD', 'ABORT_THREAD'] as const
export type Decision = (typeof decisions)[number]

/**
 * The point where a thread continues. `here` repeats what failed. `on` counts it as done and continues. The next four leave the action: `again` starts it over
 * as a new action, `done` counts it as done, `action` leaves it out, `method` leaves the whole method. `thread` ends the thread.
 */
export type GoesOn = 'here' | 'on' | ActionExit['to'] | 'thread'

/**
 * The sites where an error holds a thread: for each possible decision, where the thread continues. `MOVE` accepts CONTINUE only if the labware is
 * known to be at its target. At `IDENTITY` it is the word of a person that the labware is the right one. At `ACTION_RESOLUTION` and `DEADLOCK` no device is bound yet, so aborting the action or the method ends the thread.
 * At `DEVICE_TIMEOUT` the call goes on meanwhile (see `LateCalls`), and CONTINUE cuts it off. At `RESTART` the service ended during an action;
 * resuming the thread means RETRY.
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
  IDENTITY: { RETRY: 'here', CONTINUE: 'on', ABORT_THREAD: 'thread' },
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

/** The sites at which labware is on its way, maybe in a gripper. */
export const onItsWay: ReadonlySet<PauseSite> = new Set(['MOVE', 'IDENTITY'])

/** Returns the decisions that are possible at a site. */
export function decisionsAt(site: PauseSite): readonly Decision[] {
  return Object.keys(pauseSites[site]) as Decision[]
}

/** Returns where a thread continues after a decision; undefined if the decision is not possible at the site. */
export function goesOn(site: PauseSite, decision: Decision): GoesOn | undefined {
  return (pauseSites[site] as Partial<Record<Decision, GoesOn>>)[decision]
}

type Values<Row> = Row[keyof Row]
/** The points where a thread can continue from this site. */
export type GoesOnFrom<Site extends PauseSite> = Exclude<Values<(typeof pauseSites)[Site]>, 'thread'>

export type PauseReason = 'manual' | 'system' | 'error'

/** Thrown through a thread's own code to make it pause or end. It never reports an error. */
export class Interrupt {
  /** `skip`: an operator skips what the thread waits in, which must be `skippable`. */
  readonly kind: 'pause' | 'skip' | 'stop' | 'abort'
  constructor(kind: Interrupt['kind']) {
    this.kind = kind
  }
}

export function isPause(error: unknown): boolean {
  return error instanceof Interrupt && error.kind === 'pause'
}

/** An error without a decision: it ends the thread as FAILED. */
export class Fatal {
  readonly cause: unknown
  constructor(cause: unknown) {
    this.cause = cause
  }
}

/** Thrown through an action when a decision leaves it. */
export class ActionExit {
  readonly to: 'again' | 'done' | 'action' | 'method'
  constructor(to: ActionExit['to']) {
    this.to = to
  }
}

/** The incident category of an error at each site where the thread can try again; null if the error was reported where it occurred. */
export const categories = {
  MOVE_RESOLUTION: 'MOVE_FAILED',
  ACTION_RESOLUTION: null,
  SPAWN_CAPACITY: 'AUTO_SPAWN_FAILED',
  THREAD_STEP: 'OTHER',
  WAIT_EVENT_TIMEOUT: 'RECOVERABLE_TIMEOUT',
} as const satisfies Partial<Record<PauseSite, IncidentCategory | null>>

export type RetrySite = keyof typeof categories
