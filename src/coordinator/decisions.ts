// The decisions of a person about a journey: which are possible in its state, and how each is carried out.

import { LabError } from '../errors.ts'
import { give, type JourneyContext, legDone, looks, observing, type Trip, type Waiting } from './phases.ts'
import { type JourneyState, legOf, newRun, type Phase, step } from './state.ts'
import type { Decision } from './store.ts'
import { giveBack } from './withdrawing.ts'

const verbs = {
  retry: 'do the step again, with a new run',
  done: 'the bench has done its part, and the labware stands at the position that is named',
  back: 'the carrier has brought the labware back to where it took it',
  lost: 'nobody knows where the labware is: the journey ends',
  end: 'the journey ends, and the labware stays with who has it',
} as const
export type Verb = keyof typeof verbs

/** The decisions that are possible now. */
export function possible(state: JourneyState): Verb[] {
  const { phase, problem, run } = state
  if (phase === 'over') return []
  const more: Verb[] = []
  if (phase === 'person') more.push('retry')
  if (phase === 'person' && run !== null && problem && inRun.includes(problem.phase) && !isAtRest(state)) more.push('done')
  if (phase === 'bring' || (phase === 'person' && problem?.phase === 'bring')) more.push('back')
  return [...more, 'lost', 'end']
}

/** The phases of the run that brings the labware to its carrier. */
const isOfRelease: readonly Phase[] = ['release_prepare', 'release', 'ready', 'take', 'back']

/** The phases in which the labware is in the run of its leg. */
const inRun: readonly Phase[] = ['place', 'work', 'order']

/** Throws `conflict` for a decision that is not possible where the journey stands. */
export function mustBePossible(now: readonly Verb[], { verb, position }: Pick<Decision, 'verb' | 'position'>): void {
  if (!now.includes(verb)) {
    const words = now.length ? `possible are: ${now.join(', ')}` : 'it has ended'
    throw new LabError('conflict', `${verb} cannot be decided about this journey now; ${words}`)
  }
  if (verb === 'done' && position === undefined) throw new LabError('invalid', 'done needs the position at which the labware stands')
}

/** Does the step of the phase, or carries out the decision that a person has made about it. */
export async function look(trip: Trip, context: JourneyContext, decision: Decision | null): Promise<JourneyState | Waiting> {
  const { state } = trip
  if (!decision || decision.number <= state.decided) return usual(trip, context)
  // After a kill the journey may be a step behind what was shown.
  if (decision.step > state.number) return usual(trip, context)
  if (decision.step < state.number && decision.verb !== 'end') return overtaken(state, decision)
  // An event at a bench counts for more than a decision that a person made before the coordinator had seen that event.
  if (observing.has(state.phase)) {
    const found = await usual(trip, context).catch((error) => {
      if (error instanceof LabError) return undefined
      throw error
    })
    if (found && 'phase' in found) return found
  }
  return carryOut(trip, context, decision)
}

async function usual(trip: Trip, context: JourneyContext): Promise<JourneyState | Waiting> {
  const { state } = trip
  if (state.phase === 'over') return state
  if (state.phase !== 'person') return looks[state.phase](trip, context)
  if (isAtRest(state) && state.run) {
    await giveBack(trip, context)
    return { ...state, run: null }
  }
  return { waiting: state.problem?.what ?? '', needs_person: true }
}

/** Carries a decision out. Rejects as a phase does; the decision is then repeated. */
export async function carryOut(trip: Trip, context: JourneyContext, { verb, position, number }: Decision): Promise<JourneyState> {
  const state = { ...trip.state, decided: number, overtaken: undefined }
  const decided = { ...trip, state }
  switch (verb) {
    case 'retry':
      return retried(decided, context)
    case 'done':
      return { ...(await legDone({ ...decided, state: { ...state, problem: null } }, context, position!)), decided: number }
    case 'back': {
      await give(decided, context, { bench: state.at!.bench, position: state.legs[state.leg - 1]!.out!.position })
      const release = newRun(state.at!.bench, await context.bench(state.at!.bench).epoch())
      return step(state, 'back', { problem: null, release, is_carried: false })
    }
    case 'lost':
    case 'end':
      await giveBack(decided, context)
      if (verb === 'lost') await give(decided, context, { nobody: 'lost' })
      return step(state, 'over', { problem: null, outcome: verb === 'lost' ? 'lost' : 'ended' })
  }
}

/**
 * Applies a decision about an earlier state. `end` still holds, because it leaves the labware with its holder. All others are
 * dropped, because they name a place that the labware has left.
 */
function overtaken(state: JourneyState, { verb, number, by }: Decision): JourneyState {
  return { ...state, decided: number, overtaken: `the decision ${verb} of ${by} came too late: the journey had gone on` }
}

/** The phases before the hand-over is granted: the labware rests on the bench before. */
const beforeGrant: readonly Phase[] = ['claim', 'prepare', 'order', 'grant']

/** Whether a problem arose while the labware rested on the previous bench, so that nothing is reserved for it until a person has decided. */
export function isAtRest({ problem, at, is_carried, legs, leg }: JourneyState): boolean {
  const isElsewhere = at !== null && at.bench !== legOf({ legs, leg }).bench
  return problem !== null && beforeGrant.includes(problem.phase) && isElsewhere && !is_carried
}

/** Repeats the step with a new run. A person has handled the labware of the old run; its reservations are released. */
async function retried(trip: Trip, context: JourneyContext): Promise<JourneyState> {
  const { state } = trip
  const from = state.problem!.phase
  const again = { problem: null }
  if (isAtRest(state)) {
    await giveBack(trip, context)
    return step(state, 'claim', { ...again, run: null, release: null })
  }
  const old = isOfRelease.includes(from) ? state.release : state.run
  if (old) await context.withdraw(trip, old)
  if (from === 'release' || from === 'ready' || from === 'release_prepare')
    return step(state, 'release_prepare', { ...again, release: null })
  if (from === 'take' || from === 'back') {
    const release = newRun(state.at!.bench, await context.bench(state.at!.bench).epoch())
    return step(state, 'back', { ...again, release })
  }
  return step(state, 'prepare', { ...again, run: null })
}
