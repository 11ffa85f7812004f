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

function open({ line, clock }: { line: Line; clock: Clock }): Device {
  const heat = new HeatWatch(clock, warming)
  const going = new Going(line)
  /** Errors that it told by itself since it was initialized. */
  const told = new Set<number>()
  const exchange = new Exchange<string, string>(line, {
    framer: nextLine,
    encode,
    gap_ms: 20,
    resync: { question: 'M115', recognises: (text) => answers(text, 'M115') },
    unsolicited: notice,
  })

  /** An error without the word `async` may answer the question that is open, so the caller of `exchange` handles it. */
  function notice(text: string): boolean {
    const error = errorOf(text)
    if (!error) return false
    if (!refusals.has(error.number) && !badValues.has(error.number)) told.add(error.number)
    return error.isUnasked
  }

  function isAnswer(code: string): (text: string) => boolean {
    return (text) => answers(text, code) || errorOf(text)?.isUnasked === false
  }

  async function ask(code: string): Promise<string> {
    return good(code, await exchange.query(code, { deadline_ms: reply_ms, accepts: isAnswer(code) }))
  }

  async function order(code: string, signal: AbortSignal, deadline_ms = reply_ms): Promise<void> {
    signal.throwIfAborted()
    mustHaveNoErrors()
    good(code, await exchange.command(code, { deadline_ms, accepts: isAnswer(code) }))
  }

  function good(code: string, text: string): string {
    const error = errorOf(text)
    if (!error) return text
    const kind = refusals.has(error.number) ? 'interlock' : badValues.has(error.number) ? 'invalid' : 'device_failed'
    throw refused(errorTable, code, [error.number], kind)
  }

  function mustHaveNoErrors(): void {
    if (!told.size) return
    throw reports(errorTable, [...told])
  }

  async function speedNow(): Promise<number> {
    const text = await ask('M123')
    return numberOf(text, 'C') ?? nonsense('M123', text)
  }

  /** Such as IDLE_CLOSED. */
  async function latch(): Promise<string> {
    const text = await ask('M241')
    return wordOf(text, 'STATUS') ?? nonsense('M241', text)
  }

  async function temperature(): Promise<{ temperature: number; target: number | null }> {
    const text = await ask('M105')
    return { temperature: numberOf(text, 'C') ?? nonsense('M105', text), target: numberOf(text, 'T') ?? null }
  }

  async function identify(): Promise<Identity> {
    const text = await ask('M115')
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
  async function initialize(_params: object, signal: AbortSignal): Promise<Learned> {
    await mustRest('initialize')
    told.clear()
    const identity = await identify()
    const status = await latch()
    if (status === 'OPENING' || status === 'CLOSING')
      throw new LabError('interlock', `its latch is ${status}; wait a moment, then initialize`)
    if (status !== 'IDLE_OPEN') {
      if (status !== 'IDLE_CLOSED') await moveLatch('M243', 'IDLE_CLOSED', signal)
      await order('G28', signal, home_ms)
    }
    const { temperature: now, target } = await temperature()
    if (target !== null) heat.begin(target, now)
    await mustBeWell()
    return { identity }
  }

  async function mustRest(what: string): Promise<void> {
    const speed = await speedNow()
    if (Math.abs(speed) < rest) return
    throw new LabError('interlock', `it turns at ${speed} rpm; wait until it is at rest, or stop it, then ${what}`)
  }

  async function shake({ speed, duration }: { speed: number; duration: number }, signal: AbortSignal): Promise<void> {
    await mustRest('shake')
    if ((await latch()) !== 'IDLE_CLOSED') throw new LabError('interlock', 'its latch is not closed; lock the plate first')
    await order(`M3 S${speed}`, signal)
    await keepTime({ clock, duration, going: signal }, async (seconds) => {
      mustTurn({ asked: speed, actual: await speedNow(), tolerance, seconds, ramp_s })
      await mustStayLatched()
      await mustBeWell()
    })
    await order('G28', signal, home_ms)
    if (Math.abs(await speedNow()) >= rest)
      throw new LabError('device_failed', 'it should be at home and still turns; see to it, then initialize')
  }

  async function mustStayLatched(): Promise<void> {
    const status = await latch()
    if (status !== 'IDLE_CLOSED')
      throw new LabError('device_failed', `its latch is ${status} while it shakes; see that the plate is safe, then initialize`)
  }

  async function unlock(_params: object, signal: AbortSignal): Promise<void> {
    await mustRest('unlock the plate')
    await moveLatch('M242', 'IDLE_OPEN', signal)
  }

  async function lock(_params: object, signal: AbortSignal): Promise<void> {
    await mustRest('lock the plate')
    await moveLatch('M243', 'IDLE_CLOSED', signal)
  }

  async function moveLatch(code: string, wanted: string, signal: AbortSignal): Promise<void> {
    await order(code, signal, latch_ms)
    const status = await latch()
    if (status !== wanted)
      throw new LabError('device_failed', `its latch should be ${wanted} and is ${status}; see what is in its way, then initialize`)
  }

  async function setTemperature({ temperature: target }: { temperature: number }, signal: AbortSignal): Promise<void> {
    const { temperature: now } = await temperature()
    heat.begin(target, now)
    await order(`M104 S${target}`, signal)
  }

  /** Too hot, not getting warm or not to be asked: the heater is switched off before that is said. */
  async function mustBeWell(): Promise<void> {
    try {
      mustHaveNoErrors()
      const wrong = heat.wrongWith((await temperature()).temperature)
      if (!wrong) return
      heatOff()
      throw new LabError('device_failed', `${wrong}; its heater was switched off, see to it, then initialize`)
    } catch (error) {
      if (isBlind(error) && heat.target !== null) heatOff()
      throw error
    }
  }

  function heatOff(): void {
    heat.end()
    if (line.state === 'open') exchange.interrupt('M106')
  }

  /** Stops where it is, and not at home: it has to be initialized before the latch opens. */
  async function halt(): Promise<void> {
    going.end(new LabError('stopped', 'interrupted by a stop'))
    heat.end()
    exchange.interrupt('M3 S0')
    exchange.interrupt('M106')
    await mustSlowDown()
    if ((await temperature()).target !== null)
      good('M106', await exchange.command('M106', { deadline_ms: reply_ms, accepts: isAnswer('M106') }))
  }

  /** A motor that failed drives nothing. While it goes home it refuses to stop, and is told again until it is there. */
  async function mustSlowDown(): Promise<void> {
    const end = clock.now() + halting_ms
    for (let before: number | undefined; ; ) {
      const text = await exchange.query('M123', { deadline_ms: reply_ms, accepts: isAnswer('M123') })
      if (isMotorFailure(errorOf(text)?.number ?? 0)) return
      const speed = Math.abs(numberOf(good('M123', text), 'C') ?? nonsense('M123', text))
      if (speed < rest || (before !== undefined && speed < before - 1)) return
      if (clock.now() > end)
        throw new LabError('device_failed', `it was told to stop and still turns at ${speed} rpm; use its power switch`)
      if (before !== undefined) await exchange.command('M3 S0', { deadline_ms: reply_ms, accepts: isAnswer('M3') })
      before = speed
    }
  }

  return {
    initialize: going.operation(initialize),
    shake: going.operation(shake),
    open: going.operation(unlock),
    close: going.operation(lock),
    lock_plate: going.operation(lock),
    unlock_plate: going.operation(unlock),
    set_temperature: going.operation(setTemperature),
    get_temperature: temperature,
    identify,
    check: mustBeWell,
    halt,
  }
}

function nonsense(code: string, text: string): never {
  throw new LabError('device_failed', `it answered ${code} with ${JSON.stringify(text)}; see that its firmware is the right one`)
}
