// A plate sealer put together from a clamp, a heater and a thermometer on I2C. The host keeps the temperature and the time.

import type { Device, Learned } from '../../src/devices/device.ts'
import { LabError } from '../../src/errors.ts'
import { type Clock, sleep } from '../../src/kit/clock.ts'
import type { PinsDriver } from '../driver.ts'
import { Going } from '../going.ts'
import { until } from '../host_timed.ts'
import { Interlocks } from '../interlocks.ts'
import { Outputs, stillOn } from '../outputs.ts'
import { Thermometer } from '../parts/thermometer.ts'
import type { Board } from '../transports/board.ts'
import { hottest, plan, profile, type Settings, settings } from './settings.ts'
import { simulate } from './simulator.ts'
import { Thermostat } from './thermostat.ts'

export const driver: PinsDriver<Settings> = { type: 'sealer', settings, profile, plan, open, simulate }

const heat_s = 300
const look_ms = 250

function open({ board, clock, settings }: { board: Board; clock: Clock; settings: Settings }): Device {
  const { warm_up, within_c, clamp_s } = settings
  const heater = board.pin('heater')
  const clamp = board.pin('clamp')
  const clamped = board.has('clamped') ? board.pin('clamped') : undefined
  const sensor = new Thermometer(settings.i2c.sensor.part, board.part('sensor'))
  const warming = {
    hottest: hottest(settings),
    overshoot: warm_up.overshoot_c,
    gain: warm_up.gain_c,
    within_s: warm_up.within_s,
    below: within_c + 3,
  }
  const thermostat = new Thermostat({ sensor, heater, clock, wire: board.clock, warming, trip })
  const going = new Going(board)
  /** The one while the clamp may move, the other as long as it is hot. */
  const guard = new Interlocks(board, { guard: 'its guard' }, trip)
  const estop = new Interlocks(board, { estop: 'the contact of its emergency stop' }, trip)
  const outputs = new Outputs([heater, clamp])
  let tripped: LabError | undefined
  board.onLost(() => void allOff().catch(() => undefined))

  /** Everything off, whatever goes on; it stays so until it is initialized. */
  function trip(error: LabError): void {
    const why = tripped ?? error
    tripped = why
    allOff().catch((cause) => {
      tripped = stillOn(why, cause)
    })
    going.end(error)
  }

  /** The pins are set when this returns. */
  async function allOff(): Promise<void> {
    guard.disarm()
    estop.disarm()
    thermostat.end()
    await outputs.offNow()
  }

  async function initialize(_params: object, signal: AbortSignal): Promise<Learned> {
    thermostat.end()
    await heater.write(false)
    await clamp.write(false)
    await sleep(clock, clamp_s * 1000, signal)
    tripped = undefined
    await sensor.mustBeThere()
    await check()
    return { identity: null }
  }

  async function setTemperature({ temperature }: { temperature: number }, signal: AbortSignal): Promise<void> {
    if (!estop.armed) await estop.arm(signal)
    await thermostat.heatTo(temperature, signal)
  }

  /** It stays hot afterwards. */
  async function seal({ temperature, duration }: { temperature: number; duration: number }, signal: AbortSignal): Promise<void> {
    await guard.arm(signal)
    try {
      await setTemperature({ temperature }, signal)
      await untilWarm(temperature, signal)
      await press(duration, signal)
    } finally {
      guard.disarm()
    }
  }

  async function untilWarm(temperature: number, signal: AbortSignal): Promise<void> {
    const warm = (now: number) => Math.abs(now - temperature) <= within_c
    const late = (now: number) =>
      `it has ${now.toFixed(1)} °C after ${heat_s} s, set to ${temperature} °C; set the temperature first, and wait`
    await until({ clock, going: signal, within_s: heat_s, every_ms: look_ms }, () => thermostat.read(), warm, late)
  }

  async function press(duration: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    await clamp.write(true)
    await clampMustBe(true, signal)
    await sleep(clock, duration * 1000, signal)
    await clamp.write(false)
    await clampMustBe(false, signal)
  }

  async function clampMustBe(down: boolean, signal: AbortSignal): Promise<void> {
    if (!clamped) return sleep(clock, clamp_s * 1000, signal)
    const late = () => `its clamp was to go ${down ? 'down' : 'up'} and did not within ${clamp_s} s; see to it, then initialize`
    await until(
      { clock, going: signal, within_s: clamp_s, every_ms: 20 },
      () => clamped.read(),
      (isDown) => isDown === down,
      late,
    )
  }

  async function check(): Promise<void> {
    if (tripped) throw tripped
    await thermostat.read()
    await clamp.read()
    if (thermostat.target === null && (await heater.read())) {
      throw new LabError('device_failed', 'its heater was switched on by somebody else; see to that, then initialize')
    }
  }

  async function halt(): Promise<void> {
    going.end(new LabError('stopped', 'interrupted by a stop'))
    await allOff()
    if (await heater.read())
      throw new LabError('device_failed', 'its heater was switched off and still says that it is on; use its red button')
  }

  return {
    initialize: going.operation(initialize),
    seal: going.operation(seal),
    set_temperature: going.operation(setTemperature),
    get_temperature: async () => ({ temperature: await thermostat.read(), target: thermostat.target }),
    async identify() {
      await sensor.mustBeThere()
      return null
    },
    check,
    halt,
  }
}
