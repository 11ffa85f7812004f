// The rest of the work on one bench, as numbers: the input of the search for a schedule. It holds no code, so that it can be sent to a worker.

import type { Objective } from '../state/objective.ts'

/** A place that holds one labware at a time: a device with all its sites, or a position. A storage holds any number. */
export type Place = {
  readonly name: string
  readonly isStorage: boolean
  /** Places of one group are reached alike. */
  readonly group: number
}

/** A pick and place. `by` lists the transporters that can do it, each with its seconds; `via` is the place where the leg ends, -1 at the destination. */
export type Leg = { readonly by: readonly { readonly arm: number; readonly seconds: number }[]; readonly via: number }

/** A stop of a labware. The last stop of each journey is its end. */
export type Stop = {
  /** The places of which one is used, with the seconds for which the labware is at work there; 0 at the end. */
  readonly options: readonly { readonly place: number; readonly seconds: number }[]
  /** The work at this stop begins within so many seconds after the end of the work at the stop before; null without a limit. */
  readonly within_s: number | null
}

/** The rest of the journey of one labware. */
export type Job = {
  readonly thread_id: string
  /** Labware of one kind has one journey: it is served in the order in which it came. */
  readonly kind: number
  /** Labware of one run has one number. */
  readonly run: number
  /** The higher number is more important; 0 is usual. With its age: see `scheduler/priorities.ts`. */
  readonly priority: number
  /** The place where the labware stands, or to which it is being carried. The labware occupies it, unless it is a storage: labware that a person has yet to bring is at a storage of its own, of the group of the place to which it is brought. */
  readonly at: number
  /** The seconds until the labware can leave: the rest of the present work, or of the present move and the work after it. */
  readonly ready_s: number
  /** When the work before the first of `stops` ended or will end, in seconds from now, for the window of the first stop. Equal to `ready_s` or smaller. */
  readonly since_s: number
  /** The places where the labware may wait between two stops: parking positions, and its own start. */
  readonly buffers: readonly number[]
  /** Whether the labware stays at its end, and occupies it. Otherwise it leaves the deck there. */
  readonly stays: boolean
  readonly stops: readonly Stop[]
}

export type Problem = {
  readonly places: readonly Place[]
  readonly arms: readonly string[]
  /** For each arm the seconds until it is free. */
  readonly arm_free_s: readonly number[]
  readonly jobs: readonly Job[]
  /** The legs from a place of one group to a place of another: `ways[from * groups + to]`; null if there is no way. */
  readonly ways: readonly (readonly Leg[] | null)[]
  readonly groups: number
  readonly objective: Objective
  /** The share by which overtaking must shorten the schedule before labware of one kind may overtake; null: labware of one kind never overtakes. */
  readonly overtaking: number | null
}

/** A planned move of one labware to its next stop, or to a place where it waits (`stop` is null). */
export type PlannedMove = {
  readonly job: number
  /** The index in `stops`; null for a move to a buffer. */
  readonly stop: number | null
  readonly from: number
  readonly to: number
  /** Seconds from now. */
  readonly start_s: number
  readonly end_s: number
  /** The arm of the first leg; -1 if the labware stays where it is, because its next stop is there. */
  readonly arm: number
  /** The legs of the way, one after another. */
  readonly legs: readonly { readonly arm: number; readonly start_s: number; readonly end_s: number }[]
}

export type Schedule = {
  /** Ordered by their start. */
  readonly moves: readonly PlannedMove[]
  readonly makespan_s: number
  /** No schedule can be shorter. */
  readonly bound_s: number
  /** The states that the search has looked at: its effort. */
  readonly states: number
}

/** Resolves with null where no schedule is found. */
export type FindSchedule = (problem: Problem) => Promise<Schedule | null>
