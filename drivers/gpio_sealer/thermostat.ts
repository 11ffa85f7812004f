// Keeps a heater at a temperature, and switches it off after a fault: no reading for two seconds, an
// impossible one, the same one for too long, too hot, or not getting warm.

import { LabError } from '../../src/errors.ts'
import { type Clock, sleep } from '../../src/kit/clock.ts'
import { HeatWatch, isBlind, type Warming } from '../heat_watch.ts'
import type { Thermometer } from '../parts/thermometer.ts'
import type { Pin } from '../transports/pin.ts'
import { WithMount } from '../with_mount.ts'

/** The interval of readings, and the shortest time between two switchings of the heater. */
const step_ms = 250
/** The real time without a reading after which the heater is switched off. */
const stale_ms = 2000
/** The proportional band in °C: full power below it. */
const band_c = 12
/** The integral time. */
const integral_s = 40
/** The share of the power that moves every plate by degrees, so that an unchanged reading is not a measurement. */
const unmoved_share = 0.05
/** The largest change between two readings. A disturbed bus reads as 0 °C, or as swapped bytes. */
const jump = { c: 20, c_per_s: 10 }

type Parts = {
  sensor: Thermometer
  heater: Pin
  /** The instrument's time, and the real time. */
  clock: Clock
  wire: Clock
  warming: Warming
  /** Called with a fault; must switch the heater off. */
  trip(error: LabError): void
}

/** The last reading and its time; since when it has not changed, whether the plate was left to cool, and the power at that time. */
type Last = { temperature: number; at: number; isLeftToCool: boolean; since: number; holding: number }

export class Thermostat extends WithMount<Parts> {
  readonly #watch = new HeatWatch(this.at.clock, this.at.warming)
  #loop = new AbortController()
  #cancelStale = () => {}
  #last: Last | undefined
  /** The share of the time that the heater has to be on, in steady state. */
  #holding = 0
  /** The steps for which the heater still has to be on. */
  #owed = 0

  /** The set point in °C; null while it does not heat. */
  get target(): number | null {
    return this.#watch.target
  }

  /** Heats until `end`. Rejects without heating if the temperature cannot be read now. */
  async heatTo(target: number, signal: AbortSignal): Promise<void> {
    const reading = await this.at.sensor.read()
    signal.throwIfAborted()
    const running = this.#watch.target !== null
    this.#watch.begin(target, reading)
    if (running) return
    this.#note(reading)
    this.#holding = 0
    this.#owed = 0
    this.#expectReading()
    void this.#run(this.#loop.signal)
  }

  /** Ends the control; the caller switches the heater off. */
  end(): void {
    this.#watch.end()
    this.#last = undefined
    this.#cancelStale()
    this.#loop.abort()
    this.#loop = new AbortController()
  }

  /** Reads the temperature in °C. Trips and throws for a faulty reading. */
  async read(): Promise<number> {
    try {
      const temperature = await this.at.sensor.read()
      this.#mustFollow(temperature)
      const wrong = this.#watch.wrongWith(temperature) ?? this.#frozen(temperature)
      if (wrong) throw new LabError('device_failed', `${wrong}; its heater was switched off, see to it, then initialize`)
      return temperature
    } catch (error) {
      if (error instanceof LabError && error.code === 'device_failed') this.#trip(error)
      throw error
    }
  }

  /** Throws for a reading that is too far from the last one; a single one counts as missing. */
  #mustFollow(temperature: number): void {
    const { temperature: before, at } = this.#last ?? { temperature, at: 0 }
    const most = jump.c + (jump.c_per_s * (this.at.clock.now() - at)) / 1000
    if (Math.abs(temperature - before) <= most) return
    const sentence = `its sensor says ${temperature.toFixed(1)} °C right after ${before.toFixed(1)} °C, which cannot be; see to its wires`
    throw new LabError('no_reply', sentence)
  }

  /** Returns a sentence if the reading has not changed for too long although the power has. */
  #frozen(temperature: number): string | undefined {
    if (!this.#last) return undefined
    const { at, isLeftToCool, since, holding } = this.#note(temperature)
    const { within_s } = this.at.warming
    if (at - since < within_s * 1000 || (!isLeftToCool && this.#holding - holding < unmoved_share)) return undefined
    const seconds = Math.round((at - since) / 1000)
    return `its sensor has said exactly ${temperature} °C for ${seconds} s, so that it does not seem to measure any more`
  }

  #note(temperature: number): Last {
    const at = this.at.clock.now()
    const isLeftToCool = temperature >= this.#watch.target!
    const isSame = this.#last?.temperature === temperature && this.#last.isLeftToCool === isLeftToCool
    const { since, holding } = isSame ? this.#last! : { since: at, holding: this.#holding }
    this.#last = { temperature, at, isLeftToCool, since, holding }
    return this.#last
  }

  async #run(going: AbortSignal): Promise<void> {
    try {
      while (!going.aborted) {
        await this.#step(going)
        await sleep(this.at.clock, step_ms, going)
      }
    } catch (error) {
      if (!going.aborted) this.#trip(asLabError(error))
    }
  }

  /** Does one step of the control. A missing reading switches the heater off at once, and trips after two seconds. */
  async #step(going: AbortSignal): Promise<void> {
    const { heater } = this.at
    try {
      const temperature = await this.read()
      if (going.aborted) return
      this.#expectReading()
      await heater.write(this.#wantsHeat(temperature))
    } catch (error) {
      if (going.aborted || !isBlind(error)) throw error
      await heater.write(false)
    }
  }

  #wantsHeat(temperature: number): boolean {
    const missing = this.#watch.target! - temperature
    const wanted = missing / band_c + this.#holding
    if (Math.abs(missing) < band_c) this.#holding = within(this.#holding + (missing / band_c) * (step_ms / 1000 / integral_s))
    this.#owed = Math.min(this.#owed + within(wanted), 1.5)
    if (missing <= 0 || this.#owed < 1) return false
    this.#owed -= 1
    return true
  }

  #expectReading(): void {
    this.#cancelStale()
    this.#cancelStale = this.at.wire.after(stale_ms, () => {
      const sentence = `its temperature could not be read for ${stale_ms / 1000} s; its heater was switched off, see to the sensor, then initialize`
      this.#trip(new LabError('no_reply', sentence))
    })
  }

  #trip(error: LabError): void {
    this.end()
    this.at.trip(error)
  }
}

function within(share: number): number {
  return Math.max(0, Math.min(1, share))
}

function asLabError(error: unknown): LabError {
  return error instanceof LabError ? error : new LabError('device_failed', `its heater could not be controlled: ${error}`, { cause: error })
}
