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
import { modelOf, profile, type Settings, settings } from './models.ts'
import { errors, framer, isDigit, isDone, isTenths, isText, type Reply, request } from './protocol.ts'
import { simulate } from './simulator.ts'

export const driver: Driver<Settings> = {
  type: 'shaker',
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

function open({ line, clock, settings }: { line: Line; clock: Clock; settings: Settings }): Device {
  const model = modelOf(settings)
  const heat = new HeatWatch(clock, warming)
  const going = new Going(line)
  let version: string | undefined
  /** It has been initialized by us, and must stay so. */
  let ready = false
  const exchange = new Exchange<Reply, string>(line, {
    framer: framer(settings.dip),
    encode: (command) => request(command, settings),
    gap_ms: 50,
    resync: { question: 'RFV0', recognises: (reply) => isText(reply) && (version === undefined || reply.data === version) },
  })

  async function ask(command: string, isAnswer: (reply: Reply) => boolean): Promise<string> {
    const accepts = (reply: Reply) => isAnswer(reply) || reply.error !== 0
    return good(command, await exchange.query(command, { deadline_ms: reply_ms, accepts })).data
  }

  async function order(command: string, signal: AbortSignal, deadline_ms = reply_ms): Promise<void> {
    signal.throwIfAborted()
    const accepts = (reply: Reply) => isDone(reply) || reply.error !== 0
    good(command, await exchange.command(command, { deadline_ms, accepts }))
  }

  function good(command: string, reply: Reply): Reply {
    const { error } = reply
    if (error === 0) return reply
    if (error === errors.drawerOpen) throw refused(errorTable, command, [error], 'interlock')
    if (error === errors.restarted || error === errors.notInitialized) ready = false
    throw refused(errorTable, command, [error])
  }

  /** DTR and RTS off, as far as the port has them: it is said to want that, and opening a port raises both. */
  async function identify(): Promise<Identity> {
    if (line.state === 'open') await line.setModem({ dtr: false, rts: false })
    version = await ask('RFV0', isText)
    const serial_number = await ask('RFV2', (reply) => reply.data.length > 1)
    return { model: `Inheco incubator ${settings.model}`, serial_number, firmware_version: version }
  }

  /** AID closes the drawer, and switches heater and shaker off. */
  async function initialize(_params: object, signal: AbortSignal): Promise<Learned> {
    const identity = await identify()
    const type = await ask('RTS', isDigit)
    if (type !== model.type)
      throw new LabError('device_failed', `it says that it is of type ${type} and not ${model.type}; see the model in its settings`)
    await mustNotShake('initialize')
    heat.end()
    await order('AID', signal, drawer_ms)
    await drawerMustCome(closed, signal)
    ready = true
    await mustBeWell()
    return { identity }
  }

  async function mustNotShake(what: string): Promise<void> {
    if (model.shakes && (await ask('RSE', isDigit)) !== atRest)
      throw new LabError('interlock', `it shakes; wait until it is at rest, or stop it, then ${what}`)
  }

  async function moveDrawer(command: 'AOD' | 'ACD', wanted: string, signal: AbortSignal): Promise<void> {
    await mustNotShake('move the drawer')
    await order(command, signal, drawer_ms)
    await drawerMustCome(wanted, signal)
  }

  /** Whether it answers when the drawer begins to move or when it has arrived is not known. */
  async function drawerMustCome(wanted: string, signal: AbortSignal): Promise<void> {
    const late = () => `its drawer should be ${wanted === open_ ? 'open' : 'closed'} and is not; see what is in its way, then initialize`
    const look = () => ask('RDS', isDigit)
    await until({ clock, going: signal, within_s: drawer_s, every_ms: look_ms }, look, (seen) => seen === wanted, late)
  }

  async function shake({ speed, duration }: { speed: number; duration: number }, signal: AbortSignal): Promise<void> {
    await mustNotShake('shake')
    if ((await ask('RDS', isDigit)) !== closed) throw new LabError('interlock', 'its drawer is open; close it first')
    const { amplitude } = settings
    const frequency = Math.round(speed / rpmPerTenthHertz)
    await order(`SSP${amplitude},${amplitude},${frequency},${frequency},${phase}`, signal)
    await order('ASEND', signal)
    await keepTime({ clock, duration, going: signal }, mustShake)
    await order('ASE0', signal)
    const late = () => 'it was told to stop and still shakes; use its power switch'
    const look = () => ask('RSE', isDigit)
    await until({ clock, going: signal, within_s: stopping_s, every_ms: look_ms }, look, (seen) => seen === atRest, late)
  }

  async function mustShake(seconds: number): Promise<void> {
    if ((await ask('RSE', isDigit)) !== running)
      throw new LabError('device_failed', `it does not shake any more after ${Math.round(seconds)} s; see why, then initialize`)
    if ((await ask('RDS', isDigit)) !== closed)
      throw new LabError('device_failed', 'its drawer was opened while it shakes; see that the plate is safe, then initialize')
    await mustBeWell()
  }

  async function setTemperature({ temperature }: { temperature: number }, signal: AbortSignal): Promise<void> {
    const now = await temperatureNow()
    await order(`STT${Math.round(temperature * 10)}`, signal)
    heat.begin(temperature, now)
    await order('SHE1', signal)
    if ((await ask('RHE', isDigit)) === atRest)
      throw new LabError('device_failed', 'it was told to heat and does not; see to it, then initialize')
  }

  async function temperatureNow(): Promise<number> {
    return Number(await ask('RAT1', isTenths)) / 10
  }

  async function getTemperature(): Promise<{ temperature: number; target: number | null }> {
    const temperature = await temperatureNow()
    const on = (await ask('RHE', isDigit)) !== atRest
    return { temperature, target: on ? Number(await ask('RTT', isTenths)) / 10 : null }
  }

  /** Too hot, not getting warm or not to be asked: the heater is switched off before that is said. */
  async function mustBeWell(): Promise<void> {
    try {
      await mustBeTheSame()
      const wrong = heat.wrongWith(await temperatureNow())
      if (!wrong) return
      heatOff()
      throw new LabError('device_failed', `${wrong}; its heater was switched off, see to it, then initialize`)
    } catch (error) {
      if (isBlind(error) && heat.target !== null) heatOff()
      throw error
    }
  }

  async function mustBeTheSame(): Promise<void> {
    const state = await ask('REE', isDigit)
    if (!ready || initialized.has(state)) return
    throw new LabError('device_failed', 'it restarted by itself; see that its power supply is sound, then initialize')
  }

  function heatOff(): void {
    heat.end()
    if (line.state === 'open') exchange.interrupt('SHE0')
  }

  /** A drawer that moves comes to its end: nothing is known that stops it. */
  async function halt(): Promise<void> {
    going.end(new LabError('stopped', 'interrupted by a stop'))
    heat.end()
    if (model.shakes) exchange.interrupt('ASE0')
    exchange.interrupt('SHE0')
    if (model.shakes) await isTold('ASE0', async () => (await ask('RSE', isDigit)) !== running)
    await isTold('SHE0', async () => (await ask('RHE', isDigit)) === atRest)
  }

  async function isTold(command: string, heard: () => Promise<boolean>): Promise<void> {
    for (let left = tries; !(await heard()); left--) {
      if (left === 0) throw new LabError('device_failed', `it does not take ${command}; use its power switch`)
      await exchange.tell(command)
    }
  }

  return {
    initialize: going.operation(initialize),
    ...(model.shakes && { shake: going.operation(shake) }),
    open: going.operation((_params: object, signal) => moveDrawer('AOD', open_, signal)),
    close: going.operation((_params: object, signal) => moveDrawer('ACD', closed, signal)),
    set_temperature: going.operation(setTemperature),
    get_temperature: getTemperature,
    identify,
    check: mustBeWell,
    halt,
  }
}
