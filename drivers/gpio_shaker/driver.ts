// A shaker put together from a motor behind a relay and a converter for its speed. The host keeps the time, and sees to its interlocks.

import type { Device, Learned } from '../../src/devices/device.ts'
import { LabError } from '../../src/errors.ts'
import { type Clock, sleep } from '../../src/kit/clock.ts'
import type { PinsDriver } from '../driver.ts'
import { keepTime, mustTurn, until } from '../host_timed.ts'
import { Interlocks } from '../interlocks.ts'
import { Outputs } from '../outputs.ts'
import { Thermometer } from '../parts/thermometer.ts'
import type { Throttle } from '../parts/throttle.ts'
import { throttle } from '../parts/throttles.ts'
import { rest_ms, Tachometer } from '../tachometer.ts'
import type { Board } from '../transports/board.ts'
import type { Pin } from '../transports/pin.ts'
import { Tripwire } from '../tripwire.ts'
import { plan, profile, type Settings, settings } from './settings.ts'
import { simulate } from './simulator.ts'

export const driver: PinsDriver<Settings> = {
  type: 'shaker',
  about: { instrument: 'one of your own, on GPIO and I2C', operations: 'as it is wired' },
  settings,
  profile,
  plan,
  open,
  simulate,
}

/** What a solenoid, and what it moves, needs. */
const settle_ms = 300
const look_ms = 250

type At = { board: Board; clock: Clock; settings: Settings }

function open(at: At): Device {
  return new GpioShaker(at).device()
}

/** Runs a motor, its relay and what else is wired as a shaker. */
class GpioShaker {
  readonly #board: Board
  readonly #clock: Clock
  readonly #settings: Settings
  readonly #enable: Pin
  readonly #solenoid: Pin | undefined
  readonly #motor: Throttle
  readonly #sensor: Thermometer | undefined
  readonly #tach: Tachometer | undefined
  readonly #tripwire: Tripwire
  readonly #interlocks: Interlocks
  readonly #outputs: Outputs
  #unlocked = false
  #slipped = false
  #counted = 0
  #cancelRelock = () => {}

  constructor({ board, clock, settings }: At) {
    this.#board = board
    this.#clock = clock
    this.#settings = settings
    const { i2c } = settings
    this.#enable = board.pin('enable')
    this.#solenoid = board.has('solenoid') ? board.pin('solenoid') : undefined
    this.#motor = throttle(i2c.speed.part, board.part('speed'), i2c.speed.channel)
    this.#sensor = i2c.sensor && new Thermometer(i2c.sensor.part, board.part('sensor'))
    this.#tach = board.has('tach') ? new Tachometer(board.pin('tach'), clock, settings.pulses_per_turn) : undefined
    this.#tripwire = new Tripwire(board, () => this.#allOff())
    this.#interlocks = new Interlocks(board, { lid: 'its lid', estop: 'the contact of its emergency stop' }, this.#tripwire.trip)
    this.#outputs = new Outputs([this.#enable, ...(this.#solenoid ? [this.#solenoid] : [])], [this.#motor])
  }

  /** Has a method for each operation that this model knows. */
  device(): Device {
    const { going } = this.#tripwire
    const sensor = this.#sensor
    return {
      initialize: going.operation((params, signal) => this.#initialize(params, signal)),
      shake: going.operation((params, signal) => this.#shake(params, signal)),
      ...(this.#solenoid && {
        lock_plate: going.operation((params, signal) => this.#lock(params, signal)),
        unlock_plate: going.operation((params, signal) => this.#unlock(params, signal)),
      }),
      ...(sensor && { get_temperature: async () => ({ temperature: await sensor.read(), target: null }) }),
      identify: async () => {
        await sensor?.mustBeThere()
        return null
      },
      check: () => this.#check(),
      halt: () => this.#tripwire.halt('its relay', this.#enable),
    }
  }

  /** The pins are set when this returns. */
  async #allOff(): Promise<void> {
    this.#interlocks.disarm()
    this.#cancelRelock()
    this.#unlocked = false
    await this.#outputs.offNow()
  }

  async #initialize(_params: object, signal: AbortSignal): Promise<Learned> {
    await this.#mustRest(signal)
    this.#tripwire.reset()
    for (const pin of [this.#enable, ...(this.#solenoid ? [this.#solenoid] : [])]) await pin.write(false)
    this.#cancelRelock()
    this.#unlocked = false
    signal.throwIfAborted()
    await this.#motor.prepare()
    await this.#sensor?.mustBeThere()
    await this.#check()
    return { identity: null }
  }

  async #mustRest(signal: AbortSignal): Promise<void> {
    const tach = this.#tach
    if (!tach) return
    await this.#measuring(async () => {
      await sleep(this.#clock, rest_ms, signal)
      if (tach.rpm > 0) throw new LabError('interlock', 'it turns; wait until it is at rest, or stop it, then initialize')
    })
  }

  async #shake({ speed, duration }: { speed: number; duration: number }, signal: AbortSignal): Promise<void> {
    if (this.#unlocked) throw new LabError('interlock', 'its plate is not locked; lock_plate first')
    await this.#interlocks.arm(signal)
    try {
      await this.#measuring(async () => {
        await this.#start(speed, signal)
        await keepTime({ clock: this.#clock, duration, going: signal }, (seconds) => this.#mustTurnAt(speed, seconds, seconds >= duration))
        await this.#stopTurning(signal)
      })
    } finally {
      this.#interlocks.disarm()
    }
  }

  async #measuring(work: () => Promise<void>): Promise<void> {
    this.#tach?.begin()
    try {
      await work()
    } finally {
      this.#tach?.end()
    }
  }

