// Notes in the state of each thread where its labware stands, until the thread leaves it.

import type { Scheduler } from '../scheduler/scheduler.ts'
import type { LabwareThread } from '../threads/thread.ts'

export class Seats {
  /** The thread that moves each labware, or moved it last. */
  readonly #carriers = new Map<string, LabwareThread>()
  /** Ends that moves of labware are noted. */
  readonly stop: () => void

  constructor(scheduler: Scheduler) {
    this.stop = scheduler.onMoved((labware_id) => {
      const thread = this.#carriers.get(labware_id)
      const isLeft = scheduler.whose(labware_id) !== thread?.thread_id
      thread?.set({ seat: isLeft ? null : (scheduler.whereIs(labware_id) ?? null) })
    })
  }

  add(thread: LabwareThread): void {
    this.#carriers.set(thread.labware.labware_id, thread)
  }
}
