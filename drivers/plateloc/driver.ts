// The PlateLoc plate sealer: short commands at 19200 baud, each acknowledged. It reports neither its temperature nor its position.

import * as v from 'valibot'
import type { Device, Identity, Profile } from '../../src/devices/device.ts'
import type { Params } from '../../src/devices/operations.ts'
import { LabError } from '../../src/errors.ts'
import { sleep } from '../../src/kit/clock.ts'
import type { Driver, SerialMount } from '../driver.ts'
import { OperationRunner } from '../operation_runner.ts'
import { Exchange, strange } from '../transports/exchange.ts'
import { WithMount } from '../with_mount.ts'
import {
  type Acknowledgement,
  abortCycle,
  clearError,
  encode,
  heatTo,
  isComplete,
  nextAnswer,
  sealFor,
  signature,
  stageIn,
  stageOut,
  startCycle,
  verbOf,
} from './protocol.ts'
import { simulate } from './simulator.ts'

/** The sealer has no settings. */
const settings = v.strictObject({})
type Settings = v.InferOutput<typeof settings>

export const driver: Driver<Settings> = {
  type: 'sealer',
  about: { instrument: 'Agilent PlateLoc' },
  typical: { initialize_s: 0.3 },
  settings,
  serial: { baud: 19200 },
  // The PlateLoc reports no temperature and no position, and its answer to the only question after a restart is not known.
  trial: { shows_restart: false },
  signature,
  profile,
  open: (at) => new PlateLoc(at),
  simulate,
}

/** Known hosts wait 10 s for an acknowledgement; the service waits no longer than that for a temperature to be set. */
const acknowledge_ms = 8000
const query_ms = 2000
const poll_ms = 500
/** The time after which the stage has arrived; it is acknowledged at once. */
const stage_ms = 6000
/** The time of a cycle without the pressing. */
const cycle_s = 30
const heating_s = 300
const askAgain_ms = 5000
/** The lowest set point in °C, as the heater cannot be switched off. */
const coldest = 20

function profile(): Profile {
  return {
    model: 'PlateLoc',
    limits: {
      temperature: { min: coldest, max: 235, unit: '°C', step: 1 },
      duration: { min: 0.5, max: 12, unit: 's', step: 0.1 },
    },
    lowest_set_point: coldest,
    features: { heating: true, door: true },
  }
}

