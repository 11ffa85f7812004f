// The block of a simulated thermocycler: it heats and cools, and keeps the time at a temperature.

import type { Clock } from '../../src/kit/clock.ts'
import { Heater } from '../simulated_parts.ts'

const timeConstant_s = 8
/** The reading of a block that is too hot. */
const tooHot_c = 118

export class SimulatedBlock {
  readonly #clock: Clock
  /** The difference from the target, in °C, within which the time runs. */
  readonly #near: number
  readonly #heater: Heater
  #target: number | undefined
  #hold = { seconds: 0, from: 0 }

  constructor(clock: Clock, near: number) {
    this.#clock = clock
    this.#near = near
    this.#heater = new Heater(clock, timeConstant_s, tooHot_c, true)
  }

  get target(): number | undefined {
    return this.#target
  }

  get temperature(): number {
    return this.#heater.temperature
  }

  /** Sets the target; undefined switches off. `hold` is the time at it in seconds, 0 for no end. */
  aim(target: number | undefined, hold = 0): void {
    const away = Math.abs(this.#heater.temperature - (target ?? 0))
    const ramp_ms = timeConstant_s * 1000 * Math.log(Math.max(1, away / this.#near))
    this.#hold = { seconds: hold, from: this.#clock.now() + ramp_ms }
    this.#target = target
    this.#heater.heatTo(target)
  }

  get total(): number {
    return this.#hold.seconds
  }

  get isNear(): boolean {
    return this.#clock.now() >= this.#hold.from
  }

  /** The seconds that are left at the temperature. */
  get left(): number {
    return Math.max(0, this.#hold.seconds - Math.max(0, this.#clock.now() - this.#hold.from) / 1000)
  }

  setTooHot(tooHot: boolean): void {
    this.#heater.setTooHot(tooHot)
  }
}
