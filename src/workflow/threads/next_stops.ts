// The steps and places that a thread has ahead, for decisions about what to grant it.

import { type ActionPlan, listsIn, own, type StepPlan, type Workflow } from '../plans/plan.ts'
import type { Candidate, LidStop } from '../scheduler/request.ts'
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

/** The part of a request about the stops ahead: the candidates of each, and the moves of the lid between them, as far as they are known. */
export type StopsAhead = { after: (readonly Candidate[])[]; lidStops?: LidStop[] }

/** A stop of the labware, or a move of its lid to one of these positions; null for back on its plate. */
type Place = readonly Candidate[] | { lidTo: readonly string[] | null }

/** Lists the stops after the current step. */
export function stopsAhead(thread: Traveller): StopsAhead {
  return apart(placesFrom(thread, 1))
}

/** Lists the stops from the current step on. */
export function stopsOnItsWay(thread: Traveller): StopsAhead {
  return apart(placesFrom(thread, 0))
}

function apart(places: readonly Place[]): StopsAhead {
  const after: (readonly Candidate[])[] = []
  const lidStops: LidStop[] = []
  for (const place of places) {
    if ('lidTo' in place) lidStops.push({ before: after.length, to: place.lidTo })
    else after.push(place)
  }
  return lidStops.length > 0 ? { after, lidStops } : { after }
}

/** Leaves out the steps that are done, and `skipped` more. */
function placesFrom(thread: Traveller, skipped: 0 | 1): Place[] {
  const places: Place[] = []
  const { method, frames, execution } = thread
  places.push(...placesIn(method?.actions.slice(method.next + skipped) ?? []))
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

function placesIn(actions: readonly ActionPlan[]): Place[] {
  return actions.flatMap((plan): Place[] => {
    if (plan.kind === 'remove_lid') return [{ lidTo: plan.positions }]
    if (plan.kind === 'put_lid') return [{ lidTo: null }]
    return plan.devices.length > 0 ? [plan.candidates] : []
  })
}

function placesOf(step: StepPlan, workflow: Workflow, labware: string): Place[] {
  switch (step.kind) {
    case 'method':
      return placesIn(step.method.actions)
    case 'action':
      return placesIn([step.action])
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
