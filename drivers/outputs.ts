// The outputs of a device on pins, switched off together.

import type { Throttle } from './parts/throttle.ts'
import type { Pin } from './transports/pin.ts'

export class Outputs {
  readonly #pins: readonly Pin[]
  readonly #throttles: readonly Throttle[]

  /** The pins are relays, which alone are enough to switch off; throttles come on top. */
  constructor(pins: readonly Pin[], throttles: readonly Throttle[] = []) {
    this.#pins = pins
    this.#throttles = throttles
  }

  /**
   * All of it is inactive when this returns. What cannot be written keeps nothing else on: throws `stop_not_sent` afterwards if a
   * relay could not, and rejects if only a throttle could not. Resolves when no earlier write can come after.
   */
  offNow(): Promise<void> {
    const relays = this.#pins.map((pin) => attempt(() => pin.writeNow(false)))
    const throttles = this.#throttles.map((throttle) => attempt(() => throttle.offNow()))
    const all = Promise.all([...relays, ...throttles].map(({ done }) => done)).then(() => undefined)
    const failed = relays.find(({ thrown }) => thrown !== undefined)
    if (!failed) return all
    all.catch(() => undefined)
    throw failed.thrown
  }
}

function attempt(work: () => Promise<void>): { done: Promise<void>; thrown?: unknown } {
  try {
    return { done: work() }
  } catch (thrown) {
    return { done: Promise.reject(thrown), thrown }
  }
}
