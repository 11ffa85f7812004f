// IKA orbital shakers with NAMUR commands, heated or not. The host keeps the time; the instrument's own watchdog ends what the host forgets.

import type { Device, Identity, Learned } from '../../src/devices/device.ts'
import { LabError } from '../../src/errors.ts'
import { type Clock, sleep } from '../../src/kit/clock.ts'
import type { Driver } from '../driver.ts'
import { Going } from '../going.ts'
import { HeatWatch, isBlind } from '../heat_watch.ts'
import { keepTime, mustTurn, until } from '../host_timed.ts'
import { nextLine } from '../text_lines.ts'
import { Exchange } from '../transports/exchange.ts'
import type { Line } from '../transports/line.ts'
import { modelOf, profile, type Settings, settings } from './models.ts'
import { echoes, encode, isText, motor, plate, readValue } from './protocol.ts'
import { simulate } from './simulator.ts'

export const driver: Driver<Settings> = {
  type: 'shaker',
  settings,
  serial: { baud: 9600, data_bits: 7, parity: 'even' },
  profile,
  open,
  simulate,
}

const reply_ms = 1000
/** Without being armed again for so long it switches motor and heater off by itself. */
const watchdog_s = 60
const refresh_s = 20
/** Slower than this it is at rest, in rpm. */
const rest = 5
const ramp_s = 20
const slowing_s = 60
/** After RESET it is given a moment. */
const reset_ms = 1000
const look_ms = 250
/** In which it must be seen to slow down once it was told to stop. */
const halting_ms = 5000
/** A plate has no other temperature; whatever says so is not a thermometer. */
const believable = { min: -50, max: 150 }
const warming = { hottest: 115, overshoot: 15, gain: 2, within_s: 600, below: 5 }

