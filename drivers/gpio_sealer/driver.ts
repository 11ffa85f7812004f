// A plate sealer built from a clamp, a heater and a thermometer on I2C. The host controls the temperature and the time.

import type { Device } from '../../src/devices/device.ts'
import type { Params } from '../../src/devices/operations.ts'
import { LabError } from '../../src/errors.ts'
import { sleep } from '../../src/kit/clock.ts'
import type { PinsDriver, PinsMount } from '../driver.ts'
import { heaterStillOn, type Warming } from '../heat_watch.ts'
import { keepTime, until } from '../host_timed.ts'
import { Interlocks } from '../interlocks.ts'
import { Outputs } from '../outputs.ts'
import { Thermometer } from '../parts/thermometer.ts'
import { Tripwire } from '../tripwire.ts'
import { WithMount } from '../with_mount.ts'
import { fullyWired, hottest, plan, profile, type Settings, settings } from './settings.ts'
import { simulate } from './simulator.ts'
import { Thermostat } from './thermostat.ts'

export const driver: PinsDriver<Settings> = {
  type: 'sealer',
  about: { instrument: 'one of your own, on GPIO and I2C', operations: 'as it is wired' },
  typical: { initialize_s: 0.5, heating_s: 0.52 },
  settings,
  trial: { variants: [fullyWired] },
  profile,
  plan,
  open: (at) => new GpioSealer(at),
  simulate,
}

const heat_s = 300
const look_ms = 250

/** Runs a clamp and a heater as a plate sealer. */
class GpioSealer extends WithMount<PinsMount<Settings>> implements Device {
  readonly #tripwire = new Tripwire(this.at.board, () => this.#allOff())
  readonly #heater = this.at.board.pin('heater')
  readonly #clamp = this.at.board.pin('clamp')
  readonly #clamped = this.at.board.has('clamped') ? this.at.board.pin('clamped') : undefined
  readonly #sensor = new Thermometer(this.at.settings.i2c.sensor.part, this.at.board.part('sensor'))
  readonly #thermostat = new Thermostat({
    sensor: this.#sensor,
    heater: this.#heater,
    clock: this.at.clock,
    wire: this.at.board.clock,
    warming: warmingOf(this.at.settings),
    trip: this.#tripwire.trip,
  })
  /** Armed while the clamp may move. */
  readonly #guard = new Interlocks(this.at.board, { guard: 'its guard' }, this.#tripwire.trip)
  /** Armed as long as the plate is hot. */
  readonly #estop = new Interlocks(this.at.board, { estop: 'the contact of its emergency stop' }, this.#tripwire.trip)
  readonly #early = this.#tripwire.going.early
  readonly #outputs = new Outputs([this.#heater, this.#clamp])
  readonly set_temperature = this.#tripwire.operation(({ temperature }: Params<'set_temperature'>, signal) =>
    temperature === null ? this.#heatOff() : this.#setTemperature({ temperature }, signal),
  )

  async get_temperature(): Promise<{ temperature: number; target: number | null }> {
    return { temperature: await this.#thermostat.read(), target: this.#thermostat.target }
  }

  async identify(): Promise<null> {
    await this.#sensor.mustBeThere()
    return null
  }

  halt(): Promise<void> {
    return this.#tripwire.halt('its heater', this.#heater)
  }

  /** Switches all pins off before it returns. */
  async #allOff(): Promise<void> {
    this.#guard.disarm()
    this.#estop.disarm()
    this.#thermostat.end()
    await this.#outputs.offNow()
  }

  readonly initialize = this.#tripwire.going.operation(async (_params: object, signal) => {
    this.#thermostat.end()
    await this.#heater.write(false)
    await this.#clamp.write(false)
    await this.#clampMustBe(false, signal)
    this.#tripwire.reset()
    await this.#sensor.mustBeThere()
    await this.check()
    return { identity: null }
  })

  async #setTemperature({ temperature }: { temperature: number }, signal: AbortSignal): Promise<void> {
    if (!this.#estop.armed) await this.#estop.arm(signal)
    await this.#thermostat.heatTo(temperature, signal)
  }

  async #heatOff(): Promise<void> {
    this.#thermostat.end()
    await this.#heater.write(false)
    this.#estop.disarm()
    if (await this.#heater.read()) throw heaterStillOn()
  }

  /** Heats, presses, and leaves the plate hot. */
  readonly seal = this.#tripwire.operation(async ({ temperature, duration }: { temperature: number; duration: number }, signal) => {
    await this.#guard.arm(signal)
    try {
      await this.#setTemperature({ temperature }, signal)
      await this.#untilWarm(temperature, signal)
      if (!(await this.#early.carriedOut({ seconds_left: duration, going: signal }, async () => {}))) await this.#press(duration, signal)
    } finally {
      this.#guard.disarm()
    }
  })

  readonly end = () => this.#early.ask()

  /** Waits until the plate is warm, or an early end is requested. */
  async #untilWarm(temperature: number, signal: AbortSignal): Promise<void> {
    const warm = (now: number) => this.#early.isAsked || Math.abs(now - temperature) <= this.at.settings.within_c
    const late = (now: number) =>
      `it has ${now.toFixed(1)} °C after ${heat_s} s, set to ${temperature} °C; set the temperature first, and wait`
    await until({ clock: this.at.clock, going: signal, within_s: heat_s, every_ms: look_ms }, () => this.#thermostat.read(), warm, late)
  }

  async #press(duration: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    await this.#clamp.write(true)
    await this.#clampMustBe(true, signal)
    const slowDown = () => this.#clamp.write(false)
    await keepTime({ clock: this.at.clock, duration, going: signal, early: this.#early, slowDown }, () => this.#mustPress())
    await this.#clamp.write(false)
    await this.#clampMustBe(false, signal)
  }

  async #mustPress(): Promise<void> {
    if ((await this.#clamp.read()) && (await this.#clamped?.read()) !== false) return
    throw new LabError('device_failed', 'its clamp went up while it was to press; see to it, then initialize')
  }

  async #clampMustBe(down: boolean, signal: AbortSignal): Promise<void> {
    const clamped = this.#clamped
    if (!clamped) return sleep(this.at.clock, this.at.settings.clamp_s * 1000, signal)
    const late = () =>
      `its clamp was to go ${down ? 'down' : 'up'} and did not within ${this.at.settings.clamp_s} s; see to it, then initialize`
    await until(
      { clock: this.at.clock, going: signal, within_s: this.at.settings.clamp_s, every_ms: 20 },
      () => clamped.read(),
      (isDown) => isDown === down,
      late,
    )
  }

  async check(): Promise<void> {
    this.#tripwire.mustBeIntact()
    await this.#thermostat.read()
    await this.#clamp.read()
    if (this.#thermostat.target === null && (await this.#heater.read())) {
      throw new LabError('device_failed', 'its heater was switched on by somebody else; find out why, then initialize')
    }
  }
}

function warmingOf(settings: Settings): Warming {
  const { within_c, warm_up } = settings
  return {
    hottest: hottest(settings),
    overshoot: warm_up.overshoot_c,
    gain: warm_up.gain_c,
    within_s: warm_up.within_s,
    below: within_c + 3,
  }
}
