// Measures a speed from the pulses of a sensor.

import type { Clock } from '../src/kit/clock.ts'
import type { Pin } from './transports/pin.ts'

/** The age of the oldest pulses that count. */
const window_ms = 2000
/** The time without a pulse that counts as rest. A permitted speed must have a turn in less than this. */
export const rest_ms = 1500
const mostPulses = 4096

export class Tachometer {
  readonly #pin: Pin
  readonly #clock: Clock
  readonly #pulsesPerTurn: number
  #pulses: number[] = []
  #end = () => {}
  /** The pulses since `begin`. */
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

  /** The speed in rpm. It falls already while the next pulse is awaited. */
  get rpm(): number {
    const now = this.#clock.now()
    const pulses = this.#pulses.filter((at) => now - at <= window_ms)
    const [first, last] = [pulses[0], pulses.at(-1)]
    if (first === undefined || last === undefined || last === first || now - last > rest_ms) return 0
    // Pulses that were reported together came before that moment, one after the other.
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
