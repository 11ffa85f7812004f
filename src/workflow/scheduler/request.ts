// The interface of the scheduler: what a thread requests, and what it is granted.

/** A device with all its sites, or one position. */
export type Candidate = { device: string } | { position: string }

/**
 * A thread requests one of several resources. The scheduler calls `granted` once, in the same turn as the change that made it possible, which
 * may be before `Scheduler.request` returns. Before that it may call `park` any number of times.
 */
export type Request = {
  thread_id: string
  /** The higher priority goes first, then the older request. 0 is for labware that waits for an operator, 1 for all else. */
  priority: 0 | 1
  /** Sorted in order of preference among those equally near. An empty list is an idle thread, which may only be parked. */
  candidates: readonly Candidate[]
  /** Labware that may stand at a candidate device already, besides the thread's own. */
  inputs?: readonly string[]
  /** The candidates of each later action of the labware, one list per action: the input of deadlock avoidance. */
  after?: readonly (readonly Candidate[])[]
  /** Whether no action there or afterwards needs other labware: it goes on from each resource when the next is free. */
  alone?: boolean
  /** How long it will use a granted device. */
  use?: Use
  /** The devices that it must have afterwards in time, one after the other: nothing is granted before all can be reserved. */
  keeps?: readonly Keep[]
  granted(candidate: Candidate): void
  /**
   * Called when the labware is in the way of others: it is to go to this position, which is reserved for it, and make its request anew from
   * there (`again` keeps its rank). Absent for labware that must stay where it is.
   */
  park?(position: string, again: Again): void
  /** Called when the request is part of a deadlock that the scheduler cannot resolve, since no parking position is free. */
  stuck?(why: string): void
}

/** The expected durations of a use in seconds; undefined if unknown. */
export interface Use {
  /** The action alone, from its beginning. */
  seconds(device: string): number | undefined
  /** The action with all that follows at the same device. */
  stays(device: string): number | undefined
}

/** A window: one of these devices must begin with the labware within `within_s` after the end of the action before. */
export type Keep = { candidates: readonly { device: string }[]; within_s: number; use: Use }

/** The rank of a request that was interrupted. */
export type Again = { readonly sequence: number; readonly parked: number }

/** A request that waits or was granted, in the hands of its thread. */
export interface RequestHandle {
  readonly state: 'waiting' | 'granted' | 'withdrawn'
  /** Takes the request back, and frees what was granted and not used. */
  withdraw(): void
  /** Replaces `inputs`: this labware may stand at a candidate device from now on. */
  admit(inputs: readonly string[]): void
  /** The obstacles of each candidate. */
  explain(): Obstacle[]
}

export type Obstacle = {
  /** The device or position that is wanted; of a way that leads past labware, the place where that stands. */
  wanted: string
  reason: 'held' | 'occupied' | 'reserved' | 'corridor' | 'unsafe' | 'unreachable' | 'booked' | 'window' | 'at_work' | 'reached_into'
  /** The thread that holds it, if one does. */
  thread_id: string | null
  /** The labware that stands there, if any. */
  labware_id: string | null
}

/** The state of a position. */
export type PositionState = {
  position: string
  device: string | null
  labware_id: string | null
  /** The thread for whose labware it is reserved. */
  reserved_for: string | null
}
