// Hettich robotic centrifuges of the second generation: ROTANTA 460, ROTINA 380, MIKRO 220. A hatch in the lid, and a rotor that stops under it.

import * as v from 'valibot'
import type { Device, Identity, Profile, UnderWay } from '../../src/devices/device.ts'
import { LabError } from '../../src/errors.ts'
import { sleep } from '../../src/kit/clock.ts'
import { described, Whole } from '../../src/kit/described.ts'
import type { Driver, SerialMount } from '../driver.ts'
import { onceStarted } from '../host_timed.ts'
import { OperationRunner } from '../operation_runner.ts'
import { reports } from '../reported.ts'
import { WithMount } from '../with_mount.ts'
import { errorTable } from './errors.ts'
import { codes, commands, forceOf, hatchOf, rotorOf, rpmOf, secondGeneration, signature, stateOf, types } from './protocol.ts'
import { simulate } from './simulator.ts'
import { Spin } from './spin.ts'
import { Talk } from './talk.ts'

export const settings = v.strictObject({
  address: v.optional(
    described(v.pipe(v.string(), v.regex(/^[A-Z[\\\]]$/, 'must be one of A to Z, [, \\ and ]')), 'As set at its panel'),
    ']',
  ),
  radius: v.optional(described(Whole(20, 400), 'From the axis to the bottom of the labware, in mm', 'mm'), 160),
  highest_rpm: v.optional(described(Whole(300, 18_000), 'The highest speed that a request may ask for', 'rpm'), 4000),
  position: v.optional(described(Whole(1, 48), 'The rotor position that stands under the hatch'), 1),
})
export type Settings = v.InferOutput<typeof settings>

export const driver: Driver<Settings> = {
  type: 'centrifuge',
  about: { instrument: 'Hettich ROTANTA 460, ROTINA 380, MIKRO 220 Robotic' },
  typical: { initialize_s: 5 },
  settings,
  serial: { baud: 9600, data_bits: 7, parity: 'even' },
  signature,
  profile,
  errors: () => errorTable,
  open: (at) => new Hettich(at),
  simulate,
}

const lowest_g = 10
const look_ms = 500
const hatch_s = 25
const positioning_s = 25
/** The looks at a centrifuge that was stopped, until the service is told that it does not obey. */
const stoppedLooks = 10

function profile({ radius, highest_rpm }: Settings): Profile {
  return {
    model: 'Hettich Robotic',
    limits: {
      g: { min: lowest_g, max: Math.floor(forceOf(highest_rpm, radius)), unit: '×g', step: 1 },
      duration: { min: 1, max: 36_000, unit: 's', step: 1 },
    },
    features: { door: true, autonomous_timer: true },
  }
}

/** Turns the operations of a Hettich robotic centrifuge into its parameters. */
class Hettich extends WithMount<SerialMount<Settings>> implements Device {
  readonly #runner = new OperationRunner(this.at.line)
  readonly #talk = new Talk({ line: this.at.line, address: this.at.settings.address })

