// The OHAUS Endeavor 5000 shaker. Its own timer ends a shake; only its state shows what it has done.

import * as v from 'valibot'
import type { Device, EndedEarly, Identity, UnderWay } from '../../src/devices/device.ts'
import { LabError } from '../../src/errors.ts'
import { sleep } from '../../src/kit/clock.ts'
import { described, Whole } from '../../src/kit/described.ts'
import type { Driver, SerialMount } from '../driver.ts'
import { mustTurn, repeatUntil, until } from '../host_timed.ts'
import { OperationRunner } from '../operation_runner.ts'
import { inWords as errorsInWords, reports } from '../reported.ts'
import { nextLine } from '../text_lines.ts'
import { Exchange } from '../transports/exchange.ts'
import { WithMount } from '../with_mount.ts'
import { errorTable } from './errors.ts'
import { askState, clockFace, parseState, type State, signature } from './protocol.ts'
import { simulate } from './simulator.ts'

const Rpm = Whole(1, 9999)
export const settings = v.pipe(
  v.strictObject({
    min_speed: v.optional(described(Rpm, 'Slowest speed of the model, in rpm'), 20),
    max_speed: v.optional(described(Rpm, 'Fastest speed of the model, in rpm'), 500),
  }),
  v.check(({ min_speed, max_speed }) => min_speed < max_speed, 'min_speed has to be less than max_speed'),
)
type Settings = v.InferOutput<typeof settings>

type Shaking = { speed: number; duration: number }

/** The longest time that hh:mm:ss can express. */
const longest_s = 99 * 3600 + 59 * 60 + 59
const reply_ms = 1000
/** The intervals of the state query: during a shake, and after its duration until it rests. */
const look_ms = 2000
const lookSoon_ms = 300
const ramp_s = 20
/** The tolerance for the instrument's clock, as a share of the duration. */
const drift = 0.001
/** The overrun after which the timer counts as failed. */
const overrun_s = 15

export const driver: Driver<Settings> = {
  type: 'shaker',
  about: { instrument: 'OHAUS Endeavor 5000' },
  typical: { initialize_s: 0.1 },
  settings,
  serial: { baud: 9600 },
  // A short operation would be over before a test looks.
  trial: { pace: 10 },
  signature,
  errors: () => errorTable,
  profile: ({ min_speed, max_speed }) => ({
    model: 'Endeavor 5000',
    limits: {
      speed: { min: min_speed, max: max_speed, unit: 'rpm', step: 1 },
      duration: { min: 1, max: longest_s, unit: 's', step: 1 },
    },
    features: { autonomous_timer: true },
    ends_early: ['shake'],
  }),
  open: (at) => new Endeavor(at),
  simulate,
}

/** Turns the operations of an Endeavor shaker into its commands. */
class Endeavor extends WithMount<SerialMount<Settings>> implements Device {
  readonly #runner = new OperationRunner(this.at.line)
  readonly #exchange = new Exchange<string, string>(this.at.line, {
    framer: nextLine,
    encode: (words) => Buffer.from(`${words}\r\n`, 'latin1'),
    gap_ms: 50,
    resync: { question: askState, recognises: isState, deadline_ms: reply_ms },
  })

  async #look(): Promise<State> {
    return parseState(await this.#exchange.query(askState, { deadline_ms: reply_ms, accepts: isState }))!
  }

  /** Sends a command that has no answer; the state shows the effect. */
  async #tell(words: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    await this.#exchange.tell(words)
  }

  async identify(): Promise<Identity> {
    return identityOf(await this.#look())
  }

  readonly initialize = this.#runner.operation(async (_params: object, signal) => {
    const found = await this.#look()
    if (moves(found)) throw new LabError('interlock', `it moves (${inWords(found)}); wait until it is at rest, or stop it, then initialize`)
    if (found.mode !== 'idle') await this.#tell('STOP_SHAKE', signal)
    await this.#rest(signal)
    return { identity: identityOf(found) }
  })

  readonly shake = this.#runner.operation(async (asked: Shaking, signal) => {
    mustBeFree(await this.#look())
    await this.#prepare(asked, signal)
    await this.#tell('START_SHAKE', signal)
    const began = this.at.clock.now()
    // A shake of a second may be over already while the table still turns.
    await this.#shows(signal, 3, moves, 'the shaker did not start')
    await this.#untilShaken(began, asked, signal)
    await this.#rest(signal)
  })

  /** Sets speed and timer, and throws unless both are confirmed. The shaker then ends the shake by itself, also without the service. */
  async #prepare({ speed, duration }: Shaking, signal: AbortSignal): Promise<void> {
    await this.#tell(`TARGET_SPEED ${speed}`, signal)
    await this.#tell(`TIMER ${clockFace(duration)}`, signal)
    const taken = ({ target, timer_s }: State) => target === speed && timer_s === duration
    await this.#shows(
      signal,
      3,
      taken,
      `the shaker did not take ${speed} rpm and ${clockFace(duration)}; check that the settings have its limits`,
    )
  }

  async #untilShaken(began: number, asked: Shaking, signal: AbortSignal): Promise<void> {
    for (;;) {
      const left = began + asked.duration * 1000 - this.at.clock.now()
      await this.#runner.early.sleep(this.at.clock, left > 0 ? Math.min(left, look_ms) : lookSoon_ms, signal)
      const ended = { seconds_left: asked.duration - (this.at.clock.now() - began) / 1000, going: signal }
      if (await this.#runner.early.carriedOut(ended, () => this.#stopShaking())) return
      const state = await this.#look()
      const seconds = (this.at.clock.now() - began) / 1000
      if (hasEnded(state, seconds, asked)) return
      mustGoOn(state, seconds, asked)
    }
  }

  async end(): Promise<EndedEarly> {
    if (!this.#runner.isIdle) return this.#runner.early.ask()
    // A shake from before this start of the service.
    const { timer_s } = await this.#look()
    await this.#stopShaking()
    return { seconds_left: timer_s }
  }

  /** The shaker does not acknowledge a stop, so the stop is repeated while it shakes. */
  async #stopShaking(): Promise<void> {
    const tell = () => this.#exchange.tell('STOP_SHAKE')
    await tell()
    await this.#mustHaveStopped(tell)
  }

  async #mustHaveStopped(again: () => Promise<void>): Promise<void> {
    await repeatUntil(async () => hasStopped(await this.#look()), again, 'it still shakes after a stop')
  }

  #rest(signal: AbortSignal): Promise<void> {
    return this.#shows(signal, 30, atRest, 'the shaker does not come to rest; switch it off and on')
  }

  /** Repeats the state query until the state passes. */
  #shows(signal: AbortSignal, within_s: number, passes: (state: State) => boolean, otherwise: string): Promise<void> {
    const late = (state: State) => `${otherwise}; it shows ${inWords(state)}; then initialize`
    return until({ clock: this.at.clock, going: signal, within_s, every_ms: lookSoon_ms }, () => this.#look(), passes, late)
  }

  /** Reads the state twice, because a single reading cannot distinguish a timer that counts up, and never ends, from one that counts down. */
  async underWay(): Promise<UnderWay | null> {
    const before = await this.#look()
    if (before.mode !== 'shaking') return null
    await sleep(this.at.clock, 1500)
    const { mode, timer_s } = await this.#look()
    return mode === 'shaking' && timer_s < before.timer_s ? { operation: 'shake', seconds_left: timer_s } : null
  }

  async check(): Promise<void> {
    mustBeWell(await this.#look())
  }

  async halt(): Promise<void> {
    this.#runner.stop()
    this.#exchange.interrupt('STOP_SHAKE')
    await this.#mustHaveStopped(() => this.#exchange.tell('STOP_SHAKE'))
  }
}

