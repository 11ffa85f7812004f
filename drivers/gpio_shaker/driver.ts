// A shaker built from a motor behind a relay, with a converter for its speed. The host controls the time and the interlocks.

import type { Device } from '../../src/devices/device.ts'
import { LabError } from '../../src/errors.ts'
import { sleep } from '../../src/kit/clock.ts'
import type { PinsDriver, PinsMount } from '../driver.ts'
import { keepTime, mustTurn, until } from '../host_timed.ts'
import { Interlocks } from '../interlocks.ts'
import { Outputs } from '../outputs.ts'
import { Thermometer } from '../parts/thermometer.ts'
import { throttle } from '../parts/throttles.ts'
import { rest_ms, Tachometer } from '../tachometer.ts'
import { Tripwire } from '../tripwire.ts'
import { WithMount } from '../with_mount.ts'
import { fullyWired, plan, profile, type Settings, settings } from './settings.ts'
import { simulate } from './simulator.ts'

export const driver: PinsDriver<Settings> = {
  type: 'shaker',
  about: { instrument: 'one of your own, on GPIO and I2C', operations: 'as it is wired' },
  typical: { initialize_s: 1.5 },
  settings,
  trial: { variants: [fullyWired] },
  profile,
  plan,
  open: (at) => new GpioShaker(at),
  simulate,
}

/** The time that a solenoid and the lock on it need. */
const settle_ms = 300
const look_ms = 250

/** Runs a motor, its relay and what else is wired as a shaker. */
class GpioShaker extends WithMount<PinsMount<Settings>> implements Device {
  readonly #enable = this.at.board.pin('enable')
  readonly #solenoid = this.at.board.has('solenoid') ? this.at.board.pin('solenoid') : undefined
  readonly #relays = [this.#enable, ...(this.#solenoid ? [this.#solenoid] : [])]
  readonly #motor = throttle(this.at.settings.i2c.speed.part, this.at.board.part('speed'), this.at.settings.i2c.speed.channel)
  readonly #sensor = this.at.settings.i2c.sensor && new Thermometer(this.at.settings.i2c.sensor.part, this.at.board.part('sensor'))
  readonly #tach = this.at.board.has('tach')
    ? new Tachometer(this.at.board.pin('tach'), this.at.clock, this.at.settings.pulses_per_turn)
    : undefined
  readonly #tripwire = new Tripwire(this.at.board, () => this.#allOff())
  readonly #interlocks = new Interlocks(this.at.board, { lid: 'its lid', estop: 'the contact of its emergency stop' }, this.#tripwire.trip)
  readonly #outputs = new Outputs(this.#relays, [this.#motor])
  #unlocked = false
  #slipped = false
  #counted = 0
  #cancelRelock = () => {}
  readonly get_temperature = this.#sensor && (async () => ({ temperature: await this.#sensor!.read(), target: null }))

  async identify(): Promise<null> {
    await this.#sensor?.mustBeThere()
    return null
  }

  halt(): Promise<void> {
    return this.#tripwire.halt('its relay', this.#enable)
  }

