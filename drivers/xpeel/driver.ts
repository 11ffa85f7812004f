// The XPeel plate seal remover: commands with a star at 9600 baud, acknowledged at once and answered again when they are done.

import * as v from 'valibot'
import type { Device, Identity, Learned, Profile } from '../../src/devices/device.ts'
import { LabError } from '../../src/errors.ts'
import type { Clock } from '../../src/kit/clock.ts'
import type { Driver } from '../driver.ts'
import { Going } from '../going.ts'
import type { Line } from '../transports/line.ts'
import { errorTable } from './errors.ts'
import { askVersion, conveyorIn, conveyorOut, peel, reset } from './protocol.ts'
import { simulate } from './simulator.ts'
import { Talk } from './talk.ts'

export const settings = v.strictObject({
  outward_steps: v.optional(
    v.pipe(
      v.number(),
      v.integer(),
      v.minValue(1),
      v.maxValue(60),
      v.description('How many times the conveyor has to go out by 7 mm until it is out'),
    ),
    25,
  ),
})
export type Settings = v.InferOutput<typeof settings>

export const driver: Driver<Settings> = {
  type: 'peeler',
  about: { instrument: 'Azenta XPeel' },
  settings,
  serial: { baud: 9600 },
  profile,
  errors: () => errorTable,
  open,
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

function open({ line, clock, settings }: { line: Line; clock: Clock; settings: Settings }): Device {
  const going = new Going(line)
  const talk = new Talk(line, clock)

  /** A motion clears the codes of the one before, and a reset is one that brings it to where it takes a plate. */
  async function initialize(_params: object, signal: AbortSignal): Promise<Learned> {
    await talk.still()
    talk.forgetRestart()
    const found = await identify()
    await talk.codes()
    await talk.move(reset, reset_s, signal)
    return { identity: found }
  }

  async function identify(): Promise<Identity> {
    return { model: 'XPeel', serial_number: null, firmware_version: await talk.version() }
  }

  async function moveOut(signal: AbortSignal): Promise<void> {
    for (let step = 0; step < settings.outward_steps; step++) await talk.move(conveyorOut, step_s, signal)
  }

  /**
   * No command is known that ends a motion, and those that home it would begin another. So what is written is a question that
   * moves nothing, and it is halted when it has said that its motion is done, and answers.
   */
  async function halt(): Promise<void> {
    going.end(new LabError('stopped', 'interrupted by a stop'))
    talk.interrupt(askVersion)
    await talk.still()
    talk.forgetRestart()
    await talk.codes()
  }

  return {
    initialize: going.operation(initialize),
    peel: going.operation(({ parameter_set, adhere }: { parameter_set: number; adhere: number }, signal) =>
      talk.move(peel(parameter_set, adhere), peel_s, signal),
    ),
    open: going.operation((_params: object, signal) => moveOut(signal)),
    close: going.operation((_params: object, signal) => talk.move(conveyorIn, step_s, signal)),
    identify,
    check: () => talk.mustBeWell(),
    halt,
  }
}
