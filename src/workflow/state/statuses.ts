// Which status may follow which. The guard, the events and the diagrams in README.md come from these tables.

import * as v from 'valibot'
import { LabError } from '../../errors.ts'

/** For each status, the statuses that may follow, with the reason. A status without any is terminal. */
export type Transitions<Status extends string> = Readonly<Record<Status, Readonly<Partial<Record<Status, string>>>>>

const actionEnds = {
  ERRORED: 'its body, or what must be so before it, failed',
  ABORTED: 'its thread was cut off',
} as const
const skipped = { SKIPPED: 'the operator skips it' } as const

export type ActionStatus =
  | 'CREATED'
  | 'RESOLVED'
  | 'AWAITING_LOCATION_RESERVATION'
  | 'AWAITING_CO_THREADS'
  | 'EXECUTING_ACTION'
  | 'AWAITING_MOVE_RESERVATION'
  | 'PREPARING_TO_MOVE'
  | 'PICKING'
  | 'PLACING'
  | 'COMPLETED'
  | 'ERRORED'
  | 'SKIPPED'
  | 'ABORTED'

/** The first group is an action at a device, the second a move (one hop). */
export const actionTransitions: Transitions<ActionStatus> = {
  CREATED: {
    AWAITING_LOCATION_RESERVATION: 'a device is asked for',
    AWAITING_CO_THREADS: 'it needs no device',
    AWAITING_MOVE_RESERVATION: 'it is a move',
    ...skipped,
    ...actionEnds,
  },
  AWAITING_LOCATION_RESERVATION: { RESOLVED: 'a device is granted', ...skipped, ...actionEnds },
  RESOLVED: { AWAITING_CO_THREADS: 'its labware is at the device', ...skipped, ...actionEnds },
  AWAITING_CO_THREADS: { EXECUTING_ACTION: 'all its labware is there', ...skipped, ...actionEnds },
  EXECUTING_ACTION: { COMPLETED: 'its body has returned', ...actionEnds },
  AWAITING_MOVE_RESERVATION: {
    PREPARING_TO_MOVE: 'it has the transporter',
    PLACING: 'the labware is in the gripper already',
    COMPLETED: 'the labware is there already',
    ...actionEnds,
  },
  PREPARING_TO_MOVE: { PICKING: 'the pick is commanded', ...actionEnds },
  PICKING: { PLACING: 'the place is commanded', ...actionEnds },
  PLACING: { COMPLETED: 'the labware stands', ...actionEnds },
  COMPLETED: {},
  ERRORED: {},
  SKIPPED: {},
  ABORTED: {},
}

export type MethodStatus = 'CREATED' | 'IN_PROGRESS' | 'COMPLETED' | 'SKIPPED' | 'PARTIAL_COMPLETE'

export const methodTransitions: Transitions<MethodStatus> = {
  CREATED: {
    IN_PROGRESS: 'its first action starts',
    COMPLETED: 'it has no actions',
    SKIPPED: 'the operator skips it, or its owner ended',
  },
  IN_PROGRESS: {
    COMPLETED: 'all its actions are done',
    PARTIAL_COMPLETE: 'an action of it was skipped, or left by ABORT_ACTION or ABORT_METHOD; or its owner ended',
  },
  COMPLETED: {},
  SKIPPED: {},
  PARTIAL_COMPLETE: {},
}

export type ThreadStatus =
  | 'CREATED'
  | 'AWAITING_MANUAL_PLACE'
  | 'RESOLVING_ACTION_LOCATION'
  | 'AWAITING_ACTION_RESERVATION'
  | 'ACTION_LOCATION_RESOLVED'
  | 'AWAITING_MOVE_RESERVATION'
  | 'AWAITING_MOVE_TARGET_AVAILABILITY'
  | 'MOVING'
  | 'AWAITING_CO_THREADS'
  | 'EXECUTING_ACTION'
  | 'AWAITING_EVENT'
  | 'AWAITING_MANUAL_REMOVE'
  | 'PAUSED'
  | 'COMPLETED'
  | 'STOPPING'
  | 'STOPPED'
  | 'ABORTED'
  | 'FAILED'

const threadEnds = {
  COMPLETED: 'its journey is done',
  ABORTED: 'the operator aborts it',
  FAILED: 'an error ended it',
} as const

/** The statuses that may follow any but the terminal ones and STOPPING. */
const anyTime = {
  RESOLVING_ACTION_LOCATION: 'the next action needs a device',
  AWAITING_MOVE_RESERVATION: 'a hop is needed',
  PAUSED: 'a pause, an error or a deadlock holds it',
  AWAITING_MANUAL_REMOVE: 'the operator is to take the labware away',
  STOPPING: 'a stop was asked for',
  ...threadEnds,
} as const

/** The statuses in which nothing holds the labware: it may wait for partners or for an event. */
const betweenActions = {
  ...anyTime,
  AWAITING_CO_THREADS: 'other labware is waited for',
  AWAITING_EVENT: 'a custom event is waited for',
} as const