/** Turns the operations of a PlateLoc into its commands. */
class PlateLoc extends WithMount<SerialMount<Settings>> implements Device {
  readonly #runner = new OperationRunner(this.at.line)
  /** The answer to the last stop. */
  #aborted: Acknowledgement | undefined
  /** The estimated arrival of the stage. */
  #arrived = this.at.clock.now()
  readonly #exchange = new Exchange<Acknowledgement, string>(this.at.line, {
    framer: nextAnswer,
    encode,
    gap_ms: 50,
    resync: { question: isComplete, recognises: ({ verb }) => verb === verbOf(isComplete), deadline_ms: query_ms },
    unsolicited: (answer) => {
      if (answer.verb === verbOf(abortCycle)) this.#aborted = answer
      return false
    },
  })
  readonly open = this.#runner.operation((_params: object, signal) => this.#moveStage(stageOut, signal))
  readonly close = this.#runner.operation((_params: object, signal) => this.#moveStage(stageIn, signal))
  readonly set_temperature = this.#runner.operation(({ temperature }: Params<'set_temperature'>, signal) =>
    this.#order(heatTo(temperature ?? coldest), signal),
  )

  #ask(command: string): Promise<Acknowledgement> {
    return this.#exchange.command(command, { deadline_ms: acknowledge_ms, accepts: ({ verb }) => verb === verbOf(command) })
  }

  async #order(command: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    mustBeTaken(command, await this.#ask(command))
    signal.throwIfAborted()
  }

  /** Asks whether the cycle is complete. */
  async #complete(): Promise<boolean> {
    const { ok } = await this.#exchange.query(isComplete, { deadline_ms: query_ms, accepts: ({ verb }) => verb === verbOf(isComplete) })
    return ok
  }

  readonly initialize = this.#runner.operation(async (_params: object, signal) => {
    await this.#mustHear()
    signal.throwIfAborted()
    await this.#untilItStands(signal)
    await this.#order(clearError, signal)
    return { identity: await this.identify() }
  })

  /** Throws `no_reply` after two questions without an answer, since a resynchronization takes much longer and is useless on a dead line. */
  async #mustHear(): Promise<void> {
    const ask = { deadline_ms: query_ms, accepts: ({ verb }: Acknowledgement) => verb === verbOf(isComplete) }
    const { dropped } = this.#exchange
    if ((await this.#exchange.probe(isComplete, ask)) ?? (await this.#exchange.probe(isComplete, ask))) return
    const why = this.#exchange.dropped === dropped ? 'see that it is switched on and connected' : strange
    throw new LabError('no_reply', `it does not answer; ${why}`)
  }

  /** Waits for the longest time of a cycle, because the answer of a sealer that began none or was aborted is not known. */
  async #untilItStands(signal: AbortSignal): Promise<void> {
    const latest = this.at.clock.now() + cycle_s * 1000
    while (!(await this.#complete()) && this.at.clock.now() < latest) await sleep(this.at.clock, poll_ms, signal)
    await this.#untilArrived(signal)
  }

  async #untilArrived(signal?: AbortSignal): Promise<void> {
    await sleep(this.at.clock, Math.max(0, this.#arrived - this.at.clock.now()), signal)
  }

  readonly seal = this.#runner.operation(async ({ temperature, duration }: { temperature: number; duration: number }, signal) => {
    await this.#start({ temperature, duration }, signal)
    await this.#untilSealed(duration, signal)
  })

  /**
   * Starts the cycle, again while the sealer refuses because it is too cold. The set point cannot be read back, so it is set each time:
   * it may have been changed at the instrument or lost in a power failure.
   */
  async #start({ temperature, duration }: { temperature: number; duration: number }, signal: AbortSignal): Promise<void> {
    const latest = this.at.clock.now() + heating_s * 1000
    for (;;) {
      await this.#order(heatTo(temperature), signal)
      await this.#order(sealFor(duration), signal)
      signal.throwIfAborted()
      const answer = await this.#ask(startCycle)
      if (answer.ok) return
      if (!/temp/i.test(answer.reason)) mustBeTaken(startCycle, answer)
      if (this.at.clock.now() > latest)
        throw new LabError('device_failed', `it is not at its temperature after ${heating_s} s: ${answer.reason}`)
      await sleep(this.at.clock, askAgain_ms, signal)
    }
  }

  async #untilSealed(duration: number, signal: AbortSignal): Promise<void> {
    const began = this.at.clock.now()
    for (;;) {
      await sleep(this.at.clock, poll_ms, signal)
      const sealed = await this.#complete()
      signal.throwIfAborted()
      const seconds = (this.at.clock.now() - began) / 1000
      // An answer about the previous cycle would come sooner.
      if (sealed && seconds >= duration) return
      if (seconds > duration + cycle_s) {
        throw new LabError('device_failed', `it has not finished ${cycle_s} s after its time; see its display, then initialize`)
      }
    }
  }

  async #moveStage(command: string, signal: AbortSignal): Promise<void> {
    await this.#untilArrived(signal)
    this.#arrived = this.at.clock.now() + stage_ms
    await this.#order(command, signal)
    this.#arrived = this.at.clock.now() + stage_ms
    await this.#untilArrived(signal)
    // The answer shows only that the sealer is still connected.
    await this.#complete()
  }

  async check(): Promise<void> {
    await this.#complete()
  }

  /** Aborts the cycle and sets the lowest set point at once. */
  async halt(): Promise<void> {
    this.#runner.stop()
    this.#aborted = undefined
    try {
      this.#exchange.interrupt(abortCycle)
    } finally {
      this.#exchange.interrupt(heatTo(coldest))
    }
    // Once more, because the first set point may have followed the abort too closely to be read.
    mustBeTaken(heatTo(coldest), await this.#ask(heatTo(coldest)))
    mustBeTaken(abortCycle, this.#aborted ?? (await this.#ask(abortCycle)))
    await this.#untilArrived()
  }

  /** Returns a fixed model: the sealer has no identity query, but its answers are unlike any other instrument's. */
  async identify(): Promise<Identity> {
    await this.#complete()
    return { model: 'PlateLoc', serial_number: null, firmware_version: null }
  }
}

function mustBeTaken(command: string, { ok, reason }: Acknowledgement): void {
  if (ok) return
  throw new LabError('device_failed', `it refused ${command}${reason && `: ${reason}`}; see its display, then initialize`)
}
