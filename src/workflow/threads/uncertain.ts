// Where labware may be whose move is under way, or was cut off.

import * as v from 'valibot'
import { actionTransitions, statusIn } from '../statuses.ts'
import type { Labware } from './labware.ts'

/** An attempt at a hop. */
export const MoveState = v.object({
  action_id: v.string(),
  status: statusIn(actionTransitions),
  from: v.string(),
  to: v.string(),
  transporter: v.string(),
  /** Whether the place was commanded. */
  is_placing: v.boolean(),
  /** The pick failed in the midst of the motion, and nothing has shown since where the labware is. */
  has_failed_pick: v.boolean(),
})
export type MoveState = v.InferOutput<typeof MoveState>

/** The members of a thread's state that say where its labware is. */
type OnBench = {
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
export function mayBePicked({ move, labware, seat }: OnBench): boolean {
  if (move === null) return false
  if (move.status === 'PICKING') return true
  return move.has_failed_pick && labware.held_by === null && seat === move.from
}

/** Answers where the labware of a thread may be now: the gripper that may have it, and the position where it may stand already. */
export function mayBe(thread: OnBench): Pick<Labware, 'held_by' | 'placing'> {
  const { labware, move, placing } = thread
  const held_by = labware.held_by ?? (mayBePicked(thread) ? move!.transporter : null)
  if (held_by === null) return { held_by }
  const target = move?.is_placing && move.to !== move.from ? move.to : (placing ?? labware.placing)
  return target === undefined ? { held_by } : { held_by, placing: target }
}

/** The state of a thread whose service has ended: a move that was under way is over, and leaves the labware where it may be. */
export function cutOff<State extends OnBench>(state: State): State {
  const { labware, move } = state
  const isPicked = mayBePicked(state)
  return {
    ...state,
    labware: isPicked ? { ...labware, held_by: move!.transporter } : labware,
    picking: isPicked || state.picking,
    placing: move?.status === 'PLACING' && move.to !== move.from ? move.to : state.placing,
  }
}
