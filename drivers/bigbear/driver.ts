// BigBear orbital shaker, a single unit. It answers one question only, so whatever it was told is looked for in that answer.

import * as v from 'valibot'
import type { Device, Identity, Learned, Profile } from '../../src/devices/device.ts'
import { LabError } from '../../src/errors.ts'
import { type Clock, sleep } from '../../src/kit/clock.ts'
import type { Driver } from '../driver.ts'
import { Going } from '../going.ts'
import { keepTime, until } from '../host_timed.ts'
import { nextLine } from '../text_lines.ts'
import { Exchange } from '../transports/exchange.ts'
import type { Line } from '../transports/line.ts'
import { ask, encode, findHome, isRefusal, readState, type State, start, stop } from './protocol.ts'
import { simulate } from './simulator.ts'

export const settings = v.strictObject({
  acceleration: v.optional(
    v.nullable(
      v.pipe(
        v.number(),
        v.integer(),
        v.minValue(1),
        v.maxValue(10),
        v.description('On its own scale, 1 to 10; null leaves what the instrument has'),
      ),
    ),
    null,
  ),
})
export type Settings = v.InferOutput<typeof settings>

export const driver: Driver<Settings> = {
  type: 'shaker',
  about: { instrument: 'BigBear orbital' },
  settings,
  // Some send one stop bit and some two: who sends two and takes one gets on with both.
  serial: { baud: 9600, stop_bits: 2 },
  profile,
  open,
  simulate,
}

const reply_ms = 1000
/** After it was told to go home it says for a while what it was before. */
const homing_ms = 1000
const homing_s = 30
const stopping_s = 60
const ramp_s = 30
const look_ms = 500
const tries = 5

function profile(): Profile {
  return {
    model: 'BigBear',
    limits: {
      speed: { min: 60, max: 3570, unit: 'rpm', step: 1 },
      duration: { min: 1, max: 86_400, unit: 's', step: 0.1 },
    },
    features: { autonomous_timer: false },
  }
}

type At = { line: Line; clock: Clock; settings: Settings }

function open(at: At): Device {
  return new BigBear(at).device()
}

/** Turns the operations of a BigBear shaker into its commands. */
class BigBear {
  readonly #clock: Clock
  readonly #settings: Settings
  readonly #going: Going
  /** It refused something since that was last looked at. */
  #refused = false
  readonly #exchange: Exchange<string, string>

  constructor({ line, clock, settings }: At) {
    this.#clock = clock
    this.#settings = settings
    this.#going = new Going(line)
    this.#exchange = new Exchange<string, string>(line, {
      framer: nextLine,
      encode,
      gap_ms: 100,
      resync: { question: ask, recognises: (text) => readState(text) !== undefined },
      unsolicited: (text) => {
        this.#refused ||= isRefusal(text)
        return isRefusal(text)
      },
    })
  }

  /** Has a method for each operation that this model knows. */
  device(): Device {
    return {
      initialize: this.#going.operation((params, signal) => this.#initialize(params, signal)),
      shake: this.#going.operation((params, signal) => this.#shake(params, signal)),
      identify: () => this.#identify(),
      check: async () => {
        await this.#state()
      },
      halt: () => this.#halt(),
    }
  }

  async #state(): Promise<State> {
    return readState(await this.#exchange.query(ask, { deadline_ms: reply_ms, accepts: (text) => readState(text) !== undefined }))!
  }

  async #tell(command: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    await this.#exchange.tell(command)
  }

  /** Tells it, then asks: a refusal would have come by then. */
  async #tellAndLook(command: string, signal: AbortSignal): Promise<State> {
    this.#refused = false
    await this.#tell(command, signal)
    const now = await this.#state()
    if (this.#refused)
      throw new LabError('device_failed', `it refused ${command}; see that it is a single unit and no chain, then initialize`)
    return now
  }

  /** It cannot be asked who it is; but nothing else speaks like this. */
  async #identify(): Promise<Identity> {
    await this.#state()
    return { model: 'BigBear', serial_number: null, firmware_version: null }
  }

  async #initialize(_params: object, signal: AbortSignal): Promise<Learned> {
    await this.#mustRest('initialize')
    if (this.#settings.acceleration !== null) await this.#tellAndLook(`A${this.#settings.acceleration}`, signal)
    await this.#goHome(signal)
    return { identity: await this.#identify() }
  }

  async #mustRest(what: string): Promise<void> {
    const now = await this.#state()
    if (now !== 'STOP') throw new LabError('interlock', `it says ${now}; wait until it is at rest, or stop it, then ${what}`)
  }

  async #goHome(signal: AbortSignal): Promise<void> {
    this.#refused = false
    await this.#tell(findHome, signal)
    await sleep(this.#clock, homing_ms, signal)
    const late = (now: State) => `it did not find home: it says ${now}; see what blocks it, then initialize`
    await until(
      { clock: this.#clock, going: signal, within_s: homing_s, every_ms: look_ms },
      () => this.#state(),
      (now) => now === 'STOP',
      late,
    )
    if (this.#refused) throw new LabError('device_failed', 'it refused to find home; see what blocks it, then initialize')
  }

  async #shake({ speed, duration }: { speed: number; duration: number }, signal: AbortSignal): Promise<void> {
    await this.#mustRest('shake')
    await this.#tellAndLook(`V${speed}`, signal)
    await this.#tellAndLook(start, signal)
    await keepTime({ clock: this.#clock, duration, going: signal }, async (seconds) => mustShake(await this.#state(), seconds))
    await this.#stopTurning(signal)
    await this.#goHome(signal)
  }

  /** It does not say that it heard, so it is told again while it does not slow down. */
  async #stopTurning(signal: AbortSignal): Promise<void> {
    const look = async () => {
      const now = await this.#state()
      if (isDriven(now)) await this.#tell(stop, signal)
      return now
    }
    await this.#tell(stop, signal)
    const late = (now: State) => `it was told to stop and says ${now}; use its power switch`
    await until({ clock: this.#clock, going: signal, within_s: stopping_s, every_ms: look_ms }, look, (now) => now === 'STOP', late)
  }

  async #halt(): Promise<void> {
    this.#going.end(new LabError('stopped', 'interrupted by a stop'))
    this.#exchange.interrupt(stop)
    for (let left = tries; isDriven(await this.#state()); left--) {
      if (left === 0) throw new LabError('device_failed', 'it was told to stop and still turns; use its power switch')
      await this.#exchange.tell(stop)
    }
  }
}

function mustShake(now: State, seconds: number): void {
  if (now === 'RUN' || (now === 'RAMP+' && seconds < ramp_s)) return
  throw new LabError('device_failed', `it says ${now} after ${Math.round(seconds)} s and should shake; see what blocks it, then initialize`)
}

/** It turns, and nobody has told it to stop. */
function isDriven(state: State): boolean {
  return state === 'RUN' || state === 'RAMP+'
}
