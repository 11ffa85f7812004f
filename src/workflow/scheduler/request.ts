// The interface of the scheduler to threads: requests and grants.

/** A device with all its sites, or one position. */
export type Candidate = { device: string } | { position: string }

/**
 * A request of a thread for one of several resources. The scheduler calls `granted` once, in the same turn as the change that made the grant
 * possible, which may be before `Scheduler.request` returns. Before that it may call `park`.
 */
export type Request = {
  thread_id: string
  /** The higher priority goes first, then the older request. 0: labware that an operator has to bring. 1: all other labware. */
  priority: 0 | 1
  /** The nearest candidate is granted; among equally near ones, the first in this list. An idle thread, which may only be parked, has an empty list. */
  candidates: readonly Candidate[]
  /** Labware that may already stand at a candidate device, besides the thread's own. */
  inputs?: readonly string[]
  /** The candidates of each later action of the labware, one list per action: the input of deadlock avoidance. */
  after?: readonly (readonly Candidate[])[]
  /** The moves of its lid between the actions of `after`. */
  lidStops?: readonly LidStop[]
  /** Whether the place is for the lid of the labware, which stays where it is. The candidates are positions. */
  forLid?: boolean
  /** Whether neither this action nor a later one needs other labware, so that the labware leaves each resource as soon as the next is free. */
  alone?: boolean
  /** Whether the labware stays at its last place when the thread ends; otherwise it leaves the deck there. */
  stays?: boolean
  /** Whether the labware is at the requested position already, though not yet on the deck: the grant changes nothing, and is never refused as unsafe. */
  stands?: boolean
  /** The storage in which the labware waits, where it occupies nothing until it is taken out. Absent for labware on the deck. */
  from?: string
  /** How long the thread will use a granted device. */
  use?: Use
  /** How much later the run ends if the labware waits, by the work that it has left: see `threads/urgency.ts`. In seconds. */
  urgency_s?: number
  /** The own start of the labware, where it may wait while nobody else wants that position. */
  home?: string
  /** The devices that the labware needs afterwards, each within a time limit. Nothing is granted before all of them can be reserved. */
  keeps?: readonly Keep[]
  /** Whether an idle thread goes on when time has passed, without anybody else. */
  endsByItself?: boolean
  granted(candidate: Candidate): void
  /**
   * Called when the labware is in the way of others. The thread must take it to this position, which is reserved for it, and repeat the request from
   * there with `again`, which keeps the rank. Absent for labware that must stay where it is.
   */
  park?(position: string, again: Again): void
  /** Called when the request is part of a deadlock that the scheduler cannot resolve, because no parking position is free. */
  stuck?(why: string): void
}

/** Before the labware goes to `after[before]`, its lid is put at one of these positions, or back on it: null. */
export type LidStop = { readonly before: number; readonly to: readonly string[] | null }

/** The expected durations of a use in seconds; undefined if unknown. */
export interface Use {
  /** The duration of the action alone. */
  seconds(device: string): number | undefined
  /** The duration of the action and all following ones at the same device. */
  stays(device: string): number | undefined
  /** The actions after this one as far as they are certain, each with its devices, and its seconds at one of them. */
  later?(): readonly { readonly devices: readonly string[]; seconds(device: string): number | undefined }[]
}

/** A window: an action at one of these devices must begin within `within_s` after the end of the previous action. */
export type Keep = { candidates: readonly { device: string }[]; within_s: number; use: Use }

/** The rank of a request that was interrupted. `since` is when it was made first, in ms. */
export type Again = { readonly sequence: number; readonly parked: number; readonly since: number }

/** The thread's handle of its request. */
export interface RequestHandle {
  readonly state: 'waiting' | 'granted' | 'withdrawn'
  /** Withdraws the request, and releases what was granted but not used. */
  withdraw(): void
  /** Replaces `inputs`: this labware may stand at a candidate device from now on. */
  admit(inputs: readonly string[]): void
  /** Lists the obstacles of each candidate. */
  explain(): Obstacle[]
}

export type Obstacle = {
  /** The requested device or position; for a route that leads past labware, the position of that labware. */
  wanted: string
  reason:
    | 'held'
    | 'occupied'
    | 'reserved'
    | 'corridor'
    | 'unsafe'
    | 'unreachable'
    | 'booked'
    | 'window'
    | 'planned'
    | 'early'
    | 'at_work'
    | 'reached_into'
    | 'may_move'
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