  /** Switches all pins off before it returns. */
  async #allOff(): Promise<void> {
    this.#interlocks.disarm()
    this.#cancelRelock()
    this.#unlocked = false
    await this.#outputs.offNow()
  }

  readonly initialize = this.#tripwire.going.operation(async (_params: object, signal) => {
    await this.#mustRest(signal)
    this.#tripwire.reset()
    for (const pin of this.#relays) await pin.write(false)
    this.#cancelRelock()
    this.#unlocked = false
    signal.throwIfAborted()
    await this.#motor.prepare()
    await this.#sensor?.mustBeThere()
    await this.check()
    return { identity: null }
  })

  async #mustRest(signal: AbortSignal): Promise<void> {
    const tach = this.#tach
    if (!tach) return
    await this.#measuring(async () => {
      await sleep(this.at.clock, rest_ms, signal)
      if (tach.rpm > 0) throw new LabError('interlock', 'it turns; wait until it is at rest, or stop it, then initialize')
    })
  }

  readonly shake = this.#tripwire.operation(async ({ speed, duration }: { speed: number; duration: number }, signal) => {
    if (this.#unlocked) throw new LabError('interlock', 'its plate is not locked; lock_plate first')
    await this.#interlocks.arm(signal)
    try {
      await this.#measuring(async () => {
        await this.#start(speed, signal)
        const keeping = {
          clock: this.at.clock,
          duration,
          going: signal,
          early: this.#tripwire.going.early,
          slowDown: () => this.#slowDown(),
        }
        await keepTime(keeping, (seconds) => this.#mustTurnAt(speed, seconds, seconds >= duration))
        await this.#stopTurning(signal)
      })
    } finally {
      this.#interlocks.disarm()
    }
  })

  async #measuring(work: () => Promise<void>): Promise<void> {
    this.#tach?.begin()
    try {
      await work()
    } finally {
      this.#tach?.end()
    }
  }

  /** Starts the motor: the converter is at zero when the relay closes. */
  async #start(speed: number, signal: AbortSignal): Promise<void> {
    this.#slipped = false
    this.#counted = 0
    if (this.at.board.has('direction')) await this.at.board.pin('direction').write(this.at.settings.counter_clockwise)
    await this.#motor.set(0)
    signal.throwIfAborted()
    await this.#enable.write(true)
    signal.throwIfAborted()
    await this.#motor.set(speed / this.at.settings.full_scale_rpm)
  }

  async #mustTurnAt(asked: number, seconds: number, last: boolean): Promise<void> {
    if (this.#tach) this.#turnsAsAsked({ asked, actual: this.#measured(this.#tach, asked), seconds, last })
    await this.#motor.mustHold()
    if (!(await this.#enable.read()))
      throw new LabError('device_failed', 'its relay was switched off by somebody else; find out why, then initialize')
  }

  /** Returns the measured speed. In an accelerated simulation only the presence of pulses counts. */
  #measured(tach: Tachometer, asked: number): number {
    if (this.at.clock === this.at.board.clock) return Math.round(tach.rpm)
    const turned = tach.count > this.#counted
    this.#counted = tach.count
    return turned ? asked : 0
  }

  /** Throws if two readings in a row differ from the set speed, or the motor stands at the last one. A single one may come from a busy host. */
  #turnsAsAsked({ asked, actual, seconds, last }: { asked: number; actual: number; seconds: number; last: boolean }): void {
    try {
      mustTurn({ asked, actual, tolerance: Math.max(50, asked * 0.1), seconds, ramp_s: this.at.settings.ramp_s })
      this.#slipped = false
    } catch (error) {
      if (this.#slipped || (last && actual < asked / 2)) throw error
      this.#slipped = true
    }
  }

  readonly end = () => this.#tripwire.going.early.ask()

  async #slowDown(): Promise<void> {
    await this.#enable.write(false)
    await this.#motor.set(0)
  }

  async #stopTurning(signal: AbortSignal): Promise<void> {
    await this.#slowDown()
    const tach = this.#tach
    if (!tach) return sleep(this.at.clock, this.at.settings.coast_s * 1000, signal)
    const late = (rpm: number) => `it was switched off and still turns at ${Math.round(rpm)} rpm; see its relay`
    await until(
      { clock: this.at.clock, going: signal, within_s: this.at.settings.coast_s, every_ms: look_ms },
      async () => tach.rpm,
      (rpm) => rpm === 0,
      late,
    )
  }

  /** Releases the solenoid, so that the spring locks the plate. */
  readonly lock_plate =
    this.#solenoid &&
    this.#tripwire.operation(async (_params: object, signal) => {
      this.#cancelRelock()
      await this.#solenoid?.write(false)
      await sleep(this.at.clock, settle_ms, signal)
      this.#unlocked = false
      await this.#motor.mustHold()
    })

  /** Unlocks the plate for the time that the solenoid can stand; then the spring locks it again. */
  readonly unlock_plate =
    this.#solenoid &&
    this.#tripwire.operation(async (_params: object, signal) => {
      this.#cancelRelock()
      this.#cancelRelock = this.at.clock.after(this.at.settings.solenoid_s * 1000, () => void this.#relock())
      this.#unlocked = true
      await this.#solenoid?.write(true)
      await sleep(this.at.clock, settle_ms, signal)
      await this.#motor.mustHold()
    })

  async #relock(): Promise<void> {
    this.#unlocked = false
    try {
      await this.#solenoid?.write(false)
    } catch (error) {
      this.#tripwire.trip(
        new LabError('device_failed', 'its solenoid could not be switched off; switch its supply off before it burns', { cause: error }),
      )
    }
  }

  async check(): Promise<void> {
    this.#tripwire.mustBeIntact()
    await this.#motor.mustHold()
    if (await this.#enable.read())
      throw new LabError('device_failed', 'its relay was switched on by somebody else; find out why, then initialize')
    await this.#solenoid?.read()
    await this.#sensor?.read()
  }
}
