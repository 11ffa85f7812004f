// Where labware may be while a move is in progress, or after it was cut off.

import * as v from 'valibot'
import { type Labware, placeOf } from './labware.ts'
import { actionTransitions, statusIn } from './statuses.ts'

/** An attempt at a hop. */
export const MoveState = v.object({
  action_id: v.string(),
  status: statusIn(actionTransitions),
  /** When the attempt was created and when it began, in seconds since the run began; absent in the state of an older version. */
  created: v.optional(v.number()),
  started: v.optional(v.number()),
  from: v.string(),
  to: v.string(),
  transporter: v.string(),
  /** Whether the place operation was commanded. */
  is_placing: v.boolean(),
  /** The task that a person has for this move. */
  step_id: v.optional(v.nullable(v.string()), null),
  /** The stopped or faulted transporter in whose place a person makes the move. */
  instead_of: v.optional(v.nullable(v.string()), null),
  /** Whether the labware is in the gripper for certain, where it is scanned before the place is commanded. */
  is_picked: v.optional(v.boolean(), false),
  /** Whether the pick failed during the motion and nothing has shown since where the labware is. */
  has_failed_pick: v.boolean(),
})
export type MoveState = v.InferOutput<typeof MoveState>

/** The members of a thread's state that say where its labware is. */
type MovedLabware = {
  readonly labware: Labware
  readonly seat: string | null
  readonly move: Readonly<MoveState> | null
  readonly placing: string | null
  readonly picking: boolean
}

/**
 * Whether the labware may be in the gripper although `held_by` does not say so: it is being picked up, or the pick failed and nobody has said since
 * where it is. False after another thread has begun to pick with the transporter, because its gripper must have been empty.
 */
export function mayBePicked({ move, labware, seat: position }: MovedLabware): boolean {
  // A person who put the labware elsewhere has said where it is.
  if (move === null || position !== move.from) return false
  return (move.status === 'PICKING' && !move.is_picked) || (move.has_failed_pick && labware.held_by === null)
}

/** Returns where the labware of a thread may be now, besides its position: the gripper that may have it, and the target where it may already stand. */
export function mayBe(thread: MovedLabware): Pick<Labware, 'held_by' | 'placing' | 'taken_by'> {
  const { labware, move, placing } = thread
  const held_by = labware.held_by ?? (mayBePicked(thread) ? move!.transporter : null)
  if (held_by === null) return { held_by }
  const target = move?.is_placing && move.to !== move.from ? move.to : (placing ?? labware.placing)
  const { taken_by } = labware
  return { held_by, ...(target !== undefined && { placing: target }), ...(taken_by !== undefined && { taken_by }) }
}

/** Returns the state of a thread after the service has ended: a move in progress is over, and the labware is wherever it may be. */
export function cutOff<State extends MovedLabware>(state: State): State {
  const { labware, move } = state
  const isPicked = mayBePicked(state)
  const wasPlaced = (labware.held_by !== null || isPicked) && move?.is_placing === true
  const isSetBack = move?.to === move?.from
  return {
    ...state,
    // A person who takes over labware may not have taken it out of the gripper yet.
    labware: isPicked ? { ...labware, held_by: labware.held_by ?? move!.transporter } : labware,
    picking: isPicked || (wasPlaced && isSetBack) || state.picking,
    placing: wasPlaced && !isSetBack ? move!.to : state.placing,
  }
}

/** Whether the service ended during a move of the labware and nobody has said since where it is. It must not move before that. */
export function isUncertain({ labware, picking, placing }: Pick<MovedLabware, 'labware' | 'picking' | 'placing'>): boolean {
  return labware.held_by !== null && (picking || placing !== null)
}

/** Whether the labware of a thread, or the lid of its plate, is uncertain. */
export function hasUncertain(state: MovedLabware & { readonly lid: MovedLabware | null }): boolean {
  return isUncertain(state) || (state.lid !== null && isUncertain(state.lid))
}

/** Returns the sentence about uncertain labware, for incidents, refusals and views. */
export function uncertainty(state: Pick<MovedLabware, 'labware' | 'seat' | 'placing'> & { readonly lid?: MovedLabware | null }): string {
  const { labware, seat: position, placing } = state.lid && isUncertain(state.lid) ? state.lid : state
  const { labware_id, name, held_by, taken_by } = labware
  const place = placeOf({ held_by, taken_by, placing: placing ?? undefined }, position)
  return `the service ended while ${taken_by ?? held_by} moved ${name}: it is ${place}; look, and say where it is (PUT /api/labware/${labware_id}/location, once it is in no gripper), before the run is resumed`
}

/**
 * Returns where uncertain labware is, given the arm's report about its gripper: in the gripper (`held`), or at a position. Undefined if that is not
 * proven. With an empty gripper, the labware stands where it was picked if the cut-off motion was the pick, and at the target if it was the place.
 */
export function provenBy(
  gripper: 'empty' | 'full',
  { seat, picking, placing }: Pick<MovedLabware, 'seat' | 'picking' | 'placing'>,
): 'held' | { position: string } | undefined {
  if (gripper === 'full') return 'held'
  const position = picking ? seat : placing
  // Both a pick and a place were cut off, so the labware may stand at either position.
  return position === null || (picking && placing !== null) ? undefined : { position }
}
