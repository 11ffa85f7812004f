// A pause between two pieces of work, which a caller can end early.

import type { Clock } from './clock.ts'

export class Pause {
  readonly #clock: Clock
  readonly #ms: number
  #end = () => {}

  constructor(clock: Clock, ms: number) {
    this.#clock = clock
    this.#ms = ms
  }

  /** Resolves after the time or when `end` is called. Only one caller may wait at a time. */
  taken(): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#clock.after(this.#ms, resolve)
      this.#end = () => {
        cancel()
        resolve()
      }
    })
  }

  end(): void {
    this.#end()
  }
}
