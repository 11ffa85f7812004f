// Inheco incubator shaker, one unit of a stack: a drawer, a heated chamber, and in some models a shaker. The host controls the time of a shake.

import type { Device, Identity } from '../../src/devices/device.ts'
import { isRefusal } from '../../src/devices/failure.ts'
import type { Params } from '../../src/devices/operations.ts'
import { LabError } from '../../src/errors.ts'
import type { Driver, SerialMount } from '../driver.ts'
import { heardOrObeyed } from '../early_end.ts'
import { believed, HeatWatch } from '../heat_watch.ts'
import { keepTime, onceStarted, repeatUntil, until } from '../host_timed.ts'
import { OperationRunner } from '../operation_runner.ts'
import { refused } from '../reported.ts'
import { Exchange } from '../transports/exchange.ts'
import { WithMount } from '../with_mount.ts'
import { errorTable } from './errors.ts'
import { modelOf, profile, type Settings, settings } from './models.ts'
import { errors, framer, isDigit, isDone, isTenths, isText, type Reply, request, signature } from './protocol.ts'
import { simulate } from './simulator.ts'

export const driver: Driver<Settings> = {
  type: 'shaker',
  about: { instrument: 'Inheco incubator shaker', operations: 'by model' },
  typical: { initialize_s: 0.5 },
  settings,
  serial: { baud: 19_200 },
  trial: { variants: [{ model: 'MP' }] },
  signature,
  profile,
  errors: () => errorTable,
  open: (at) => new IncubatorShaker(at),
  simulate,
}

const reply_ms = 2000
/** The limit of a drawer command, which may be answered only on arrival. */
const drawer_ms = 15_000
const drawer_s = 10
const stopping_s = 20
const look_ms = 500
/** The phase between the two axes in degrees, with which the table moves in a circle. */
const phase = 90
const rpmPerTenthHertz = 6
const open_ = '1'
const closed = '0'
const running = '1'
const atRest = '0'
/** Answers to REE that mean that AID was done since power-on. */
const initialized = new Set(['0', '2'])
/** Limits for a chamber with thick walls, which needs minutes for two degrees. */
const warming = { hottest: 95, overshoot: 8, gain: 1, within_s: 900, below: 3 }

