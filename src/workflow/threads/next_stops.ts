// The steps that a thread has still before it, for those who decide what it may be given.

import { type ActionPlan, listsIn, own, type StepPlan, type Workflow } from '../plans/plan.ts'
import type { Candidate } from '../scheduler/request.ts'
import type { Frame } from './frame.ts'

/** A thread, as far as its way goes. */
type Traveller = {
  readonly frames: readonly Frame[]
  readonly method: { readonly actions: readonly ActionPlan[]; readonly next: number } | null
  readonly labware: { readonly template: string }
  readonly ends: readonly Candidate[]
  readonly execution: { readonly workflow: Workflow }
}

/** The steps it has still to do, the one it is in included; of a loop all. */
export function remaining({ frames }: Pick<Traveller, 'frames'>): StepPlan[] {
  return frames.flatMap(({ steps, next, isLoop }) => (isLoop ? steps : steps.slice(next)))
}

/** The number of methods of that name in which labware can take part; in a loop there is no limit. */
export function joinsAhead(steps: readonly StepPlan[], method: string): number {
  return steps.reduce((sum, step) => sum + joinsIn(step, method), 0)
}

function joinsIn(step: StepPlan, method: string): number {
  switch (step.kind) {
    case 'join':
      return step.methods.includes(method) ? 1 : 0
    case 'while_more_work':
      return joinsAhead(step.body.steps, method) > 0 ? Number.POSITIVE_INFINITY : 0
    case 'branch':
      return Math.max(0, ...listsIn(step).map(({ steps }) => joinsAhead(steps, method)))
    default:
      return 0
  }
}

/** How many tips of a rack all actions of a method use. */
export function tipsOf({ actions }: { actions: readonly ActionPlan[] }, labware: string): number {
  return actions.reduce((sum, action) => sum + tipsUsed(action, labware), 0)
}

/** The templates of the labware that must be at the device, for a method that a thread with this labware owns. */
export function inputsOf({ labware }: ActionPlan, owner: string): readonly string[] {
  return labware.includes(own) ? labware.map((name) => (name === own ? owner : name)) : labware
}

export function tipsUsed({ action }: ActionPlan, labware: string): number {
  return 'tips' in action ? (action.tips[labware] ?? 0) : 0
}

/** Looking further costs more than it tells. */
const farthest = 6

/** Lists where the labware will go after its present step, as far as that is known. */
export function placesAhead(thread: Traveller): (readonly Candidate[])[] {
  return placesFrom(thread, 1)
}

/** Returns the candidates of each further stop of the thread, in order. */
export function placesOnItsWay(thread: Traveller): (readonly Candidate[])[] {
  return placesFrom(thread, 0)
}

/** Without the steps that are done, and so many more. */
function placesFrom(thread: Traveller, skipped: 0 | 1): (readonly Candidate[])[] {
  const places: (readonly Candidate[])[] = []
  const { method, frames, execution } = thread
  for (const action of method?.actions.slice(method.next + skipped) ?? []) if (action.devices.length) places.push(action.candidates)
  for (let depth = frames.length - 1; depth >= 0 && places.length < farthest; depth--) {
    const { steps, next } = frames[depth]!
    for (let i = next + skipped; i < steps.length && places.length < farthest; i++) {
      // What comes after a branch nobody knows.
      if (steps[i]!.kind === 'branch') return places
      places.push(...placesOf(steps[i]!, execution.workflow, thread.labware.template))
    }
  }
  if (places.length < farthest) places.push(thread.ends)
  return places
}

function placesOf(step: StepPlan, workflow: Workflow, labware: string): (readonly Candidate[])[] {
  switch (step.kind) {
    case 'method':
      return step.method.actions.filter(({ devices }) => devices.length).map(({ candidates }) => candidates)
    case 'action':
      return step.action.devices.length ? [step.action.candidates] : []
    case 'join': {
      const actions = step.methods
        .flatMap((name) => workflow.methods.get(name)!.actions)
        .filter(({ labware: needs }) => needs.includes(labware))
      return actions.length ? [[...new Set(actions.flatMap(({ devices }) => devices))].map((device) => ({ device }))] : []
    }
    case 'while_more_work':
      return step.body.steps.flatMap((inner) => placesOf(inner, workflow, labware))
    default:
      return []
  }
}
