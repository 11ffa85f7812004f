// Watches the heater, whatever else goes on: trips when it gets too hot, does not get warm, or cannot be seen any more.

import { LabError } from '../../src/errors.ts'
import type { Clock } from '../../src/kit/clock.ts'
import type { Status } from './protocol.ts'
import { silence_ms, silent } from './status.ts'

/** No set point brings it here: 200 °C is the highest. */
const hottest = 215
const overshoot = 15
/** The least gain, in °C, and the time for it, while it is still so far below what was set. */
const warmUp = { gain: 2, within_ms: 60_000, below: 5 }
/** Until then it may still say that its heater is off. */
const start_ms = 5000

type Heating = {
  target: number
  /** On the wire's clock: the statuses that are still under way take time of ours. */
  since: number
  /** No reading may be above this. It follows the reading down to the target, for a block that cools to a lower one. */
  ceiling: number
  /** Where the gain is counted from. */
  mark: { temperature: number; at: number }
}

export class HeatGuard {
  readonly #clock: Clock
  readonly #wire: Clock
  readonly #trip: (error: LabError) => void
  #heating: Heating | undefined
  #tooHot = false
  #cancelSilence = () => {}

  /** `clock` is the instrument's time, `wire` the line's. `trip` must switch the heater off. */
  constructor(clocks: { clock: Clock; wire: Clock }, trip: (error: LabError) => void) {
    this.#clock = clocks.clock
    this.#wire = clocks.wire
    this.#trip = trip
  }

  /** What it was told to go to; null when it was told nothing or its heater is off. */
  get target(): number | null {
    return this.#heating?.target ?? null
  }

  /** From now on it heats to `target`. `reading` must be a fresh one. */
  begin(target: number, reading: number): void {
    const at = this.#clock.now()
    this.#heating = { target, since: this.#wire.now(), ceiling: Math.max(target, reading) + overshoot, mark: { temperature: reading, at } }
    this.#expectWord()
  }

  /** From now on it does not heat. */
  end(): void {
    this.#heating = undefined
    this.#cancelSilence()
  }

  /** The line is gone: nothing can be seen, and nothing said. */
  pause(): void {
    this.#cancelSilence()
  }

  see({ temperature, heater }: Status): void {
    const wrong = this.#tooHotForAnything(temperature) ?? (this.#heating && this.#wrongWith(this.#heating, temperature))
    if (wrong) {
      this.#tripWith(new LabError('device_failed', `${wrong}; its heater was switched off, see to it, then initialize`))
    } else if (this.#heating && heater === 'off' && this.#wire.now() - this.#heating.since > start_ms) {
      // Somebody switched it off at the instrument: that is no failure, but there is no target any more.
      this.end()
    } else if (this.#heating) {
      this.#expectWord()
    }
  }

  /** Said once: an instrument that is too hot stays so for a while after its heater is off. */
  #tooHotForAnything(temperature: number): string | undefined {
    const before = this.#tooHot
    this.#tooHot = temperature > hottest
    return this.#tooHot && !before ? `it has ${temperature} °C, hotter than it may ever be` : undefined
  }

  #wrongWith(heating: Heating, temperature: number): string | undefined {
    const { target, ceiling, mark } = heating
    if (temperature > ceiling) return `it has ${temperature} °C and was set to ${target} °C`
    heating.ceiling = Math.max(target + overshoot, Math.min(ceiling, temperature + overshoot))
    const now = this.#clock.now()
    const warm = temperature > target - warmUp.below || temperature >= mark.temperature + warmUp.gain
    if (warm) heating.mark = { temperature, at: now }
    if (warm || now - mark.at <= warmUp.within_ms) return undefined
    return `it does not get warm: ${temperature} °C, set to ${target} °C, and less than ${warmUp.gain} °C more in ${warmUp.within_ms / 1000} s`
  }

  #expectWord(): void {
    this.#cancelSilence()
    this.#cancelSilence = this.#wire.after(silence_ms, () => this.#tripWith(silent()))
  }

  #tripWith(error: LabError): void {
    this.end()
    this.#trip(error)
  }
}
