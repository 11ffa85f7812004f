// Writes the state of a run to the disk before its labware moves, so that it says after a power cut where the labware may be.

import type { Mover } from '../lid_carrier.ts'

/** The motions of one move. */
export class MotionSync {
  readonly #thread: Mover
  #isPreparing = false
  #isBegun = false

  constructor(thread: Mover) {
    this.#thread = thread
  }

  /** Whether the labware may have moved. */
  get isBegun(): boolean {
    return this.#isBegun
  }

  /**
   * Resolves when the present state is on the disk. If the disk fails, rejects with `storage` before the first motion; after that the move goes on,
   * because stopping halfway would be worse. Rejects with the reason of the thread's signal once that is aborted.
   */
  async beforeMotion(): Promise<void> {
    const { execution, control } = this.#thread
    const { signal } = control
    const persisted = execution.gate.synced()
    await (this.#isBegun ? persisted?.catch(() => undefined) : persisted)
    signal.throwIfAborted()
    this.#isBegun = true
  }

  /** Syncs the state before the first device is prepared. Later devices need no sync, because preparing moves no labware. Rejects with `storage`. */
  beforePreparing(): Promise<void> | undefined {
    if (this.#isPreparing) return undefined
    return this.#thread.execution.gate.synced()?.then(() => {
      this.#isPreparing = true
    })
  }
}
