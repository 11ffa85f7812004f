// IKA orbital shakers with NAMUR commands, heated or not. The host controls the time; the instrument's watchdog acts if the host is gone.

import type { Device, Identity } from '../../src/devices/device.ts'
import type { Params } from '../../src/devices/operations.ts'
import { LabError } from '../../src/errors.ts'
import { sleep } from '../../src/kit/clock.ts'
import type { Driver, SerialMount } from '../driver.ts'
import { believed, HeatWatch, isBlind } from '../heat_watch.ts'
import { keepTime, mustSlowDown, mustTurn, until } from '../host_timed.ts'
import { OperationRunner } from '../operation_runner.ts'
import { nextLine } from '../text_lines.ts'
import { Exchange } from '../transports/exchange.ts'
import { WithMount } from '../with_mount.ts'
import { modelOf, profile, type Settings, settings } from './models.ts'
import { echoes, encode, isText, motor, plate, readValue, signature } from './protocol.ts'
import { simulate } from './simulator.ts'

export const driver: Driver<Settings> = {
  type: 'shaker',
  about: { instrument: 'IKA MATRIX ORBITAL, KS', operations: 'by model' },
  typical: { initialize_s: 1.3 },
  settings,
  serial: { baud: 9600, data_bits: 7, parity: 'even' },
  trial: { variants: [{ model: 'KS 260 control' }] },
  signature,
  profile,
  open: (at) => new IkaShaker(at),
  simulate,
}

const reply_ms = 1000
/** The time without rearming after which the watchdog switches motor and heater off. */
const watchdog_s = 60
const refresh_s = 20
/** The speed in rpm below which it counts as at rest. */
const rest = 5
const ramp_s = 20
const slowing_s = 60
/** The pause after RESET. */
const reset_ms = 1000
const look_ms = 250
const warming = { hottest: 115, overshoot: 15, gain: 2, within_s: 600, below: 5 }

