// LiCONiC STX (StoreX): incubators and hotels for plates, with a transfer station. Nothing ends a motion of the handler.

import type { Device, Identity, PlateWhereabouts } from '../../src/devices/device.ts'
import type { Params } from '../../src/devices/operations.ts'
import { LabError } from '../../src/errors.ts'
import { sleep } from '../../src/kit/clock.ts'
import type { Driver, SerialMount } from '../driver.ts'
import { heardOrObeyed } from '../early_end.ts'
import { keepTime, onceStarted } from '../host_timed.ts'
import { OperationRunner } from '../operation_runner.ts'
import { levelOf } from '../racks.ts'
import { reports } from '../reported.ts'
import { WithMount } from '../with_mount.ts'
import { errorTable } from './errors.ts'
import { hasClimate, profile, type Settings, settings, speedUnit, takesClimate } from './models.ts'
import { type Memory, signature } from './protocol.ts'
import { simulate } from './simulator.ts'
import { Talk } from './talk.ts'

export const driver: Driver<Settings> = {
  type: 'storage',
  about: { instrument: 'LiCONiC STX', operations: 'by model' },
  typical: { initialize_s: 23 },
  trial: {
    variants: [
      { shaker: true, co2: true, racks: [{ slots: 10, pitch: 1713 }] },
      { climate: 'NC', station_sensor: false, shovel_sensor: false },
    ],
  },
  settings,
  serial: { baud: 9600, parity: 'even' },
  signature,
  profile,
  errors: () => errorTable,
  open: (at) => new Stx(at),
  simulate,
}

const look_ms = 500
/** The limits for homing, and for moving a plate. */
const homing_s = 135
const moving_s = 130
/** The time in which the sensors may follow the end of a motion, and in which a motion has begun. */
const settling_s = 5
/** The shaker is still after this time. */
const slowing_s = 3

