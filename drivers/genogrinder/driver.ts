// The SPEX GenoGrinder: it locks and shakes plates for a time that it keeps itself, and tells its state in words.

import type { Device, Identity, Profile } from '../../src/devices/device.ts'
import { LabError } from '../../src/errors.ts'
import { sleep } from '../../src/kit/clock.ts'
import type { Driver, SerialMount } from '../driver.ts'
import { onceStarted } from '../host_timed.ts'
import { OperationRunner } from '../operation_runner.ts'
import { nextLine } from '../text_lines.ts'
import { Exchange } from '../transports/exchange.ts'
import { WithMount } from '../with_mount.ts'
import {
  askClamp,
  askState,
  clearError,
  closeClamp,
  done,
  initialize,
  isClamp,
  isError,
  isState,
  openClamp,
  parametersOf,
  parseState,
  type State,
  signature,
  start,
  stop,
} from './protocol.ts'
import { type Settings, settings } from './settings.ts'
import { simulate } from './simulator.ts'

type Shaking = { speed: number; duration: number }

export const driver: Driver<Settings> = {
  type: 'shaker',
  about: { instrument: 'Cole-Parmer SPEX GenoGrinder', operations: 'by settings' },
  typical: { initialize_s: 5.3 },
  trial: { variants: [{ clamp: false }] },
  settings,
  serial: { baud: 9600 },
  signature,
  profile,
  open: (at) => new GenoGrinder(at),
  simulate,
}

const reply_ms = 1000
/** The limits for homing, and for a motion of the clamp. */
const homing_ms = 50_000
const clamp_ms = 25_000
const look_ms = 500
const stopping_ms = 30_000
/** How much longer than its time a run may take, with locking and unlocking, and how much less of it may be seen between two looks. */
const overrun_s = 60
const early_s = 1.5
const drift = 0.01

function profile({ min_speed, max_speed, clamp }: Settings): Profile {
  return {
    model: 'GenoGrinder',
    limits: {
      speed: { min: min_speed, max: max_speed, unit: 'rpm', step: 1 },
      duration: { min: 1, max: 999, unit: 's', step: 1 },
    },
    features: { autonomous_timer: true, ...(clamp && { locking: true }) },
  }
}

