// QInstruments BioShake: plate shakers with or without heating, cooling and plate lock, and heating plates.

import type { Device, EndedEarly, Identity, Limit, Limits, UnderWay } from '../../src/devices/device.ts'
import type { Params } from '../../src/devices/operations.ts'
import { LabError } from '../../src/errors.ts'
import { sleep } from '../../src/kit/clock.ts'
import type { Driver, SerialMount } from '../driver.ts'
import { heardOrObeyed } from '../early_end.ts'
import { believed, HeatWatch, heaterStillOn } from '../heat_watch.ts'
import { OperationRunner } from '../operation_runner.ts'
import { WithMount } from '../with_mount.ts'
import { errorTable } from './errors.ts'
import { modelOf, profile, type Settings, settings } from './models.ts'
import {
  atHome,
  booting,
  driven,
  elmFailed,
  elmLocked,
  elmStates,
  elmUnlocked,
  ending,
  inEco,
  inService,
  isBioShake,
  moving,
  shakeStates,
  signature,
} from './protocol.ts'
import { simulate } from './simulator.ts'
import { motion_ms, Talk } from './talk.ts'

export const driver: Driver<Settings> = {
  type: 'shaker',
  about: { instrument: 'QInstruments BioShake', operations: 'by model' },
  typical: { initialize_s: 4 },
  settings,
  serial: { baud: 9600 },
  trial: { variants: [{ model: '3000' }, { model: 'Heatplate' }] },
  signature,
  profile,
  errors: () => errorTable,
  open: (at) => new BioShake(at),
  simulate,
}

/** The interval of the status query during a shake, and near its end. */
const look_ms = 2000
const lookSoon_ms = 300
/** The limit for stopping and homing, which take 6 s together after slowing down. */
const arrival_s = 30
/** The time before the expected end at which a shake may end and still count as complete. */
const early_s = 1
/** The additional tolerance for the instrument's clock, as a share of the duration. */
const drift = 0.001
/** Limits that fit a full plate of the largest size; the instrument itself heats to 99 °C. */
const warming = { hottest: 115, overshoot: 15, gain: 2, within_s: 600, below: 5 }
/** A signal that is never aborted. */
const nobodys = new AbortController().signal

/** Turns the operations of a BioShake into its commands. */
class BioShake extends WithMount<SerialMount<Settings>> implements Device {
  readonly #model = modelOf(this.at.settings)
  readonly #talk = new Talk(this.at.line)
  readonly #runner = new OperationRunner(this.at.line)
  readonly #heat = new HeatWatch(this.at.clock, warming)
  readonly underWay = this.#model.rpm && (() => this.#underWay())
  readonly end = this.#model.rpm && (() => this.#end())
  readonly get_temperature = this.#model.heating ? () => this.#getTemperature() : undefined

  async identify(): Promise<Identity> {
    const model = await this.#talk.text('getDescription')
    if (model !== null && !isBioShake(model)) await this.#mustSpeakAsBioShake(model)
    return {
      model,
      serial_number: await this.#talk.text('getSerial'),
      firmware_version: await this.#talk.text('getVersion'),
    }
  }

  /** Throws unless it is of this family. A heating plate may have another name, but only this family lists its errors in braces. */
  async #mustSpeakAsBioShake(model: string): Promise<void> {
    if (this.#model.rpm)
      throw new LabError(
        'device_failed',
        `it says of itself ${JSON.stringify(model)}, which is no BioShake; see the cables, or its port and its driver in the configuration`,
      )
    await this.#talk.errors()
  }

  readonly initialize = this.#runner.operation(async (_params: object, signal) => {
    this.#talk.forgetRestart()
    if (this.#model.rpm) await this.#awake(signal)
    // The last line of a start may arrive with the answer that reports its end.
    this.#talk.forgetRestart()
    const identity = await this.identify()
    if (this.#model.rpm) await this.#home(signal)
    if (this.#model.heating) await this.#watchWhatIsOn()
    await this.check()
    if (this.#model.rpm && this.at.settings.acceleration !== null)
      await this.#talk.order(`setShakeAcceleration${this.at.settings.acceleration}`, signal)
    return { identity, limits: await this.#limits() }
  })

  /** Begins to watch a heater that is already on, since the instrument continues to heat while it is initialized. */
  async #watchWhatIsOn(): Promise<void> {
    this.#heat.end()
    const { temperature, target } = await this.#getTemperature()
    if (target !== null) this.#heat.begin(target, temperature)
  }

  /** Waits until it has started and wakes it from ECO mode. Throws while it moves. */
  async #awake(signal: AbortSignal): Promise<void> {
    for (;;) {
      const state = await this.#talk.numberIfAllowed('getShakeState')
      if (state === undefined || state === inEco) {
        await this.#talk.order('leaveEcoMode', signal, motion_ms)
        return this.#untilHome(signal)
      }
      if (state === inService) throw new LabError('device_failed', 'it is in service mode; switch it off and on')
      if (moving.has(state)) {
        throw new LabError('interlock', `it is ${shakeStates[state]}; wait until it is at rest, or stop it, then initialize`)
      }
      if (state !== booting) return
      await sleep(this.at.clock, look_ms, signal)
      this.#talk.forgetRestart()
    }
  }

  async #home(signal: AbortSignal): Promise<void> {
    await this.#talk.order('shakeGoHome', signal, motion_ms)
    await this.#untilHome(signal)
  }