/** Turns the operations of an STX into the words of its controller. */
class Stx extends WithMount<SerialMount<Settings>> implements Device {
  readonly #runner = new OperationRunner(this.at.line)
  readonly #talk = new Talk(this.at.line)
  readonly #shakes = this.at.settings.shaker
  readonly get_temperature = hasClimate(this.at.settings)
    ? async () => ({ temperature: await this.#measured('temperature', 10), target: await this.#measured('temperature_target', 10) })
    : undefined
  readonly humidity = hasClimate(this.at.settings)
    ? async () => ({ humidity: await this.#measured('humidity', 10), target: await this.#measured('humidity_target', 10) })
    : undefined
  readonly co2 =
    hasClimate(this.at.settings) && this.at.settings.co2
      ? async () => ({ co2: await this.#measured('co2', 100), target: await this.#measured('co2_target', 100) })
      : undefined
  readonly end = this.#shakes ? () => this.#runner.early.ask() : undefined

  async #measured(memory: Memory, parts: number): Promise<number> {
    return (await this.#talk.memory(memory)) / parts
  }

  /** Opens the communication, which no other instrument acknowledges in this way, and asks for the serial number. */
  async identify(): Promise<Identity> {
    await this.#talk.open()
    const serial = await this.#talk.memoryIfAny('serial')
    return { model: 'LiCONiC STX', serial_number: serial ? String(serial) : null, firmware_version: null }
  }

  readonly initialize = this.#runner.operation(async (_params: object, signal) => {
    this.#talk.forget()
    const identity = await this.identify()
    if (this.#shakes && (await this.#talk.flag('shaking')))
      throw new LabError('interlock', 'it shakes; stop it, wait until it is at rest, then initialize')
    const isBusy = !(await this.#talk.flag('ready')) && !(await this.#talk.flag('error'))
    if (isBusy)
      throw new LabError(
        'interlock',
        'it is busy; wait until it is at rest, then initialize; switch it off and on if it stays busy without a motion',
      )
    await this.#mustHoldNothing('interlock')
    await this.#talk.start('reset', signal)
    await this.#talk.start('initialize', signal)
    await this.#rests('find its reference position', homing_s, signal)
    await this.#mustHoldNothing('device_failed')
    return { identity }
  })

  async #mustHoldNothing(kind: 'interlock' | 'device_failed'): Promise<void> {
    if (this.at.settings.shovel_sensor && (await this.#talk.flag('shovel'))) throw new LabError(kind, heldPlate)
  }

  readonly store = this.#runner.operation(async ({ slot }: Params<'store'>, signal) => {
    const words = this.#wordsFor(slot)
    if ((await this.#mustBeFree('store')).station === false)
      throw new LabError('interlock', 'it has no plate at its transfer station; put the plate there, then store it')
    await this.#select(words, signal)
    await this.#talk.start('import', signal)
    await onceStarted(() => this.#arrives(false, signal))
  })

  readonly retrieve = this.#runner.operation(async ({ slot }: Params<'retrieve'>, signal) => {
    const words = this.#wordsFor(slot)
    if ((await this.#mustBeFree('retrieve')).station === true)
      throw new LabError('interlock', 'it has a plate at its transfer station; remove that plate, then retrieve the other one')
    await this.#select(words, signal)
    await this.#talk.start('export', signal)
    await onceStarted(() => this.#arrives(true, signal))
  })

  /** Returns the values of the data memories that select a slot. */
  #wordsFor(slot: number | undefined): [Memory, number][] {
    const place = slot === undefined ? undefined : levelOf(this.at.settings.racks, slot)
    if (!place) throw new LabError('invalid', `it has no slot ${slot ?? 'without a number'}; see its racks in the settings`)
    const { slots, pitch } = place.rack
    const form: [Memory, number][] =
      pitch === null
        ? []
        : [
            ['pitch', pitch],
            ['levels', slots],
          ]
    return [['rack', place.number], ...form, ['level', place.level]]
  }

  /** Writes the data memories, and reads them again: a plate that goes to another slot may meet another plate. */
  async #select(words: readonly [Memory, number][], signal: AbortSignal): Promise<void> {
    for (const [memory, value] of words) await this.#talk.write(memory, value, signal)
    for (const [memory, value] of words) {
      const taken = await this.#talk.memory(memory)
      if (taken !== value)
        throw new LabError(
          'device_failed',
          `its controller took ${taken} and not ${value} for the ${memory}; see that nobody else uses it, then initialize`,
        )
    }
  }

  /** Throws unless it can begin to move a plate. Returns what its sensors show. */
  async #mustBeFree(what: string): Promise<PlateWhereabouts> {
    if (!(await this.#look())) throw new LabError('interlock', `it is busy; wait until it is at rest, then ${what}`)
    const where = await this.whereIsPlate()
    if (where.handler) throw new LabError('interlock', heldPlate)
    return where
  }

  /** Waits until the handler is at rest and empty, and the transfer station is as it should be. */
  async #arrives(station: boolean, signal: AbortSignal): Promise<void> {
    await this.#rests('move the plate', moving_s, signal)
    const { clock } = this.at
    const end = clock.now() + settling_s * 1000
    for (;;) {
      const where = await this.whereIsPlate()
      if (!where.handler && (where.station ?? station) === station) return
      if (clock.now() >= end)
        throw new LabError('device_failed', `it is at rest, and ${inWords(where)}; see where the plate is, then initialize`)
      await sleep(clock, look_ms, signal)
    }
  }

  /** Waits until the controller is ready again. One that was never seen busy counts only after a while: it may begin late. */
  async #rests(what: string, within_s: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.at
    const began = clock.now()
    let wasBusy = false
    for (;;) {
      await sleep(clock, look_ms, signal)
      const isReady = await this.#look()
      const seconds = (clock.now() - began) / 1000
      if (isReady && (wasBusy || seconds >= settling_s)) return
      wasBusy ||= !isReady
      if (seconds >= within_s)
        throw new LabError('device_failed', `it did not ${what} within ${within_s} s; see what blocks it, then initialize`)
    }
  }

  readonly shake = this.#shakes
    ? this.#runner.operation(async ({ speed, duration }: Params<'shake'>, signal) => {
        await this.#mustBeFree('shake')
        await this.#select([['speed', Math.round(speed / speedUnit(this.at.settings))]], signal)
        await this.#talk.start('shake', signal)
        await onceStarted(() => this.#shakeOn(duration, signal))
      })
    : undefined

  async #shakeOn(duration: number, signal: AbortSignal): Promise<void> {
    const isStill = async () => !(await this.#talk.flag('shaking'))
    const slowDown = () => heardOrObeyed(() => this.#talk.stopShaker(signal), isStill)
    const keeping = { clock: this.at.clock, duration, going: signal, early: this.#runner.early, slowDown }
    await keepTime(keeping, async (seconds) => {
      await this.#look()
      if (await isStill())
        throw new LabError('device_failed', `it does not shake any more after ${Math.round(seconds)} s; see why, then initialize`)
    })
    await slowDown()
    await sleep(this.at.clock, slowing_s * 1000, signal)
    await this.#look()
    if (!(await isStill())) throw new LabError('device_failed', 'it still shakes after a stop; use its power switch, then initialize')
  }

  readonly set_temperature = takesClimate(this.at.settings)
    ? this.#runner.operation(async ({ temperature }: Params<'set_temperature'>, signal) => {
        if (temperature === null)
          throw new LabError(
            'invalid',
            'it keeps the climate of its chamber and cannot switch that off from here; set a temperature, or use its display',
          )
        await this.#look()
        await this.#select([['temperature_target', Math.round(temperature * 10)]], signal)
      })
    : undefined

  async whereIsPlate(): Promise<PlateWhereabouts> {
    const { station_sensor, shovel_sensor } = this.at.settings
    return {
      station: station_sensor ? await this.#talk.flag('station') : null,
      handler: shovel_sensor ? await this.#talk.flag('shovel') : null,
    }
  }

  /** Returns whether the controller is ready for a command. Throws `device_failed` after an error, and after a restart. */
  async #look(): Promise<boolean> {
    const isReady = await this.#talk.flag('ready')
    if (await this.#talk.flag('error')) throw reports(errorTable, [await this.#talk.memory('error')])
    this.#talk.mustBeTheSame()
    return isReady
  }

  async check(): Promise<void> {
    await this.#look()
  }

  /** Stops the shaker. No known word ends a motion of the handler: it counts as halted when it is at rest, or stands with an error. */
  async halt(): Promise<void> {
    this.#runner.stop()
    this.#talk.interrupt(this.#shakes)
    await this.#talk.open()
    for (;;) {
      if (this.#shakes) await this.#talk.stopShaker()
      const isShaking = this.#shakes && (await this.#talk.flag('shaking'))
      const stands = (await this.#talk.flag('ready')) || (await this.#talk.flag('error'))
      if (stands && !isShaking) break
      await sleep(this.at.clock, look_ms)
    }
    if (this.#shakes) await sleep(this.at.clock, slowing_s * 1000)
  }
}

const heldPlate =
  'it has a plate on its handler; open its door, take the plate out, put it where it belongs and tell the bench where it is, close the door, then initialize'

function inWords({ station, handler }: PlateWhereabouts): string {
  const its = (there: boolean | null) => (there === null ? 'nothing' : there ? 'a plate' : 'no plate')
  return `its sensors show ${its(station)} at the transfer station and ${its(handler)} on the handler`
}
