// Opentrons Heater-Shaker: it shakes, heats, and holds the plate with a latch. The host controls the time of a shake.

import * as v from 'valibot'
import type { Device, Identity, Profile } from '../../src/devices/device.ts'
import { isRefusal } from '../../src/devices/failure.ts'
import type { Params } from '../../src/devices/operations.ts'
import { LabError } from '../../src/errors.ts'
import type { Driver, SerialMount } from '../driver.ts'
import { heardOrObeyed } from '../early_end.ts'
import { believed, HeatWatch, heaterStillOn } from '../heat_watch.ts'
import { keepTime, mustSlowDown, mustTurn, onceStarted } from '../host_timed.ts'
import { numberOf, wordOf } from '../opentrons_lines.ts'
import { ModuleTalk, nonsense } from '../opentrons_talk.ts'
import { OperationRunner } from '../operation_runner.ts'
import { WithMount } from '../with_mount.ts'
import { errorTable } from './errors.ts'
import { dialect, isMotorFailure, signature } from './protocol.ts'
import { simulate } from './simulator.ts'

/** The shaker has no settings. */
const settings = v.strictObject({})
type Settings = v.InferOutput<typeof settings>

export const driver: Driver<Settings> = {
  type: 'shaker',
  about: { instrument: 'Opentrons Heater-Shaker' },
  typical: { initialize_s: 2.9 },
  settings,
  serial: { baud: 115_200 },
  signature,
  profile,
  errors: () => errorTable,
  open: (at) => new HeaterShaker(at),
  simulate,
}

/** The limit of a latch command; the instrument gives up after 2.35 s. */
const latch_ms = 5000
/** The limit of homing, for which the shaker slows down first. */
const home_ms = 30_000
/** The speed in rpm below which it counts as at rest; a held motor shows a little noise. */
const rest = 20
/** The instrument's own tolerance of a held speed, in rpm. */
const tolerance = 40
const ramp_s = 15
const warming = { hottest: 105, overshoot: 10, gain: 2, within_s: 180, below: 3 }

function profile(): Profile {
  return {
    model: 'Heater-Shaker',
    limits: {
      speed: { min: 200, max: 3000, unit: 'rpm', step: 1 },
      duration: { min: 1, max: 86_400, unit: 's', step: 0.1 },
      temperature: { min: 37, max: 95, unit: '°C', step: 0.1 },
    },
    features: { locking: true, heating: true, autonomous_timer: false },
    ends_early: ['shake'],
  }
}

/** Turns the operations of an Opentrons Heater-Shaker into its G-code. */
class HeaterShaker extends WithMount<SerialMount<Settings>> implements Device {
  readonly #heat = new HeatWatch(this.at.clock, warming)
  readonly #runner = new OperationRunner(this.at.line)
  /** Whether the latch is known to be open or closed since `initialize`. After a restart of the module it is not. */
  #isLatchKnown = false
  readonly #talk = new ModuleTalk(this.at.line, dialect)

