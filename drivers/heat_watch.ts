// Watches whether an instrument heats as it was set to: each reading is held against the one before and against what was set.

import { isRefusal } from '../src/devices/failure.ts'
import { LabError } from '../src/errors.ts'
import type { Clock } from '../src/kit/clock.ts'

/** Units: °C and seconds. */
export type Warming = {
  /** No reading may ever be above this. */
  hottest: number
  /** Nor so much above what was set. */
  overshoot: number
  /** The temperature that must be gained within the time, while the plate is more than `below` too cold. */
  gain: number
  within_s: number
  below: number
}

/** Unit: °C. No plate has another temperature: whatever says so is not a thermometer. */
const believable = { min: -50, max: 150 }

/** Returns a temperature that an instrument tells; throws `device_failed` for one that no plate has. */
export function believed(temperature: number): number {
  if (temperature >= believable.min && temperature <= believable.max) return temperature
  throw new LabError('device_failed', `it says that it has ${temperature} °C, which cannot be; see to its sensor`)
}

type Heating = { target: number; ceiling: number; mark: { temperature: number; at: number } }

export class HeatWatch {
  readonly #clock: Clock
  readonly #warming: Warming
  #heating: Heating | undefined

  constructor(clock: Clock, warming: Warming) {
    this.#clock = clock
    this.#warming = warming
  }

  /** The set point in °C; null while it is not to heat. */
  get target(): number | null {
    return this.#heating?.target ?? null
  }

  /** From now on it heats to `target`; `reading` is what it has now. Returns a function that takes that back, where the instrument refuses. */
  begin(target: number, reading: number): () => void {
    const before = this.#heating
    const ceiling = Math.max(target, reading) + this.#warming.overshoot
    this.#heating = { target, ceiling, mark: { temperature: reading, at: this.#clock.now() } }
    return () => {
      this.#heating = before
    }
  }

  /** From now on it does not heat. */
  end(): void {
    this.#heating = undefined
  }

  /** Has the heater switched off. From the first byte on the heater may be off, so it is watched again only where the instrument refuses. */
  async endBy(switchOff: () => Promise<void>): Promise<void> {
    const before = this.#heating
    this.end()
    try {
      await switchOff()
    } catch (error) {
      if (isRefusal(error)) this.#heating = before
      throw error
    }
  }

  /**
   * Reads a temperature, if there is one to be read, and throws `device_failed` where it is wrong. Calls `switchOff` before it throws that, and also where the reading
   * fails while the instrument heats, for then nobody sees what the heater does.
   */
  async check(read: () => Promise<number | undefined>, switchOff: () => void): Promise<void> {
    try {
      const temperature = await read()
      const wrong = temperature !== undefined && this.wrongWith(temperature)
      if (!wrong) return
      this.end()
      switchOff()
      throw new LabError('device_failed', `${wrong}; its heater was switched off, see to it, then initialize`)
    } catch (error) {
      if (isBlind(error) && this.target !== null) {
        this.end()
        switchOff()
      }
      throw error
    }
  }

  /** Says what is wrong with a reading, in words; undefined when nothing is. */
  wrongWith(temperature: number): string | undefined {
    if (temperature > this.#warming.hottest) return `it has ${temperature} °C, hotter than it may ever be`
    return this.wrongWhileHeating(temperature)
  }

  /** Judges the temperature in the same way while heating, but for `hottest`. */
  wrongWhileHeating(temperature: number): string | undefined {
    const heating = this.#heating
    if (!heating) return undefined
    const { overshoot, gain, within_s, below } = this.#warming
    const { target, ceiling, mark } = heating
    if (temperature > ceiling) return `it has ${temperature} °C and was set to ${target} °C`
    // The instrument may cool down to a lower target, but not warm up again on the way.
    heating.ceiling = Math.max(target + overshoot, Math.min(ceiling, temperature + overshoot))
    const now = this.#clock.now()
    const warm = temperature > target - below || temperature >= mark.temperature + gain
    if (warm) heating.mark = { temperature, at: now }
    if (warm || now - mark.at <= within_s * 1000) return undefined
    return `it does not get warm: ${temperature} °C, set to ${target} °C, and less than ${gain} °C more in ${within_s} s`
  }
}

/** Returns the error for a heater that was switched off and is on all the same. */
export function heaterStillOn(): LabError {
  return new LabError('device_failed', 'its heater was switched off and is still on; use its power switch')
}

/** Whether an error means that nobody sees any more what the heater does. A stop and a loss are seen to by others. */
export function isBlind(error: unknown): boolean {
  return error instanceof LabError && (error.code === 'no_reply' || error.code === 'device_failed')
}
