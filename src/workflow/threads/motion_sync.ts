// Syncs the state of a run before its labware moves, so that after a power cut it is known where the labware may be.

import type { LabwareThread } from './thread.ts'

/** The motions of one move. */
export class MotionSync {
  readonly #thread: LabwareThread
  #isBegun = false

  constructor(thread: LabwareThread) {
    this.#thread = thread
  }

  /** Whether something may have moved. */
  get isBegun(): boolean {
    return this.#isBegun
  }

  /** Resolves when the present state is on the card. Rejects with `storage` before the first motion. After it the move goes on: nothing else would be better. */
  async beforeMotion(): Promise<void> {
    const persisted = this.#thread.execution.state.persisted()
    await (this.#isBegun ? persisted?.catch(() => undefined) : persisted)
    this.#isBegun = true
  }

  /** The same where a device has to be prepared, which changes nothing of where the labware may be: the first motion alone needs a sync. */
  beforePreparing(): Promise<void> | undefined {
    return this.#isBegun || !this.#thread.execution.state.isWritten ? undefined : this.beforeMotion()
  }
}