  async #speedNow(): Promise<number> {
    const text = await this.#talk.ask('M123')
    return numberOf(text, 'C') ?? nonsense('M123', text)
  }

  /** Returns the state of the latch, such as IDLE_CLOSED. */
  async #latch(): Promise<string> {
    const text = await this.#talk.ask('M241')
    return wordOf(text, 'STATUS') ?? nonsense('M241', text)
  }

  async get_temperature(): Promise<{ temperature: number; target: number | null }> {
    const text = await this.#talk.ask('M105')
    const target = wordOf(text, 'T') === 'None' ? null : (numberOf(text, 'T') ?? nonsense('M105', text))
    return { temperature: believed(numberOf(text, 'C') ?? nonsense('M105', text)), target }
  }

  /** Asks for the latch first: no other module answers that, and other modules of Opentrons answer `M115` in the same form. */
  async identify(): Promise<Identity> {
    await this.#latch()
    const text = await this.#talk.ask('M115')
    const hardware = wordOf(text, 'HW')
    return {
      model: hardware ? `Heater-Shaker ${hardware}` : 'Heater-Shaker',
      serial_number: wordOf(text, 'SerialNo') ?? null,
      firmware_version: wordOf(text, 'FW') ?? null,
    }
  }

  /**
   * Brings the shaker home. With an open latch it is at home already. A latch in an unknown position is closed first. A heater
   * that is on stays on, and is watched from then on.
   */
  readonly initialize = this.#runner.operation(async (_params: object, signal) => {
    await this.#mustRest('initialize')
    this.#talk.forgetErrors()
    const identity = await this.identify()
    const status = await this.#latch()
    if (status === 'OPENING' || status === 'CLOSING')
      throw new LabError('interlock', `its latch is ${status}; wait a moment, then initialize`)
    if (status !== 'IDLE_OPEN') {
      if (status !== 'IDLE_CLOSED') await this.#moveLatch('M243', 'IDLE_CLOSED', signal)
      await this.#talk.order('G28', signal, home_ms)
    }
    const { temperature: now, target } = await this.get_temperature()
    if (target !== null) this.#heat.begin(target, now)
    await this.#mustBeWell()
    this.#isLatchKnown = true
    return { identity }
  })

  async #mustRest(what: string): Promise<void> {
    const speed = await this.#speedNow()
    if (Math.abs(speed) < rest) return
    throw new LabError('interlock', `it turns at ${speed} rpm; wait until it is at rest, or stop it, then ${what}`)
  }

  readonly shake = this.#runner.operation(async ({ speed, duration }: { speed: number; duration: number }, signal) => {
    await this.#mustRest('shake')
    if ((await this.#latch()) !== 'IDLE_CLOSED')
      throw new LabError('interlock', 'its latch is not closed; lock the plate first (lock_plate)')
    await this.#talk.order(`M3 S${speed}`, signal)
    await onceStarted(() => this.#shakeOn(speed, duration, signal))
  })

  async #shakeOn(speed: number, duration: number, signal: AbortSignal): Promise<void> {
    const slowDown = () =>
      heardOrObeyed(
        () => this.#talk.order('M3 S0', signal),
        async () => (await this.#speedNow()) < speed - tolerance,
      )
    await keepTime({ clock: this.at.clock, duration, going: signal, early: this.#runner.early, slowDown }, async (seconds) => {
      mustTurn({ asked: speed, actual: await this.#speedNow(), tolerance, seconds, ramp_s })
      await this.#mustStayLatched()
      await this.#mustBeWell()
    })
    await this.#talk.order('G28', signal, home_ms)
    if (Math.abs(await this.#speedNow()) >= rest)
      throw new LabError('device_failed', 'it should be at home and still turns; see to it, then initialize')
    this.#talk.mustHaveNoErrors()
  }

  readonly end = () => this.#runner.early.ask()

  async #mustStayLatched(): Promise<void> {
    const status = await this.#latch()
    if (status !== 'IDLE_CLOSED')
      throw new LabError('device_failed', `its latch is ${status} while it shakes; see that the plate is safe, then initialize`)
  }

  readonly unlock_plate = this.#runner.operation(async (_params: object, signal) => {
    await this.#mustRest('unlock the plate')
    await this.#moveLatch('M242', 'IDLE_OPEN', signal)
  })

  readonly lock_plate = this.#runner.operation(async (_params: object, signal) => {
    await this.#mustRest('lock the plate')
    await this.#moveLatch('M243', 'IDLE_CLOSED', signal)
  })

  readonly open = this.unlock_plate
  readonly close = this.lock_plate

  async #moveLatch(code: string, wanted: string, signal: AbortSignal): Promise<void> {
    await this.#talk.order(code, signal, latch_ms)
    const status = await this.#latch()
    if (status !== wanted)
      throw new LabError('device_failed', `its latch should be ${wanted} and is ${status}; see what is in its way, then initialize`)
  }

  readonly set_temperature = this.#runner.operation(({ temperature }: Params<'set_temperature'>, signal) =>
    temperature === null ? this.#heat.endBy(() => this.#heatOff(signal)) : this.#heatTo(temperature, signal),
  )

  async #heatTo(target: number, signal: AbortSignal): Promise<void> {
    const { temperature: now } = await this.get_temperature()
    // Before the answer, because the heater may be on as soon as the command arrives.
    const takeBack = this.#heat.begin(target, now)
    await this.#talk.order(`M104 S${target}`, signal).catch((error) => {
      if (isRefusal(error)) takeBack()
      throw error
    })
  }

  async #heatOff(signal: AbortSignal): Promise<void> {
    await this.#talk.order('M106', signal)
    if ((await this.get_temperature()).target !== null) throw heaterStillOn()
  }

  async check(): Promise<void> {
    await this.#mustBeWell()
    if (this.#isLatchKnown) await this.#mustKnowItsLatch()
  }

  /** Throws `device_failed`, once, if the module has lost the position of its latch, which shows a restart. */
  async #mustKnowItsLatch(): Promise<void> {
    if ((await this.#latch()) !== 'IDLE_UNKNOWN') return
    this.#isLatchKnown = false
    const sentence =
      'it does not know any more where its latch is: it restarted, or the latch was forced; see its power supply, and the plate, then initialize'
    throw new LabError('device_failed', sentence)
  }

  async #mustBeWell(): Promise<void> {
    const read = async () => {
      this.#talk.mustHaveNoErrors()
      const { temperature, target } = await this.get_temperature()
      this.#mustStillHeat(target)
      return temperature
    }
    await this.#heat.check(read, () => this.at.line.state === 'open' && this.#talk.interrupt('M106'))
  }

  /** Throws `device_failed` if the module no longer heats although the service did not switch its heater off. */
  #mustStillHeat(target: number | null): void {
    if (this.#heat.target === null || target !== null) return
    const sentence = `it was set to ${this.#heat.target} °C and does not heat any more: it restarted, or was set otherwise; see its power supply, then initialize`
    throw new LabError('device_failed', sentence)
  }

  /** Stops away from home, so that it has to be initialized before the latch opens. */
  async halt(): Promise<void> {
    this.#runner.stop()
    this.#heat.end()
    this.#talk.interrupt('M3 S0')
    this.#talk.interrupt('M106')
    // While the shaker goes home it refuses to stop, so the stop is repeated.
    const again = () => this.#talk.attempt('M3 S0')
    await mustSlowDown(this.at.clock, rest, () => this.#haltedSpeed(), again)
    if ((await this.get_temperature()).target !== null) await this.#talk.orderAnyway('M106')
  }

  /** Asks for the speed in rpm; 0 for a motor that has failed. */
  async #haltedSpeed(): Promise<number> {
    const text = await this.#talk.answerTo('M123')
    if (isMotorFailure(text)) return 0
    return Math.abs(numberOf(this.#talk.withoutError('M123', text), 'C') ?? nonsense('M123', text))
  }
}
