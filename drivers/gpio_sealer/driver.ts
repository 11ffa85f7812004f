// A plate sealer put together from a clamp, a heater and a thermometer on I2C. The host keeps the temperature and the time.

import type { Device, Learned } from '../../src/devices/device.ts'
import { LabError } from '../../src/errors.ts'
import { type Clock, sleep } from '../../src/kit/clock.ts'
import type { PinsDriver } from '../driver.ts'
import { until } from '../host_timed.ts'
import { Interlocks } from '../interlocks.ts'
import { Outputs } from '../outputs.ts'
import { Thermometer } from '../parts/thermometer.ts'
import type { Board } from '../transports/board.ts'
import type { Pin } from '../transports/pin.ts'
import { Tripwire } from '../tripwire.ts'
import { hottest, plan, profile, type Settings, settings } from './settings.ts'
import { simulate } from './simulator.ts'
import { Thermostat } from './thermostat.ts'

export const driver: PinsDriver<Settings> = {
  type: 'sealer',
  about: { instrument: 'one of your own, on GPIO and I2C', operations: 'as it is wired' },
  settings,
  profile,
  plan,
  open,
  simulate,
}

const heat_s = 300
const look_ms = 250

type At = { board: Board; clock: Clock; settings: Settings }

function open(at: At): Device {
  return new GpioSealer(at).device()
}

/** Runs a clamp and a heater as a plate sealer. */
class GpioSealer {
  readonly #clock: Clock
  readonly #settings: Settings
  readonly #heater: Pin
  readonly #clamp: Pin
  readonly #clamped: Pin | undefined
  readonly #sensor: Thermometer
  readonly #thermostat: Thermostat
  readonly #tripwire: Tripwire
  /** The one while the clamp may move, the other as long as it is hot. */
  readonly #guard: Interlocks
  readonly #estop: Interlocks
  readonly #outputs: Outputs

  constructor({ board, clock, settings }: At) {
    this.#clock = clock
    this.#tripwire = new Tripwire(board, () => this.#allOff())
    this.#settings = settings
    const { warm_up, within_c } = settings
    this.#heater = board.pin('heater')
    this.#clamp = board.pin('clamp')
    this.#clamped = board.has('clamped') ? board.pin('clamped') : undefined
    this.#sensor = new Thermometer(settings.i2c.sensor.part, board.part('sensor'))
    const warming = {
      hottest: hottest(settings),
      overshoot: warm_up.overshoot_c,
      gain: warm_up.gain_c,
      within_s: warm_up.within_s,
      below: within_c + 3,
    }
    this.#thermostat = new Thermostat({
      sensor: this.#sensor,
      heater: this.#heater,
      clock,
      wire: board.clock,
      warming,
      trip: this.#tripwire.trip,
    })
    this.#guard = new Interlocks(board, { guard: 'its guard' }, this.#tripwire.trip)
    this.#estop = new Interlocks(board, { estop: 'the contact of its emergency stop' }, this.#tripwire.trip)
    this.#outputs = new Outputs([this.#heater, this.#clamp])
  }

  /** Has a method for each operation that this model knows. */
  device(): Device {
    const { going } = this.#tripwire
    return {
      initialize: going.operation((params, signal) => this.#initialize(params, signal)),
      seal: going.operation((params, signal) => this.#seal(params, signal)),
      set_temperature: going.operation((params, signal) => this.#setTemperature(params, signal)),
      get_temperature: async () => ({ temperature: await this.#thermostat.read(), target: this.#thermostat.target }),
      identify: async () => {
        await this.#sensor.mustBeThere()
        return null
      },
      check: () => this.#check(),
      halt: () => this.#tripwire.halt('its heater', this.#heater),
    }
  }

  /** The pins are set when this returns. */
  async #allOff(): Promise<void> {
    this.#guard.disarm()
    this.#estop.disarm()
    this.#thermostat.end()
    await this.#outputs.offNow()
  }

  async #initialize(_params: object, signal: AbortSignal): Promise<Learned> {
    this.#thermostat.end()
    await this.#heater.write(false)
    await this.#clamp.write(false)
    await sleep(this.#clock, this.#settings.clamp_s * 1000, signal)
    this.#tripwire.reset()
    await this.#sensor.mustBeThere()
    await this.#check()
    return { identity: null }
  }

  async #setTemperature({ temperature }: { temperature: number }, signal: AbortSignal): Promise<void> {
    if (!this.#estop.armed) await this.#estop.arm(signal)
    await this.#thermostat.heatTo(temperature, signal)
  }

  /** It stays hot afterwards. */
  async #seal({ temperature, duration }: { temperature: number; duration: number }, signal: AbortSignal): Promise<void> {
    await this.#guard.arm(signal)
    try {
      await this.#setTemperature({ temperature }, signal)
      await this.#untilWarm(temperature, signal)
      await this.#press(duration, signal)
    } finally {
      this.#guard.disarm()
    }
  }

  async #untilWarm(temperature: number, signal: AbortSignal): Promise<void> {
    const warm = (now: number) => Math.abs(now - temperature) <= this.#settings.within_c
    const late = (now: number) =>
      `it has ${now.toFixed(1)} °C after ${heat_s} s, set to ${temperature} °C; set the temperature first, and wait`
    await until({ clock: this.#clock, going: signal, within_s: heat_s, every_ms: look_ms }, () => this.#thermostat.read(), warm, late)
  }

  async #press(duration: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    await this.#clamp.write(true)
    await this.#clampMustBe(true, signal)
    await sleep(this.#clock, duration * 1000, signal)
    await this.#clamp.write(false)
    await this.#clampMustBe(false, signal)
  }

  async #clampMustBe(down: boolean, signal: AbortSignal): Promise<void> {
    const clamped = this.#clamped
    if (!clamped) return sleep(this.#clock, this.#settings.clamp_s * 1000, signal)
    const late = () =>
      `its clamp was to go ${down ? 'down' : 'up'} and did not within ${this.#settings.clamp_s} s; see to it, then initialize`
    await until(
      { clock: this.#clock, going: signal, within_s: this.#settings.clamp_s, every_ms: 20 },
      () => clamped.read(),
      (isDown) => isDown === down,
      late,
    )
  }

  async #check(): Promise<void> {
    this.#tripwire.mustBeIntact()
    await this.#thermostat.read()
    await this.#clamp.read()
    if (this.#thermostat.target === null && (await this.#heater.read())) {
      throw new LabError('device_failed', 'its heater was switched on by somebody else; see to that, then initialize')
    }
  }
}