/** Turns the operations of an Inheco incubator shaker into its commands. */
class IncubatorShaker extends WithMount<SerialMount<Settings>> implements Device {
  readonly #model = modelOf(this.at.settings)
  readonly #heat = new HeatWatch(this.at.clock, warming)
  readonly #runner = new OperationRunner(this.at.line)
  /** Whether the service has initialized it. An instrument that is no longer initialized then has a fault. */
  #ready = false
  readonly #exchange = new Exchange<Reply, string>(this.at.line, {
    framer: framer(this.at.settings.dip),
    encode: (command) => request(command, this.at.settings),
    gap_ms: 50,
    // Any version is accepted, because a learned one may have been damaged on the line: replies have no checksum.
    resync: { question: 'RFV0', recognises: isText },
  })
  readonly open = this.#runner.operation((_params: object, signal) => this.#moveDrawer('AOD', open_, signal))
  readonly close = this.#runner.operation((_params: object, signal) => this.#moveDrawer('ACD', closed, signal))

  async #ask(command: string, isAnswer: (reply: Reply) => boolean): Promise<string> {
    const accepts = (reply: Reply) => isAnswer(reply) || reply.error !== 0
    return this.#good(command, await this.#exchange.query(command, { deadline_ms: reply_ms, accepts })).data
  }

  async #order(command: string, signal: AbortSignal, deadline_ms = reply_ms): Promise<void> {
    signal.throwIfAborted()
    const accepts = (reply: Reply) => isDone(reply) || reply.error !== 0
    this.#good(command, await this.#exchange.command(command, { deadline_ms, accepts }))
  }

  #good(command: string, reply: Reply): Reply {
    const { error } = reply
    if (error === 0) return reply
    if (error === errors.drawerOpen) throw refused(errorTable, command, [error], 'interlock')
    if (error === errors.restarted || error === errors.notInitialized) this.#ready = false
    throw refused(errorTable, command, [error])
  }

  /** Identifies the unit. Switches DTR and RTS off first, as it is said to need; opening a port raises both. */
  async identify(): Promise<Identity> {
    if (this.at.line.state === 'open') await this.at.line.setModem({ dtr: false, rts: false })
    const firmware_version = await this.#ask('RFV0', isText)
    const serial_number = await this.#ask('RFV2', (reply) => reply.data.length > 1)
    return { model: `Inheco incubator ${this.at.settings.model}`, serial_number, firmware_version }
  }

  /** Sends AID, which closes the drawer and switches heater and shaker off. */
  readonly initialize = this.#runner.operation(async (_params: object, signal) => {
    const identity = await this.identify()
    const type = await this.#ask('RTS', isDigit)
    if (type !== this.#model.type)
      throw new LabError('device_failed', `it says that it is of type ${type} and not ${this.#model.type}; see the model in its settings`)
    await this.#mustNotShake('initialize')
    this.#heat.end()
    await this.#order('AID', signal, drawer_ms)
    await this.#drawerMustCome(closed, signal)
    this.#ready = true
    await this.check()
    return { identity }
  })

  async #mustNotShake(what: string): Promise<void> {
    if (this.#model.shakes && (await this.#ask('RSE', isDigit)) !== atRest)
      throw new LabError('interlock', `it shakes; wait until it is at rest, or stop it, then ${what}`)
  }

  async #moveDrawer(command: 'AOD' | 'ACD', wanted: string, signal: AbortSignal): Promise<void> {
    await this.#mustNotShake('move the drawer')
    await this.#order(command, signal, drawer_ms)
    await this.#drawerMustCome(wanted, signal)
  }

  /** Waits until the drawer has arrived, since the answer may come when it begins to move. */
  async #drawerMustCome(wanted: string, signal: AbortSignal): Promise<void> {
    const late = () => `its drawer should be ${wanted === open_ ? 'open' : 'closed'} and is not; see what is in its way, then initialize`
    const look = () => this.#ask('RDS', isDigit)
    await until({ clock: this.at.clock, going: signal, within_s: drawer_s, every_ms: look_ms }, look, (seen) => seen === wanted, late)
  }

  readonly shake = this.#model.shakes
    ? this.#runner.operation(async ({ speed, duration }: { speed: number; duration: number }, signal) => {
        await this.#mustNotShake('shake')
        if ((await this.#ask('RDS', isDigit)) !== closed) throw new LabError('interlock', 'its drawer is open; close it first')
        const { amplitude } = this.at.settings
        const frequency = Math.round(speed / rpmPerTenthHertz)
        await this.#order(`SSP${amplitude},${amplitude},${frequency},${frequency},${phase}`, signal)
        await this.#order('ASEND', signal)
        await onceStarted(() => this.#shakeOn(duration, signal))
      })
    : undefined

  async #shakeOn(duration: number, signal: AbortSignal): Promise<void> {
    const slowDown = () =>
      heardOrObeyed(
        () => this.#order('ASE0', signal),
        () => this.#isSlowingDown(),
      )
    const keeping = { clock: this.at.clock, duration, going: signal, early: this.#runner.early, slowDown }
    await keepTime(keeping, (seconds) => this.#mustShake(seconds))
    await this.#order('ASE0', signal)
    const late = () => 'it still shakes after a stop; use its power switch'
    const look = () => this.#ask('RSE', isDigit)
    await until({ clock: this.at.clock, going: signal, within_s: stopping_s, every_ms: look_ms }, look, (seen) => seen === atRest, late)
  }

  readonly end = this.#model.shakes ? () => this.#runner.early.ask() : undefined

  async #isSlowingDown(): Promise<boolean> {
    return (await this.#ask('RSE', isDigit)) !== running
  }

  async #mustShake(seconds: number): Promise<void> {
    if ((await this.#ask('RSE', isDigit)) !== running)
      throw new LabError('device_failed', `it does not shake any more after ${Math.round(seconds)} s; see why, then initialize`)
    if ((await this.#ask('RDS', isDigit)) !== closed)
      throw new LabError('device_failed', 'its drawer was opened while it shakes; see that the plate is safe, then initialize')
    await this.check()
  }

  readonly set_temperature = this.#runner.operation(({ temperature }: Params<'set_temperature'>, signal) =>
    temperature === null ? this.#heat.endBy(() => this.#heatOff(signal)) : this.#heatTo(temperature, signal),
  )

  async #heatTo(temperature: number, signal: AbortSignal): Promise<void> {
    const now = await this.#temperatureNow()
    await this.#order(`STT${Math.round(temperature * 10)}`, signal)
    const takeBack = this.#heat.begin(temperature, now)
    await this.#order('SHE1', signal).catch((error) => {
      if (isRefusal(error)) takeBack()
      throw error
    })
    if ((await this.#ask('RHE', isDigit)) === atRest)
      throw new LabError('device_failed', 'it does not heat though it was set to; see to it, then initialize')
  }

  async #heatOff(signal: AbortSignal): Promise<void> {
    await this.#order('SHE0', signal)
    await this.#insist('SHE0', () => this.#isCold())
  }

  async #isCold(): Promise<boolean> {
    return (await this.#ask('RHE', isDigit)) === atRest
  }

  async #temperatureNow(): Promise<number> {
    return believed(Number(await this.#ask('RAT1', isTenths)) / 10)
  }

  async get_temperature(): Promise<{ temperature: number; target: number | null }> {
    const temperature = await this.#temperatureNow()
    const on = (await this.#ask('RHE', isDigit)) !== atRest
    return { temperature, target: on ? Number(await this.#ask('RTT', isTenths)) / 10 : null }
  }

  async check(): Promise<void> {
    const read = async () => {
      await this.#mustBeTheSame()
      return this.#temperatureNow()
    }
    await this.#heat.check(read, () => this.at.line.state === 'open' && this.#exchange.interrupt('SHE0'))
  }

  async #mustBeTheSame(): Promise<void> {
    const state = await this.#ask('REE', isDigit)
    if (!this.#ready || initialized.has(state)) return
    throw new LabError('device_failed', 'it restarted by itself; see that its power supply is sound, then initialize')
  }

  /** Stops shaker and heater. Nothing stops a moving drawer. */
  async halt(): Promise<void> {
    this.#runner.stop()
    this.#heat.end()
    if (this.#model.shakes) this.#exchange.interrupt('ASE0')
    this.#exchange.interrupt('SHE0')
    if (this.#model.shakes) await this.#insist('ASE0', () => this.#isSlowingDown())
    await this.#insist('SHE0', () => this.#isCold())
  }

  /** Repeats a command until the instrument has obeyed. */
  #insist(command: string, obeyed: () => Promise<boolean>): Promise<void> {
    return repeatUntil(obeyed, () => this.#exchange.tell(command), `it does not take ${command}`)
  }
}
