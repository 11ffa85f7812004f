// Thermo Cytomat: incubators and hotels for plates, with a transfer station. Nothing ends a motion of its handler.

import type { Device, Identity, PlateWhereabouts } from '../../src/devices/device.ts'
import type { Params } from '../../src/devices/operations.ts'
import { LabError } from '../../src/errors.ts'
import { sleep } from '../../src/kit/clock.ts'
import type { Driver, SerialMount } from '../driver.ts'
import { keepTime, onceStarted, until } from '../host_timed.ts'
import { OperationRunner } from '../operation_runner.ts'
import { refused } from '../reported.ts'
import { WithMount } from '../with_mount.ts'
import { errorTable, notShaking, refusal } from './errors.ts'
import { addressOf, type Measured, modelOf, profile, type Settings, settings } from './models.ts'
import { askOverview, type Overview, parseClimate, parseSpeed, signature } from './protocol.ts'
import { simulate } from './simulator.ts'
import { Talk } from './talk.ts'

export const driver: Driver<Settings> = {
  type: 'storage',
  about: { instrument: 'Thermo Cytomat 2, 5, 6000', operations: 'by model' },
  typical: { initialize_s: 20.5 },
  trial: { variants: [{ model: 'Cytomat 2 C450 Shake' }, { model: 'Cytomat 2 C425', racks: [{ slots: 10 }], measures: [] }] },
  settings,
  serial: { baud: 9600 },
  signature,
  profile,
  errors: () => errorTable,
  open: (at) => new Cytomat(at),
  simulate,
}

const look_ms = 500
/** The limits for homing, and for moving a plate. */
const homing_s = 135
const moving_s = 130
/** The time in which the sensors may follow the end of a motion. */
const settling_s = 5
/** The shakers are still after this time, as no register shows their speed. */
const slowing_s = 4
/** The parameters of the shakers that hold their speeds. */
const shakers = [20, 21]

/** Turns the operations of a Cytomat into its commands. */
class Cytomat extends WithMount<SerialMount<Settings>> implements Device {
  readonly #model = modelOf(this.at.settings)
  readonly #runner = new OperationRunner(this.at.line)
  readonly #talk = new Talk({ line: this.at.line, clock: this.at.clock, ending: this.#model.ending })
  /** Whether the instrument showed that it is ready when it was initialized. It has restarted when it is at rest and does not show that any more. */
  #wasReady = false
  readonly #measures = (name: Measured) => this.at.settings.measures.includes(name)
  readonly get_temperature = this.#measures('temperature')
    ? async () => {
        const { actual: temperature, target } = await this.#climate('it')
        return { temperature, target }
      }
    : undefined
  readonly humidity = this.#measures('humidity')
    ? async () => {
        const { actual: humidity, target } = await this.#climate('ih')
        return { humidity, target }
      }
    : undefined
  readonly co2 = this.#measures('co2')
    ? async () => {
        const { actual: co2, target } = await this.#climate('ic')
        return { co2, target }
      }
    : undefined
  readonly end = this.#model.shakes ? () => this.#runner.early.ask() : undefined

