// BigBear orbital shaker, a single unit. It answers one question only, in which the driver looks for the effect of each command.

import * as v from 'valibot'
import type { Device, Identity, Profile } from '../../src/devices/device.ts'
import { LabError } from '../../src/errors.ts'
import { sleep } from '../../src/kit/clock.ts'
import { described, Whole } from '../../src/kit/described.ts'
import type { Driver, SerialMount } from '../driver.ts'
import { keepTime, repeatUntil, until } from '../host_timed.ts'
import { OperationRunner } from '../operation_runner.ts'
import { nextLine } from '../text_lines.ts'
import { Exchange } from '../transports/exchange.ts'
import { WithMount } from '../with_mount.ts'
import { ask, encode, findHome, isRefusal, readState, type State, signature, start, stop } from './protocol.ts'
import { simulate } from './simulator.ts'

export const settings = v.strictObject({
  acceleration: v.optional(v.nullable(described(Whole(1, 10), 'On its own scale, 1 to 10; null leaves what the instrument has')), null),
})
type Settings = v.InferOutput<typeof settings>

export const driver: Driver<Settings> = {
  type: 'shaker',
  about: { instrument: 'BigBear orbital' },
  typical: { initialize_s: 2.3 },
  settings,
  // Units use one or two stop bits. A port that sends two and receives one works with both.
  serial: { baud: 9600, stop_bits: 2 },
  signature,
  profile,
  open: (at) => new BigBear(at),
  simulate,
}

const reply_ms = 1000
/** The time after a homing command in which the shaker still reports its previous state. */
const homing_ms = 1000
const homing_s = 30
const stopping_s = 60
const ramp_s = 30
const look_ms = 500

function profile(): Profile {
  return {
    model: 'BigBear',
    limits: {
      speed: { min: 60, max: 3570, unit: 'rpm', step: 1 },
      duration: { min: 1, max: 86_400, unit: 's', step: 0.1 },
    },
    features: { autonomous_timer: false },
    ends_early: ['shake'],
  }
}

/** Turns the operations of a BigBear shaker into its commands. */
class BigBear extends WithMount<SerialMount<Settings>> implements Device {
  readonly #runner = new OperationRunner(this.at.line)
  /** Whether the shaker refused a command since the last question. */
  #refused = false
  readonly #exchange = new Exchange<string, string>(this.at.line, {
    framer: nextLine,
    encode,
    gap_ms: 100,
    resync: { question: ask, recognises: (text) => readState(text) !== undefined },
    unsolicited: (text) => {
      this.#refused ||= isRefusal(text)
      return isRefusal(text)
    },
  })

  async #state(): Promise<State> {
    return readState(await this.#exchange.query(ask, { deadline_ms: reply_ms, accepts: (text) => readState(text) !== undefined }))!
  }

  async #tell(command: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    await this.#exchange.tell(command)
  }

  /** Sends a command, then asks for the state: a refusal arrives before the answer. */
  async #tellAndLook(command: string, signal: AbortSignal): Promise<State> {
    this.#refused = false
    await this.#tell(command, signal)
    const now = await this.#state()
    if (this.#refused)
      throw new LabError('device_failed', `it refused ${command}; see that it is a single unit and no chain, then initialize`)
    return now
  }

  /** Returns a fixed model: the shaker has no identity query, but its answers are unlike any other instrument's. */
  async identify(): Promise<Identity> {
    await this.#state()
    return { model: 'BigBear', serial_number: null, firmware_version: null }
  }

  readonly initialize = this.#runner.operation(async (_params: object, signal) => {
    await this.#mustRest('initialize')
    if (this.at.settings.acceleration !== null) await this.#tellAndLook(`A${this.at.settings.acceleration}`, signal)
    await this.#goHome(signal)
    return { identity: await this.identify() }
  })

  async #mustRest(what: string): Promise<void> {
    const now = await this.#state()
    if (now !== 'STOP') throw new LabError('interlock', `it says ${now}; wait until it is at rest, or stop it, then ${what}`)
  }

  async #goHome(signal: AbortSignal): Promise<void> {
    this.#refused = false
    await this.#tell(findHome, signal)
    await sleep(this.at.clock, homing_ms, signal)
    const late = (now: State) => `it did not find home: it says ${now}; see what blocks it, then initialize`
    const homing = { clock: this.at.clock, going: signal, within_s: homing_s, every_ms: look_ms }
    await until(
      homing,
      () => this.#state(),
      (now) => now === 'STOP',
      late,
    )
    if (this.#refused) throw new LabError('device_failed', 'it refused to find home; see what blocks it, then initialize')
  }

  readonly shake = this.#runner.operation(async ({ speed, duration }: { speed: number; duration: number }, signal) => {
    await this.#mustRest('shake')
    await this.#tellAndLook(`V${speed}`, signal)
    await this.#tellAndLook(start, signal)
    const keeping = { clock: this.at.clock, duration, going: signal, early: this.#runner.early, slowDown: () => this.#slowDown() }
    await keepTime(keeping, async (seconds) => mustShake(await this.#state(), seconds))
    await this.#stopTurning(signal)
    await this.#goHome(signal)
  })

  readonly end = () => this.#runner.early.ask()

  /** Repeats the stop until the shaker reports that it slows down. */
  async #slowDown(): Promise<void> {
    await this.#exchange.tell(stop)
    const obeyed = async () => !isDriven(await this.#state())
    await repeatUntil(obeyed, () => this.#exchange.tell(stop), 'it still turns after a stop')
  }

  /** The shaker does not acknowledge a stop, so the stop is repeated while it does not slow down. */
  async #stopTurning(signal: AbortSignal): Promise<void> {
    const look = async () => {
      const now = await this.#state()
      if (isDriven(now)) await this.#tell(stop, signal)
      return now
    }
    await this.#tell(stop, signal)
    const late = (now: State) => `after a stop it says ${now}; use its power switch`
    await until({ clock: this.at.clock, going: signal, within_s: stopping_s, every_ms: look_ms }, look, (now) => now === 'STOP', late)
  }

  async check(): Promise<void> {
    await this.#state()
  }

  async halt(): Promise<void> {
    this.#runner.stop()
    this.#exchange.interrupt(stop)
    const obeyed = async () => !isDriven(await this.#state())
    await repeatUntil(obeyed, () => this.#exchange.tell(stop), 'it still turns after a stop')
  }
}

function mustShake(now: State, seconds: number): void {
  if (now === 'RUN' || (now === 'RAMP+' && seconds < ramp_s)) return
  throw new LabError('device_failed', `it says ${now} after ${Math.round(seconds)} s and should shake; see what blocks it, then initialize`)
}

/** Whether it turns, and was not stopped. */
function isDriven(state: State): boolean {
  return state === 'RUN' || state === 'RAMP+'
}
