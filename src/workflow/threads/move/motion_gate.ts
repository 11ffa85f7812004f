// Decides whether a run may begin or move something: only after the disk records where everything is, and never after the service begins to end.

import type { RunState } from '../../state/entry.ts'

export class MotionGate {
  readonly #state: RunState
  #isClosed = false
  #hasLeft = false

  constructor(state: RunState) {
    this.#state = state
  }

  /** Returns undefined while the run may begin something new; a promise that never resolves once the service ends. */
  mayBegin(): Promise<void> | undefined {
    return this.#isClosed ? new Promise(() => {}) : undefined
  }

  /** Resolves when something may move: the present state is on the disk. Never resolves once the service ends. */
  beforeMotion(): Promise<void> | undefined {
    return this.mayBegin() ?? this.synced()
  }

  /** Resolves when a move that has begun may go on: the present state is on the disk. Never resolves after `leave`. Rejects with `storage`. */
  synced(): Promise<void> | undefined {
    return this.#hasLeft ? new Promise(() => {}) : this.#state.persisted()
  }

  /** Lets nothing new begin. */
  close(): void {
    this.#isClosed = true
  }

  /** Stops writing the state. */
  leave(): void {
    this.#state.leave()
    this.#hasLeft = true
  }
}
