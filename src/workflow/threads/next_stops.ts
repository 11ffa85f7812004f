// The steps and places that a thread has ahead, for decisions about what to grant it.

import { type ActionPlan, listsIn, own, type StepPlan, type Workflow } from '../plans/plan.ts'
import type { Candidate } from '../scheduler/request.ts'
import type { Frame } from './frame.ts'

/** The part of a thread that this file uses. */
type Traveller = {
  readonly frames: readonly Frame[]
  readonly method: { readonly actions: readonly ActionPlan[]; readonly next: number } | null
  readonly labware: { readonly template: string }
  readonly ends: readonly Candidate[]
  readonly execution: { readonly workflow: Workflow }
}

/** Returns the steps that are not done, including the current one, and all steps of a loop. */
export function remaining({ frames }: Pick<Traveller, 'frames'>): StepPlan[] {
  return frames.flatMap(({ steps, next, isLoop }) => (isLoop ? steps : steps.slice(next)))
}

/** Returns the number of methods of that name in which labware can still take part; Infinity in a loop. */
export function joinsAhead(steps: readonly StepPlan[], method: string): number {
  return steps.reduce((sum, step) => sum + joinsIn(step, method), 0)
}

function joinsIn(step: StepPlan, method: string): number {
  switch (step.kind) {
    case 'join':
      return step.methods.includes(method) ? 1 : 0
    case 'while_more_work':
      return joinsAhead(step.body.steps, method) > 0 ? Number.POSITIVE_INFINITY : 0
    case 'repeat':
      return step.rounds * joinsAhead(step.body.steps, method)
    case 'branch':
    case 'if':
      return Math.max(0, ...listsIn(step).map(({ steps }) => joinsAhead(steps, method)))
    default:
      return 0
  }
}

/** Returns how many tips of a rack all actions of a method use. */
export function tipsOf({ actions }: { actions: readonly ActionPlan[] }, labware: string): number {
  return actions.reduce((sum, action) => sum + tipsUsed(action, labware), 0)
}

/** Returns the templates of the labware that must be at the device, if the owner carries labware of the template `owner`. */
export function inputsOf({ labware }: ActionPlan, owner: string): readonly string[] {
  return labware.includes(own) ? labware.map((name) => (name === own ? owner : name)) : labware
}

export function tipsUsed({ action }: ActionPlan, labware: string): number {
  return 'tips' in action ? (action.tips[labware] ?? 0) : 0
}

/** The most upcoming stops that are looked at. Labware with more of them counts as if it left the deck after the last of these. */
const farthest = 40

/** Lists the candidates of each stop after the current step, as far as they are known. */
export function placesAhead(thread: Traveller): (readonly Candidate[])[] {
  return placesFrom(thread, 1)
}

/** Lists the candidates of each stop from the current step on, as far as they are known. */
export function placesOnItsWay(thread: Traveller): (readonly Candidate[])[] {
  return placesFrom(thread, 0)
}

/** Leaves out the steps that are done, and `skipped` more. */
function placesFrom(thread: Traveller, skipped: 0 | 1): (readonly Candidate[])[] {
  const places: (readonly Candidate[])[] = []
  const { method, frames, execution } = thread
  for (const action of method?.actions.slice(method.next + skipped) ?? []) if (action.devices.length) places.push(action.candidates)
  for (let depth = frames.length - 1; depth >= 0 && places.length < farthest; depth--) {
    const { steps, next } = frames[depth]!
    for (let i = next + skipped; i < steps.length && places.length < farthest; i++) {
      // The steps after a branch or a condition are unknown.
      if (steps[i]!.kind === 'branch' || steps[i]!.kind === 'if') return places
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
    case 'repeat':
    case 'while_more_work':
      return step.body.steps.flatMap((inner) => placesOf(inner, workflow, labware))
    default:
      return []
  }
}