export const threadTransitions: Transitions<ThreadStatus> = {
  CREATED: { ...betweenActions, AWAITING_MANUAL_PLACE: 'the operator is to put the labware there' },
  AWAITING_MANUAL_PLACE: betweenActions,
  RESOLVING_ACTION_LOCATION: {
    ...betweenActions,
    AWAITING_ACTION_RESERVATION: 'the device is not free',
    ACTION_LOCATION_RESOLVED: 'it has the device',
    EXECUTING_ACTION: 'it needs no device',
    AWAITING_MANUAL_PLACE: 'the operator is to put the labware there, after a pause',
  },
  AWAITING_ACTION_RESERVATION: anyTime,
  ACTION_LOCATION_RESOLVED: { ...anyTime, AWAITING_CO_THREADS: 'the labware is there already' },
  AWAITING_MOVE_RESERVATION: {
    ...anyTime,
    AWAITING_CO_THREADS: 'work arrived before it was parked',
    AWAITING_EVENT: 'it cannot get to where it was to be parked',
    AWAITING_MOVE_TARGET_AVAILABILITY: 'it has the route',
  },
  AWAITING_MOVE_TARGET_AVAILABILITY: { ...anyTime, MOVING: 'the place is free' },
  MOVING: betweenActions,
  AWAITING_CO_THREADS: { ...betweenActions, EXECUTING_ACTION: 'all labware is there' },
  EXECUTING_ACTION: betweenActions,
  AWAITING_EVENT: betweenActions,
  AWAITING_MANUAL_REMOVE: anyTime,
  PAUSED: {
    ...betweenActions,
    EXECUTING_ACTION: 'the action goes on where it stood',
    MOVING: 'the failed move is taken up again',
  },
  STOPPING: { STOPPED: 'what was under way has ended', ABORTED: 'the operator aborts it', FAILED: 'an error was left to itself' },
  COMPLETED: {},
  STOPPED: {},
  ABORTED: {},
  FAILED: {},
}

export type WorkflowStatus = 'CREATED' | 'IN_PROGRESS' | 'COMPLETED' | 'ERRORED'

export const workflowTransitions: Transitions<WorkflowStatus> = {
  CREATED: { IN_PROGRESS: 'its first threads start', ERRORED: 'it could not begin' },
  IN_PROGRESS: { COMPLETED: 'all threads have ended, none failed', ERRORED: 'a thread failed, or the run was aborted' },
  COMPLETED: {},
  ERRORED: {},
}

/** `phase` of an execution; only the ends are events. */
export type Phase = 'accepting' | 'draining' | 'stopping' | 'completed' | 'failed' | 'aborted'

export const phaseTransitions: Transitions<Phase> = {
  accepting: {
    draining: 'it is closed to further submissions',
    stopping: 'it is stopped',
    completed: 'all threads have ended, none failed',
    failed: 'a thread failed',
  },
  draining: { stopping: 'it is stopped', completed: 'all threads have ended, none failed', failed: 'a thread failed' },
  stopping: { aborted: 'all has unwound' },
  completed: {},
  failed: {},
  aborted: {},
}

export type SubmissionStatus = 'PENDING' | 'ACCEPTED' | 'IN_PROGRESS' | 'COMPLETED' | 'FAILED' | 'ABORTED'

const submissionEnds = {
  COMPLETED: 'its execution has completed',
  FAILED: 'its execution has failed',
  ABORTED: 'its execution was aborted',
} as const

/** PENDING and IN_PROGRESS appear only in the record, not as events. */
export const submissionTransitions: Transitions<SubmissionStatus> = {
  PENDING: { ACCEPTED: 'it was checked' },
  ACCEPTED: { IN_PROGRESS: 'its threads start', ...submissionEnds },
  IN_PROGRESS: submissionEnds,
  COMPLETED: {},
  FAILED: {},
  ABORTED: {},
}

export type BacklogStatus = 'OVERFLOW' | 'REJECTED' | 'AWAITING_DECISION' | 'ORPHANED' | 'ABANDONED'

/** Returns the schema of the statuses in a table. */
export function statusIn<Name extends string>(table: Transitions<Name>) {
  return v.picklist(Object.keys(table) as Name[])
}

/** The store of a status; only `set` changes it. */
interface StoredStatus<Name extends string> {
  readonly state: { readonly status: Name }
  set(members: { status: Name }): void
}

/** Returns a store for a status that is not part of a larger state. */
export function statusAlone<Name extends string>(status: Name): StoredStatus<Name> {
  const state = { status }
  return { state, set: (members) => void Object.assign(state, members) }
}

/** The status of an object. `become` is the only way to a new status, and publishes it in the same turn. */
export class Status<Name extends string> {
  readonly #table: Transitions<Name>
  readonly #stored: StoredStatus<Name>
  readonly #publish: (status: Name) => void

  /** `publish` is also called with the first status, unless `isPublished`. */
  constructor(table: Transitions<Name>, stored: StoredStatus<Name>, publish: (status: Name) => void, { isPublished = false } = {}) {
    this.#table = table
    this.#stored = stored
    this.#publish = publish
    if (!isPublished) publish(this.current)
  }

  get current(): Name {
    return this.#stored.state.status
  }

  get isTerminal(): boolean {
    return isTerminal(this.#table, this.current)
  }

  /** Takes the new status and publishes it; does nothing if it is the same. Throws `internal`, and changes nothing, if the status may not follow. */
  become(next: Name): void {
    const { current } = this
    if (next === current) return
    if (this.#table[current][next] === undefined) throw new LabError('internal', `${next} cannot follow ${current}`)
    this.#stored.set({ status: next })
    this.#publish(next)
  }
}

export function isTerminal<Name extends string>(table: Transitions<Name>, status: Name): boolean {
  for (const _ in table[status]) return false
  return true
}
