// The state of a journey: immutable JSON, stored in the database after each step. Each step returns the next state.

import { randomUUID } from 'node:crypto'
import type { PlannedLeg } from './plan.ts'

/** The phases of a journey, in order; `claim` to `bring` are the hand-over from the previous bench. */
export const phases = {
  queued: 'waits until the benches have room for one labware more',
  claim: 'waits for the positions of its hand-over',
  prepare: 'is about to order its run',
  order: 'orders its run',
  place: 'waits until its labware is placed',
  grant: 'waits until the next bench keeps a position for it',
  release_prepare: 'is about to order the move to the carrier',
  release: 'orders the move to the carrier',
  ready: 'waits until its labware stands ready for the carrier',
  take: 'waits for the carrier',
  bring: 'is on its way to the next bench',
  back: 'goes back to where the carrier took it',
  work: 'runs on its bench',
  person: 'waits for a person to decide',
  over: 'has ended',
} as const
export type Phase = keyof typeof phases

/** A run of the journey on a bench. */
export type BenchRun = {
  bench: string
  submission_id: string
  /** The history of the bench in which the run was ordered; empty if the bench has no broker. */
  epoch: string
  execution_id: string | null
  thread_id: string | null
}

/** The holder of labware: a bench with a position of it, a carrier, or nobody whom the coordinator knows. */
export type Holder = { bench: string; position: string } | { carrier: string } | { nobody: 'taken away' | 'lost' }

/** A part of the journey that is done; `lane` is a bench or a carrier. Unix seconds. */
type Bar = { lane: string; what: string; from: number; to: number }

export type JourneyState = {
  /** Counts the steps. */
  number: number
  phase: Phase
  /** When the phase began, Unix seconds. */
  since: number
  legs: PlannedLeg[]
  /** The leg that is under way; in a hand-over, the next leg. */
  leg: number
  /** The run of that leg. */
  run: BenchRun | null
  /** The run of one move that brings the labware to its carrier. */
  release: BenchRun | null
  /** The position where the labware rests, as last reported. */
  at: { bench: string; position: string } | null
  /** Whether a carrier has the labware. */
  is_carried: boolean
  /** The number of the last decision that was carried out, or that came too late. */
  decided: number
  /** A sentence about a decision that was dropped because it was about an earlier state. */
  overtaken?: string | undefined
  /** Says why a person has to decide, and the phase in which the problem arose. */
  problem: { what: string; phase: Phase } | null
  outcome: 'done' | 'ended' | 'lost' | null
  bars: Bar[]
}

/** The most bars that a journey keeps for its chart. */
const mostBars = 500

export function begun(legs: PlannedLeg[]): JourneyState {
  return {
    ...{ number: 0, phase: 'queued', since: now(), legs, leg: 0, run: null, release: null, at: null, is_carried: false },
    ...{ decided: 0, problem: null, outcome: null, bars: [] },
  }
}

/** Returns the next state. A phase that ends becomes a bar of the chart. */
export function step(state: JourneyState, phase: Phase, change: Partial<JourneyState> = {}): JourneyState {
  const at = now()
  const bar = { lane: laneOf(state), what: state.phase, from: state.since, to: at }
  const bars = state.phase === 'queued' ? state.bars : [...state.bars, bar].slice(-mostBars)
  return { ...state, ...change, phase, number: state.number + 1, since: at, bars }
}

/** The bench or the carrier that has something to do. */
function laneOf(state: JourneyState): string {
  const leg = legOf(state)
  if (state.phase === 'take' || state.phase === 'bring') return leg.carried?.by ?? leg.bench
  const isBefore = ['release_prepare', 'release', 'ready', 'back', 'claim'].includes(state.phase)
  return isBefore ? (state.at?.bench ?? leg.bench) : leg.bench
}

export function legOf({ legs, leg }: Pick<JourneyState, 'legs' | 'leg'>): PlannedLeg {
  return legs[leg]!
}

export function newRun(bench: string, epoch: string): BenchRun {
  return { bench, submission_id: randomUUID(), epoch, execution_id: null, thread_id: null }
}

export function now(): number {
  return Date.now() / 1000
}