/** Turns the operations of an IKA shaker into its commands. */
class IkaShaker extends WithMount<SerialMount<Settings>> implements Device {
  readonly #model = modelOf(this.at.settings)
  readonly #heat = new HeatWatch(this.at.clock, warming)
  readonly #runner = new OperationRunner(this.at.line)
  /** The time at which the watchdog was last armed; undefined before that, since `initialize`. */
  #armedAt: number | undefined
  /** The last commanded set point of the plate, in °C. */
  #asked = 0
  readonly #exchange = new Exchange<string, string>(this.at.line, {
    framer: nextLine,
    encode,
    gap_ms: 50,
    // Any name is accepted, because a learned one may have been damaged on the line: answers have no checksum.
    resync: { question: 'IN_NAME', recognises: isText },
  })
  readonly get_temperature =
    this.#model.temperature && (async () => ({ temperature: await this.#readTemperature(), target: this.#heat.target }))

  async #read(kind: 'PV' | 'SP', channel: number): Promise<number> {
    const accepts = (text: string) => readValue(text, channel) !== undefined
    return readValue(await this.#exchange.query(`IN_${kind}_${channel}`, { deadline_ms: reply_ms, accepts }), channel)!
  }

  /** Asks for the speed in rpm, without its direction. */
  async #speed(): Promise<number> {
    return Math.abs(await this.#read('PV', motor))
  }

  /** Sends a command that has no answer. */
  async #tell(command: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    await this.#exchange.tell(command)
  }

  /** Sets a value and reads it back. */
  async #set(channel: number, value: number, signal: AbortSignal): Promise<void> {
    await this.#tell(`OUT_SP_${channel} ${value}`, signal)
    const taken = await this.#read('SP', channel)
    if (Math.abs(taken - value) < 0.5) return
    throw new LabError('device_failed', `it was set to ${value} and says ${taken}; see that its settings take that, then initialize`)
  }

  async identify(): Promise<Identity> {
    // Any text may be a name, so the motor is read first: no other instrument sends such a reading.
    await this.#speed()
    const accepts = (text: string) => isText(text)
    const model = await this.#exchange.query('IN_NAME', { deadline_ms: reply_ms, accepts })
    const firmware_version = await this.#exchange.probe(this.#model.version, {
      deadline_ms: reply_ms,
      accepts: (text) => isText(text) && text !== model,
    })
    return { model, serial_number: null, firmware_version: firmware_version ?? null }
  }

  /** Sends RESET, which switches everything off and clears the latch of the watchdog. */
  readonly initialize = this.#runner.operation(async (_params: object, signal) => {
    const speed = await this.#speed()
    if (speed >= rest) throw new LabError('interlock', `it turns at ${speed} rpm; wait until it is at rest, or stop it, then initialize`)
    this.#heat.end()
    await this.#tell('RESET', signal)
    this.#armedAt = undefined
    await sleep(this.at.clock, reset_ms, signal)
    const identity = await this.identify()
    await this.#mustBeWell()
    return { identity }
  })

  readonly shake = this.#runner.operation(async ({ speed, duration }: { speed: number; duration: number }, signal) => {
    const now = await this.#speed()
    if (now >= rest) throw new LabError('interlock', `it turns already, at ${now} rpm; stop it, then initialize`)
    await this.#set(motor, speed, signal)
    signal.throwIfAborted()
    await this.#arm()
    await this.#tell(`START_${motor}`, signal)
    await this.#turn(speed, duration, signal)
    await this.#stopTurning(signal)
  })

  async #turn(asked: number, duration: number, signal: AbortSignal): Promise<void> {
    const keeping = { clock: this.at.clock, duration, going: signal, early: this.#runner.early, slowDown: () => this.#slowDown() }
    await keepTime(keeping, async (seconds) => {
      mustTurn({ asked, actual: await this.#speed(), tolerance: Math.max(20, asked * 0.05), seconds, ramp_s })
      await this.#mustBeWell()
    })
  }

  readonly end = () => this.#runner.early.ask()

  /** The shaker does not acknowledge a stop, so its motor has to show that it obeys. */
  async #slowDown(): Promise<void> {
    const stop = () => this.#exchange.tell(`STOP_${motor}`)
    await stop()
    await mustSlowDown(this.at.clock, rest, () => this.#speed(), stop)
  }

  /** Arms the watchdog. The manuals disagree whether other commands feed it too. */
  async #arm(): Promise<void> {
    const command = `OUT_WD1@${watchdog_s}`
    try {
      await this.#exchange.query(command, { deadline_ms: reply_ms, accepts: (text) => echoes(text, watchdog_s) })
    } catch (error) {
      if (!(error instanceof LabError) || error.code !== 'no_reply') throw error
      const sentence = `it did not confirm ${command}, its watchdog, and nothing goes on without it; see that its firmware knows OUT_WD1, and its cable`
      throw new LabError('no_reply', sentence, { cause: error })
    }
    this.#armedAt = this.at.clock.now()
  }

  /**
   * Keeps the watchdog armed, also while nothing runs: only RESET disarms it, and after it has fired the instrument
   * does not start again.
   */
  async #stayArmed(): Promise<void> {
    if (this.#isToBeArmed) await this.#arm()
  }

  get #isToBeArmed(): boolean {
    return this.#armedAt !== undefined && this.at.clock.now() - this.#armedAt >= refresh_s * 1000
  }

  /** Returns a sentence if the set point has changed, which shows a restart, since the heater's state cannot be read. */
  async #otherSetPoint(): Promise<string | undefined> {
    const asked = this.#asked
    if (this.#heat.target === null || !this.#isToBeArmed) return undefined
    const now = await this.#read('SP', plate)
    // Another temperature may have been set meanwhile.
    if (this.#asked !== asked || Math.abs(now - asked) < 0.5) return undefined
    return `it was set to ${asked} °C and says ${now}: it has started anew, or somebody has changed that at its knob`
  }

  /** The shaker does not acknowledge a stop, so the stop is repeated while it turns. */
  async #stopTurning(signal: AbortSignal): Promise<void> {
    const look = async () => {
      await this.#tell(`STOP_${motor}`, signal)
      return this.#speed()
    }
    const late = (speed: number) => `it still turns at ${speed} rpm after a stop; use its power switch`
    await until({ clock: this.at.clock, going: signal, within_s: slowing_s, every_ms: look_ms }, look, (speed) => speed < rest, late)
  }

  readonly set_temperature =
    this.#model.temperature &&
    this.#runner.operation(({ temperature }: Params<'set_temperature'>, signal) =>
      temperature === null ? this.#heat.endBy(() => this.#heatOff()) : this.#heatTo(temperature, signal),
    )

  async #heatTo(temperature: number, signal: AbortSignal): Promise<void> {
    const now = await this.#readTemperature()
    this.#asked = temperature
    await this.#set(plate, temperature, signal)
    signal.throwIfAborted()
    await this.#arm()
    this.#heat.begin(temperature, now)
    await this.#tell(`START_${plate}`, signal)
  }

  async #heatOff(): Promise<void> {
    await this.#speed()
    await this.#tellPlateOff()
  }

  async #readTemperature(): Promise<number> {
    return believed(await this.#read('PV', plate))
  }

  /** Checks the heating. Switches the heater off before it throws. */
  async #mustBeWell(): Promise<void> {
    try {
      const wrong = this.#model.temperature && (this.#heat.wrongWith(await this.#readTemperature()) ?? (await this.#otherSetPoint()))
      if (!wrong) return await this.#stayArmed()
      this.#cool()
      throw new LabError('device_failed', `${wrong}; its heater was switched off, see to it, then initialize`)
    } catch (error) {
      if (isBlind(error) && this.#heat.target !== null) this.#cool()
      throw error
    }
  }

  #cool(): void {
    this.#heat.end()
    if (this.at.line.state === 'open') this.#exchange.interrupt(`STOP_${plate}`)
  }

  async check(): Promise<void> {
    if (!this.#model.temperature) await this.#speed()
    await this.#mustBeWell()
  }

  /** Sends both commands at once, and the second again, because the instrument may not read two without a pause. */
  async halt(): Promise<void> {
    this.#runner.stop()
    this.#heat.end()
    this.#armedAt = undefined
    this.#exchange.interrupt(`STOP_${motor}`)
    if (this.#model.temperature) this.#exchange.interrupt(`STOP_${plate}`)
    // The shaker does not acknowledge a stop, so its motor has to show that it obeys.
    await mustSlowDown(
      this.at.clock,
      rest,
      () => this.#speed(),
      () => this.#exchange.tell(`STOP_${motor}`),
    )
    if (this.#model.temperature) await this.#tellPlateOff()
  }

  /** Switches the plate off between two questions: if both are answered at once, the command has arrived. The heater's state cannot be read. */
  async #tellPlateOff(): Promise<void> {
    await this.#exchange.tell(`STOP_${plate}`)
    await this.#exchange.command(`IN_PV_${motor}`, { deadline_ms: reply_ms, accepts: (text) => readValue(text, motor) !== undefined })
  }
}
