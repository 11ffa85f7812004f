// The speed of something that turns, from the pulses of a sensor.

import type { Clock } from '../src/kit/clock.ts'
import type { Pin } from './transports/pin.ts'

/** Pulses older than this say nothing any more. */
const window_ms = 2000
/** Without a pulse for so long it is at rest; slower than a turn in this it must not be made to run. */
export const rest_ms = 1500
const mostPulses = 4096

export class Tachometer {
  readonly #pin: Pin
  readonly #clock: Clock
  readonly #pulsesPerTurn: number
  #pulses: number[] = []
  #end = () => {}
  /** The number of pulses since it began to count. */
  count = 0

  constructor(pin: Pin, clock: Clock, pulsesPerTurn: number) {
    this.#pin = pin
    this.#clock = clock
    this.#pulsesPerTurn = pulsesPerTurn
  }

  /** Counts from now on. */
  begin(): void {
    this.end()
    this.#pulses = []
    this.count = 0
    this.#end = this.#pin.onEdge((active) => {
      if (active) this.#count()
    })
  }

  end(): void {
    this.#end()
    this.#end = () => {}
  }

  /** Unit: rpm. A speed that falls is seen while the next pulse is still awaited. */
  get rpm(): number {
    const now = this.#clock.now()
    const pulses = this.#pulses.filter((at) => now - at <= window_ms)
    const [first, last] = [pulses[0], pulses.at(-1)]
    if (first === undefined || last === undefined || last === first || now - last > rest_ms) return 0
    // Pulses that were reported together came one after the other before that moment.
    const counted = pulses.filter((at) => at > first).length
    const interval_ms = Math.max((last - first) / counted, now - last)
    return 60_000 / (interval_ms * this.#pulsesPerTurn)
  }

  #count(): void {
    const now = this.#clock.now()
    this.count++
    this.#pulses = this.#pulses.filter((at) => now - at <= window_ms).slice(-mostPulses)
    this.#pulses.push(now)
  }
}
