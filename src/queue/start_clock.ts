// The wall clock by which entries begin. A moment that the clock jumped over, or that passed while the service was off, was never there.

import type { Clock } from '../kit/clock.ts'

export type StartClockOptions = {
  clock: Clock
  /** Unix time, s. */
  wall(): number
  /** Whether a time server has set the clock; null where that cannot be known. */
  isSynced(): boolean | null
  /** Whether the newest event is later than the wall clock. */
  isBehindLog(): boolean
}

/** A larger difference between the wall clock and the monotonic clock is a jump, in seconds. Synchronization slews by less. */
const jump_s = 5

/**
 * `skipped`: the moments that the clock passed without this service looking at it: from -Infinity after a start of the service. A look at least
 * each 30 seconds keeps the drift between both clocks far below a jump.
 */
export type Moment = { now: number; isInStep: boolean; skipped?: { from: number; to: number; isByClock: boolean } }

export class StartClock {
  readonly #options: StartClockOptions
  #last: { wall: number; steady_ms: number } | undefined

  constructor(options: StartClockOptions) {
    this.#options = options
  }

  /** Reads the clock without looking for jumps. */
  peek(): Moment {
    const { wall, isSynced, isBehindLog } = this.#options
    return { now: wall(), isInStep: isSynced() !== false && !isBehindLog() }
  }

  look(): Moment {
    const { now, isInStep } = this.peek()
    if (!isInStep) return { now, isInStep }
    const steady_ms = this.#options.clock.now()
    const before = this.#last
    this.#last = { wall: now, steady_ms }
    if (!before) return { now, isInStep: true, skipped: { from: Number.NEGATIVE_INFINITY, to: now, isByClock: false } }
    const expected = before.wall + (steady_ms - before.steady_ms) / 1000
    return now - expected > jump_s
      ? { now, isInStep: true, skipped: { from: expected, to: now, isByClock: true } }
      : { now, isInStep: true }
  }
}

/** Returns the span over both spans of moments at which nobody looked. */
export function joined(one: Moment['skipped'], other: Moment['skipped']): Moment['skipped'] {
  if (!one || !other) return one ?? other
  return { from: Math.min(one.from, other.from), to: Math.max(one.to, other.to), isByClock: one.isByClock && other.isByClock }
}