class GenoGrinder extends WithMount<SerialMount<Settings>> implements Device {
  readonly #runner = new OperationRunner(this.at.line)
  readonly #exchange = new Exchange<string, string>(this.at.line, {
    framer: nextLine,
    encode: (frame) => Buffer.from(`${frame}\r`, 'latin1'),
    gap_ms: 50,
    resync: this.at.settings.clamp
      ? { question: askClamp, recognises: isClamp, deadline_ms: reply_ms }
      : { question: askState, recognises: isState, deadline_ms: reply_ms },
  })
  readonly lock_plate = this.at.settings.clamp ? this.#clamp(closeClamp, done.clampClosed) : undefined
  readonly unlock_plate = this.at.settings.clamp ? this.#clamp(openClamp, done.clampOpen) : undefined

  /** Finds home. An error is cleared first. */
  readonly initialize = this.#runner.operation(async (_params: object, signal) => {
    const state = await this.#look()
    mustNotMove(state)
    if (state.phase === 'error') {
      signal.throwIfAborted()
      await this.#exchange.tell(clearError)
    }
    await this.#command(initialize, done.initialized, signal, homing_ms)
    mustBeWell(await this.#look())
    return { identity: await this.identify() }
  })

  readonly shake = this.#runner.operation(async (asked: Shaking, signal) => {
    await this.#mustBeReady()
    await this.#command(parametersOf(asked), done.parametersSet, signal)
    const began = this.at.clock.now()
    await this.#command(start, done.running, signal)
    await onceStarted(() => this.#untilShaken(began, asked, signal))
  })

  /** The model is inferred: no other known instrument answers so. */
  async identify(): Promise<Identity> {
    await this.#look()
    return { model: 'GenoGrinder', serial_number: null, firmware_version: null }
  }

  async check(): Promise<void> {
    mustBeWell(await this.#look())
  }

  /** The answer to a stop is not known, so that only the state counts. The stop is repeated while the state says that a run goes on. */
  async halt(): Promise<void> {
    this.#runner.stop()
    this.#exchange.interrupt(stop)
    const { clock } = this.at
    const until = clock.now() + stopping_ms
    for (;;) {
      const { phase, words } = await this.#look()
      if (phase !== 'run' && phase !== 'busy') return
      if (clock.now() > until)
        throw new LabError('device_failed', `it was stopped and still says ${JSON.stringify(words)}; use its power switch, then initialize`)
      await sleep(clock, look_ms)
      if (phase === 'run') this.#exchange.interrupt(stop)
    }
  }

  async #look(): Promise<State> {
    return parseState(await this.#exchange.query(askState, { deadline_ms: reply_ms, accepts: isState }))!
  }

  /** Sends a command once, and waits for the words that say that it is done. */
  async #command(frame: string, reached: RegExp, signal: AbortSignal, deadline_ms = reply_ms): Promise<void> {
    signal.throwIfAborted()
    const accepts = (line: string) => reached.test(line) || isError(line)
    const line = await this.#exchange.command(frame, { deadline_ms, accepts, isLikelySilent: deadline_ms > reply_ms })
    if (!reached.test(line)) throw failed(line)
  }

  /** Makes an operation that moves the clamp, unless it stands there already. */
  #clamp(frame: string, there: RegExp) {
    return this.#runner.operation(async (_params: object, signal) => {
      const state = await this.#look()
      mustBeWell(state)
      mustNotMove(state)
      if (there.test(await this.#askClamp())) return
      await this.#command(frame, there, signal, clamp_ms)
      if (!there.test(await this.#askClamp()))
        throw new LabError('device_failed', 'its clamp did not arrive; see what blocks it, then initialize')
    })
  }

  #askClamp(): Promise<string> {
    return this.#exchange.query(askClamp, { deadline_ms: reply_ms, accepts: isClamp })
  }

  async #mustBeReady(): Promise<void> {
    const state = await this.#look()
    mustBeWell(state)
    mustNotMove(state)
    if (!this.at.settings.clamp) return
    if (!done.clampClosed.test(await this.#askClamp())) throw new LabError('interlock', 'its clamp is not closed; call lock_plate first')
  }

  /** A run has been done when the instrument has mixed for its time. One whose mixing was never seen has to have lasted that long. */
  async #untilShaken(began: number, { duration }: Shaking, signal: AbortSignal): Promise<void> {
    let mixedSince: number | undefined
    for (;;) {
      await sleep(this.at.clock, look_ms, signal)
      const state = await this.#look()
      const now = this.at.clock.now()
      mustBeWell(state)
      if (state.words === 'Mixing') mixedSince ??= now
      const seconds = (now - (mixedSince ?? began)) / 1000
      const least = mixedSince === undefined ? duration : duration * (1 - drift) - early_s
      if (state.phase === 'rest' && seconds >= least) return
      if (state.phase === 'rest') throw endedEarly(seconds, duration)
      if (seconds > duration * (1 + drift) + overrun_s) throw overran(seconds, duration)
    }
  }
}

function endedEarly(seconds: number, duration: number): LabError {
  const after = `${Math.round(seconds)} s of ${duration} s`
  return new LabError('device_failed', `it stopped after ${after}; see who stopped it, or whether it lost its power, then initialize`)
}

function overran(seconds: number, duration: number): LabError {
  const after = `${Math.round(seconds)} s and should have ended after ${duration} s`
  return new LabError('device_failed', `it goes on after ${after}; see what it does, then initialize`)
}

function mustNotMove({ phase, words }: State): void {
  if (phase === 'rest' || phase === 'error') return
  throw new LabError('interlock', `it says ${JSON.stringify(words)}; wait until it is at rest, or stop it, then try again`)
}

function mustBeWell({ phase, words }: State): void {
  if (phase === 'error') throw failed(words)
}

/** The instrument has no list of errors that we know: its own words are told. */
function failed(words: string): LabError {
  const quoted = JSON.stringify(words.slice(0, 60))
  return new LabError(
    'device_failed',
    `it reports ${quoted}; read its display, see what blocks the clamp and that the lid is closed, then initialize`,
  )
}
