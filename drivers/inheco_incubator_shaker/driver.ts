// Inheco incubator shaker, one unit of a stack: a drawer, a heated chamber, and in some a shaker. The host keeps the time of a shake.

import type { Device, Identity, Learned } from '../../src/devices/device.ts'
import { LabError } from '../../src/errors.ts'
import type { Clock } from '../../src/kit/clock.ts'
import type { Driver } from '../driver.ts'
import { Going } from '../going.ts'
import { HeatWatch, isBlind } from '../heat_watch.ts'
import { keepTime, until } from '../host_timed.ts'
import { refused } from '../reported.ts'
import { Exchange } from '../transports/exchange.ts'
import type { Line } from '../transports/line.ts'
import { errorTable } from './errors.ts'
import { type Model, modelOf, profile, type Settings, settings } from './models.ts'
import { errors, framer, isDigit, isDone, isTenths, isText, type Reply, request } from './protocol.ts'
import { simulate } from './simulator.ts'

export const driver: Driver<Settings> = {
  type: 'shaker',
  about: { instrument: 'Inheco incubator shaker', operations: 'by model' },
  settings,
  serial: { baud: 19_200 },
  profile,
  errors: () => errorTable,
  open,
  simulate,
}

const reply_ms = 2000
/** It may answer when the drawer has arrived. */
const drawer_ms = 15_000
const drawer_s = 10
const stopping_s = 20
const look_ms = 500
const tries = 5
/** So that the table swings in a circle, one axis follows the other by a quarter of a turn. */
const phase = 90
const rpmPerTenthHertz = 6
const open_ = '1'
const closed = '0'
const running = '1'
const atRest = '0'
/** Answers to REE that mean that AID has been done since it was switched on. */
const initialized = new Set(['0', '2'])
/** A chamber of thick walls: it takes minutes for two degrees. */
const warming = { hottest: 95, overshoot: 8, gain: 1, within_s: 900, below: 3 }

type At = { line: Line; clock: Clock; settings: Settings }

function open(at: At): Device {
  return new IncubatorShaker(at).device()
}

/** Turns the operations of an Inheco incubator shaker into its commands. */
class IncubatorShaker {
  readonly #line: Line
  readonly #clock: Clock
  readonly #settings: Settings
  readonly #model: Model
  readonly #heat: HeatWatch
  readonly #going: Going
  #version: string | undefined
  /** It has been initialized by us, and must stay so. */
  #ready = false
  readonly #exchange: Exchange<Reply, string>

  constructor({ line, clock, settings }: At) {
    this.#line = line
    this.#clock = clock
    this.#settings = settings
    this.#model = modelOf(settings)
    this.#heat = new HeatWatch(clock, warming)
    this.#going = new Going(line)
    this.#exchange = new Exchange<Reply, string>(line, {
      framer: framer(settings.dip),
      encode: (command) => request(command, settings),
      gap_ms: 50,
      resync: { question: 'RFV0', recognises: (reply) => isText(reply) && (this.#version === undefined || reply.data === this.#version) },
    })
  }

