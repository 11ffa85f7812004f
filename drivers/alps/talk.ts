// The conversation with a sealer of the ALPS family: each kind of question, and its possible answers.

import { LabError } from '../../src/errors.ts'
import { reports } from '../reported.ts'
import { Exchange, strange } from '../transports/exchange.ts'
import type { Line } from '../transports/line.ts'
import { WithMount } from '../with_mount.ts'
import { errorTableOf } from './errors.ts'
import type { Flag, Model } from './models.ts'
import {
  askError,
  askSetPoint,
  askStatus,
  askTemperature,
  askVersion,
  encode,
  isDone,
  isErrorNumber,
  isRefused,
  isStatus,
  isTemperature,
  isVersion,
  nextAnswer,
  readStatus,
} from './protocol.ts'

const short_ms = 2000
/** Attempts to get an answer: the sealer is deaf for 2 to 5 s after its port was opened. */
const deafTries = 6
const deaf_ms = 1000
export const deaf_s = (deafTries * deaf_ms) / 1000

type Parts = { line: Line; model: Model }

export class Talk extends WithMount<Parts> {
  #awake = false
  readonly #exchange = new Exchange<string, string>(this.at.line, {
    framer: nextAnswer,
    encode,
    // Known hosts wait this long between writing and reading.
    gap_ms: 200,
    // Three digits can be neither a status nor an `ok`. A late temperature may match too, which is harmless, since the status follows.
    resync: {
      question: askSetPoint,
      recognises: isTemperature,
      second: { question: askStatus, recognises: isStatus, deadline_ms: short_ms },
    },
  })

  constructor(at: Parts) {
    super(at)
    at.line.onLost(() => {
      this.#awake = false
    })
  }

  /** Waits until the sealer answers. Throws `no_reply` if it does not. */
  async awake(): Promise<void> {
    const { dropped } = this.#exchange
    for (let tries = 0; !this.#awake; tries++) {
      if (tries === deafTries) {
        const isSilent = this.#exchange.dropped === dropped
        throw new LabError('no_reply', isSilent ? 'it does not answer; see that it is switched on and connected' : strange)
      }
      this.#awake = (await this.#exchange.probe(askStatus, { deadline_ms: deaf_ms, accepts: isStatus })) !== undefined
    }
  }

  async status(): Promise<Set<Flag>> {
    return readStatus(await this.#ask(askStatus, isStatus), this.at.model)
  }

  /** Returns the status. Throws `device_failed` if the sealer reports an error. */
  async mustBeWell(): Promise<Set<Flag>> {
    const status = await this.status()
    if (!status.has('error')) return status
    throw reports(errorTableOf(this.at.model), [Number(await this.#ask(askError, isErrorNumber))])
  }

  /** Asks for the temperature in °C. */
  async temperature(): Promise<number> {
    return Number(await this.#ask(askTemperature, isTemperature))
  }

  /** Asks for the set point in °C. */
  async setPoint(): Promise<number> {
    return Number(await this.#ask(askSetPoint, isTemperature))
  }

  async version(): Promise<string> {
    return this.#ask(askVersion, isVersion)
  }

  /** Sends a command. Resolves with its `ok`. */
  async order(command: string, signal?: AbortSignal, deadline_ms = short_ms): Promise<void> {
    signal?.throwIfAborted()
    const answer = await this.#exchange.command(command, { deadline_ms, accepts: (text) => isDone(text) || isRefused(text) })
    signal?.throwIfAborted()
    if (isDone(answer)) return
    await this.mustBeWell()
    throw new LabError('device_failed', `it refused ${command} and reports no error; see what it is doing, then initialize`)
  }

  /** Writes a command at once, ahead of all waiting ones. */
  interrupt(command: string): void {
    this.#exchange.interrupt(command)
  }

  async #ask(question: string, accepts: (answer: string) => boolean): Promise<string> {
    await this.awake()
    return this.#exchange.query(question, { deadline_ms: short_ms, accepts })
  }
}