  async #untilHome(signal: AbortSignal): Promise<void> {
    const began = this.at.clock.now()
    for (;;) {
      const state = await this.#talk.number('getShakeState')
      if (state === atHome) return
      if (!moving.has(state)) await this.#talk.mustBeWell()
      if (this.at.clock.now() - began > arrival_s * 1000) throw new LabError('device_failed', `it did not go home: it is ${inWords(state)}`)
      await sleep(this.at.clock, lookSoon_ms, signal)
    }
  }

  async #limits(): Promise<Limits> {
    const { limits: known } = profile(this.at.settings)
    const limits: Limits = { ...known }
    if (known.speed)
      limits.speed = between(known.speed, await this.#talk.number('getShakeMinRpm'), await this.#talk.number('getShakeMaxRpm'))
    if (known.temperature)
      limits.temperature = between(known.temperature, await this.#talk.number('getTempMin'), await this.#talk.number('getTempMax'))
    return limits
  }

  readonly shake =
    this.#model.rpm &&
    this.#runner.operation(async ({ speed, duration }: { speed: number; duration: number }, signal) => {
      await this.#mustBeHome()
      if (this.#model.locking) await this.#mustBeLocked()
      await this.#talk.order(`setShakeTargetSpeed${speed}`, signal)
      const began = this.at.clock.now()
      await this.#talk.order(`shakeOnWithRuntime${duration}`, signal)
      await this.#untilShaken(began, duration, signal)
    })

  async #untilShaken(began: number, duration: number, signal: AbortSignal): Promise<void> {
    const enough = duration * (1 - drift) - early_s
    for (;;) {
      await this.#runner.early.sleep(this.at.clock, untilNextLook(this.#seconds(began), { duration, enough }), signal)
      const ended = { seconds_left: duration - this.#seconds(began), going: signal }
      if (await this.#runner.early.carriedOut(ended, () => this.#shakeOff(signal))) return this.#untilHome(signal)
      const state = await this.#talk.number('getShakeState')
      const shaken = this.#seconds(began)
      await this.check()
      if (this.#model.locking) await this.#mustStayLocked()
      if (state === atHome && shaken >= enough) return
      if (state === atHome || (ending.has(state) && shaken < enough))
        throw new LabError(
          'device_failed',
          `it stopped after at most ${Math.round(shaken)} s of ${duration} s and reports no error; see whether somebody stopped it, then initialize`,
        )
      if (!moving.has(state) && (state > 9 || shaken > duration + arrival_s)) {
        throw new LabError('device_failed', `it did not end its run as it should: it is ${inWords(state)}; see to it, then initialize`)
      }
    }
  }

  async #end(): Promise<EndedEarly> {
    if (!this.#runner.isIdle) return this.#runner.early.ask()
    // A shake from before this start of the service.
    const seconds_left = await this.#talk.number('getShakeRemainingTime')
    await this.#shakeOff(nobodys)
    return { seconds_left }
  }

  /** Ends the shake: the shaker ramps down and goes home. */
  #shakeOff(signal: AbortSignal): Promise<void> {
    const obeyed = async () => !driven.has(await this.#talk.number('getShakeState'))
    return heardOrObeyed(() => this.#talk.order('shakeOff', signal), obeyed)
  }

  async #underWay(): Promise<UnderWay | null> {
    if (!moving.has(await this.#talk.number('getShakeState'))) return null
    return { operation: 'shake', seconds_left: await this.#talk.number('getShakeRemainingTime') }
  }

  async #mustBeHome(): Promise<void> {
    const state = await this.#talk.number('getShakeState')
    if (state !== atHome) throw new LabError('interlock', `it is ${inWords(state)}, and must be at home; initialize it first`)
  }

  async #mustBeLocked(): Promise<void> {
    const state = await this.#talk.number('getElmState')
    if (state !== elmLocked)
      throw new LabError('interlock', `the plate is not locked (the lock is ${elmInWords(state)}); lock the plate first (lock_plate)`)
  }

  /** Throws if the lock reports that it is open. A closed lock may report other states during a shake, which are ignored. */
  async #mustStayLocked(): Promise<void> {
    const state = await this.#talk.number('getElmState')
    if (state !== elmUnlocked && state !== elmFailed) return
    throw new LabError(
      'device_failed',
      `its plate lock is ${elmInWords(state)} while it shakes; see that the plate is safe, then initialize`,
    )
  }

  async #moveLock(command: string, wanted: number, signal: AbortSignal): Promise<void> {
    await this.#talk.order(command, signal, motion_ms)
    const state = await this.#talk.number('getElmState')
    if (state === wanted) return
    await this.#talk.mustBeWell()
    throw new LabError(
      'device_failed',
      `the plate lock should be ${elmInWords(wanted)} and is ${elmInWords(state)}; see to it, then initialize`,
    )
  }

  readonly lock_plate = this.#model.locking
    ? this.#runner.operation(async (_params: object, signal) => {
        await this.#moveLock('setElmLockPos', elmLocked, signal)
      })
    : undefined

  readonly unlock_plate = this.#model.locking
    ? this.#runner.operation(async (_params: object, signal) => {
        await this.#mustBeHome()
        await this.#moveLock('setElmUnlockPos', elmUnlocked, signal)
      })
    : undefined

  readonly set_temperature = this.#model.heating
    ? this.#runner.operation(({ temperature }: Params<'set_temperature'>, signal) =>
        temperature === null ? this.#heat.endBy(() => this.#heatOff(signal)) : this.#heatTo(temperature, signal),
      )
    : undefined

  async #heatTo(target: number, signal: AbortSignal): Promise<void> {
    const temperature = await this.#readTemperature()
    await this.#talk.order(`setTempTarget${Math.round(target * 10)}`, signal)
    signal.throwIfAborted()
    // Before the answer, because the heater may be on as soon as the command arrives.
    this.#heat.begin(target, temperature)
    await this.#talk.order('tempOn', signal)
  }

  async #heatOff(signal: AbortSignal): Promise<void> {
    await this.#talk.order('tempOff', signal)
    if ((await this.#talk.number('getTempState')) !== 0) throw heaterStillOn()
  }

  async #readTemperature(): Promise<number> {
    return believed(await this.#talk.number('getTempActual'))
  }

  async #getTemperature(): Promise<{ temperature: number; target: number | null }> {
    const temperature = await this.#readTemperature()
    const on = (await this.#talk.number('getTempState')) === 1
    return { temperature, target: on ? await this.#talk.number('getTempTarget') : null }
  }

  /** Checks the instrument's own errors first. */
  async check(): Promise<void> {
    const read = async () => {
      await this.#talk.mustBeWell()
      if (this.#heat.target === null) return undefined
      await this.#mustStillHeat(this.#heat.target)
      return this.#readTemperature()
    }
    await this.#heat.check(read, () => this.at.line.state === 'open' && this.#talk.tellNow('tempOff'))
  }

  /** Throws `device_failed` if the heater is off although the service did not switch it off. */
  async #mustStillHeat(target: number): Promise<void> {
    // The service may have switched it off meanwhile.
    if ((await this.#talk.number('getTempState')) !== 0 || this.#heat.target === null) return
    const sentence = `it was set to ${target} °C and its heater is off: it restarted, or was switched off otherwise; see its power supply, then initialize`
    throw new LabError('device_failed', sentence)
  }

  /**
   * Sends the emergency stop, after which the shaker is not at home and has to be initialized. Both commands go out without waiting
   * for an answer in between, since its buffer holds several.
   */
  async halt(): Promise<void> {
    this.#talk.forgetRestart()
    const commands = [...(this.#model.rpm ? ['shakeEmergencyOff'] : []), ...(this.#model.heating ? ['tempOff'] : [])]
    // The bytes first; the running operation is ended afterwards.
    const acknowledged = this.#talk.interrupt(commands)
    this.#runner.stop()
    this.#heat.end()
    if (!(await acknowledged)) await this.#mustBeOff()
  }

  async #mustBeOff(): Promise<void> {
    if (this.#model.rpm) await this.#mustHaveStopped()
    if (this.#model.heating && (await this.#talk.number('getTempState')) !== 0) await this.#talk.order('tempOff', nobodys)
  }

  async #mustHaveStopped(): Promise<void> {
    for (let looks = 1; ; looks++) {
      const state = await this.#talk.number('getShakeState')
      if (!driven.has(state)) return
      if (looks === 5) throw new LabError('device_failed', `after a stop it is still ${inWords(state)}; use its power switch`)
    }
  }

  #seconds(since: number): number {
    return (this.at.clock.now() - since) / 1000
  }
}

/** Returns the milliseconds until the next status query. One query comes just before the earliest regular end, to notice a shake that broke off. */
function untilNextLook(shaken: number, { duration, enough }: { duration: number; enough: number }): number {
  const early = (enough - shaken) * 1000 - lookSoon_ms
  if (early > 0) return Math.min(look_ms, early)
  const left = (duration - shaken) * 1000
  return left > 0 ? Math.min(look_ms, left + lookSoon_ms) : lookSoon_ms
}

/** Narrows a limit to the range that the instrument reports. Throws for an impossible range. */
function between(limit: Limit, min: number, max: number): Limit {
  const narrower = { ...limit, min: Math.max(limit.min, min), max: Math.min(limit.max, max) }
  if (narrower.min < narrower.max) return narrower
  throw new LabError('device_failed', `it says that it goes from ${min} to ${max} ${limit.unit}; switch it off and on, then initialize`)
}

function inWords(state: number): string {
  return shakeStates[state] ?? `in state ${state}`
}

function elmInWords(state: number): string {
  return elmStates[state] ?? `in state ${state}`
}
