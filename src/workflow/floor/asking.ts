// What a thread asks of the floor, and what it is granted.

/** A device with all its sites, or one seat. */
export type Candidate = { device: string } | { seat: string }

/**
 * A thread asks for one of several places. The floor calls `granted` once, in the same turn as the change that made it
 * possible, which may be before `ask` returns; a park before that any number of times.
 */
export type Ask = {
  thread_id: string
  /** Where several can go on, the higher goes first; then the one that asked first. An operator's wait is 0, all else 1. */
  priority: 0 | 1
  /** In order of preference among those equally near. None: the thread idles, and may only be told to park. */
  candidates: readonly Candidate[]
  /** Labware that may stand at a candidate device already, besides the thread's own. */
  inputs?: readonly string[]
  /** Where the labware will want to go afterwards, one list of candidates for each action to come: what avoidance looks at. */
  after?: readonly (readonly Candidate[])[]
  /** Nothing that it does there or afterwards needs other labware: it goes on from each place when the next is free. */
  alone?: boolean
  /** How long it will be at a device that it is granted. */
  use?: Use
  /** The devices it must have afterwards, one after the other: they are booked for it, and nothing is granted before they can be. */
  keeps?: readonly Keep[]
  granted(candidate: Candidate): void
  /**
   * The labware is in the way of others: it is to go to this seat, which is reserved for it, and ask anew from there
   * (`again` keeps its place in the order). Absent for labware that must stay where it is.
   */
  park?(seat: string, again: Again): void
  /** Nothing can ever come of it: it and others wait for each other, and there is no place to make room. */
  stuck?(why: string): void
}

/** In seconds; undefined where nobody knows. */
export interface Use {
  /** The action alone, once it has begun. */
  seconds(device: string): number | undefined
  /** With all that it does there next. */
  stays(device: string): number | undefined
}

/** One of these devices is to begin with the labware within a time, counted from the end of what was before. */
export type Keep = { candidates: readonly { device: string }[]; within_s: number; use: Use }

/** The seniority of an ask that was interrupted. */
export type Again = { readonly sequence: number; readonly parked: number }

/** An ask that is still waiting or was granted. */
export interface Asked {
  readonly state: 'waiting' | 'granted' | 'withdrawn'
  /** Takes it back; what was granted and not used is free again. */
  withdraw(): void
  /** This labware may stand at a candidate device from now on, instead of the `inputs` before. */
  admit(inputs: readonly string[]): void
  /** Why each candidate cannot be had now. */
  explain(): Obstacle[]
}

export type Obstacle = {
  /** The device or seat that is wanted. */
  wanted: string
  reason: 'held' | 'occupied' | 'reserved' | 'corridor' | 'unsafe' | 'unreachable' | 'booked' | 'window'
  /** Who holds it, if a thread does. */
  thread_id: string | null
  /** What stands there, if something does. */
  labware_id: string | null
}

/** What the floor knows of a seat. */
export type SeatState = {
  seat: string
  device: string | null
  labware_id: string | null
  /** The thread that holds it for labware to come. */
  reserved_for: string | null
}
