// The conversation with a BioShake: each kind of question, its possible answers, and the error for any other answer.

import { LabError, messageOf } from '../../src/errors.ts'
import { refused, reports } from '../reported.ts'
import { Exchange } from '../transports/exchange.ts'
import type { Line } from '../transports/line.ts'
import { WithMount } from '../with_mount.ts'
import { errorTable } from './errors.ts'
import {
  encode,
  errorCodes,
  isBootDone,
  isErrorList,
  isNumber,
  isOk,
  isRefusal,
  isStateName,
  isText,
  isUnknown,
  line as nextLine,
} from './protocol.ts'

const short_ms = 1000
/** The wait for the acknowledgement of a stop; then the state is asked for. */
const acknowledge_ms = 300
/** The limit for homing and the plate lock, which answer `ok` on arrival: after 4 s and 3 s at most, by the manual. */
export const motion_ms = 5000

export class Talk extends WithMount<Line> {
  readonly #exchange = new Exchange<string, string>(this.at, {
    framer: nextLine,
    encode,
    gap_ms: 50,
    resync: {
      question: 'getShakeStateAsString',
      recognises: (answer) => isStateName(answer) || isUnknown(answer, 'getShakeStateAsString'),
    },
    unsolicited: (answer) => this.#noticeRestart(answer),
  })
  #restarted = false

  /** Sends a command. Resolves with its `ok`. */
  async order(command: string, signal: AbortSignal, deadline_ms = short_ms): Promise<void> {
    signal.throwIfAborted()
    this.#mustBeTheSame()
    const answer = await this.#exchange.command(command, { deadline_ms, accepts: (text) => isOk(text) || says(text, command) })
    if (!isOk(answer)) throw await this.#refused(command, answer)
  }

  async number(command: string): Promise<number> {
    const answer = await this.#ask(command, isNumber)
    if (!isNumber(answer)) throw await this.#refused(command, answer)
    return Number(answer)
  }

  /** Asks for a number; undefined if the instrument refuses. */
  async numberIfAllowed(command: string): Promise<number | undefined> {
    const answer = await this.#ask(command, isNumber)
    if (isRefusal(answer)) return undefined
    if (!isNumber(answer)) throw await this.#refused(command, answer)
    return Number(answer)
  }

  /** Asks for a text about the instrument; null if it does not know the question. */
  async text(command: string): Promise<string | null> {
    const answer = await this.#ask(command, isText)
    if (isUnknown(answer, command)) return null
    if (!isText(answer)) throw await this.#refused(command, answer)
    return answer
  }

  /** Throws `device_failed` with the errors of the instrument, if it has any. */
  async mustBeWell(): Promise<void> {
    const codes = await this.errors()
    if (codes.length) throw reports(errorTable, codes)
  }

  /** Writes the commands at once, ahead of all waiting ones. Resolves with whether the shaker acknowledged all of them in time and refused none. */
  async interrupt(commands: readonly string[]): Promise<boolean> {
    let left = commands.length
    const accepts = (text: string) => isOk(text) || commands.some((command) => says(text, command))
    const isLast = (text: string) => !isOk(text) || --left === 0
    try {
      return isOk(await this.#exchange.interruptFor(commands.join('\r'), { deadline_ms: acknowledge_ms, accepts, isLast }))
    } catch (error) {
      if (!(error instanceof LabError) || error.code !== 'no_reply') throw error
      return false
    }
  }

  /** Writes a command at once, ahead of all waiting ones, and ignores its answer. */
  tellNow(command: string): void {
    this.#exchange.interrupt(command)
  }

  /** Ignores restarts before now. */
  forgetRestart(): void {
    this.#restarted = false
  }

  #ask(command: string, isAnswer: (text: string) => boolean): Promise<string> {
    this.#mustBeTheSame()
    return this.#exchange.query(command, { deadline_ms: short_ms, accepts: (text) => isAnswer(text) || says(text, command) })
  }

  /** Asks for the error numbers. Throws `device_failed` for an answer of another form. */
  async errors(): Promise<number[]> {
    const answer = await this.#ask('getErrorList', isErrorList)
    if (isErrorList(answer)) return errorCodes(answer)
    throw new LabError('device_failed', `it does not tell its errors: it answered ${answer}; switch it off and on, then initialize`)
  }

  async #refused(command: string, answer: string): Promise<LabError> {
    if (isUnknown(answer, command)) {
      return new LabError('device_failed', `it does not know ${command}; see that the model in its settings is the right one`)
    }
    const codes = await this.errors().catch(messageOf)
    if (typeof codes === 'string') return new LabError('device_failed', `it refused ${command}, and ${codes}`)
    if (codes.length) return refused(errorTable, command, codes)
    return new LabError('device_failed', `it refused ${command} and reports no error; see what it is doing, then initialize`)
  }

  #noticeRestart(answer: string): boolean {
    if (!isBootDone(answer)) return false
    this.#restarted = true
    return true
  }

  #mustBeTheSame(): void {
    if (this.#restarted) throw new LabError('device_failed', 'it restarted by itself; see that its power supply is sound, then initialize')
  }
}

/** Whether an answer is a refusal. */
function says(answer: string, command: string): boolean {
  return isRefusal(answer) || isUnknown(answer, command)
}
