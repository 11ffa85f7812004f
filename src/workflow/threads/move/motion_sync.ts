// Syncs the state of a run before its labware moves, so that after a power cut it is known where the labware may be.

import type { LabwareThread } from '../thread.ts'

/** The motions of one move. */
export class MotionSync {
  readonly #thread: LabwareThread
  #isPreparing = false
  #isBegun = false

  constructor(thread: LabwareThread) {
    this.#thread = thread
  }

  /** Whether the labware may have moved. */
  get isBegun(): boolean {
    return this.#isBegun
  }

  /**
   * Resolves when the present state is on the card. Rejects with `storage` as long as the labware has not moved. After that the move goes on: nothing else
   * would be better. Rejects with the reason of the thread's signal once that is aborted.
   */
  async beforeMotion(): Promise<void> {
    const { execution, control } = this.#thread
    const { signal } = control
    const persisted = execution.gate.synced()
    await (this.#isBegun ? persisted?.catch(() => undefined) : persisted)
    signal.throwIfAborted()
    this.#isBegun = true
  }

  /**
   * Syncs the state before the first device is prepared. Later devices need no sync, for preparing changes nothing of where the labware may be. Rejects
   * with `storage`.
   */
  beforePreparing(): Promise<void> | undefined {
    if (this.#isPreparing) return undefined
    return this.#thread.execution.gate.synced()?.then(() => {
      this.#isPreparing = true
    })
  }
}
