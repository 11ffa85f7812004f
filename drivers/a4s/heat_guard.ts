// Watches the heater, whatever else goes on: trips when it gets too hot, does not get warm, is off by itself, or cannot be seen any more.

import { LabError } from '../../src/errors.ts'
import type { Clock } from '../../src/kit/clock.ts'
import { patient } from '../../src/kit/patient.ts'
import { HeatWatch } from '../heat_watch.ts'
import { WithMount } from '../with_mount.ts'
import type { Status } from './protocol.ts'
import { silence_ms, silent } from './status.ts'

/** No set point brings it to the hottest: 200 °C is the highest. */
const warming = { hottest: 215, overshoot: 15, gain: 2, within_s: 60, below: 5 }
/** Until then it may still say that its heater is off. */
const start_ms = 5000

type Parts = {
  /** The instrument's time. */
  clock: Clock
  /** The line's time. */
  wire: Clock
  /** Must switch the heater off. */
  trip(error: LabError): void
}

export class HeatGuard extends WithMount<Parts> {
  readonly #watch = new HeatWatch(this.at.clock, warming)
  /** When it last was commanded to heat, on the wire's clock: the statuses that are still under way take time of ours. */
  #since = 0
  #tooHot = false
  #cancelSilence = () => {}

  /** The set point in °C; null when nobody commanded it to heat. */
  get target(): number | null {
    return this.#watch.target
  }

  /** From now on it heats to `target`. `reading` must be a fresh one. */
  begin(target: number, reading: number): void {
    this.#since = this.at.wire.now()
    this.#watch.begin(target, reading)
    this.#expectWord()
  }

  /** From now on it does not heat. */
  end(): void {
    this.#watch.end()
    this.#cancelSilence()
  }

  /** The line is gone: nothing can be seen, and nothing said. */
  pause(): void {
    this.#cancelSilence()
  }

  see({ temperature, heater }: Status): void {
    const wrong = this.#wrongWith(temperature)
    if (wrong) {
      this.#tripWith(new LabError('device_failed', `${wrong}; its heater was switched off, see to it, then initialize`))
    } else if (this.target !== null && heater === 'off' && this.at.wire.now() - this.#since > start_ms) {
      const sentence = `it was set to ${this.target} °C and its heater is off: it restarted, or was switched off by hand; see its power supply, then initialize`
      this.#tripWith(new LabError('device_failed', sentence))
    } else if (this.target !== null) {
      this.#expectWord()
    }
  }

  /** An instrument that is too hot stays so for a while after its heater is off, and is reported once. */
  #wrongWith(temperature: number): string | undefined {
    const isReported = this.#tooHot
    this.#tooHot = temperature > warming.hottest
    return this.#tooHot && isReported ? this.#watch.wrongWhileHeating(temperature) : this.#watch.wrongWith(temperature)
  }

  #expectWord(): void {
    this.#cancelSilence()
    this.#cancelSilence = patient(this.at.wire).after(silence_ms, () => this.#tripWith(silent()))
  }

  #tripWith(error: LabError): void {
    this.end()
    this.at.trip(error)
  }
}