  #climate(register: string): Promise<{ target: number; actual: number }> {
    return this.#talk.ask(`ch:${register}`, (line) => parseClimate(line, register))
  }

  /** Asks for the overview register, which shows that the instrument is a Cytomat. It tells nothing else of itself. */
  async identify(): Promise<Identity> {
    await this.#talk.overview()
    return { model: 'Cytomat', serial_number: null, firmware_version: null }
  }

  readonly initialize = this.#runner.operation(async (_params: object, signal) => {
    this.#wasReady = false
    const identity = await this.identify()
    const before = await this.#talk.overview()
    mustRest(before, 'initialize')
    if (before.error) await this.#talk.act('rs:be', signal)
    await this.#talk.act('ll:in', signal)
    await sleep(this.at.clock, look_ms, signal)
    const late = () => `it has not found its reference positions within ${homing_s} s; see what blocks it, then initialize`
    const looking = { clock: this.at.clock, going: signal, within_s: homing_s, every_ms: look_ms }
    await until(looking, () => this.#talk.overview(), isStill, late)
    const after = await this.#talk.overview()
    await this.#talk.mustBeWell(after)
    if (after.handler) throw new LabError('device_failed', heldPlate)
    this.#wasReady = after.ready
    return { identity }
  })

  readonly store = this.#runner.operation(async ({ slot }: Params<'store'>, signal) => {
    const address = this.#addressOf(slot)
    if (!(await this.#mustBeFree('store')).station)
      throw new LabError('interlock', 'it has no plate at its transfer station; put the plate there, then store it')
    await this.#talk.act(`mv:ts ${address}`, signal)
    await onceStarted(() => this.#arrives(false, signal))
  })

  readonly retrieve = this.#runner.operation(async ({ slot }: Params<'retrieve'>, signal) => {
    const address = this.#addressOf(slot)
    if ((await this.#mustBeFree('retrieve')).station)
      throw new LabError('interlock', 'it has a plate at its transfer station; remove that plate, then retrieve the other one')
    await this.#talk.act(`mv:st ${address}`, signal)
    await onceStarted(() => this.#arrives(true, signal))
  })

  #addressOf(slot: number | undefined): string {
    const address = slot === undefined ? undefined : addressOf(this.at.settings, slot)
    if (address === undefined) throw new LabError('invalid', `it has no slot ${slot ?? 'without a number'}; see its racks in the settings`)
    return address
  }

  /** Throws unless it can begin to move a plate. Returns what its sensors show. */
  async #mustBeFree(what: string): Promise<Overview> {
    const state = await this.#look()
    mustRest(state, what)
    return state
  }

  /** Waits until the handler is at rest and empty, and the transfer station is as it should be. */
  async #arrives(station: boolean, signal: AbortSignal): Promise<void> {
    const { clock } = this.at
    const end = clock.now() + moving_s * 1000
    let restsSince: number | undefined
    for (;;) {
      await sleep(clock, look_ms, signal)
      const state = await this.#look()
      if (isStill(state) && !state.handler && state.station === station) return
      restsSince = isStill(state) ? (restsSince ?? clock.now()) : undefined
      const stranded = restsSince !== undefined && clock.now() - restsSince >= settling_s * 1000
      if (stranded) throw new LabError('device_failed', `it is at rest, and ${inWords(state)}; see where the plate is, then initialize`)
      if (clock.now() < end) continue
      await this.#talk.mustBeWell(state)
      throw new LabError('device_failed', `it still moves after ${moving_s} s, and ${inWords(state)}; see what it does, then initialize`)
    }
  }

  readonly shake = this.#model.shakes
    ? this.#runner.operation(async ({ speed, duration }: Params<'shake'>, signal) => {
        await this.#mustBeFree('shake')
        for (const shaker of shakers) await this.#setSpeed(shaker, speed, signal)
        await this.#talk.act('ll:va', signal)
        await onceStarted(async () => {
          const slowDown = () => this.#stopShakers(signal)
          const keeping = { clock: this.at.clock, duration, going: signal, early: this.#runner.early, slowDown }
          await keepTime(keeping, async () => void (await this.#look()))
          await slowDown()
          await sleep(this.at.clock, slowing_s * 1000, signal)
          await this.#look()
        })
      })
    : undefined

  async #setSpeed(shaker: number, speed: number, signal: AbortSignal): Promise<void> {
    await this.#talk.act(`se:pb ${shaker} ${String(speed).padStart(4, '0')}`, signal)
    const taken = await this.#talk.ask(`ch:pb ${shaker}`, parseSpeed)
    if (taken !== speed)
      throw new LabError(
        'device_failed',
        `its shaker ${shaker - 19} took ${taken} rpm and not ${speed} rpm; check that the settings have its limits`,
      )
  }

  /** Stops the shakers. A refusal because none is switched on is as good; one as busy is repeated, since they may be slowing down. */
  async #stopShakers(signal: AbortSignal): Promise<void> {
    const tell = () => this.#talk.give('ll:vd', signal)
    const looking = { clock: this.at.clock, going: signal, within_s: 2 * slowing_s, every_ms: look_ms }
    const late = (code: number | null) => refused(errorTable, 'll:vd', [(code ?? 0) + refusal]).message
    await until(looking, tell, (code) => code === null || code === notShaking, late)
  }

  readonly set_temperature = this.#measures('temperature')
    ? this.#runner.operation(async ({ temperature }: Params<'set_temperature'>, signal) => {
        if (temperature === null)
          throw new LabError(
            'invalid',
            'it keeps the climate of its chamber and cannot switch that off from here; set a temperature, or use its display',
          )
        await this.#talk.act(`ll:it ${temperature.toFixed(1).padStart(4, '0')}`, signal)
        const { target } = await this.#climate('it')
        if (Math.abs(target - temperature) > 0.05)
          throw new LabError('device_failed', `its set point is ${target} °C and not ${temperature} °C; see its display, then initialize`)
      })
    : undefined

  async whereIsPlate(): Promise<PlateWhereabouts> {
    const { station, handler } = await this.#talk.overview()
    return { station, handler }
  }

  /** Asks for the overview. Throws `device_failed` after an error, and after a restart. */
  async #look(): Promise<Overview> {
    const state = await this.#talk.overview()
    if (!state.busy) await this.#talk.mustBeWell(state)
    if (this.#wasReady && isStill(state) && !state.ready)
      throw new LabError(
        'device_failed',
        'it restarted by itself; see that its power supply is sound and where its plates are, then initialize',
      )
    return state
  }

  async check(): Promise<void> {
    await this.#look()
  }

  /** Stops the shakers. No command ends a motion of the handler: it counts as halted when it is at rest. */
  async halt(): Promise<void> {
    this.#runner.stop()
    const stop = this.#model.shakes ? 'll:vd' : askOverview
    this.#talk.interrupt(stop)
    for (;;) {
      const code = this.#model.shakes ? await this.#talk.give(stop) : null
      const state = await this.#talk.overview()
      if (isStill(state) && (code === null || code === notShaking)) return
      await sleep(this.at.clock, look_ms)
    }
  }
}

const heldPlate =
  'it has a plate on its handler; open its door, take the plate out, put it where it belongs and tell the bench where it is, close the door, then initialize'

function isStill({ busy }: Overview): boolean {
  return !busy
}

/** Throws `interlock` unless the instrument is at rest with its door closed and an empty handler, so that no plate is lost when it moves. */
function mustRest({ busy, doorOpen, handler }: Overview, what: string): void {
  if (busy) throw new LabError('interlock', `it is busy; wait until it is at rest, then ${what}`)
  if (handler) throw new LabError('interlock', heldPlate)
  if (doorOpen) throw new LabError('interlock', `its door is open; close it, then ${what}`)
}

function inWords({ station, handler }: Overview): string {
  const its = (there: boolean) => (there ? 'a plate' : 'no plate')
  return `its sensors show ${its(station)} at the transfer station and ${its(handler)} on the handler`
}
