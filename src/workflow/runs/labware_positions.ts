// Keeps the position of the labware in the state of its thread, for as long as the thread moves that labware.

import type { Scheduler } from '../scheduler/scheduler.ts'
import { lidCarrierOf, type Mover } from '../threads/lid_carrier.ts'
import type { LabwareThread } from '../threads/thread.ts'

export class LabwarePositions {
  /** The thread that moves each labware, or moved it last. */
  readonly #carriers = new Map<string, Mover>()
  /** Stops following the moves of labware. */
  readonly stop: () => void

  constructor(scheduler: Scheduler) {
    this.stop = scheduler.onMoved((labware_id) => {
      const thread = this.#carriers.get(labware_id)
      const isLeft = scheduler.whose(labware_id) !== thread?.thread_id
      // Labware that comes to a position is scanned there anew.
      thread?.set({
        seat: isLeft ? null : (scheduler.whereIs(labware_id) ?? null),
        ...(thread.state.scanned !== null && { scanned: null }),
      })
    })
  }

  add(thread: LabwareThread): void {
    this.#carriers.set(thread.labware.labware_id, thread)
    const lid = lidCarrierOf(thread)
    if (lid) this.#carriers.set(lid.labware.labware_id, lid)
  }
}
