// A shaker put together from a motor behind a relay and a converter for its speed. The host keeps the time, and sees to its interlocks.

import type { Device, Learned } from '../../src/devices/device.ts'
import { LabError } from '../../src/errors.ts'
import { type Clock, sleep } from '../../src/kit/clock.ts'
import type { PinsDriver } from '../driver.ts'
import { Going } from '../going.ts'
import { keepTime, mustTurn, until } from '../host_timed.ts'
import { Interlocks } from '../interlocks.ts'
import { Outputs, stillOn } from '../outputs.ts'
import { Thermometer } from '../parts/thermometer.ts'
import { throttle } from '../parts/throttle.ts'
import { rest_ms, Tachometer } from '../tachometer.ts'
import type { Board } from '../transports/board.ts'
import { plan, profile, type Settings, settings } from './settings.ts'
import { simulate } from './simulator.ts'

export const driver: PinsDriver<Settings> = { type: 'shaker', settings, profile, plan, open, simulate }

/** What a solenoid, and what it moves, needs. */
const settle_ms = 300
const look_ms = 250

function open({ board, clock, settings }: { board: Board; clock: Clock; settings: Settings }): Device {
  const { i2c, coast_s, ramp_s } = settings
  const enable = board.pin('enable')
  const solenoid = board.has('solenoid') ? board.pin('solenoid') : undefined
  const motor = throttle(i2c.speed.part, board.part('speed'), i2c.speed.channel)
  const sensor = i2c.sensor && new Thermometer(i2c.sensor.part, board.part('sensor'))
  const tach = board.has('tach') ? new Tachometer(board.pin('tach'), clock, settings.pulses_per_turn) : undefined
  const going = new Going(board)
  const interlocks = new Interlocks(board, { lid: 'its lid', estop: 'the contact of its emergency stop' }, trip)
  const outputs = new Outputs([enable, ...(solenoid ? [solenoid] : [])], [motor])
  let unlocked = false
  let slipped = false
  let counted = 0
  let tripped: LabError | undefined
  let cancelRelock = () => {}
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
    interlocks.disarm()
    cancelRelock()
    unlocked = false
    await outputs.offNow()
  }

  async function initialize(_params: object, signal: AbortSignal): Promise<Learned> {
    await mustRest(signal)
    tripped = undefined
    for (const pin of [enable, ...(solenoid ? [solenoid] : [])]) await pin.write(false)
    cancelRelock()
    unlocked = false
    signal.throwIfAborted()
    await motor.prepare()
    await sensor?.mustBeThere()
    await check()
    return { identity: null }
  }

  async function mustRest(signal: AbortSignal): Promise<void> {
    if (!tach) return
    await measuring(async () => {
      await sleep(clock, rest_ms, signal)
      if (tach.rpm > 0) throw new LabError('interlock', 'it turns; wait until it is at rest, or stop it, then initialize')
    })
  }

  async function shake({ speed, duration }: { speed: number; duration: number }, signal: AbortSignal): Promise<void> {
    if (unlocked) throw new LabError('interlock', 'its plate is not locked; lock_plate first')
    await interlocks.arm(signal)
    try {
      await measuring(async () => {
        await start(speed, signal)
        await keepTime({ clock, duration, going: signal }, (seconds) => mustTurnAt(speed, seconds, seconds >= duration))
        await stopTurning(signal)
      })
    } finally {
      interlocks.disarm()
    }
  }

  async function measuring(work: () => Promise<void>): Promise<void> {
    tach?.begin()
    try {
      await work()
    } finally {
      tach?.end()
    }
  }

  /** The converter is at nothing when the relay closes. */
  async function start(speed: number, signal: AbortSignal): Promise<void> {
    slipped = false
    counted = 0
    if (board.has('direction')) await board.pin('direction').write(settings.counter_clockwise)
    await motor.set(0)
    signal.throwIfAborted()
    await enable.write(true)
    signal.throwIfAborted()
    await motor.set(speed / settings.full_scale_rpm)
  }

  async function mustTurnAt(asked: number, seconds: number, last: boolean): Promise<void> {
    if (tach) turnsAsAsked({ asked, actual: measured(tach, asked), seconds, last })
    await motor.mustHold()
    if (!(await enable.read()))
      throw new LabError('device_failed', 'its relay was switched off by somebody else; see to that, then initialize')
  }

  /** In a simulation that is made faster the time between pulses says nothing: then it is only seen that there are any. */
  function measured(tach: Tachometer, asked: number): number {
    if (clock === board.clock) return Math.round(tach.rpm)
    const turned = tach.count > counted
    counted = tach.count
    return turned ? asked : 0
  }

  /** Pulses are counted by us, who may have been busy: it takes two looks in a row, or standing at the last one. */
  function turnsAsAsked({ asked, actual, seconds, last }: { asked: number; actual: number; seconds: number; last: boolean }): void {
    try {
      mustTurn({ asked, actual, tolerance: Math.max(50, asked * 0.1), seconds, ramp_s })
      slipped = false
    } catch (error) {
      if (slipped || (last && actual < asked / 2)) throw error
      slipped = true
    }
  }

  async function stopTurning(signal: AbortSignal): Promise<void> {
    await enable.write(false)
    await motor.set(0)
    if (!tach) return sleep(clock, coast_s * 1000, signal)
    const late = (rpm: number) => `it was switched off and still turns at ${Math.round(rpm)} rpm; see its relay`
    await until(
      { clock, going: signal, within_s: coast_s, every_ms: look_ms },
      async () => tach.rpm,
      (rpm) => rpm === 0,
      late,
    )
  }

  /** A spring locks it. */
  async function lock(_params: object, signal: AbortSignal): Promise<void> {
    cancelRelock()
    await solenoid?.write(false)
    await sleep(clock, settle_ms, signal)
    unlocked = false
    await motor.mustHold()
  }

  /** For so long as the solenoid stands it; then the spring locks it again. */
  async function unlock(_params: object, signal: AbortSignal): Promise<void> {
    cancelRelock()
    cancelRelock = clock.after(settings.solenoid_s * 1000, () => void relock())
    unlocked = true
    await solenoid?.write(true)
    await sleep(clock, settle_ms, signal)
    await motor.mustHold()
  }

  async function relock(): Promise<void> {
    unlocked = false
    try {
      await solenoid?.write(false)
    } catch (error) {
      trip(new LabError('device_failed', 'its solenoid could not be switched off; switch its supply off before it burns', { cause: error }))
    }
  }

  async function check(): Promise<void> {
    if (tripped) throw tripped
    await motor.mustHold()
    await enable.read()
    await solenoid?.read()
    await sensor?.read()
  }

  async function halt(): Promise<void> {
    going.end(new LabError('stopped', 'interrupted by a stop'))
    await allOff()
    if (await enable.read())
      throw new LabError('device_failed', 'its relay was switched off and still says that it is on; use its red button')
  }

  return {
    initialize: going.operation(initialize),
    shake: going.operation(shake),
    ...(solenoid && { lock_plate: going.operation(lock), unlock_plate: going.operation(unlock) }),
    ...(sensor && { get_temperature: async () => ({ temperature: await sensor.read(), target: null }) }),
    async identify() {
      await sensor?.mustBeThere()
      return null
    },
    check,
    halt,
  }
}
