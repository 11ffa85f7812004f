// The outputs of a device on pins, switched off together.

import { LabError, messageOf } from '../src/errors.ts'
import type { Throttle } from './parts/throttle.ts'
import type { Pin } from './transports/pin.ts'

export class Outputs {
  readonly #pins: readonly Pin[]
  readonly #throttles: readonly Throttle[]

  /** The pins are relays, which switch off by themselves; throttles are set to zero in addition. */
  constructor(pins: readonly Pin[], throttles: readonly Throttle[] = []) {
    this.#pins = pins
    this.#throttles = throttles
  }

  /**
   * Switches all outputs off before it returns, also if some fail. Then it throws `stop_not_sent` if a
   * relay failed, and rejects with `device_failed` if only a throttle failed. Resolves when no earlier write can follow.
   */
  offNow(): Promise<void> {
    const relays = this.#pins.map((pin) => attempt(() => pin.writeNow(false)))
    const throttles = this.#throttles.map((throttle) => attempt(() => throttle.offNow()))
    const all = Promise.all([...relays.map(({ done }) => done), ...throttles.map(({ done }) => done.catch(stillSet))]).then(() => undefined)
    const failed = relays.find(({ thrown }) => thrown !== undefined)
    if (!failed) return all
    all.catch(() => undefined)
    throw failed.thrown
  }
}

/** Makes the error for a device that could not be switched off because of `why`. */
export function stillOn(why: LabError, cause: unknown): LabError {
  if (!(cause instanceof LabError && cause.code === 'stop_not_sent')) return why
  return new LabError('device_failed', `${why.message}. That could not be done (${cause.message}): use its red button`, { cause })
}

function stillSet(cause: unknown): never {
  const sentence = `its relays are off, but what sets its speed could not be set back: ${messageOf(cause)}`
  throw new LabError('device_failed', sentence, { cause })
}

function attempt(work: () => Promise<void>): { done: Promise<void>; thrown?: unknown } {
  try {
    return { done: work() }
  } catch (thrown) {
    return { done: Promise.reject(thrown), thrown }
  }
}