  /** Has a method for each operation that this model knows. */
  device(): Device {
    return {
      initialize: this.#going.operation((params, signal) => this.#initialize(params, signal)),
      ...(this.#model.shakes && { shake: this.#going.operation((params, signal) => this.#shake(params, signal)) }),
      open: this.#going.operation((_params: object, signal) => this.#moveDrawer('AOD', open_, signal)),
      close: this.#going.operation((_params: object, signal) => this.#moveDrawer('ACD', closed, signal)),
      set_temperature: this.#going.operation((params, signal) => this.#setTemperature(params, signal)),
      get_temperature: () => this.#getTemperature(),
      identify: () => this.#identify(),
      check: () => this.#mustBeWell(),
      halt: () => this.#halt(),
    }
  }

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

  /** DTR and RTS off, as far as the port has them: it is said to want that, and opening a port raises both. */
  async #identify(): Promise<Identity> {
    if (this.#line.state === 'open') await this.#line.setModem({ dtr: false, rts: false })
    this.#version = await this.#ask('RFV0', isText)
    const serial_number = await this.#ask('RFV2', (reply) => reply.data.length > 1)
    return { model: `Inheco incubator ${this.#settings.model}`, serial_number, firmware_version: this.#version }
  }

  /** AID closes the drawer, and switches heater and shaker off. */
  async #initialize(_params: object, signal: AbortSignal): Promise<Learned> {
    const identity = await this.#identify()
    const type = await this.#ask('RTS', isDigit)
    if (type !== this.#model.type)
      throw new LabError('device_failed', `it says that it is of type ${type} and not ${this.#model.type}; see the model in its settings`)
    await this.#mustNotShake('initialize')
    this.#heat.end()
    await this.#order('AID', signal, drawer_ms)
    await this.#drawerMustCome(closed, signal)
    this.#ready = true
    await this.#mustBeWell()
    return { identity }
  }

  async #mustNotShake(what: string): Promise<void> {
    if (this.#model.shakes && (await this.#ask('RSE', isDigit)) !== atRest)
      throw new LabError('interlock', `it shakes; wait until it is at rest, or stop it, then ${what}`)
  }

  async #moveDrawer(command: 'AOD' | 'ACD', wanted: string, signal: AbortSignal): Promise<void> {
    await this.#mustNotShake('move the drawer')
    await this.#order(command, signal, drawer_ms)
    await this.#drawerMustCome(wanted, signal)
  }

  /** Whether it answers when the drawer begins to move or when it has arrived is not known. */
  async #drawerMustCome(wanted: string, signal: AbortSignal): Promise<void> {
    const late = () => `its drawer should be ${wanted === open_ ? 'open' : 'closed'} and is not; see what is in its way, then initialize`
    const look = () => this.#ask('RDS', isDigit)
    await until({ clock: this.#clock, going: signal, within_s: drawer_s, every_ms: look_ms }, look, (seen) => seen === wanted, late)
  }

  async #shake({ speed, duration }: { speed: number; duration: number }, signal: AbortSignal): Promise<void> {
    await this.#mustNotShake('shake')
    if ((await this.#ask('RDS', isDigit)) !== closed) throw new LabError('interlock', 'its drawer is open; close it first')
    const { amplitude } = this.#settings
    const frequency = Math.round(speed / rpmPerTenthHertz)
    await this.#order(`SSP${amplitude},${amplitude},${frequency},${frequency},${phase}`, signal)
    await this.#order('ASEND', signal)
    await keepTime({ clock: this.#clock, duration, going: signal }, (seconds) => this.#mustShake(seconds))
    await this.#order('ASE0', signal)
    const late = () => 'it was told to stop and still shakes; use its power switch'
    const look = () => this.#ask('RSE', isDigit)
    await until({ clock: this.#clock, going: signal, within_s: stopping_s, every_ms: look_ms }, look, (seen) => seen === atRest, late)
  }

  async #mustShake(seconds: number): Promise<void> {
    if ((await this.#ask('RSE', isDigit)) !== running)
      throw new LabError('device_failed', `it does not shake any more after ${Math.round(seconds)} s; see why, then initialize`)
    if ((await this.#ask('RDS', isDigit)) !== closed)
      throw new LabError('device_failed', 'its drawer was opened while it shakes; see that the plate is safe, then initialize')
    await this.#mustBeWell()
  }

  async #setTemperature({ temperature }: { temperature: number }, signal: AbortSignal): Promise<void> {
    const now = await this.#temperatureNow()
    await this.#order(`STT${Math.round(temperature * 10)}`, signal)
    this.#heat.begin(temperature, now)
    await this.#order('SHE1', signal)
    if ((await this.#ask('RHE', isDigit)) === atRest)
      throw new LabError('device_failed', 'it was told to heat and does not; see to it, then initialize')
  }

  async #temperatureNow(): Promise<number> {
    return Number(await this.#ask('RAT1', isTenths)) / 10
  }

  async #getTemperature(): Promise<{ temperature: number; target: number | null }> {
    const temperature = await this.#temperatureNow()
    const on = (await this.#ask('RHE', isDigit)) !== atRest
    return { temperature, target: on ? Number(await this.#ask('RTT', isTenths)) / 10 : null }
  }

  /** Too hot, not getting warm or not to be asked: the heater is switched off before that is said. */
  async #mustBeWell(): Promise<void> {
    try {
      await this.#mustBeTheSame()
      const wrong = this.#heat.wrongWith(await this.#temperatureNow())
      if (!wrong) return
      this.#heatOff()
      throw new LabError('device_failed', `${wrong}; its heater was switched off, see to it, then initialize`)
    } catch (error) {
      if (isBlind(error) && this.#heat.target !== null) this.#heatOff()
      throw error
    }
  }

  async #mustBeTheSame(): Promise<void> {
    const state = await this.#ask('REE', isDigit)
    if (!this.#ready || initialized.has(state)) return
    throw new LabError('device_failed', 'it restarted by itself; see that its power supply is sound, then initialize')
  }

  #heatOff(): void {
    this.#heat.end()
    if (this.#line.state === 'open') this.#exchange.interrupt('SHE0')
  }

  /** A drawer that moves comes to its end: nothing is known that stops it. */
  async #halt(): Promise<void> {
    this.#going.end(new LabError('stopped', 'interrupted by a stop'))
    this.#heat.end()
    if (this.#model.shakes) this.#exchange.interrupt('ASE0')
    this.#exchange.interrupt('SHE0')
    if (this.#model.shakes) await this.#isTold('ASE0', async () => (await this.#ask('RSE', isDigit)) !== running)
    await this.#isTold('SHE0', async () => (await this.#ask('RHE', isDigit)) === atRest)
  }

  async #isTold(command: string, heard: () => Promise<boolean>): Promise<void> {
    for (let left = tries; !(await heard()); left--) {
      if (left === 0) throw new LabError('device_failed', `it does not take ${command}; use its power switch`)
      await this.#exchange.tell(command)
    }
  }
}
