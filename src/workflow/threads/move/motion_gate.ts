// Whether something may begin or move in a run: only when the card says where everything is, and never again once the service ends.

import type { RunState } from '../../state/entry.ts'

export class MotionGate {
  readonly #state: RunState
  #isClosed = false
  #hasLeft = false

  constructor(state: RunState) {
    this.#state = state
  }

  /** Undefined while something new may be begun; a promise that never resolves when the service ends. */
  mayBegin(): Promise<void> | undefined {
    return this.#isClosed ? new Promise(() => {}) : undefined
  }

  /** Resolves when something may move: where everything is, and what is to be done, is on the card. Never, when the service ends. */
  beforeMotion(): Promise<void> | undefined {
    return this.mayBegin() ?? this.synced()
  }

  /** Resolves when a move that has begun may go on: the present state is on the card. Never, once the state is written no more. Rejects with `storage`. */
  synced(): Promise<void> | undefined {
    return this.#hasLeft ? new Promise(() => {}) : this.#state.persisted()
  }

  /** Lets nothing new begin. */
  close(): void {
    this.#isClosed = true
  }

  /** Leaves the state as it was written last. */
  leave(): void {
    this.#state.leave()
    this.#hasLeft = true
  }
}