function isState(line: string): boolean {
  return parseState(line) !== undefined
}

function moves({ mode, measured }: State): boolean {
  return mode === 'shaking' || measured > 0
}

function atRest({ mode, measured }: State): boolean {
  return mode === 'idle' && measured === 0
}

/** Whether the shaker has stopped. A shaker with an error does not drive the motor, and may stay in that state. */
function hasStopped({ mode, measured }: State): boolean {
  return mode === 'idle' || (mode === 'error' && measured === 0)
}

/** Whether the shake has ended. Throws `device_failed` if it ended too early, by a stop at the instrument or a restart. */
function hasEnded({ mode }: State, seconds: number, { duration }: Shaking): boolean {
  if (mode !== 'idle') return false
  if (seconds >= duration * (1 - drift) - 2) return true
  throw failed(`it stopped after ${Math.round(seconds)} s of ${duration} s; see who stopped it, or whether it lost its power`)
}

function mustGoOn(state: State, seconds: number, { speed, duration }: Shaking): void {
  mustBeWell(state)
  if (state.mode === 'paused') throw failed('somebody paused it at its buttons')
  if (seconds > duration * (1 + drift) + overrun_s)
    throw failed(`it shakes for ${Math.round(seconds)} s and should have stopped after ${duration} s`)
  if (seconds > ramp_s && state.timer_s >= duration) throw failed('its timer does not count down')
  if (seconds < duration) mustTurn({ asked: speed, actual: state.measured, tolerance: Math.max(10, speed * 0.05), seconds, ramp_s })
}

function mustBeFree(state: State): void {
  mustBeWell(state)
  if (atRest(state)) return
  throw new LabError('interlock', `it is not at rest (${inWords(state)}); end that at its buttons, or initialize`)
}

function mustBeWell(state: State): void {
  if (state.mode === 'error') {
    if (/^\d+$/.test(state.error)) throw reports(errorTable, [Number(state.error)])
    throw failed(`it reports error ${state.error || 'without a number'}; see its display`)
  }
  if (state.mode === 'unknown') throw failed(`it says ${inWords(state)}, which is in no list of ours; look at its display`)
}

function failed(sentence: string): LabError {
  return new LabError('device_failed', `${sentence}; then initialize`)
}

function inWords({ mode, timer_s, target, measured, error }: State): string {
  return `mode ${mode}, ${measured} rpm of ${target}, timer ${clockFace(timer_s)}${Number(error) ? `, ${errorsInWords(errorTable, [Number(error)])}` : ''}`
}

/** Returns the identity: the protocol gives the model, and the number that the lab has set is the only other information. */
function identityOf({ id }: State): Identity {
  return { model: 'Endeavor 5000', serial_number: String(id), firmware_version: null }
}
