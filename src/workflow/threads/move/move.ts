// One attempt at a hop: its status, and how far the transporter got.

import type { Hop } from '../../plans/graph.ts'
import type { MoveState } from '../../state/move.ts'
import { type ActionStatus, actionTransitions, isTerminal, Status } from '../../state/statuses.ts'
import type { Carrier } from '../carrier.ts'
import { addMoveRow, keepTimes, labwareIn, type MoveOperation } from '../record_rows.ts'

const nothing = { is_placing: false, has_failed_pick: false }

export class MoveRun {
  readonly action_id: string
  readonly thread: Carrier
  readonly hop: Hop
  /** When the pick was commanded, in ms of the environment's clock. */
  picked_ms: number | null = null
  /** The operations that it began at its transporter. */
  readonly operations: MoveOperation[] = []
  /** The person who is to make the next attempt instead of the transporter. */
  takeover: string | null = null
  /** Part of the state of the thread. */
  readonly state: MoveState
  readonly status: Status<ActionStatus>

  /**
   * `before`: what an earlier attempt left open: whether the labware may be in the gripper, or may already stand at the target. `instead_of`: the
   * transporter in whose place a person makes this attempt.
   */
  constructor(
    thread: Carrier,
    hop: Hop,
    before: Pick<MoveState, 'is_placing' | 'has_failed_pick'> = nothing,
    instead_of: string | null = null,
  ) {
    this.action_id = thread.environment.newId()
    this.thread = thread
    this.hop = hop
    const { is_placing, has_failed_pick } = before
    this.state = {
      action_id: this.action_id,
      status: 'CREATED',
      ...hop,
      step_id: null,
      instead_of,
      is_placing,
      is_picked: false,
      has_failed_pick,
    }
    this.status = new Status<ActionStatus>(actionTransitions, this, (status) => this.#publish(status))
    this.status.become('AWAITING_MOVE_RESERVATION')
  }

  set(members: Partial<MoveState>): void {
    this.thread.setIn('move', this.state, members)
  }

  #publish(action_status: ActionStatus): void {
    const { thread, action_id } = this
    const { events, timeline, used } = thread.execution
    const isOver = action_status === 'COMPLETED' || action_status === 'ERRORED'
    const { from, to, transporter } = this.hop
    const more = isOver
      ? { operation_id: this.operations.at(-1)?.operation_id ?? null, device_id: transporter, from, to, ...labwareIn(thread) }
      : undefined
    const context = Object.assign(thread.context(), { action_id, action_status, action_name: null }, more)
    events.emit('ACTION', action_id, action_status, context)
    const row = timeline.move(this, action_status)
    keepTimes(this, row)
    if (action_status === 'PICKING') used.move(transporter, from)
    if (action_status === 'PLACING') used.move(transporter, to)
    if (isTerminal(actionTransitions, action_status)) addMoveRow(thread.execution, row, thread, this.operations)
  }
}
