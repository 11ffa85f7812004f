// Where labware may be whose move is under way, or was cut off.

import * as v from 'valibot'
import { type Labware, placeOf } from './labware.ts'
import { actionTransitions, statusIn } from './statuses.ts'

/** An attempt at a hop. */
export const MoveState = v.object({
  action_id: v.string(),
  status: statusIn(actionTransitions),
  from: v.string(),
  to: v.string(),
  transporter: v.string(),
  /** Whether the place was commanded. */
  is_placing: v.boolean(),
  /** The task that a person has for this move. */
  step_id: v.optional(v.nullable(v.string()), null),
  /** The pick failed in the midst of the motion, and nothing has shown since where the labware is. */
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
 * Whether the labware may be in the gripper although `held_by` does not say so: it is being picked up, or the pick failed, and nobody has said where
 * it is. False once another thread has begun to pick with the transporter, which a full gripper would not allow.
 */
export function mayBePicked({ move, labware, seat }: MovedLabware): boolean {
  // A person who put the labware elsewhere has said where it is.
  if (move === null || seat !== move.from) return false
  return move.status === 'PICKING' || (move.has_failed_pick && labware.held_by === null)
}

/** Returns where the labware of a thread may be now: the gripper that may have it, and the position where it may stand already. */
export function mayBe(thread: MovedLabware): Pick<Labware, 'held_by' | 'placing'> {
  const { labware, move, placing } = thread
  const held_by = labware.held_by ?? (mayBePicked(thread) ? move!.transporter : null)
  if (held_by === null) return { held_by }
  const target = move?.is_placing && move.to !== move.from ? move.to : (placing ?? labware.placing)
  return target === undefined ? { held_by } : { held_by, placing: target }
}

/** The state of a thread whose service has ended: a move that was under way is over, and leaves the labware where it may be. */
export function cutOff<State extends MovedLabware>(state: State): State {
  const { labware, move } = state
  const isPicked = mayBePicked(state)
  const wasPlaced = (labware.held_by !== null || isPicked) && move?.is_placing === true
  const isSetBack = move?.to === move?.from
  return {
    ...state,
    labware: isPicked ? { ...labware, held_by: move!.transporter } : labware,
    picking: isPicked || (wasPlaced && isSetBack) || state.picking,
    placing: wasPlaced && !isSetBack ? move!.to : state.placing,
  }
}

/** Whether the service ended while the labware was moved, and nobody has said where it is: it does not move before that. */
export function isUncertain({ labware, picking, placing }: Pick<MovedLabware, 'labware' | 'picking' | 'placing'>): boolean {
  return labware.held_by !== null && (picking || placing !== null)
}

/** The one sentence about such labware, in the incident, in the refusals, and wherever its run or the labware is shown. */
export function uncertainty({ labware, seat, placing }: Pick<MovedLabware, 'labware' | 'seat' | 'placing'>): string {
  const { labware_id, name, held_by } = labware
  const place = placeOf({ held_by, placing: placing ?? undefined }, seat)
  return `the service ended while ${held_by} moved ${name}: it is ${place}; look, and say where it is (PUT /api/labware/${labware_id}/location, once it is in no gripper), before the run is resumed`
}

/**
 * Returns where labware is that a move left uncertain, by what the arm says of its gripper: in the gripper (`held`), or at a position. Undefined where
 * that proves nothing. A full gripper has let go of nothing since the pick. With an empty one the labware is where it was picked as long as nobody had
 * told the arm to put it down, and else where it was being put down.
 */
export function provenBy(
  gripper: 'empty' | 'full',
  { seat, picking, placing }: Pick<MovedLabware, 'seat' | 'picking' | 'placing'>,
): 'held' | { position: string } | undefined {
  if (gripper === 'full') return 'held'
  const position = picking ? seat : placing
  // The labware was cut off in a pick and in a place, and may stand at either position.
  return position === null || (picking && placing !== null) ? undefined : { position }
}
