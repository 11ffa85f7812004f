// The decisions of a person about a journey: which are possible where it stands, and what becomes of it.

import { LabError } from '../../errors.ts'
import { give, legDone, type Surroundings, type Trip } from './phases.ts'
import { newRun, type Phase, type State, step } from './state.ts'
import type { Decision } from './store.ts'

export const verbs = {
  retry: 'do the step again, with a new run',
  done: 'the bench has done its part, and the labware stands at the position that is named',
  back: 'the carrier has brought the labware back to where it took it',
  lost: 'nobody knows where the labware is: the journey ends',
  end: 'the journey ends, and the labware stays with who has it',
} as const
export type Verb = keyof typeof verbs

/** The decisions that are possible now. */
export function possible({ phase, problem, run }: State): Verb[] {
  if (phase === 'over') return []
  const more: Verb[] = []
  if (phase === 'person') more.push('retry')
  if (phase === 'person' && run !== null && problem && inRun.includes(problem.phase)) more.push('done')
  if (phase === 'bring' || (phase === 'person' && problem?.phase === 'bring')) more.push('back')
  return [...more, 'lost', 'end']
}

/** The phases in which the labware is in the run of its leg. */
const inRun: readonly Phase[] = ['place', 'work', 'order']

/** Throws `conflict` for a decision that is not possible where the journey stands. */
export function mustBePossible(state: State, { verb, position }: Pick<Decision, 'verb' | 'position'>): void {
  const now = possible(state)
  if (!now.includes(verb)) {
    const words = now.length ? `possible are: ${now.join(', ')}` : 'it has ended'
    throw new LabError('conflict', `${verb} cannot be decided about this journey now; ${words}`)
  }
  if (verb === 'done' && position === undefined) throw new LabError('invalid', 'done needs the position at which the labware stands')
}

/** Carries a decision out. Rejects as a phase does; then it is carried out again. */
export async function carryOut(trip: Trip, its: Surroundings, { verb, position, number }: Decision): Promise<State> {
  const state = { ...trip.state, decided: number }
  const decided = { ...trip, state }
  switch (verb) {
    case 'retry':
      return retried(decided, its)
    case 'done':
      return { ...(await legDone({ ...decided, state: { ...state, problem: null } }, its, position!)), decided: number }
    case 'back': {
      await give(decided, its, { bench: state.at!.bench, position: state.legs[state.leg - 1]!.out!.position })
      const release = newRun(state.at!.bench, await its.bench(state.at!.bench).epoch())
      return step(state, 'back', { problem: null, release, is_carried: false })
    }
    case 'lost':
    case 'end':
      await giveBack(decided, its)
      if (verb === 'lost') await give(decided, its, { nobody: 'lost' })
      return step(state, 'over', { problem: null, outcome: verb === 'lost' ? 'lost' : 'ended' })
  }
}

/** Begins the step anew, with a new run: what became of the old one a person has seen to. */
async function retried({ state }: Trip, its: Surroundings): Promise<State> {
  const from = state.problem!.phase
  const again = { problem: null }
  if (from === 'release' || from === 'ready' || from === 'release_prepare')
    return step(state, 'release_prepare', { ...again, release: null })
  if (from === 'take' || from === 'back') {
    const release = newRun(state.at!.bench, await its.bench(state.at!.bench).epoch())
    return step(state, 'back', { ...again, release })
  }
  return step(state, 'prepare', { ...again, run: null })
}

/** Gives back what the journey holds: the position that the next bench keeps for it, and its claims. */
async function giveBack(trip: Trip, its: Surroundings): Promise<void> {
  const { run } = trip.state
  if (run?.thread_id) {
    const bench = its.bench(run.bench)
    const execution = await bench.find<{ threads: { thread_id: string; status: string }[] }>(`/api/executions/${run.execution_id}`)
    const thread = execution?.threads.find(({ thread_id }) => thread_id === run.thread_id)
    if (thread?.status === 'AWAITING_MANUAL_PLACE') await bench.ask('POST', `/api/threads/${thread.thread_id}/stop`, {})
  }
  await its.release(trip)
}
