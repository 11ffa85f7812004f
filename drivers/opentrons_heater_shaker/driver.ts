// Opentrons Heater-Shaker: shakes, heats, and holds the plate with a latch. The host keeps the time of a shake.

import * as v from 'valibot'
import type { Device, Identity, Learned, Profile } from '../../src/devices/device.ts'
import { LabError } from '../../src/errors.ts'
import type { Clock } from '../../src/kit/clock.ts'
import type { Driver } from '../driver.ts'
import { Going } from '../going.ts'
import { HeatWatch, isBlind } from '../heat_watch.ts'
import { keepTime, mustTurn } from '../host_timed.ts'
import { refused, reports } from '../reported.ts'
import { nextLine } from '../text_lines.ts'
import { Exchange } from '../transports/exchange.ts'
import type { Line } from '../transports/line.ts'
import { errorTable } from './errors.ts'
import { answers, badValues, encode, errorOf, isMotorFailure, numberOf, refusals, wordOf } from './protocol.ts'
import { simulate } from './simulator.ts'

/** There is nothing to set. */
export const settings = v.strictObject({})
export type Settings = v.InferOutput<typeof settings>

export const driver: Driver<Settings> = {
  type: 'shaker',
  about: { instrument: 'Opentrons Heater-Shaker' },
  settings,
  serial: { baud: 115_200 },
  profile,
  errors: () => errorTable,
  open,
  simulate,
}

const reply_ms = 2000
/** The instrument itself gives up after 2.35 s. */
const latch_ms = 5000
/** It slows down first. */
const home_ms = 30_000
/** Slower than this it is at rest, in rpm; a motor that is held shows a little noise. */
const rest = 20
/** The instrument's own idea of holding a speed, in rpm. */
const tolerance = 40
const ramp_s = 15
const halting_ms = 5000
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
  }
}

type At = { line: Line; clock: Clock }

function open(at: At): Device {
  return new HeaterShaker(at).device()
}

/** Turns the operations of an Opentrons Heater-Shaker into its G-code. */
class HeaterShaker {
  readonly #line: Line
  readonly #clock: Clock
  readonly #heat: HeatWatch
  readonly #going: Going
  /** Errors that it told by itself since it was initialized. */
  readonly #told = new Set<number>()
  readonly #exchange: Exchange<string, string>

