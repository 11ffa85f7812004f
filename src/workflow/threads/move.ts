// One attempt at a hop: its status, and how far the transporter came.

import type { Hop } from '../plans/graph.ts'
import { type ActionStatus, actionTransitions, Status, statusAlone } from '../statuses.ts'
import type { Carrier } from './carrier.ts'

export class MoveRun {
  readonly action_id: string
  readonly thread: Carrier
  readonly hop: Hop
  /** When the pick was commanded, on the clock of the environment. */
  picked_ms: number | null = null
  /** Whether the place was commanded. */
  isPlacing = false
  /** The pick failed in the midst of the motion, and nothing has shown since where the labware is. */
  hasFailedPick = false
  readonly status: Status<ActionStatus>

  constructor(thread: Carrier, hop: Hop) {
    this.action_id = thread.environment.newId()
    this.thread = thread
    this.hop = hop
    this.status = new Status<ActionStatus>(actionTransitions, statusAlone('CREATED'), (status) => this.#publish(status))
    this.status.become('AWAITING_MOVE_RESERVATION')
  }

  #publish(action_status: ActionStatus): void {
    const { thread, action_id } = this
    const { execution } = thread
    execution.emit('ACTION', action_id, action_status, Object.assign(thread.context(), { action_id, action_status, action_name: null }))
    execution.timeline.move(this, action_status)
  }
}
