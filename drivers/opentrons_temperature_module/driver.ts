// Opentrons Temperature Module, GEN1 and GEN2: a plate that heats and cools.

import * as v from 'valibot'
import type { Device, Identity, Profile } from '../../src/devices/device.ts'
import { isRefusal } from '../../src/devices/failure.ts'
import type { Params } from '../../src/devices/operations.ts'
import { LabError } from '../../src/errors.ts'
import type { Driver, SerialMount } from '../driver.ts'
import { believed, HeatWatch, heaterStillOn } from '../heat_watch.ts'
import { repeatUntil } from '../host_timed.ts'
import { numberOf, wordOf } from '../opentrons_lines.ts'
import { ModuleTalk, nonsense } from '../opentrons_talk.ts'
import { OperationRunner } from '../operation_runner.ts'
import { WithMount } from '../with_mount.ts'
import { errorTable } from './errors.ts'
import { dialect, modelName, signature } from './protocol.ts'
import { simulate } from './simulator.ts'

/** The module has no settings. */
const settings = v.strictObject({})
type Settings = v.InferOutput<typeof settings>

export const driver: Driver<Settings> = {
  type: 'temperature_controller',
  about: { instrument: 'Opentrons Temperature Module GEN1, GEN2' },
  typical: { initialize_s: 0.1 },
  settings,
  serial: { baud: 115_200 },
  signature,
  profile,
  errors: () => errorTable,
  open: (at) => new TemperatureModule(at),
  simulate,
}

/** The module trips by itself above 99 °C. */
const warming = {
  ...{ hottest: 101, overshoot: 10, gain: 2, within_s: 180, below: 3 },
  cooling: { loss: 1, within_s: 600, above: 5 },
}
/** The difference between a target and its echo that rounding explains. */
const rounding = 0.06

function profile(): Profile {
  return {
    model: 'Temperature Module',
    limits: { temperature: { min: 4, max: 95, unit: '°C', step: 0.1 } },
    features: { heating: true, cooling: true },
  }
}

/** Turns the operations of a Temperature Module into its G-code. */
class TemperatureModule extends WithMount<SerialMount<Settings>> implements Device {
  readonly #talk = new ModuleTalk(this.at.line, dialect)
  readonly #heat = new HeatWatch(this.at.clock, warming)
  readonly #runner = new OperationRunner(this.at.line)

  async get_temperature(): Promise<{ temperature: number; target: number | null }> {
    const text = await this.#talk.ask('M105')
    const target = wordOf(text, 'T') === 'none' ? null : (numberOf(text, 'T') ?? nonsense('M105', text))
    return { temperature: believed(numberOf(text, 'C') ?? nonsense('M105', text)), target }
  }

  async identify(): Promise<Identity> {
    const text = await this.#talk.ask('M115')
    return {
      model: modelName(wordOf(text, 'model') ?? nonsense('M115', text)),
      serial_number: wordOf(text, 'serial') || null,
      firmware_version: wordOf(text, 'version') || null,
    }
  }

  /** A plate that is on stays on, and is watched from then on. */
  readonly initialize = this.#runner.operation(async (_params: object, _signal) => {
    this.#talk.forgetErrors()
    const identity = await this.identify()
    const { temperature: now, target } = await this.get_temperature()
    if (target === null) this.#heat.end()
    else this.#heat.begin(target, now)
    await this.check()
    return { identity }
  })

  readonly set_temperature = this.#runner.operation(({ temperature }: Params<'set_temperature'>, signal) =>
    temperature === null ? this.#heat.endBy(() => this.#off(signal)) : this.#aim(temperature, signal),
  )

  /** Sets the target, and sees that the module took it: `ok` alone acknowledges any command. */
  async #aim(target: number, signal: AbortSignal): Promise<void> {
    const { temperature: now } = await this.get_temperature()
    // Before the answer, because the plate may be on as soon as the command arrives.
    const takeBack = this.#heat.begin(target, now)
    await this.#talk.order(`M104 S${target}`, signal).catch((error) => {
      if (isRefusal(error)) takeBack()
      throw error
    })
    const { target: taken } = await this.get_temperature()
    this.#talk.mustHaveNoErrors()
    if (taken === null || Math.abs(taken - target) > rounding)
      throw new LabError('device_failed', `it was set to ${target} °C and says ${taken ?? 'that it is off'}; see to it, then initialize`)
  }

  async #off(signal: AbortSignal): Promise<void> {
    await this.#talk.order('M18', signal)
    if ((await this.get_temperature()).target !== null) throw heaterStillOn()
  }

  async check(): Promise<void> {
    const read = async () => {
      this.#talk.mustHaveNoErrors()
      const { temperature, target } = await this.get_temperature()
      this.#talk.mustHaveNoErrors()
      this.#mustStillBeOn(target)
      return temperature
    }
    await this.#heat.check(read, () => this.at.line.state === 'open' && this.#talk.interrupt('M18'))
  }

  /** Throws `device_failed` if the plate is off although the service did not switch it off. */
  #mustStillBeOn(target: number | null): void {
    if (this.#heat.target === null || target !== null) return
    const sentence = `it was set to ${this.#heat.target} °C and is off: it restarted, or was set otherwise; see its power supply, then initialize`
    throw new LabError('device_failed', sentence)
  }

  /** An `ok` after a stop may answer anything, so the stop counts when the module has no target. */
  async halt(): Promise<void> {
    this.#runner.stop()
    this.#heat.end()
    this.#talk.interrupt('M18')
    const isOff = async () => (await this.get_temperature()).target === null
    await repeatUntil(isOff, () => this.#talk.orderAnyway('M18'), 'it was stopped and is still on')
  }
}