  constructor({ line, clock }: At) {
    this.#line = line
    this.#clock = clock
    this.#heat = new HeatWatch(clock, warming)
    this.#going = new Going(line)
    this.#exchange = new Exchange<string, string>(line, {
      framer: nextLine,
      encode,
      gap_ms: 20,
      resync: { question: 'M115', recognises: (text) => answers(text, 'M115') },
      unsolicited: (text) => this.#notice(text),
    })
  }

  /** Has a method for each operation that this model knows. */
  device(): Device {
    return {
      initialize: this.#going.operation((params, signal) => this.#initialize(params, signal)),
      shake: this.#going.operation((params, signal) => this.#shake(params, signal)),
      open: this.#going.operation((params, signal) => this.#unlock(params, signal)),
      close: this.#going.operation((params, signal) => this.#lock(params, signal)),
      lock_plate: this.#going.operation((params, signal) => this.#lock(params, signal)),
      unlock_plate: this.#going.operation((params, signal) => this.#unlock(params, signal)),
      set_temperature: this.#going.operation((params, signal) => this.#setTemperature(params, signal)),
      get_temperature: () => this.#temperature(),
      identify: () => this.#identify(),
      check: () => this.#mustBeWell(),
      halt: () => this.#halt(),
    }
  }

  /** An error without the word `async` may answer the question that is open, so the caller of `exchange` handles it. */
  #notice(text: string): boolean {
    const error = errorOf(text)
    if (!error) return false
    if (!refusals.has(error.number) && !badValues.has(error.number)) this.#told.add(error.number)
    return error.isUnasked
  }

  async #ask(code: string): Promise<string> {
    return good(code, await this.#exchange.query(code, { deadline_ms: reply_ms, accepts: isAnswer(code) }))
  }

  async #order(code: string, signal: AbortSignal, deadline_ms = reply_ms): Promise<void> {
    signal.throwIfAborted()
    this.#mustHaveNoErrors()
    good(code, await this.#exchange.command(code, { deadline_ms, accepts: isAnswer(code) }))
  }

  #mustHaveNoErrors(): void {
    if (!this.#told.size) return
    throw reports(errorTable, [...this.#told])
  }

  async #speedNow(): Promise<number> {
    const text = await this.#ask('M123')
    return numberOf(text, 'C') ?? nonsense('M123', text)
  }

  /** Such as IDLE_CLOSED. */
  async #latch(): Promise<string> {
    const text = await this.#ask('M241')
    return wordOf(text, 'STATUS') ?? nonsense('M241', text)
  }

  async #temperature(): Promise<{ temperature: number; target: number | null }> {
    const text = await this.#ask('M105')
    return { temperature: numberOf(text, 'C') ?? nonsense('M105', text), target: numberOf(text, 'T') ?? null }
  }

  async #identify(): Promise<Identity> {
    const text = await this.#ask('M115')
    const hardware = wordOf(text, 'HW')
    return {
      model: hardware ? `Heater-Shaker ${hardware}` : 'Heater-Shaker',
      serial_number: wordOf(text, 'SerialNo') ?? null,
      firmware_version: wordOf(text, 'FW') ?? null,
    }
  }

  /**
   * With an open latch it is at home, or the latch would not have opened. Where the latch is nowhere it is closed first. A heater
   * that is on stays on, and is watched from now on.
   */
  async #initialize(_params: object, signal: AbortSignal): Promise<Learned> {
    await this.#mustRest('initialize')
    this.#told.clear()
    const identity = await this.#identify()
    const status = await this.#latch()
    if (status === 'OPENING' || status === 'CLOSING')
      throw new LabError('interlock', `its latch is ${status}; wait a moment, then initialize`)
    if (status !== 'IDLE_OPEN') {
      if (status !== 'IDLE_CLOSED') await this.#moveLatch('M243', 'IDLE_CLOSED', signal)
      await this.#order('G28', signal, home_ms)
    }
    const { temperature: now, target } = await this.#temperature()
    if (target !== null) this.#heat.begin(target, now)
    await this.#mustBeWell()
    return { identity }
  }

  async #mustRest(what: string): Promise<void> {
    const speed = await this.#speedNow()
    if (Math.abs(speed) < rest) return
    throw new LabError('interlock', `it turns at ${speed} rpm; wait until it is at rest, or stop it, then ${what}`)
  }

  async #shake({ speed, duration }: { speed: number; duration: number }, signal: AbortSignal): Promise<void> {
    await this.#mustRest('shake')
    if ((await this.#latch()) !== 'IDLE_CLOSED') throw new LabError('interlock', 'its latch is not closed; lock the plate first')
    await this.#order(`M3 S${speed}`, signal)
    await keepTime({ clock: this.#clock, duration, going: signal }, async (seconds) => {
      mustTurn({ asked: speed, actual: await this.#speedNow(), tolerance, seconds, ramp_s })
      await this.#mustStayLatched()
      await this.#mustBeWell()
    })
    await this.#order('G28', signal, home_ms)
    if (Math.abs(await this.#speedNow()) >= rest)
      throw new LabError('device_failed', 'it should be at home and still turns; see to it, then initialize')
  }

  async #mustStayLatched(): Promise<void> {
    const status = await this.#latch()
    if (status !== 'IDLE_CLOSED')
      throw new LabError('device_failed', `its latch is ${status} while it shakes; see that the plate is safe, then initialize`)
  }

  async #unlock(_params: object, signal: AbortSignal): Promise<void> {
    await this.#mustRest('unlock the plate')
    await this.#moveLatch('M242', 'IDLE_OPEN', signal)
  }

  async #lock(_params: object, signal: AbortSignal): Promise<void> {
    await this.#mustRest('lock the plate')
    await this.#moveLatch('M243', 'IDLE_CLOSED', signal)
  }

  async #moveLatch(code: string, wanted: string, signal: AbortSignal): Promise<void> {
    await this.#order(code, signal, latch_ms)
    const status = await this.#latch()
    if (status !== wanted)
      throw new LabError('device_failed', `its latch should be ${wanted} and is ${status}; see what is in its way, then initialize`)
  }

  async #setTemperature({ temperature: target }: { temperature: number }, signal: AbortSignal): Promise<void> {
    const { temperature: now } = await this.#temperature()
    this.#heat.begin(target, now)
    await this.#order(`M104 S${target}`, signal)
  }

  /** Too hot, not getting warm or not to be asked: the heater is switched off before that is said. */
  async #mustBeWell(): Promise<void> {
    try {
      this.#mustHaveNoErrors()
      const wrong = this.#heat.wrongWith((await this.#temperature()).temperature)
      if (!wrong) return
      this.#heatOff()
      throw new LabError('device_failed', `${wrong}; its heater was switched off, see to it, then initialize`)
    } catch (error) {
      if (isBlind(error) && this.#heat.target !== null) this.#heatOff()
      throw error
    }
  }

  #heatOff(): void {
    this.#heat.end()
    if (this.#line.state === 'open') this.#exchange.interrupt('M106')
  }

  /** Stops where it is, and not at home: it has to be initialized before the latch opens. */
  async #halt(): Promise<void> {
    this.#going.end(new LabError('stopped', 'interrupted by a stop'))
    this.#heat.end()
    this.#exchange.interrupt('M3 S0')
    this.#exchange.interrupt('M106')
    await this.#mustSlowDown()
    if ((await this.#temperature()).target !== null)
      good('M106', await this.#exchange.command('M106', { deadline_ms: reply_ms, accepts: isAnswer('M106') }))
  }

  /** A motor that failed drives nothing. While it goes home it refuses to stop, and is told again until it is there. */
  async #mustSlowDown(): Promise<void> {
    const end = this.#clock.now() + halting_ms
    for (let before: number | undefined; ; ) {
      const text = await this.#exchange.query('M123', { deadline_ms: reply_ms, accepts: isAnswer('M123') })
      if (isMotorFailure(errorOf(text)?.number ?? 0)) return
      const speed = Math.abs(numberOf(good('M123', text), 'C') ?? nonsense('M123', text))
      if (speed < rest || (before !== undefined && speed < before - 1)) return
      if (this.#clock.now() > end)
        throw new LabError('device_failed', `it was told to stop and still turns at ${speed} rpm; use its power switch`)
      if (before !== undefined) await this.#exchange.command('M3 S0', { deadline_ms: reply_ms, accepts: isAnswer('M3') })
      before = speed
    }
  }
}

function isAnswer(code: string): (text: string) => boolean {
  return (text) => answers(text, code) || errorOf(text)?.isUnasked === false
}

function good(code: string, text: string): string {
  const error = errorOf(text)
  if (!error) return text
  const kind = refusals.has(error.number) ? 'interlock' : badValues.has(error.number) ? 'invalid' : 'device_failed'
  throw refused(errorTable, code, [error.number], kind)
}

function nonsense(code: string, text: string): never {
  throw new LabError('device_failed', `it answered ${code} with ${JSON.stringify(text)}; see that its firmware is the right one`)
}