function open({ line, clock, settings }: { line: Line; clock: Clock; settings: Settings }): Device {
  const model = modelOf(settings)
  const heat = new HeatWatch(clock, warming)
  const going = new Going(line)
  let name: string | undefined
  /** When its watchdog was last armed. */
  let armedAt = Number.NEGATIVE_INFINITY
  const exchange = new Exchange<string, string>(line, {
    framer: nextLine,
    encode,
    gap_ms: 50,
    resync: { question: 'IN_NAME', recognises: (text) => (name === undefined ? isText(text) : text === name) },
  })

  async function read(kind: 'PV' | 'SP', channel: number): Promise<number> {
    const accepts = (text: string) => readValue(text, channel) !== undefined
    return readValue(await exchange.query(`IN_${kind}_${channel}`, { deadline_ms: reply_ms, accepts }), channel)!
  }

  /** Tells it what it does not answer. */
  async function tell(command: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    await exchange.tell(command)
  }

  /** Sets a value and reads it back. */
  async function set(channel: number, value: number, signal: AbortSignal): Promise<void> {
    await tell(`OUT_SP_${channel} ${value}`, signal)
    const taken = await read('SP', channel)
    if (Math.abs(taken - value) < 0.5) return
    throw new LabError('device_failed', `it was set to ${value} and says ${taken}; see that its settings take that, then initialize`)
  }

  async function identify(): Promise<Identity> {
    const accepts = (text: string) => isText(text)
    name = await exchange.query('IN_NAME', { deadline_ms: reply_ms, accepts })
    const firmware_version = await exchange.probe(model.version, {
      deadline_ms: reply_ms,
      accepts: (text) => isText(text) && text !== name,
    })
    return { model: name, serial_number: null, firmware_version: firmware_version ?? null }
  }

  /** RESET switches all off, and clears what the watchdog latched. */
  async function initialize(_params: object, signal: AbortSignal): Promise<Learned> {
    const speed = await read('PV', motor)
    if (speed >= rest) throw new LabError('interlock', `it turns at ${speed} rpm; wait until it is at rest, or stop it, then initialize`)
    heat.end()
    await tell('RESET', signal)
    await sleep(clock, reset_ms, signal)
    const identity = await identify()
    await mustBeWell()
    return { identity }
  }

  async function shake({ speed, duration }: { speed: number; duration: number }, signal: AbortSignal): Promise<void> {
    const now = await read('PV', motor)
    if (now >= rest) throw new LabError('interlock', `it turns already, at ${now} rpm; stop it, then initialize`)
    await set(motor, speed, signal)
    signal.throwIfAborted()
    await arm()
    await tell(`START_${motor}`, signal)
    await turn(speed, duration, signal)
    await stopTurning(signal)
  }

  async function turn(asked: number, duration: number, signal: AbortSignal): Promise<void> {
    await keepTime({ clock, duration, going: signal }, async (seconds) => {
      mustTurn({ asked, actual: await read('PV', motor), tolerance: Math.max(20, asked * 0.05), seconds, ramp_s })
      await mustBeWell()
      signal.throwIfAborted()
      await stayArmed()
    })
  }

  /** Whether other words than this one feed the watchdog is not known: the manuals disagree. */
  async function arm(): Promise<void> {
    const command = `OUT_WD1@${watchdog_s}`
    try {
      await exchange.command(command, { deadline_ms: reply_ms, accepts: (text) => echoes(text, watchdog_s) })
    } catch (error) {
      if (!(error instanceof LabError) || error.code !== 'no_reply') throw error
      const sentence = `it did not confirm ${command}, its watchdog, and nothing goes on without it; see that its firmware knows OUT_WD1, and its cable`
      throw new LabError('no_reply', sentence, { cause: error })
    }
    armedAt = clock.now()
  }

  async function stayArmed(): Promise<void> {
    if (clock.now() - armedAt >= refresh_s * 1000) await arm()
  }

  /** It does not say that it heard, so it is told again while it turns. */
  async function stopTurning(signal: AbortSignal): Promise<void> {
    const look = async () => {
      await tell(`STOP_${motor}`, signal)
      return read('PV', motor)
    }
    const late = (speed: number) => `it was told to stop and still turns at ${speed} rpm; use its power switch`
    await until({ clock, going: signal, within_s: slowing_s, every_ms: look_ms }, look, (speed) => speed < rest, late)
  }

  async function setTemperature({ temperature }: { temperature: number }, signal: AbortSignal): Promise<void> {
    const now = await readTemperature()
    await set(plate, temperature, signal)
    signal.throwIfAborted()
    await arm()
    heat.begin(temperature, now)
    await tell(`START_${plate}`, signal)
  }

  async function readTemperature(): Promise<number> {
    const temperature = await read('PV', plate)
    if (temperature >= believable.min && temperature <= believable.max) return temperature
    throw new LabError('device_failed', `it says that it has ${temperature} °C, which cannot be; see to its sensor`)
  }

  /** Too hot, not getting warm or not to be asked: the heater is switched off before that is said. While it heats its watchdog stays armed. */
  async function mustBeWell(): Promise<void> {
    if (!model.temperature) return
    try {
      const wrong = heat.wrongWith(await readTemperature())
      if (!wrong) return await (heat.target === null ? undefined : stayArmed())
      cool()
      throw new LabError('device_failed', `${wrong}; its heater was switched off, see to it, then initialize`)
    } catch (error) {
      if (isBlind(error) && heat.target !== null) cool()
      throw error
    }
  }

  function cool(): void {
    heat.end()
    if (line.state === 'open') exchange.interrupt(`STOP_${plate}`)
  }

  async function check(): Promise<void> {
    if (model.temperature) await mustBeWell()
    else await read('PV', motor)
  }

  /** Both commands go out in one go, and the second once more: nobody knows whether it hears two without a pause in between. */
  async function halt(): Promise<void> {
    going.end(new LabError('stopped', 'interrupted by a stop'))
    heat.end()
    exchange.interrupt(`STOP_${motor}`)
    if (model.temperature) exchange.interrupt(`STOP_${plate}`)
    await mustSlowDown()
    if (model.temperature) await tellPlateAgain()
  }

  /** The instrument does not tell whether its heater is off. It hears a command that is sent between two questions that it answers at once. */
  async function tellPlateAgain(): Promise<void> {
    await exchange.tell(`STOP_${plate}`)
    await exchange.command(`IN_PV_${motor}`, { deadline_ms: reply_ms, accepts: (text) => readValue(text, motor) !== undefined })
  }

  /** It answers nothing to a stop, so the motor has to show that it heard. */
  async function mustSlowDown(): Promise<void> {
    const end = clock.now() + halting_ms
    for (let before: number | undefined; ; ) {
      const speed = await read('PV', motor)
      if (speed < rest || (before !== undefined && speed < before - 1)) return
      if (clock.now() > end)
        throw new LabError('device_failed', `it was told to stop and still turns at ${speed} rpm; use its power switch`)
      if (before !== undefined) await exchange.tell(`STOP_${motor}`)
      before = speed
    }
  }

  return {
    initialize: going.operation(initialize),
    shake: going.operation(shake),
    identify,
    check,
    halt,
    ...(model.temperature && {
      set_temperature: going.operation(setTemperature),
      get_temperature: async () => ({ temperature: await readTemperature(), target: heat.target }),
    }),
  }
}