  /** Brings the rotor position under the hatch, which stays as it is. */
  readonly initialize = this.#runner.operation(async (_params: object, signal) => {
    const identity = await this.identify()
    await this.#talk.beginAnew()
    await this.#mustRest()
    await this.#present(signal)
    return { identity }
  })

  async identify(): Promise<Identity> {
    if ((await this.#talk.ask(codes.generation)) !== secondGeneration)
      throw new LabError('device_failed', 'it is no robotic centrifuge of the second generation, which alone this driver knows')
    const type = await this.#talk.ask(codes.type)
    const version = (await this.#talk.ask(codes.version)).toString(16).padStart(4, '0')
    const model = types[type] ?? `Hettich type ${type.toString(16).toUpperCase()}`
    return { model, serial_number: null, firmware_version: `${version.slice(0, 2)}.${version.slice(2)}` }
  }

  async check(): Promise<void> {
    await this.#talk.mustRunOn()
    await this.#state()
  }

  /** Reads the state of a run. Throws `device_failed` with the number of an error. */
  async #state() {
    const state = stateOf(await this.#talk.ask(codes.state))
    if (state.error !== null) throw reports(errorTable, [state.error])
    return state
  }

  async #hatch() {
    return hatchOf(await this.#talk.ask(codes.hatch))
  }

  /** Throws `interlock` unless it stands still, with its lid closed, and takes commands of a computer. */
  async #mustRest(): Promise<void> {
    await this.#talk.mustRunOn()
    const { isRemote, lidClosed } = rotorOf(await this.#talk.ask(codes.rotor))
    if (!isRemote) throw new LabError('interlock', 'its key switch is not in position LOCK 2; turn it there')
    if (!lidClosed) throw new LabError('interlock', 'its lid is open; close it')
    const { phase } = await this.#state()
    if (phase !== 'standstill') throw new LabError('interlock', 'its rotor is turning; stop it, or wait until it is at rest')
    const { isMoving, rotorMoves } = await this.#hatch()
    if (isMoving || rotorMoves) throw new LabError('interlock', 'its hatch or its rotor moves; wait until they are at rest')
  }

  /** Turns the rotor position slowly under the hatch, unless it is held there. */
  async #present(signal: AbortSignal): Promise<void> {
    const target = await this.#talk.ask(codes.target)
    const [count, now] = [target >> 8, target & 0xff]
    const { position } = this.at.settings
    if (position > count)
      throw new LabError('interlock', `its rotor has ${count} positions, and position ${position} is set; see its settings`)
    if (now === position && (await this.#hatch()).isInPosition) return
    if (now !== position) await this.#talk.set({ code: codes.target, value: (count << 8) | position }, signal)
    await onceStarted(async () => {
      await this.#talk.set(commands.positionSlowly, signal)
      await this.#until(({ isInPosition }) => isInPosition, positioning_s, 'its rotor is not in position', signal)
    })
  }

  readonly open = this.#runner.operation(async (_params: object, signal) => {
    await this.#mustRest()
    if ((await this.#hatch()).isOpen) return
    await this.#present(signal)
    await this.#moveHatch(commands.openHatch, ({ isOpen }) => isOpen, 'its hatch is not open', signal)
  })

  readonly close = this.#runner.operation(async (_params: object, signal) => {
    await this.#mustRest()
    if ((await this.#hatch()).isClosed) return
    await this.#moveHatch(commands.closeHatch, ({ isClosed }) => isClosed, 'its hatch is not closed', signal)
  })

  #moveHatch(command: { code: string; value: number }, isThere: Seen, late: string, signal: AbortSignal): Promise<void> {
    return onceStarted(async () => {
      await this.#talk.set(command, signal)
      await this.#until(isThere, hatch_s, late, signal)
    })
  }

  /** Waits until the hatch or the rotor under it is as wanted. */
  async #until(isThere: Seen, within_s: number, late: string, signal: AbortSignal): Promise<void> {
    const { clock } = this.at
    for (const end = clock.now() + within_s * 1000; ; ) {
      const seen = await this.#hatch()
      if (seen.hasFailed)
        throw new LabError(
          'device_failed',
          `${late}, and it reports a fault of the hatch or of the position; see what blocks it, then initialize`,
        )
      if (isThere(seen)) return
      await this.#talk.mustRunOn()
      if (clock.now() > end) throw new LabError('no_reply', `${late} after ${within_s} s; see what blocks it, then initialize`)
      await sleep(clock, look_ms, signal)
    }
  }

  readonly centrifuge = this.#runner.operation(async ({ g, duration }: { g: number; duration: number }, signal) => {
    await this.#mustRest()
    const rpm = rpmOf(g, this.at.settings.radius)
    const { hasRotor, isWornOut } = rotorOf(await this.#talk.ask(codes.rotor))
    if (!hasRotor) throw new LabError('interlock', 'it finds no rotor; put one in')
    if (isWornOut) throw new LabError('interlock', 'its rotor has done all its cycles; replace it')
    const highest = await this.#talk.ask(codes.highest_speed)
    if (rpm > highest) throw new LabError('invalid', `${g} ×g would be ${rpm} rpm, and its rotor takes ${highest} rpm`)
    const hatch = await this.#hatch()
    if (!hatch.isClosed) throw new LabError('interlock', 'its hatch is not closed; close it first')
    await onceStarted(async () => {
      if (hatch.isPositioning) {
        await this.#talk.set(commands.endPositioning, signal)
        await this.#until(({ isPositioning }) => !isPositioning, positioning_s, 'its rotor is still held in position', signal)
      }
      await new Spin({ talk: this.#talk, clock: this.at.clock, state: () => this.#state() }, { rpm, duration }, signal).run()
      await this.#present(signal)
    })
  })

  /** A run ends by its own timer. */
  async underWay(): Promise<UnderWay | null> {
    const { phase } = await this.#state()
    if (phase !== 'accelerating' && phase !== 'centrifuging' && phase !== 'braking') return null
    const left = (await this.#talk.ask(codes.run_time)) - (await this.#talk.ask(codes.elapsed))
    return { operation: 'centrifuge', seconds_left: Math.max(0, left) }
  }

  /** Brakes the rotor. A hatch, and a rotor that turns to a position, come to their end: no command that stops them is known. */
  async halt(): Promise<void> {
    this.#runner.stop()
    this.#talk.interrupt(commands.stop)
    for (let looks = 0; looks < stoppedLooks; looks++) {
      const { phase } = stateOf(await this.#talk.ask(codes.state))
      const { isMoving, rotorMoves } = await this.#hatch()
      const isDriven = phase !== 'standstill' && phase !== 'braking'
      if (!isDriven && !isMoving && !rotorMoves) return
      if (isDriven) await this.#talk.insist(commands.stop)
      await sleep(this.at.clock, look_ms)
    }
    throw new LabError('device_failed', 'it still moves after a stop; press its STOP key, or switch it off')
  }
}

type Seen = (hatch: ReturnType<typeof hatchOf>) => boolean
