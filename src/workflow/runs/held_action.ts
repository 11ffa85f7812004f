// The action that an error holds, and the other devices of its pool at which it can be repeated.

import { type ActionPlan, otherDevices } from '../plans/plan.ts'
import { moverOf } from '../threads/lid_carrier.ts'
import type { MoveRun } from '../threads/move/move.ts'
import type { PauseSite } from '../threads/recovery.ts'
import type { LabwareThread } from '../threads/thread.ts'

/** Lists the other devices at which the held action of a thread can be done, free or not. */
export function retriesOn(thread: LabwareThread): readonly string[] {
  const held = heldBy(thread)
  return held && held.refusal === undefined ? (otherDevices(held.plan, held.device).retry_on ?? []) : []
}

/** The people who can make the move that an error holds, because its arm is stopped or has a fault, and is known to stand. */
export function retriesBy(thread: LabwareThread): readonly string[] {
  return restlessArm(thread) === undefined ? takersOver(thread) : []
}

/** Returns the arm that keeps people from making its move, because it may still move; undefined if there is none, or nobody could make the move. */
export function restlessArm(thread: LabwareThread): string | undefined {
  const { move, environment } = moverOf(thread)
  if (takersOver(thread).length === 0) return undefined
  const arm = armOf(move!)
  return environment.space.mayMove(arm) ? arm : undefined
}

/** Says what a person has to do before the move of an arm can be made by a person. */
export function mayStillMove(arm: string): string {
  return `${arm} may still move, because it has not confirmed its stop; wait until it does, or switch its power off and say so (RETRY with "by" and "arm_is_off")`
}

/** Returns the arm to which the route gave the move, also while a person makes this attempt. */
const armOf = ({ state, hop }: MoveRun) => state.instead_of ?? hop.transporter

/** The people who reach what the move of the arm needs, whether the arm stands or not. */
export function takersOver(thread: LabwareThread): readonly string[] {
  const { move, control, environment, labware } = moverOf(thread)
  const { equipment, scheduler } = environment
  if (!move || control.undecidedAt !== 'MOVE' || !equipment.person) return []
  const { from, to } = move.hop
  const arm = armOf(move)
  const isLatched = equipment.faults?.().some(({ device_id }) => device_id === arm)
  if (!isLatched || equipment.person(arm)) return []
  const wanted = labware.held_by === null ? [from, to] : [to]
  // Labware that one person may have taken already is no task for another.
  return [...scheduler.graph.reach].flatMap(([id, reach]) =>
    equipment.person!(id) && (labware.taken_by ?? id) === id && wanted.every((position) => reach.has(position)) ? [id] : [],
  )
}

/** An action that an error holds, or a move to it; `refusal` says why it cannot go elsewhere yet. */
export type Held = { plan: ActionPlan; device: string | null; refusal?: string }

/** Returns the held action; undefined if the thread is not held by an error of an action with devices. */
export function heldBy(thread: LabwareThread): Held | undefined {
  const owner = thread.following ?? thread
  const { action, state, labware } = owner
  const { undecidedAt } = owner.control
  if (undecidedAt === 'RESTART') {
    const plan = planAt(owner, state.interrupted?.path ?? '')
    return plan && plan.devices.length > 0 ? { plan, device: null } : undefined
  }
  if (!action || action.plan.devices.length === 0 || undecidedAt === null || !sites.has(undecidedAt)) return undefined
  const held = { plan: action.plan, device: action.device }
  if (undecidedAt !== 'MOVE' || labware.held_by === null) return held
  const refusal = `${labware.name} may be held by ${labware.held_by}: take it out, say where it is (PUT /api/labware/${labware.labware_id}/location), then decide RETRY at the other device`
  return { ...held, refusal }
}

/** The sites at which an error holds an action, before or in its body. */
const sites: ReadonlySet<PauseSite> = new Set(['ACTION_BODY', 'DEVICE_OP', 'ACTION_RESOLUTION', 'MOVE'])

/** Returns the plan of the action that a restart interrupted. */
function planAt({ method, frames }: LabwareThread, path: string): ActionPlan | undefined {
  const frame = frames.at(-1)
  const step = frame?.steps[frame.next]
  const actions = method?.actions ?? (step?.kind === 'action' ? [step.action] : step?.kind === 'method' ? step.method.actions : [])
  return actions.find((action) => action.path === path)
}