  /** The converter is at nothing when the relay closes. */
  async #start(speed: number, signal: AbortSignal): Promise<void> {
    this.#slipped = false
    this.#counted = 0
    if (this.#board.has('direction')) await this.#board.pin('direction').write(this.#settings.counter_clockwise)
    await this.#motor.set(0)
    signal.throwIfAborted()
    await this.#enable.write(true)
    signal.throwIfAborted()
    await this.#motor.set(speed / this.#settings.full_scale_rpm)
  }

  async #mustTurnAt(asked: number, seconds: number, last: boolean): Promise<void> {
    if (this.#tach) this.#turnsAsAsked({ asked, actual: this.#measured(this.#tach, asked), seconds, last })
    await this.#motor.mustHold()
    if (!(await this.#enable.read()))
      throw new LabError('device_failed', 'its relay was switched off by somebody else; see to that, then initialize')
  }

  /** In a simulation that is made faster the time between pulses says nothing: then it is only seen that there are any. */
  #measured(tach: Tachometer, asked: number): number {
    if (this.#clock === this.#board.clock) return Math.round(tach.rpm)
    const turned = tach.count > this.#counted
    this.#counted = tach.count
    return turned ? asked : 0
  }

  /** Pulses are counted by us, who may have been busy: it takes two looks in a row, or standing at the last one. */
  #turnsAsAsked({ asked, actual, seconds, last }: { asked: number; actual: number; seconds: number; last: boolean }): void {
    try {
      mustTurn({ asked, actual, tolerance: Math.max(50, asked * 0.1), seconds, ramp_s: this.#settings.ramp_s })
      this.#slipped = false
    } catch (error) {
      if (this.#slipped || (last && actual < asked / 2)) throw error
      this.#slipped = true
    }
  }

  async #stopTurning(signal: AbortSignal): Promise<void> {
    await this.#enable.write(false)
    await this.#motor.set(0)
    const tach = this.#tach
    if (!tach) return sleep(this.#clock, this.#settings.coast_s * 1000, signal)
    const late = (rpm: number) => `it was switched off and still turns at ${Math.round(rpm)} rpm; see its relay`
    await until(
      { clock: this.#clock, going: signal, within_s: this.#settings.coast_s, every_ms: look_ms },
      async () => tach.rpm,
      (rpm) => rpm === 0,
      late,
    )
  }

  /** A spring locks it. */
  async #lock(_params: object, signal: AbortSignal): Promise<void> {
    this.#cancelRelock()
    await this.#solenoid?.write(false)
    await sleep(this.#clock, settle_ms, signal)
    this.#unlocked = false
    await this.#motor.mustHold()
  }

  /** For so long as the solenoid stands it; then the spring locks it again. */
  async #unlock(_params: object, signal: AbortSignal): Promise<void> {
    this.#cancelRelock()
    this.#cancelRelock = this.#clock.after(this.#settings.solenoid_s * 1000, () => void this.#relock())
    this.#unlocked = true
    await this.#solenoid?.write(true)
    await sleep(this.#clock, settle_ms, signal)
    await this.#motor.mustHold()
  }

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

  async #check(): Promise<void> {
    this.#tripwire.mustBeIntact()
    await this.#motor.mustHold()
    await this.#enable.read()
    await this.#solenoid?.read()
    await this.#sensor?.read()
  }
}
