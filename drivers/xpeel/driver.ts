// The XPeel plate seal remover: commands with a star at 9600 baud, acknowledged at once and answered again at their end.

import * as v from 'valibot'
import type { Device, Identity, Profile } from '../../src/devices/device.ts'
import type { Params } from '../../src/devices/operations.ts'
import { described, Whole } from '../../src/kit/described.ts'
import type { Driver, SerialMount } from '../driver.ts'
import { OperationRunner } from '../operation_runner.ts'
import { WithMount } from '../with_mount.ts'
import { errorTable } from './errors.ts'
import { askVersion, conveyorIn, conveyorOut, peel, reset, signature } from './protocol.ts'
import { simulate } from './simulator.ts'
import { Talk } from './talk.ts'

const settings = v.strictObject({
  outward_steps: v.optional(described(Whole(1, 60), 'How many times the conveyor has to go out by 7 mm until it is out'), 25),
})
type Settings = v.InferOutput<typeof settings>

export const driver: Driver<Settings> = {
  type: 'peeler',
  about: { instrument: 'Azenta XPeel' },
  typical: { initialize_s: 6 },
  settings,
  serial: { baud: 9600 },
  signature,
  profile,
  errors: () => errorTable,
  open: (at) => new XPeel(at),
  simulate,
}

const peel_s = 60
const reset_s = 60
const step_s = 20

function profile(): Profile {
  return {
    model: 'XPeel',
    limits: {
      parameter_set: { min: 1, max: 9, unit: '', step: 1 },
      adhere: { min: 1, max: 4, unit: '', step: 1 },
    },
    features: { door: true, uninterruptible: true },
  }
}

/** Turns the operations of an XPeel into its commands. */
class XPeel extends WithMount<SerialMount<Settings>> implements Device {
  readonly #runner = new OperationRunner(this.at.line)
  readonly #talk = new Talk(this.at)
  readonly close = this.#runner.operation((_params: object, signal) => this.#talk.move(conveyorIn, step_s, signal))

  /** Resets the peeler: a motion that clears the codes of the last one and brings the conveyor to the loading position. */
  readonly initialize = this.#runner.operation(async (_params: object, signal) => {
    await this.#talk.still()
    this.#talk.forgetRestart()
    const identity = await this.identify()
    await this.#talk.move(reset, reset_s, signal)
    return { identity }
  })

  readonly peel = this.#runner.operation(async ({ parameter_set, adhere }: Params<'peel'>, signal) => {
    await this.#talk.move(peel(parameter_set, adhere), peel_s, signal)
  })

  readonly open = this.#runner.operation(async (_params: object, signal) => {
    for (let step = 0; step < this.at.settings.outward_steps; step++) await this.#talk.move(conveyorOut, step_s, signal)
  })

  async identify(): Promise<Identity> {
    return { model: 'XPeel', serial_number: null, firmware_version: await this.#talk.version() }
  }

  check(): Promise<void> {
    return this.#talk.mustBeWell()
  }

  /**
   * No command ends a motion, and the homing commands would begin another. So a harmless question is written,
   * and the peeler counts as halted when its motion has ended and it answers.
   */
  async halt(): Promise<void> {
    this.#runner.stop()
    this.#talk.interrupt(askVersion)
    await this.#talk.still()
    this.#talk.forgetRestart()
    await this.#talk.codes()
  }
}
