// The rest of the work on one bench for a forecast: the input and the result of the simulation of dispatch. It holds no code, so that it can be sent to a worker.

import type { Leg, Place } from './problem.ts'

/** A part of what a lane has left to do. Works are shared between lanes, and never changed. */
export type Work =
  /** Work at one of these places. `brings`: other labware that must be there, with the tips that are taken from it. `method`: the method of which it is a part. */
  | {
      readonly kind: 'visit'
      readonly name: string
      readonly options: readonly { readonly place: number; readonly seconds: number }[]
      readonly brings: readonly Bring[]
      readonly method: string | null
      /** The temperature in °C that the device needs for it; null for none. */
      readonly temperature: number | null
      /** Whether the labware only waits there, unless a method needs it. */
      readonly isPark: boolean
    }
  /** The end of a method: labware that takes part goes on. `feeds`: the labware, with its scope, for which the method and what it brings may have had work. */
  | { readonly kind: 'over'; readonly feeds: readonly string[] }
  | { readonly kind: 'pass'; readonly name: string; readonly seconds: number }
  /** `scope`: the group that hears or emits the event; null for all. */
  | { readonly kind: 'wait'; readonly name: string; readonly event: string; readonly scope: string | null }
  | { readonly kind: 'emit'; readonly event: string; readonly scope: string | null }
  /** Takes part in the next of these methods. */
  | { readonly kind: 'serve'; readonly name: string; readonly methods: readonly string[] }
  /** Is repeated while there may be work for the labware. */
  | { readonly kind: 'loop'; readonly body: readonly Work[] }

/** `key` names the labware with its scope; `tips` are those that the whole method takes. */
export type Bring = { readonly key: string; readonly tips: number }

/** The rest of the journey of one labware. */
export type Lane = {
  readonly id: string
  readonly name: string
  /** The number of its run. */
  readonly run: number
  /** The template of the labware with its scope, by which methods find it. */
  readonly key: string
  readonly priority: number
  readonly at: number
  /** Whether it stands on the deck, so that its place is taken. */
  readonly isOn: boolean
  /** Seconds until it can go on; its place is taken until then. */
  readonly ready_s: number
  readonly tips: number | null
  /** The number of methods in which it may take part; null without a limit. */
  readonly most: number | null
  /** The lane whose method it takes part in now. */
  readonly serves: string | null
  readonly works: readonly Work[]
  readonly ends: readonly number[]
  readonly stays: boolean
  /** The reason why it does not go on; null if it does. */
  readonly held: string | null
}

export type DispatchProblem = {
  readonly places: readonly Place[]
  readonly arms: readonly string[]
  readonly arm_free_s: readonly number[]
  readonly ways: readonly (readonly Leg[] | null)[]
  readonly groups: number
  readonly runs: number
  readonly lanes: readonly Lane[]
  /** Labware that comes when a method sends for it and there is none, by its key. */
  readonly seeds: Readonly<Record<string, Lane>>
  /** The needs of devices before their next work: seconds to be initialized, their temperature (°C), and the seconds for one °C. */
  readonly devices: Readonly<
    Record<number, { readonly initialize_s: number; readonly temperature: number | null; readonly heating_s: number }>
  >
  /** Places that nothing can use, with the reason. */
  readonly blocked: Readonly<Record<number, string>>
  /** The order of a plan: for each place the lanes, the next one first. */
  readonly order: Readonly<Record<number, readonly string[]>>
}

/** A step that is to come. Seconds from now. `place` is null for a wait. */
export type StepToCome = { readonly name: string; readonly place: number | null; readonly from_s: number; readonly to_s: number }

export type LaneForetold = {
  readonly id: string
  /** Null if it cannot be foretold; `why` says why, and `left_s` what is left once it goes on. */
  readonly end_s: number | null
  readonly left_s: number
  readonly why: string | null
  readonly next: readonly StepToCome[]
}

export type Foretold = {
  readonly lanes: readonly LaneForetold[]
  /** For each run the end of all its labware, also of labware that has yet to come. Null as above. */
  readonly runs: readonly Omit<LaneForetold, 'id' | 'next'>[]
  /** Whether the simulation was broken off, because it did not come to an end. */
  readonly isBrokenOff: boolean
}
