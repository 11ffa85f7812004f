// Watches whether an instrument heats, or cools, to its set point: compares each reading with the previous one and the set point.

import { isRefusal } from '../src/devices/failure.ts'
import { LabError } from '../src/errors.ts'
import type { Clock } from '../src/kit/clock.ts'

/** Units: °C and seconds. */
export type Warming = {
  /** The highest permitted reading. */
  hottest: number
  /** The highest permitted excess over the set point. */
  overshoot: number
  /** The rise that is required within `within_s` while the plate is more than `below` too cold. */
  gain: number
  within_s: number
  below: number
  /** The fall that is required within `within_s` while the plate is more than `above` too warm. Absent for an instrument that only heats. */
  cooling?: { loss: number; within_s: number; above: number }
}

/** The range of plausible readings in °C. */
const believable = { min: -50, max: 150 }

/** Returns the reported temperature. Throws `device_failed` for an impossible one. */
export function believed(temperature: number): number {
  if (temperature >= believable.min && temperature <= believable.max) return temperature
  throw new LabError('device_failed', `it says that it has ${temperature} °C, which cannot be; see to its sensor`)
}

type Mark = { temperature: number; at: number }
/** `mark` is the last reading that was warm enough, `cold` the last one that was cold enough. */
type Heating = { target: number; ceiling: number; mark: Mark; cold: Mark }

export class HeatWatch {
  readonly #clock: Clock
  readonly #warming: Warming
  #heating: Heating | undefined

  constructor(clock: Clock, warming: Warming) {
    this.#clock = clock
    this.#warming = warming
  }

  /** The set point in °C; null while it does not heat. */
  get target(): number | null {
    return this.#heating?.target ?? null
  }

  /** Begins to watch the heating to `target` from the present `reading`. Returns a function that undoes this if the instrument refuses. */
  begin(target: number, reading: number): () => void {
    const before = this.#heating
    const ceiling = Math.max(target, reading) + this.#warming.overshoot
    const mark = { temperature: reading, at: this.#clock.now() }
    this.#heating = { target, ceiling, mark, cold: mark }
    return () => {
      this.#heating = before
    }
  }

  /** Ends the watch. */
  end(): void {
    this.#heating = undefined
  }

  /** Switches the heater off and ends the watch with the first byte; continues it if the instrument refuses. */
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
   * Reads a temperature, if there is one, and throws `device_failed` if it is wrong. Calls `switchOff` before it throws that, and also if the reading
   * fails while the instrument heats, because the heater is then unobserved.
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

  /** Returns the fault of a reading in words, if there is one. */
  wrongWith(temperature: number): string | undefined {
    if (temperature > this.#warming.hottest) return `it has ${temperature} °C, hotter than it may ever be`
    return this.wrongWhileHeating(temperature)
  }

  /** Checks the reading of a heating instrument, without `hottest`. */
  wrongWhileHeating(temperature: number): string | undefined {
    const heating = this.#heating
    if (!heating) return undefined
    const { overshoot, gain, within_s, below } = this.#warming
    const { target, ceiling, mark } = heating
    if (temperature > ceiling) return `it has ${temperature} °C and was set to ${target} °C`
    // On the way to a lower set point the plate may only cool.
    heating.ceiling = Math.max(target + overshoot, Math.min(ceiling, temperature + overshoot))
    const now = this.#clock.now()
    const warm = temperature > target - below || temperature >= mark.temperature + gain
    if (warm) heating.mark = { temperature, at: now }
    if (warm) return this.#wrongWhileCooling(temperature)
    if (now - mark.at <= within_s * 1000) return undefined
    return `it does not get warm: ${temperature} °C, set to ${target} °C, and less than ${gain} °C more in ${within_s} s`
  }

  #wrongWhileCooling(temperature: number): string | undefined {
    const { cooling } = this.#warming
    if (!cooling || !this.#heating) return undefined
    const { loss, within_s, above } = cooling
    const { target, cold } = this.#heating
    const now = this.#clock.now()
    if (temperature < target + above || temperature <= cold.temperature - loss) {
      this.#heating.cold = { temperature, at: now }
      return undefined
    }
    if (now - cold.at <= within_s * 1000) return undefined
    return `it does not get cold: ${temperature} °C, set to ${target} °C, and less than ${loss} °C less in ${within_s} s`
  }
}

/** Makes the error for a heater that is on although it was switched off. */
export function heaterStillOn(): LabError {
  return new LabError('device_failed', 'its heater was switched off and is still on; use its power switch')
}

/** Whether an error leaves the heater unobserved. Stops and losses of the link are handled elsewhere. */
export function isBlind(error: unknown): boolean {
  return error instanceof LabError && (error.code === 'no_reply' || error.code === 'device_failed')
}
